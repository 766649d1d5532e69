import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { HttpClient, startServer } from '../support/server-process.ts';
import { makeNoise } from './random-bytes.ts';

/*
 * `npm run fuzz -- [--seconds 60] [--seed 1]`: noise on the port of a server, then schemathesis, driven by the OpenAPI
 * document that it serves, in a time box. No answer but those that the document and the contract name, no hang, no dead
 * process, memory that comes back. Schemathesis is skipped without Python 3.
 */

const version = 'schemathesis==4.32.5';
const environment = join(tmpdir(), 'polyad-fuzz-python');
const password = 'fuzz-password';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
  },
});

/** @returns the program, or undefined when it cannot be had here */
function installedFuzzer(): string | undefined {
  const program = join(environment, 'bin', 'schemathesis');
  if (existsSync(program)) return program;
  const made = spawnSync('python3', ['-m', 'venv', environment], { stdio: 'inherit' });
  if (made.status !== 0) return undefined;
  const pip = join(environment, 'bin', 'pip');
  const installed = spawnSync(pip, ['install', '--quiet', version], { stdio: 'inherit' });
  return installed.status === 0 && existsSync(program) ? program : undefined;
}

const checks = [
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
  'allow_header_conformance',
  'ignored_auth',
  'named_server_error',
  'request_id_everywhere',
];

/** Not `spawnSync`: what the server prints has to be taken meanwhile, or it waits for that. */
async function fuzz(program: string, port: number): Promise<boolean> {
  const child = spawn(
    program,
    [
      'run',
      `http://127.0.0.1:${port}/api/v1/openapi.json`,
      ...['--auth', `root:${password}`],
      ...['--checks', checks.join(',')],
      ...['--max-time', values.seconds],
      ...['--seed', values.seed],
      ...['--request-timeout', '20'],
      ...['--suppress-health-check', 'all'],
      ...['--warnings', 'off'],
      '--continue-on-failure',
    ],
    {
      stdio: 'inherit',
      cwd: tmpdir(),
      env: {
        ...process.env,
        SCHEMATHESIS_HOOKS: join(import.meta.dirname, 'checks.py'),
        PYTHONDONTWRITEBYTECODE: '1',
      },
      timeout: (Number(values.seconds) + 120) * 1000,
    },
  );
  return await new Promise((resolve) => {
    child.on('error', () => resolve(false));
    child.on('exit', (code) => resolve(code === 0));
  });
}

const mebibyte = 1024 * 1024;
const growthMax = 100 * mebibyte;

/** Resident bytes of a process; undefined where the system does not tell. */
function residentBytes(pid: number): number | undefined {
  const path = `/proc/${pid}/status`;
  if (!existsSync(path)) return undefined;
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(path, 'utf8'))?.[1];
  return kib === undefined ? undefined : Number(kib) * 1024;
}

/** The second half of the noise may not need much more memory than the first one. */
async function surviveNoise(port: number, pid: number): Promise<boolean> {
  const noise = {
    port,
    authorization: `Basic ${Buffer.from(`root:${password}`).toString('base64')}`,
    patienceMs: 400,
    connections: 1500,
  };
  const seed = Number(values.seed);
  await makeNoise({ ...noise, seed });
  const before = residentBytes(pid);
  const answered = await makeNoise({ ...noise, seed: seed + 1 });
  const after = residentBytes(pid);
  const growth = before === undefined || after === undefined ? 0 : after - before;
  console.log(`noise: ${answered} of 1500 answered, memory grew by ${growth / mebibyte} MiB`);
  const { status } = await fetch(`http://127.0.0.1:${port}/api/v1/health`);
  return status === 204 && growth < growthMax;
}

interface Outcome {
  readonly what: string;
  readonly isRight: boolean;
}

async function run(port: number, pid: number): Promise<readonly Outcome[]> {
  const client = new HttpClient(port, 'root', password);
  await client.server('create database school');
  for (const command of ['CREATE VERTEX TYPE Person', "CREATE VERTEX Person SET name = 'Jay'"])
    await client.sql('school', command);
  const outcomes = [{ what: 'noise', isRight: await surviveNoise(port, pid) }];
  const program = installedFuzzer();
  if (program !== undefined) {
    outcomes.push({ what: 'schemathesis', isRight: await fuzz(program, port) });
    // The client's connection has been idle all the time, and may have been closed.
    const look = () => client.request('GET', '/databases');
    const { status, body } = await look().catch(look);
    if (status !== 200) console.log(`after the run: ${status} ${JSON.stringify(body)}`);
    outcomes.push({ what: 'alive', isRight: status === 200 });
  }
  return outcomes;
}

const rootPath = mkdtempSync(join(tmpdir(), 'polyad-fuzz-'));
const server = await startServer({
  rootPath,
  rootPassword: password,
  readyTimeoutMs: 60_000,
  // Wrong passwords are part of what is sent, and a locked root would answer 403 to all the rest.
  settings: {
    'service.server.securityLockoutAttempts': '1000000000',
    'service.server.saltIterations': '1000',
  },
});
let outcomes: readonly Outcome[] = [];
let stopped: number | null = null;
try {
  outcomes = await run(server.port, server.child.pid ?? 0);
} finally {
  stopped = await server.stop();
  if (stopped !== 0) console.error(server.output());
  rmSync(rootPath, { recursive: true, force: true });
}
const wrong = outcomes.filter(({ isRight }) => !isRight);
for (const { what } of wrong) console.log(`FAILED ${what}; replay with --seed ${values.seed}`);
const failed = wrong.length + (stopped === 0 ? 0 : 1);
const skipped = outcomes.some(({ what }) => what === 'schemathesis') ? 0 : 1;
console.log(`fuzz: ${outcomes.length + 1 - failed} passed, ${failed} failed, ${skipped} skipped`);
process.exit(failed === 0 ? 0 : 1);
