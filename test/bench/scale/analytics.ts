import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HttpClient, startServer } from '../../support/server-process.ts';
import { type Comparison, elapsedMs, median, percentile, requireEqual } from '../measure.ts';
import { benchDatabase, uploadBody } from '../spine/upload.ts';
import { expectedCounts } from '../sql/lsqb.ts';
import { type LsqbData, lsqbEdgeTypes, lsqbVertexTypes, makeLsqbData } from '../sql/lsqb-data.ts';
import { lsqbSchema } from '../sql/lsqb-engine.ts';
import { lsqbQueries } from '../sql/lsqb-queries.ts';
import { RawConnection, requestBytes } from '../http-load.ts';
import { atMost, password, statementBytes } from './sides.ts';

const clientCount = 8;

/** The nine counts of LSQB over HTTP: eight clients at once against one alone, and what others feel meanwhile. */
export async function benchAnalytics(rounds: number): Promise<Comparison[]> {
  const rootPath = mkdtempSync(join(tmpdir(), 'polyad-bench-'));
  const readThreads = process.env['BENCH_READ_THREADS'];
  const settings: Record<string, string> =
    readThreads === undefined ? {} : { 'service.server.readThreads': readThreads };
  const server = await startServer({ rootPath, rootPassword: password, settings });
  const client = new HttpClient(server.port, 'root', password);
  try {
    await client.server(`create database ${benchDatabase}`);
    for (const statement of lsqbSchema) await client.sql(benchDatabase, statement);
    await uploadBody(server.port, password, lsqbLines(makeLsqbData()));
    await allCounts(client, 0);
    const ratios: number[] = [];
    const [alone, together]: [number[], number[]] = [[], []];
    const felt: Felt = { health: [], point: [] };
    for (let round = 0; round < rounds; round += 1) {
      alone.push(await elapsedMs(() => allCounts(client, round)));
      let isOver = false;
      const probes = probe(server.port, felt, () => isOver);
      together.push(
        await elapsedMs(() =>
          Promise.all(Array.from({ length: clientCount }, (_, n) => allCounts(client, n))),
        ),
      );
      isOver = true;
      await probes;
      ratios.push((clientCount * (alone.at(-1) ?? 0)) / (together.at(-1) ?? 1));
    }
    const ratio = median(ratios);
    return [
      {
        name: 'LSQB, eight clients at once: throughput',
        medians: new Map([
          ['one client', median(alone)],
          ['eight clients', median(together)],
        ]),
        unit: 'ms for the nine of each client',
        ratio,
        target: '>= 1.8',
        isReached: ratio >= 1.8,
        remarks: '',
      },
      atMost('/health p99 meanwhile', percentile(felt.health, 0.99), { limit: 5, unit: 'ms' }),
      atMost('point read p99 meanwhile', percentile(felt.point, 0.99), { limit: 8, unit: 'ms' }),
    ];
  } finally {
    await server.kill();
    rmSync(rootPath, { recursive: true, force: true });
  }
}

/** Each count once, beginning with another one for each client. */
async function allCounts(client: HttpClient, first: number): Promise<void> {
  for (let n = 0; n < lsqbQueries.length; n += 1) {
    const query = lsqbQueries[(first + n) % lsqbQueries.length];
    if (query === undefined) continue;
    const [row] = await client.sql(benchDatabase, query.match);
    requireEqual(query.name, row?.['n'], expectedCounts[query.name]);
  }
}

interface Felt {
  readonly health: number[];
  readonly point: number[];
}

/** By raw sockets: `fetch` takes half a millisecond of the same processors, and several of their turns. */
async function probe(port: number, felt: Felt, isOver: () => boolean): Promise<void> {
  const connection = new RawConnection(port);
  const health = requestBytes('GET', '/api/v1/health', {}, '');
  const point = statementBytes('SELECT id FROM Person LIMIT 1', {});
  while (!isOver()) {
    felt.health.push((await connection.ask(health, 204)).ms);
    felt.point.push((await connection.ask(point)).ms);
    await new Promise((done) => setTimeout(done, 5));
  }
  connection.close();
}

function* lsqbLines(data: LsqbData): Generator<string> {
  for (const type of lsqbVertexTypes) {
    const lines: string[] = [];
    for (let rank = 0; rank < data.count[type]; rank += 1) {
      const id = data.first[type] + rank;
      lines.push(`{"@type":"v","@class":"${type}","@id":"${id}","id":${id}}\n`);
    }
    yield* joined(lines);
  }
  for (const [name] of lsqbEdgeTypes) {
    const { from, to } = data.edges[name];
    const lines = Array.from(
      from,
      (source, edge) =>
        `{"@type":"e","@class":"${name}","@from":"${source}","@to":"${to[edge]}"}\n`,
    );
    yield* joined(lines);
  }
}

function* joined(lines: readonly string[]): Generator<string> {
  for (let at = 0; at < lines.length; at += 1000) yield lines.slice(at, at + 1000).join('');
}
