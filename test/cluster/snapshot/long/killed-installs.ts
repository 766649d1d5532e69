import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { partsOf } from '../../support/parts.ts';
import { manifest, zip } from '../../../database/support/hostile-zip.ts';
import { openTestDatabase } from '../../../database/support/open-test-database.ts';
import { quickStart } from '../../../support/server-process.ts';

// A server that is killed at each step of an installation over what it had (ha-testing.md 10 S2): what there is then is the old
// database or the new one, as a whole, and the installation is done by the next start.

const program = join(import.meta.dirname, '../../support/killed-installer.ts');
const oldCount = 20;
const freshCount = 500;

interface Look {
  readonly killedBefore?: string;
  readonly when?: 'before' | 'after';
  readonly old?: number;
  readonly fresh?: number;
  readonly found?: number;
  readonly leftOver?: readonly string[];
  readonly stepCount?: number;
}

/** @returns the new database as an archive and in parts, and the directory of a server with the old one */
async function ground(root: string): Promise<{ zipped: string; parts: string; before: string }> {
  const from = await openTestDatabase();
  await from.run('CREATE VERTEX TYPE Fresh');
  await from.run('CREATE PROPERTY Fresh.number INTEGER');
  await from.run('CREATE INDEX ON Fresh (number) UNIQUE');
  const numbers = Array.from({ length: freshCount }, (_, number) => `(${number})`).join();
  await from.run(`INSERT INTO Fresh (number) VALUES ${numbers}`);
  const copy = join(root, 'copy');
  await from.database.engine.copyTo(copy);
  await from.close();
  const content = readFileSync(join(copy, 'data.mdb'));
  const zipped = join(root, 'archive.zip');
  writeFileSync(zipped, zip([{ name: 'data.mdb', content }, manifest(content)]));
  const parts = join(root, 'parts');
  writeFileSync(parts, Buffer.concat(partsOf(copy)));
  const before = join(root, 'before');
  mkdirSync(join(before, 'databases'), { recursive: true });
  const to = await openTestDatabase({ directory: join(before, 'databases') });
  await to.run('CREATE DOCUMENT TYPE Old');
  for (let at = 0; at < oldCount; at += 1) await to.run(`INSERT INTO Old SET number = ${at}`);
  await to.close();
  return { zipped, parts, before };
}

function run(words: readonly string[]): { signal: string | null; looks: readonly Look[] } {
  const { signal, status, stdout, stderr } = spawnSync(process.execPath, [program, ...words], {
    encoding: 'utf8',
    env: { ...process.env, ...quickStart },
  });
  assert.ok(signal === 'SIGKILL' || status === 0, stderr);
  const looks = stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Look);
  return { signal, looks };
}

const isOld = ({ old, fresh }: Look) => old === oldCount && fresh === -1;
const isFresh = ({ old, fresh, found }: Look) => old === -1 && fresh === freshCount && found === 1;

const steps = {
  zipped: ['write', 'spawn', '.fetch-tmp-test', '.replacing-test', '.trash-test', 'lock.mdb'],
  parts: ['write', 'spawn', 'data.mdb', '.fetch-tmp-test', '.replacing-test', '.trash-test'],
};

for (const form of ['zipped', 'parts'] as const)
  test(`S2: killed at each step of an installation (${form}), a server has the old database or the new one, and goes on`, async (context) => {
    const root = mkdtempSync(join(tmpdir(), 'polyad-killed-'));
    context.after(() => rmSync(root, { recursive: true, force: true }));
    const { before, ...forms } = await ground(root);
    const kills = strikes(root, { archive: forms[form], before });
    context.diagnostic(`${kills.length} steps`);
    for (const what of steps[form])
      assert.ok(
        kills.some((step) => step.includes(what)),
        `none of ${what}: ${kills.join(', ')}`,
      );
    assert.ok(kills.length >= 20, kills.join());
  });

/** @returns the steps before which it was killed: all that there are */
function strikes(root: string, { archive, before }: { archive: string; before: string }) {
  const kills: string[] = [];
  let struck = '';
  for (let nth = 1; ; nth += 1) {
    const next = join(root, `struck-${nth}`);
    cpSync(before, next, { recursive: true });
    const { signal, looks } = run([archive, struck, next, String(nth)]);
    if (struck !== '') {
      const [found, mended, { leftOver } = {}] = looks;
      const what = `killed before '${kills.at(-1)}': ${JSON.stringify(looks)}`;
      assert.ok(found !== undefined && (isOld(found) || isFresh(found)), what);
      assert.ok(mended !== undefined && isFresh(mended), what);
      assert.deepEqual(leftOver, [], what);
      rmSync(struck, { recursive: true });
    }
    if (signal === null) return kills;
    kills.push(looks.at(-1)?.killedBefore?.replaceAll(root, '') ?? '');
    struck = next;
  }
}
