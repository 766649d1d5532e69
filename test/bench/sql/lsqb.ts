import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { alternate, type Comparison, elapsedMs, requireEqual } from '../measure.ts';
import { makeLsqbData } from './lsqb-data.ts';
import { countOf, openLsqbEngine } from './lsqb-engine.ts';
import { lsqbQueries } from './lsqb-queries.ts';
import { duckdbCounts, PostgresPeer, writeTables } from './lsqb-relational.ts';

/** What DuckDB 1.4 counts on the graph of `makeLsqbData()`; held against DuckDB itself where it is installed. */
export const expectedCounts: Readonly<Record<string, number>> = {
  Q1: 782_374,
  Q2: 2_396,
  Q3: 6,
  Q4: 50_101,
  Q5: 150_608,
  Q6: 19_681_115,
  Q7: 316_429,
  Q8: 150_528,
  Q9: 19_331_049,
};
const queryMsMax = 3_000;

/** The nine counts in the engine and in PostgreSQL; each must be the right one. */
export async function benchLsqb(rounds: number): Promise<Comparison[]> {
  const directory = mkdtempSync(join(tmpdir(), 'polyad-bench-lsqb-'));
  try {
    const data = makeLsqbData();
    writeTables(data, directory);
    const counted = duckdbCounts(directory);
    if (counted === undefined)
      process.stdout.write('duckdb is not installed: recorded counts are used\n');
    for (const { name } of lsqbQueries)
      if (counted) requireEqual(`${name} in DuckDB`, counted.get(name), expectedCounts[name]);
    const postgres = await PostgresPeer.open(directory);
    if (postgres === undefined) process.stdout.write('postgres is not installed: no peer\n');
    const engine = await openLsqbEngine(data);
    const totals = new Map<string, number>();
    const comparisons: Comparison[] = [];
    for (const { name, match, joins } of lsqbQueries) {
      const medians = await alternate(
        {
          ours: () =>
            elapsedMs(async () =>
              requireEqual(name, await countOf(engine, match), expectedCounts[name]),
            ),
          ...(postgres && {
            postgres: () => {
              const { count, ms } = postgres.count(joins);
              requireEqual(`${name} in PostgreSQL`, count, expectedCounts[name]);
              return ms;
            },
          }),
        },
        Math.min(rounds, 3),
      );
      for (const [who, ms] of medians) totals.set(who, (totals.get(who) ?? 0) + ms);
      const ours = medians.get('ours') ?? Number.NaN;
      comparisons.push({
        name: `LSQB ${name}`,
        medians,
        unit: 'ms',
        ratio: ours / queryMsMax,
        target: `<= 1 x ${queryMsMax} ms`,
        isReached: ours <= queryMsMax,
        remarks: '',
      });
    }
    const ours = totals.get('ours') ?? Number.NaN;
    const ratio = ours / (totals.get('postgres') ?? Number.NaN);
    comparisons.push({
      name: 'LSQB, all nine',
      medians: totals,
      unit: 'ms',
      ratio,
      target: '<= 1.5 x PostgreSQL',
      isReached: postgres === undefined || ratio <= 1.5,
      remarks: postgres === undefined ? 'no peer' : '',
    });
    await engine.close();
    await postgres?.close();
    return comparisons;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
