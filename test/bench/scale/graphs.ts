import { request } from 'node:http';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ServerProcess, startServer } from '../../support/server-process.ts';
import { residentMegabytes } from '../child.ts';
import { RawConnection } from '../http-load.ts';
import { type Comparison, median, percentile } from '../measure.ts';
import { knowsCount, mulberry32, personCount, spineParts, type SpineData } from '../spine/data.ts';
import { benchDatabase, uploadSpine } from '../spine/upload.ts';
import { EnginePeer } from '../spine/engine-peer.ts';
import { SqlitePeer } from '../spine/sqlite-peer.ts';
import { alternate, elapsedMs, requireEqual } from '../measure.ts';
import { atMost, authorization, password, statementBytes } from './sides.ts';

/** Rows from both ends of edges, paths on a server just started, memory kept after a load. */
export async function benchGraphs(data: SpineData, rounds: number): Promise<Comparison[]> {
  const rootPath = mkdtempSync(join(tmpdir(), 'polyad-bench-'));
  const start = (): Promise<ServerProcess> => startServer({ rootPath, rootPassword: password });
  let server = await start();
  try {
    await uploadSpine(server.port, password, data);
    await new Promise((done) => setTimeout(done, 60_000));
    const kept = residentMegabytes(server.child.pid ?? 0);
    const ends = await bothEnds(server, rounds);
    await server.stop();
    server = await start();
    const paths = await shortestPaths(server);
    return [
      atMost('resident 60 s after the load', kept, { limit: 250, unit: 'MB' }),
      ...ends,
      paths,
    ];
  } finally {
    await server.kill();
    rmSync(rootPath, { recursive: true, force: true });
  }
}

const endsText = 'MATCH {type: Person, as: a}-KNOWS->{type: Person, as: b} RETURN a.id, b.id';

async function bothEnds(server: ServerProcess, rounds: number): Promise<Comparison[]> {
  const processId = server.child.pid ?? 0;
  await rowsPerSecond(server.port, endsText, knowsCount);
  const before = residentMegabytes(processId);
  const rates: number[] = [];
  let growth = 0;
  for (let round = 0; round < rounds; round += 1) {
    rates.push(await rowsPerSecond(server.port, endsText, knowsCount));
    growth = Math.max(growth, residentMegabytes(processId) - before);
  }
  const rate = median(rates);
  return [
    {
      name: 'a.id, b.id of a million edges as NDJSON',
      medians: new Map([['ours', rate]]),
      unit: 'rows/s',
      ratio: rate / 1.8e6,
      target: '>= 1,800,000 rows/s',
      isReached: rate >= 1.8e6,
      remarks: '',
    },
    atMost('memory of that stream', growth, { limit: 30, unit: 'MB more' }),
  ];
}

/** Lines are counted, not parsed. @throws Error when there are fewer than `expected` */
function rowsPerSecond(port: number, command: string, expected: number): Promise<number> {
  const body = JSON.stringify({ language: 'sql', limit: -1, command });
  const start = performance.now();
  return new Promise((resolve, reject) => {
    const asked = request(
      {
        port,
        host: '127.0.0.1',
        method: 'POST',
        path: `/api/v1/query/${benchDatabase}`,
        headers: {
          authorization,
          accept: 'application/x-ndjson',
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
        },
      },
      (answer) => {
        let lines = 0;
        answer.on('data', (chunk: Buffer) => {
          for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines += 1;
        });
        answer.on('end', () => {
          if (lines < expected) reject(new Error(`${lines} lines instead of ${expected}`));
          else resolve((lines * 1000) / (performance.now() - start));
        });
      },
    );
    asked.on('error', reject);
    asked.end(body);
  });
}

const firstCall = 50;
const lastCall = 250;

/** By a client of raw sockets: `fetch` alone takes half a millisecond a call. */
async function shortestPaths(server: ServerProcess): Promise<Comparison> {
  const random = mulberry32(11);
  const command =
    'SELECT shortestPath((SELECT FROM Person WHERE id = :a), (SELECT FROM Person WHERE id = :b)).size() AS n';
  const connection = new RawConnection(server.port);
  const times: number[] = [];
  let found = 0;
  for (let call = 0; call < lastCall; call += 1) {
    const params = {
      a: Math.floor(random() * personCount),
      b: Math.floor(random() * personCount),
    };
    const { ms, body } = await connection.ask(statementBytes(command, params));
    if (call >= firstCall) times.push(ms);
    if (JSON.parse(body).result[0].n > 0) found += 1;
  }
  connection.close();
  if (found < lastCall * 0.9) throw new Error(`${found} paths of ${lastCall}`);
  return atMost('shortest path, calls 50 to 250 of a server', percentile(times, 0.5), {
    limit: 1,
    unit: 'ms',
    remarks: `p99 ${percentile(times, 0.99).toFixed(2)} ms; paths between ${found} of ${lastCall} pairs`,
  });
}

/** Order without an index and degrees, in process, beside SQLite in the same process. */
export async function benchOrders(rounds: number): Promise<Comparison[]> {
  const directory = mkdtempSync(join(tmpdir(), 'polyad-bench-'));
  const sqlite = new SqlitePeer(directory, 'orders');
  sqlite.load(spineParts());
  const engine = await EnginePeer.open();
  await engine.load(spineParts());
  try {
    const questions = [
      {
        name: 'ORDER BY a number LIMIT 100, 100,000 records',
        ours: 'SELECT id FROM Person ORDER BY score DESC, id LIMIT 100',
        theirs: 'SELECT id FROM person ORDER BY score DESC, id LIMIT 100',
      },
      {
        name: 'ORDER BY a text LIMIT 100, 100,000 records',
        ours: 'SELECT id FROM Person ORDER BY name LIMIT 100',
        theirs: 'SELECT id FROM person ORDER BY name LIMIT 100',
      },
      {
        name: 'histogram of degrees, a million edges',
        ours: 'SELECT d, count(*) AS n FROM (SELECT out("KNOWS").size() AS d FROM Person) GROUP BY d ORDER BY d',
        theirs:
          'SELECT d, count(*) AS n FROM (SELECT (SELECT count(*) FROM knows WHERE src = person.id) AS d FROM person) GROUP BY d ORDER BY d',
      },
    ];
    const rows: Comparison[] = [];
    for (const { name, ours, theirs } of questions) {
      requireEqual(name, await engine.values(ours), sqlite.values(theirs));
      const medians = await alternate(
        {
          ours: () => elapsedMs(() => engine.values(ours)),
          sqlite: () => elapsedMs(() => sqlite.values(theirs)),
        },
        rounds,
        3,
      );
      const ratio = (medians.get('ours') ?? Number.NaN) / (medians.get('sqlite') ?? Number.NaN);
      rows.push({
        name,
        medians,
        unit: 'ms',
        ratio,
        target: '<= 1',
        isReached: ratio <= 1,
        remarks: '',
      });
    }
    return rows;
  } finally {
    sqlite.close();
    await engine.close();
    rmSync(directory, { recursive: true, force: true });
  }
}
