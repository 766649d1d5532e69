import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { HttpClient, startServer } from '../support/server-process.ts';

// npm run crash:operations -- --kills 12: SIGKILL in the middle of backups, restores, replacements, imports and exports. After
// each start there is no half database, no half archive, and the database that was worked on answers as before.

const { values } = parseArgs({
  options: { kills: { type: 'string', default: '12' }, seed: { type: 'string', default: '1' } },
});
const password = 'operations-crash';
const root = mkdtempSync(join(tmpdir(), 'polyad-crash-operations-'));
const recordCount = 60_000;

const start = () => startServer({ rootPath: root, rootPassword: password, readyTimeoutMs: 60_000 });
let server = await start();
let client = new HttpClient(server.port, 'root', password);

const rows = Array.from({ length: recordCount }, (_, n) => `${n},text ${n},${n % 97}`).join('\n');
writeFileSync(join(root, 'rows.csv'), `n,t,m\n${rows}\n`);
await must('import database base rows.csv', { settings: { documentType: 'Row' } });
await client.sql('base', 'CREATE PROPERTY Row.n LONG');
await client.sql('base', 'CREATE INDEX ON Row (n) UNIQUE');
const { backupFile } = (await must('trigger backup base')) as { backupFile: string };
await client.sql('base', 'EXPORT DATABASE file://base.jsonl.tgz');

async function must(command: string, body: object = {}): Promise<unknown> {
  const answer = await client.request('POST', '/server', { command, ...body });
  assert.equal(answer.status, 200, `${command}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

const work: readonly (readonly [string, object])[] = [
  ['trigger backup base', {}],
  [`restore backup base ${backupFile} as copy`, {}],
  [`restore backup base ${backupFile}`, { overwrite: true }],
  ['import database copy base.jsonl.tgz', {}],
  ['import database copy rows.csv', { settings: { documentType: 'Row' } }],
];

let state = Number(values.seed);
function next(bound: number): number {
  state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
  return (state >>> 8) % bound;
}

for (let kill = 0; kill < Number(values.kills); kill += 1) {
  const [command, body] = work[kill % work.length] ?? ['', {}];
  const running = client.request('POST', '/server', { command, ...body }).catch(() => undefined);
  await new Promise((done) => setTimeout(done, 20 + next(1200)));
  await server.kill();
  await running;
  server = await start();
  client = new HttpClient(server.port, 'root', password);
  await verify(command);
  process.stdout.write(`${kill + 1} ${command}\n`);
}

async function verify(command: string): Promise<void> {
  const listed = ((await must('list databases')) as { result: string[] }).result;
  assert.ok(listed.includes('base'), `base is gone after '${command}'`);
  for (const name of listed) {
    const [scanned] = await client.sql(
      name,
      'SELECT count(*) AS c, sum(m) AS s FROM (SELECT FROM Row WHERE n >= 0)',
    );
    assert.equal(scanned?.['c'], recordCount, `${name} is not whole after '${command}'`);
    const [counted] = await client.sql(name, 'SELECT count(*) AS c FROM Row');
    assert.equal(counted?.['c'], recordCount);
  }
  if (listed.includes('copy')) await must('drop database copy');
  const { backups } = (await must('list backups base')) as { backups: { fileName: string }[] };
  const files = readdirSync(join(root, 'backups', 'base')).filter((name) => name.startsWith('.'));
  assert.deepEqual(files, [], 'an interrupted backup was left behind');
  const newest = backups[0]?.fileName ?? '';
  await must(`restore backup base ${newest} as probe`);
  await must('drop database probe');
  const hidden = readdirSync(join(root, 'databases')).filter((name) =>
    /^\.(restore|import|creating|replacing)/.test(name),
  );
  assert.deepEqual(hidden, []);
}

await server.stop();
rmSync(root, { recursive: true, force: true });
process.stdout.write(`crash-operations: ${values.kills} passed, 0 failed\n`);
