import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Link } from '#core/value/record.ts';
import { kindOf, type Value } from '#core/value/value.ts';
import { runToEnd } from '../child.ts';
import { alternate, type Comparison, elapsedMs, requireEqual } from '../measure.ts';
import { type SpineData, spineParts } from './data.ts';
import { EnginePeer } from './engine-peer.ts';
import { SqlitePeer } from './sqlite-peer.ts';

const peakMegabytesMax = 500;
/** Rounds before what takes microseconds is measured: its code is compiled for good after some 60,000 executions. */
const shortWarmUps = 3;

/** Load, point reads, hops, grouping and commits in process, against SQLite in the same process and run. */
export async function benchEngine(data: SpineData, rounds: number): Promise<Comparison[]> {
  const directory = mkdtempSync(join(tmpdir(), 'polyad-bench-'));
  const comparisons: Comparison[] = [];
  try {
    comparisons.push(...(await load(rounds)));
    const sqlite = new SqlitePeer(directory, 'read');
    sqlite.load(spineParts());
    const engine = await EnginePeer.open();
    await engine.load(spineParts());
    comparisons.push(await pointReads(engine, sqlite, data.persons.length, rounds));
    for (const hops of [1, 2, 3]) comparisons.push(await neighbours(engine, sqlite, hops, rounds));
    comparisons.push(await grouping(engine, sqlite, rounds));
    comparisons.push(...(await commits(engine, sqlite, rounds)));
    sqlite.close();
    await engine.close();
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
  return comparisons;
}

/** Each load in a process of its own, which tells its time and its peak of memory. */
async function load(rounds: number): Promise<Comparison[]> {
  let peak = 0;
  const child = join(import.meta.dirname, 'load-child.ts');
  const loadIn = async (who: 'ours' | 'sqlite'): Promise<number> => {
    const { ms, peakMegabytes } = JSON.parse(await runToEnd(child, who)) as {
      readonly ms: number;
      readonly peakMegabytes: number;
    };
    if (who === 'ours') peak = Math.max(peak, peakMegabytes);
    return ms;
  };
  const medians = await alternate(
    { ours: () => loadIn('ours'), sqlite: () => loadIn('sqlite') },
    Math.min(rounds, 3),
  );
  const memory = new Map([['ours', peak]]);
  return [
    compare('load 100,000 vertices, 1,000,000 edges', medians, 1.2, 'ms'),
    {
      name: 'peak of the process while it loads',
      medians: memory,
      unit: 'MB',
      ratio: peak / peakMegabytesMax,
      target: `<= ${peakMegabytesMax} MB`,
      isReached: peak <= peakMegabytesMax,
      remarks: 'resident, program and mapped pages included',
    },
  ];
}

/** Lower is better: ours / sqlite at most `limit`. */
function compare(
  name: string,
  medians: Map<string, number>,
  limit: number,
  unit: string,
  remarks = '',
): Comparison {
  const ratio = (medians.get('ours') ?? Number.NaN) / (medians.get('sqlite') ?? Number.NaN);
  return { name, medians, unit, ratio, target: `<= ${limit}`, isReached: ratio <= limit, remarks };
}

async function pointReads(
  engine: EnginePeer,
  sqlite: SqlitePeer,
  personCount: number,
  rounds: number,
): Promise<Comparison> {
  for (const id of [0, 17, personCount - 1]) {
    const row = sqlite.pointRead(id);
    requireEqual(`point read of ${id}`, await engine.pointRead(id), [row?.name, row?.age]);
  }
  const count = 20_000;
  const medians = await alternate(
    {
      ours: async () => {
        const ms = await elapsedMs(async () => {
          for (let n = 0; n < count; n += 1) {
            const answer = engine.pointRead((n * 7919) % personCount);
            if (answer instanceof Promise) await answer;
          }
        });
        return (ms * 1000) / count;
      },
      sqlite: async () => {
        const ms = await elapsedMs(() => {
          for (let n = 0; n < count; n += 1) sqlite.pointRead((n * 7919) % personCount);
        });
        return (ms * 1000) / count;
      },
    },
    rounds,
    shortWarmUps,
  );
  return compare('point read by unique index', medians, 1.5, 'us');
}

async function neighbours(
  engine: EnginePeer,
  sqlite: SqlitePeer,
  hops: number,
  rounds: number,
): Promise<Comparison> {
  const ids = await engine.personIds();
  for (const person of [1, 4711, 99_000]) {
    requireEqual(
      `${hops}-hop neighbours of ${person}`,
      (await engine.neighbours(hops, person))
        .map((link) => Number(ids.get((link as Link).rid)))
        .sort((a, b) => a - b),
      [...sqlite.neighbours(hops, person)].sort((a, b) => a - b),
    );
  }
  // One hop takes some microseconds: as with point reads, fewer than this measure the compiler of the language.
  const count = [20_000, 3000, 60][hops - 1] ?? 60;
  const medians = await alternate(
    {
      ours: async () => {
        const ms = await elapsedMs(async () => {
          for (let n = 0; n < count; n += 1) {
            const answer = engine.neighbours(hops, (n * 7919) % 100_000);
            if (answer instanceof Promise) await answer;
          }
        });
        return (ms * 1000) / count;
      },
      sqlite: async () => {
        const ms = await elapsedMs(() => {
          for (let n = 0; n < count; n += 1) sqlite.neighbours(hops, (n * 7919) % 100_000);
        });
        return (ms * 1000) / count;
      },
    },
    rounds,
    hops === 1 ? shortWarmUps : 1,
  );
  return compare(`${hops}-hop distinct neighbours`, medians, 0.5, 'us');
}

async function grouping(
  engine: EnginePeer,
  sqlite: SqlitePeer,
  rounds: number,
): Promise<Comparison> {
  const ours = (await engine.groupByCity()).map(plainNumber);
  const theirs = sqlite.groupByCity().flatMap(({ city, n, s }) => [city, n, s]);
  const rounded = (values: readonly unknown[]) =>
    values.map((value) => (typeof value === 'number' ? Number(value.toPrecision(10)) : value));
  requireEqual('group by city', rounded(ours), rounded(theirs));
  const medians = await alternate(
    {
      ours: () => elapsedMs(() => engine.groupByCity()),
      sqlite: () => elapsedMs(() => sqlite.groupByCity()),
    },
    rounds * 3,
  );
  return compare('filter and group-by over all persons', medians, 0.5, 'ms');
}

function plainNumber(value: Value): unknown {
  return kindOf(value) === 'double' &&
    typeof value === 'object' &&
    value !== null &&
    'number' in value
    ? value.number
    : value;
}

async function commits(
  engine: EnginePeer,
  sqlite: SqlitePeer,
  rounds: number,
): Promise<Comparison[]> {
  const comparisons: Comparison[] = [];
  for (const [clients, limit] of [
    [1, 0.5],
    [16, 2],
  ] as const) {
    const count = clients === 1 ? 5000 : 12_000;
    let flushes = 0;
    // A server runs for long: code that is called once a commit is fast after some 12,000 of them.
    if (clients === 1) await engine.durableCommits(15_000, clients);
    const medians = await alternate(
      {
        ours: async () => {
          const before = engine.flushCount();
          const rate = await engine.durableCommits(count, clients);
          flushes = (engine.flushCount() - before) / count;
          return rate;
        },
        sqlite: () => sqlite.durableCommits(5000),
      },
      rounds,
    );
    const ratio = (medians.get('ours') ?? 0) / (medians.get('sqlite') ?? 1);
    comparisons.push({
      name: `durable single-record commits, ${clients} client${clients === 1 ? '' : 's'}`,
      medians,
      unit: 'commits/s',
      ratio,
      target: `>= ${limit}`,
      isReached: ratio >= limit,
      remarks: `${flushes.toFixed(2)} disk flushes per commit`,
    });
  }
  return comparisons;
}
