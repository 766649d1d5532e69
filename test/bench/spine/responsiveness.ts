import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cpuSeconds, residentMegabytes } from '../child.ts';
import { requestBytes } from '../http-load.ts';
import { type Comparison, percentile } from '../measure.ts';
import { HttpClient, type ServerProcess, startServer } from '../../support/server-process.ts';
import type { SpineData } from './data.ts';
import { benchDatabase, uploadSpine } from './upload.ts';

const password = 'bench-password';
const authorization = `Basic ${Buffer.from(`root:${password}`).toString('base64')}`;

const longQueries: Readonly<Record<string, string>> = {
  'scan of a million edges':
    'SELECT since, count(*) AS n, avg(since * 2) AS a FROM KNOWS GROUP BY since',
  'sort of a million edges': 'SELECT since FROM KNOWS ORDER BY since DESC, @rid LIMIT 100',
  'Cartesian product': 'MATCH {type: Person, as: a}, {type: Person, as: b} RETURN count(*) AS n',
  'three-hop walks over everything':
    'MATCH {type: Person, as: a}-KNOWS->{as: b}-KNOWS->{as: c}-KNOWS->{as: d} RETURN count(*) AS n',
};

/** What other clients feel while one runs something long, under a heap limit of 256 MB; and what a stopped reader costs. */
export async function benchResponsiveness(data: SpineData): Promise<Comparison[]> {
  const rootPath = mkdtempSync(join(tmpdir(), 'polyad-bench-'));
  const server = await startServer({
    rootPath,
    rootPassword: password,
    nodeArguments: ['--max-old-space-size=256'],
  });
  const processId = server.child.pid ?? 0;
  const comparisons: Comparison[] = [];
  try {
    await new HttpClient(server.port, 'root', password).server('create database idle');
    await new Promise((done) => setTimeout(done, 1500));
    comparisons.push(single('idle server, one database', residentMegabytes(processId), 120, 'MB'));
    await uploadSpine(server.port, password, data);
    for (const [name, command] of Object.entries(longQueries)) {
      comparisons.push(...(await probeDuring(server, name, command)));
    }
    comparisons.push(await stoppedReader(server));
    comparisons.push(
      single(
        'peak of the server, heap limit 256 MB',
        residentMegabytes(processId, 'VmHWM'),
        700,
        'MB',
      ),
    );
  } finally {
    await server.kill();
    rmSync(rootPath, { recursive: true, force: true });
  }
  return comparisons;
}

function single(name: string, value: number, limit: number, unit: string): Comparison {
  return {
    name,
    medians: new Map([['ours', value]]),
    unit,
    ratio: value,
    target: `< ${limit} ${unit}`,
    isReached: value < limit,
    remarks: '',
  };
}

/** Runs the query for 5 s, again and again when it is shorter, and meanwhile asks `/health` and a point query every few ms. */
async function probeDuring(
  server: ServerProcess,
  name: string,
  command: string,
): Promise<Comparison[]> {
  const leave = new AbortController();
  const deadline = performance.now() + 5000;
  const queries = runUntil(server, command, deadline, leave.signal);
  const health: number[] = [];
  const points: number[] = [];
  while (performance.now() < deadline) {
    health.push(await timed(server.port, requestBytes('GET', '/api/v1/health', {}, '')));
    points.push(await timed(server.port, pointRequest));
    await new Promise((done) => setTimeout(done, 5));
  }
  leave.abort();
  const runs = await queries;
  const idle = await secondsUntilIdle(server.child.pid ?? 0);
  return [
    {
      ...single(`/health p99 during ${name}`, percentile(health, 0.99), 20, 'ms'),
      remarks: `${health.length} probes, ${runs} whole runs`,
    },
    {
      ...single(`point query p99 during ${name}`, percentile(points, 0.99), 50, 'ms'),
      remarks: `idle ${idle.toFixed(1)} s after the client left`,
    },
  ];
}

/** @returns how many runs came to their end */
async function runUntil(
  server: ServerProcess,
  command: string,
  deadline: number,
  signal: AbortSignal,
): Promise<number> {
  let runs = 0;
  while (performance.now() < deadline) {
    try {
      const answer = await fetch(`http://127.0.0.1:${server.port}/api/v1/query/${benchDatabase}`, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify({ language: 'sql', command }),
        signal,
      });
      const text = await answer.text();
      if (answer.status !== 200) throw new Error(`${answer.status}: ${text}`);
      runs += 1;
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
  return runs;
}

const pointRequest = requestBytes(
  'POST',
  `/api/v1/query/${benchDatabase}`,
  { authorization },
  JSON.stringify({ language: 'sql', command: 'SELECT name FROM Person WHERE id = 4711' }),
);

/** Milliseconds from writing the request on a new connection to the first byte of the answer. */
function timed(port: number, request: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    const start = performance.now();
    const socket = connect(port, '127.0.0.1', () => socket.write(request));
    socket.once('data', () => {
      resolve(performance.now() - start);
      socket.destroy();
    });
    socket.once('error', reject);
  });
}

/** Work must stop within 2 s after its client left. */
async function secondsUntilIdle(processId: number): Promise<number> {
  const start = performance.now();
  for (let tries = 0; tries < 40; tries += 1) {
    const before = cpuSeconds(processId);
    await new Promise((done) => setTimeout(done, 250));
    if (cpuSeconds(processId) - before < 0.05) break;
  }
  return (performance.now() - start) / 1000 - 0.25;
}

/** Asks for a million rows and reads none of them: the producer must stop. */
async function stoppedReader(server: ServerProcess): Promise<Comparison> {
  const before = residentMegabytes(server.child.pid ?? 0);
  const socket = connect(server.port, '127.0.0.1');
  socket.pause();
  const body = JSON.stringify({ language: 'sql', limit: -1, command: 'SELECT FROM KNOWS' });
  socket.write(
    requestBytes(
      'POST',
      `/api/v1/query/${benchDatabase}`,
      { authorization, accept: 'application/x-ndjson' },
      body,
    ),
  );
  await new Promise((done) => setTimeout(done, 3000));
  const growth = residentMegabytes(server.child.pid ?? 0) - before;
  socket.destroy();
  return single('growth of memory for a reader that stopped', growth, 60, 'MB');
}
