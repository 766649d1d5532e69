import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startListening, stopChild } from '../child.ts';
import { generateLoad, type LoadResult, requestBytes } from '../http-load.ts';
import { alternate, type Comparison, median, requireEqual } from '../measure.ts';
import { type ServerProcess, startServer } from '../../support/server-process.ts';
import type { SpineData } from './data.ts';
import { benchDatabase, uploadBody, uploadSpine, visitBody } from './upload.ts';

const password = 'bench-password';
const authorization = `Basic ${Buffer.from(`root:${password}`).toString('base64')}`;
const rowCount = 1_000_000;
const firstRowTries = 15;

/** Point query, row stream and durable commits through HTTP, each against the floor program in the same run. */
export async function benchHttp(data: SpineData, rounds: number): Promise<Comparison[]> {
  const rootPath = mkdtempSync(join(tmpdir(), 'polyad-bench-'));
  const server = await startServer({ rootPath, rootPassword: password });
  const floor = await startListening(
    new URL('./floor-server.ts', import.meta.url).pathname,
    String(data.persons.length),
  );
  try {
    await uploadSpine(server.port, password, data);
    await uploadBody(server.port, password, visitBody(data, rowCount));
    await checkPointAnswer(server, floor.port);
    return [
      await pointQueries(server, floor.port, data.persons.length, rounds),
      await durableCommits(server, floor.port, rounds),
      ...(await rowStream(server, floor.port, rounds)),
    ];
  } finally {
    await stopChild(floor.child);
    await server.kill();
    rmSync(rootPath, { recursive: true, force: true });
  }
}

const measuredMs = 1500;
/** Both sides are compiled by then; a server runs for long. */
const warmUpMs = 6000;

function pointBody(id: number): string {
  return JSON.stringify({
    language: 'sql',
    command: 'SELECT name, age FROM Person WHERE id = :id',
    params: { id },
  });
}

async function checkPointAnswer(server: ServerProcess, floorPort: number): Promise<void> {
  const ours = await fetch(`http://127.0.0.1:${server.port}/api/v1/query/${benchDatabase}`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: pointBody(777),
  });
  const theirs = await fetch(`http://127.0.0.1:${floorPort}/point`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: pointBody(777),
  });
  requireEqual('point query over HTTP', await ours.json(), await theirs.json());
}

async function pointQueries(
  server: ServerProcess,
  floorPort: number,
  personCount: number,
  rounds: number,
): Promise<Comparison> {
  const latencies = new Map<string, LoadResult>();
  const load = async (
    name: string,
    port: number,
    path: string,
    durationMs = measuredMs,
  ): Promise<number> => {
    const result = await generateLoad({
      port,
      connections: 8,
      durationMs,
      request: (n) =>
        requestBytes('POST', path, { authorization }, pointBody((n * 7919) % personCount)),
    });
    requireAll200(name, result);
    latencies.set(name, result);
    return result.requestsPerSecond;
  };
  await load('ours', server.port, `/api/v1/query/${benchDatabase}`, warmUpMs);
  await load('floor', floorPort, '/point', warmUpMs);
  const medians = await alternate(
    {
      ours: () => load('ours', server.port, `/api/v1/query/${benchDatabase}`),
      floor: () => load('floor', floorPort, '/point'),
    },
    rounds,
  );
  const ratio = (medians.get('ours') ?? 0) / (medians.get('floor') ?? 1);
  return {
    name: 'point query over HTTP, 8 clients',
    medians,
    unit: 'requests/s',
    ratio,
    target: '>= 0.6',
    isReached: ratio >= 0.6,
    remarks: `p99 ours ${latencies.get('ours')?.p99Ms.toFixed(2)} ms, floor ${latencies.get('floor')?.p99Ms.toFixed(2)} ms`,
  };
}

async function durableCommits(
  server: ServerProcess,
  floorPort: number,
  rounds: number,
): Promise<Comparison> {
  const body = JSON.stringify({ language: 'sql', command: "INSERT INTO Log SET text = 'entry'" });
  const load = async (
    name: string,
    port: number,
    path: string,
    durationMs = measuredMs,
  ): Promise<number> => {
    const result = await generateLoad({
      port,
      connections: 16,
      durationMs,
      request: () => requestBytes('POST', path, { authorization }, body),
    });
    requireAll200(name, result);
    return result.requestsPerSecond;
  };
  await load('ours', server.port, `/api/v1/command/${benchDatabase}`, warmUpMs);
  await load('floor', floorPort, '/commit', warmUpMs);
  const medians = await alternate(
    {
      ours: () => load('ours', server.port, `/api/v1/command/${benchDatabase}`),
      floor: () => load('floor', floorPort, '/commit'),
    },
    rounds,
  );
  const ratio = (medians.get('ours') ?? 0) / (medians.get('floor') ?? 1);
  return {
    name: 'durable commits over HTTP, 16 clients',
    medians,
    unit: 'commits/s',
    ratio,
    target: '>= 0.6',
    isReached: ratio >= 0.6,
    remarks: '',
  };
}

function requireAll200(name: string, result: LoadResult): void {
  for (const [status, count] of result.statusCounts) {
    if (status !== 200) throw new Error(`${name}: ${count} answers with status ${status}`);
  }
}

const streamBody = JSON.stringify({
  language: 'sql',
  limit: -1,
  command: 'SELECT name, age FROM Visit',
});

/**
 * Milliseconds from the request to the first line on a raw socket. Not taken from `fetch`, whose web streams, and the collection of
 * the megabytes that this process has read before, add 30 ms that are the client's.
 */
function firstRowMs(port: number): Promise<number> {
  globalThis.gc?.();
  const path = `/api/v1/query/${benchDatabase}`;
  const headers = { authorization, accept: 'application/x-ndjson' };
  const request = requestBytes('POST', path, headers, streamBody);
  return new Promise((resolve, reject) => {
    let text = '';
    let start = 0;
    const socket = connect(port, '127.0.0.1', () => {
      start = performance.now();
      socket.write(request);
    });
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1', 0, 4096);
      const body = text.indexOf('\r\n\r\n');
      if (body < 0 || !text.includes('"name":', body)) return;
      resolve(performance.now() - start);
      socket.removeAllListeners('data');
      socket.destroy();
    });
    socket.once('error', reject);
  });
}

/** Two columns of a million rows (every person ten times) as NDJSON, read to the end. */
async function rowStream(
  server: ServerProcess,
  floorPort: number,
  rounds: number,
): Promise<Comparison[]> {
  const cold = await firstRowMs(server.port);
  const ours = async (): Promise<number> => {
    const start = performance.now();
    const answer = await fetch(`http://127.0.0.1:${server.port}/api/v1/query/${benchDatabase}`, {
      method: 'POST',
      headers: {
        authorization,
        'content-type': 'application/json',
        accept: 'application/x-ndjson',
      },
      body: streamBody,
    });
    return drain(answer, start);
  };
  const floor = async (): Promise<number> => {
    const start = performance.now();
    return drain(await fetch(`http://127.0.0.1:${floorPort}/rows?count=${rowCount}`), start);
  };
  const medians = await alternate({ ours, floor }, rounds);
  const ratio = (medians.get('ours') ?? 0) / (medians.get('floor') ?? 1);
  const firstRows: number[] = [];
  for (let n = 0; n < firstRowTries; n += 1) {
    firstRows.push(await firstRowMs(server.port));
    // The server notices by its next write that the client left.
    await new Promise((done) => setTimeout(done, 50));
  }
  const first = median(firstRows);
  return [
    {
      name: 'a million two-column rows as NDJSON',
      medians,
      unit: 'rows/s',
      ratio,
      target: '>= 0.5',
      isReached: ratio >= 0.5,
      remarks: '',
    },
    {
      name: 'first row of that stream',
      medians: new Map([['ours', first]]),
      unit: 'ms, median',
      ratio: first,
      target: '< 20 ms',
      isReached: first < 20,
      remarks: `the first of all, on a server that never streamed, ${cold.toFixed(1)} ms`,
    },
  ];
}

/** @returns rows per second; lines are counted, not parsed */
async function drain(answer: Response, start: number): Promise<number> {
  let lines = 0;
  for await (const chunk of answer.body ?? []) {
    const bytes = chunk as Uint8Array;
    for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) lines += 1;
  }
  if (lines < rowCount) throw new Error(`${lines} lines instead of ${rowCount}`);
  return (lines * 1000) / (performance.now() - start);
}
