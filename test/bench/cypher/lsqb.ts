import { alternate, type Comparison, processorMs, requireEqual } from '../measure.ts';
import { expectedCounts } from '../sql/lsqb.ts';
import { makeLsqbData } from '../sql/lsqb-data.ts';
import { openLsqbEngine } from '../sql/lsqb-engine.ts';
import { lsqbQueries } from '../sql/lsqb-queries.ts';
import { lsqbPatterns } from './lsqb-patterns.ts';
import { besideSql, valuesOf } from './statement.ts';

const perQueryMost = 1.5;
const totalMost = 1.15;

/** The nine counts of LSQB in Cypher beside MATCH of SQL in the same engine, by processor time; each must be the right one. */
export async function benchCypherLsqb(rounds: number): Promise<Comparison[]> {
  const engine = await openLsqbEngine(makeLsqbData());
  try {
    const totals = new Map<string, number>();
    const comparisons: Comparison[] = [];
    for (const { name, match } of lsqbQueries) {
      const timed = (language: 'sql' | 'cypher', text: string) => () =>
        processorMs(async () => {
          const [count] = await valuesOf(engine, { language, text });
          requireEqual(`${name} in ${language}`, Number(count), expectedCounts[name]);
        });
      const cypher = timed('cypher', lsqbPatterns[name] ?? '');
      const medians = await alternate({ cypher, sql: timed('sql', match) }, rounds, 2);
      for (const [who, ms] of medians) totals.set(who, (totals.get(who) ?? 0) + ms);
      comparisons.push(besideSql(`LSQB ${name}`, medians, { most: perQueryMost, unit: 'ms' }));
    }
    comparisons.push(besideSql('LSQB, all nine', totals, { most: totalMost, unit: 'ms' }));
    return comparisons;
  } finally {
    await engine.close();
  }
}
