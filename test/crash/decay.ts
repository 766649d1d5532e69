import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { mulberry32 } from '../bench/spine/data.ts';
import { HttpClient, type ServerProcess, startServer } from '../support/server-process.ts';

// npm run crash:decay -- --rounds 40 --seed 1: files of a stopped server are damaged as a bad disk would. What is served
// afterwards is right, what cannot be is refused, the other database does not notice, and the process does not end: LMDB's
// trees are looked at before it sees them (server/storage/README.md).

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '40' }, seed: { type: 'string', default: '1' } },
});
const password = 'decay-password';
const vertexCount = 3000;
const lateCount = 40;
const random = mulberry32(Number(values.seed));
const below = (bound: number) => Math.floor(random() * bound);
const directory = mkdtempSync(join(tmpdir(), 'polyad-decay-'));
const intact = join(directory, 'intact');
const damaged = join(directory, 'damaged');
const outcomes = new Map<string, number>();
let failed = 0;

async function fill(): Promise<void> {
  mkdirSync(intact);
  const server = await startServer({ rootPath: intact, rootPassword: password });
  const client = new HttpClient(server.port, 'root', password);
  const row = (k: number) => ({ k, t: textOf(k) });
  for (const database of ['a', 'b']) {
    await client.server(`create database ${database}`);
    await client.sql(database, 'CREATE VERTEX TYPE V');
    await client.sql(database, 'CREATE PROPERTY V.k INTEGER');
    await client.sql(database, 'CREATE INDEX ON V (k) UNIQUE');
    const rows = Array.from({ length: vertexCount }, (_, k) => row(k));
    await client.sql(database, 'INSERT INTO V CONTENT :rows', { rows });
  }
  await client.server('trigger backup a');
  for (let k = vertexCount; k < vertexCount + lateCount; k += 1)
    await client.sql('a', 'INSERT INTO V SET k = :k, t = :t', row(k));
  await server.kill();
}

function textOf(k: unknown): string {
  return `value ${Number(k) * 7}`;
}

function filesBelow(path: string): string[] {
  return readdirSync(join(intact, path), { withFileTypes: true }).flatMap((entry) => {
    const name = join(path, entry.name);
    return entry.isDirectory() ? filesBelow(name) : [name];
  });
}

/** @returns what was done to the file */
function damage(path: string): string {
  const bytes = readFileSync(path);
  const kind = below(4);
  if (kind === 0 && bytes.length > 0) {
    const length = below(bytes.length);
    writeFileSync(path, bytes.subarray(0, length));
    return `cut to ${length} of ${bytes.length} bytes`;
  }
  if (kind === 1 && bytes.length > 8192) {
    const page = below(Math.floor(bytes.length / 4096));
    bytes.fill(0, page * 4096, (page + 1) * 4096);
    writeFileSync(path, bytes);
    return `page ${page} zeroed`;
  }
  const count = kind === 2 ? 1 + below(50) : 1;
  for (let n = 0; n < count; n += 1) {
    const at = below(bytes.length);
    bytes[at] = kind === 2 ? below(256) : (bytes[at] ?? 0) ^ (1 << below(8));
  }
  writeFileSync(path, bytes);
  return `${count} bytes changed`;
}

function tell(outcome: string, file: string, what: string, more = ''): void {
  outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  if (!outcome.startsWith('FAILED')) return;
  failed += 1;
  process.stdout.write(`${outcome}: ${file}, ${what}: ${more}\n`);
}

async function look(server: ServerProcess, file: string, what: string): Promise<void> {
  const client = new HttpClient(server.port, 'root', password);
  const ask = async (database: string, command: string) => {
    const body = { language: 'sql', command, limit: -1 };
    const answer = await client.request('POST', `/command/${database}`, body);
    const rows = (answer.body as { result?: Record<string, unknown>[] }).result ?? [];
    return { status: answer.status, rows, text: JSON.stringify(answer.body).slice(0, 300) };
  };
  const other = await ask('b', 'SELECT k, t FROM V');
  // Whose password is damaged is not let in.
  if (other.status === 403 && file.startsWith('config/'))
    return tell('password refused', file, what);
  if (other.rows.length !== vertexCount) tell('FAILED: other database', file, what, other.text);
  const scan = await ask('a', 'SELECT k, t FROM V');
  const isLog = file.includes('commit-log');
  if (scan.status !== 200) tell('refused by name', file, what);
  else if (scan.rows.some((row) => row['t'] !== textOf(row['k'])))
    tell('FAILED: wrong rows', file, what);
  else if (scan.rows.length < vertexCount + (isLog ? 0 : lateCount))
    tell('FAILED: rows are missing', file, what, String(scan.rows.length));
  else tell(isLog ? 'served, the last write may be cut' : 'served', file, what);
  const k = below(vertexCount);
  const found = await ask('a', `SELECT k, t FROM V WHERE k = ${k}`);
  if (found.status === 200 && found.rows.some((row) => row['t'] !== textOf(row['k'])))
    tell('FAILED: wrong row by index', file, what);
  await ask('a', 'INSERT INTO V SET k = -1');
  await ask('a', 'CHECK DATABASE');
}

await fill();
const files = [...filesBelow('databases/a'), ...filesBelow('config')];
for (let round = 0; round < Number(values.rounds); round += 1) {
  rmSync(damaged, { recursive: true, force: true });
  cpSync(intact, damaged, { recursive: true });
  const file = round % 2 === 0 ? 'databases/a/data.mdb' : (files[below(files.length)] ?? '');
  const what = damage(join(damaged, file));
  let server: ServerProcess;
  try {
    server = await startServer({ rootPath: damaged, rootPassword: password });
  } catch (error) {
    const isSentence = /^polyad: /m.test(String(error));
    tell(isSentence ? 'start refused' : 'FAILED: start', file, what, String(error).slice(-500));
    continue;
  }
  try {
    await look(server, file, what);
  } catch (error) {
    // The connection ends before the process is known to have ended.
    await new Promise((done) => setTimeout(done, 500));
    const { signalCode } = server.child;
    tell(
      signalCode ? `FAILED: ended by ${signalCode}` : 'FAILED: answer',
      file,
      what,
      String(error),
    );
  }
  await server.kill();
}
rmSync(directory, { recursive: true, force: true });
for (const [outcome, count] of outcomes) process.stdout.write(`${count} x ${outcome}\n`);
process.stdout.write(`decay: ${Number(values.rounds) - failed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;
