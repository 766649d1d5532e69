import childProcess from 'node:child_process';
import fs, { createReadStream, readdirSync, writeSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import { Socket } from 'node:net';
import { join } from 'node:path';

/*
 * A process that installs a database from an archive, or from parts, and is killed right before its nth change of the disk, or the start of another
 * process: each of them is a step of an installation. `node killed-installer.ts ARCHIVE RECOVERED STRUCK N`: what was struck before,
 * in RECOVERED, is opened and looked at, and the installation is done again; then STRUCK is. The line of each look is a JSON object.
 */

const [archive = '', recovered = '', struck = '', nth = '0'] = process.argv.slice(2);
const looksMax = 500;
let left = Number.POSITIVE_INFINITY;
let writesInRow = 0;

function step(name: string, args: readonly unknown[]): void {
  writesInRow = name === 'write' ? writesInRow + 1 : 0;
  // A file that is written in part is one step, however far it is.
  if (writesInRow > 2) return;
  left -= 1;
  if (left > 0) return;
  say({ killedBefore: `${name} ${args.filter((one) => typeof one === 'string').join(' ')}` });
  process.kill(process.pid, 'SIGKILL');
}

function say(fact: object): void {
  writeSync(1, `${JSON.stringify(fact)}\n`);
}

type Functions = Record<string, (...given: unknown[]) => unknown>;

function watch(target: object, names: readonly string[], isChange = (_: unknown[]) => true): void {
  for (const name of names) {
    const real = (target as Functions)[name];
    if (real === undefined) throw new Error(`there is no ${name}`);
    (target as Functions)[name] = function watched(this: unknown, ...given: unknown[]) {
      if (isChange(given)) step(name, given);
      return real.apply(this, given);
    };
  }
}

const writes = ([, flags]: unknown[]) => typeof flags === 'string' && flags !== 'r';
const handle = await fs.promises.open(import.meta.filename);
watch(Object.getPrototypeOf(handle) as object, ['write', 'writeFile', 'sync']);
await handle.close();
watch(fs.promises, ['mkdir', 'rename', 'rm', 'writeFile']);
watch(fs.promises, ['open'], writes);
watch(fs, ['mkdirSync', 'renameSync', 'rmSync', 'writeFileSync', 'fsyncSync', 'fsync', 'write']);
watch(fs, ['open', 'openSync'], writes);
watch(childProcess, ['spawn']);
// What another process is given.
watch(Socket.prototype, ['write']);
syncBuiltinESMExports();

// Behind the changes above: what these import is bound to them.
const { SnapshotInstaller } = await import('#cluster/snapshot/snapshot-installer.ts');
const { Settings } = await import('#config/effective-settings.ts');
const { silentLog } = await import('#core/log.ts');
const { systemRuntime } = await import('#platform/system-runtime.ts');
const { openTestDatabase } = await import('../../database/support/open-test-database.ts');

async function installIn(root: string, killAt: number): Promise<void> {
  const to = await openTestDatabase({ directory: join(root, 'databases') });
  const count = async (type: string) =>
    (await to.runOn('test', `SELECT count(*) AS n FROM ${type}`).catch(() => [{ n: -1 }]))[0]?.[
      'n'
    ];
  const look = async (when: string) =>
    say({
      when,
      old: await count('Old'),
      fresh: await count('Fresh'),
      found: (await to.runOn('test', 'SELECT FROM Fresh WHERE number = 7').catch(() => [])).length,
    });
  await look('before');
  const directory = join(root, 'fetched');
  const installer = new SnapshotInstaller({
    directory,
    databases: () => to.databases,
    dial: () => ({ kind: 'address', peer: 'one', host: '127.0.0.1', port: 1, isSecure: false }),
    http: () => ({
      ask: async () => {
        const body = createReadStream(archive) as unknown as IncomingMessage;
        const form = archive.endsWith('.zip') ? 'manifest' : 'parts';
        const told: Record<string, string> = {
          'x-service-snapshot-index': '7',
          [`x-service-snapshot-${form}`]: '1',
        };
        return { status: 200, headers: [], header: (name) => told[name], body };
      },
    }),
    token: () => 'secret',
    uuidOf: () => 'u-1',
    silentMsMax: () => 60_000,
    progressEveryMs: () => 0,
    caughtUpWithin: () => 10,
    lag: () => 0,
    purgeLog: async () => {},
    retries: () => 0,
    retryBaseMs: () => 1,
    progress: to.progress,
    settings: new Settings(new Map()),
    runtime: systemRuntime,
    log: silentLog,
  });
  if (killAt > 0) left = killAt;
  await installer.prepare();
  await installer.install('test', () => 'other_1');
  const others = () =>
    [join(root, 'databases'), directory].flatMap((path) =>
      readdirSync(path).filter((name) => name !== 'test'),
    );
  // What was there is deleted behind.
  for (let i = 0; i < looksMax && others().length > 0; i += 1) await systemRuntime.timers.sleep(10);
  const stepCount = killAt - left;
  left = Number.POSITIVE_INFINITY;
  await look('after');
  await to.close();
  say({ leftOver: others(), ...(killAt > 0 && { stepCount }) });
}

if (recovered !== '') await installIn(recovered, 0);
if (struck !== '') await installIn(struck, Number(nth));
