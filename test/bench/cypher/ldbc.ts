import type { Value } from '#core/value/value.ts';
import type { TestDatabase } from '../../database/support/open-test-database.ts';
import { type Comparison, processorMs, median, percentile, requireEqual } from '../measure.ts';
import { makeLsqbData } from '../sql/lsqb-data.ts';
import { openLsqbEngine } from '../sql/lsqb-engine.ts';
import { LdbcModel, type LdbcParameters, ldbcProperties, parametersAt } from './ldbc-model.ts';
import { type LdbcRead, ldbcReads } from './ldbc-reads.ts';
import { valuesOf } from './statement.ts';

const checkedCalls = 6;
const warmCalls = 60;
const timedCalls = 200;
const p50Most = { short: 1, complex: 25 } as const;
const p99Most = 5;

const indexes = ['Person', 'Message', 'Tag'].flatMap((type) => [
  `CREATE PROPERTY ${type}.id INTEGER`,
  `CREATE INDEX ON ${type} (id) UNIQUE`,
]);

/** Fourteen reads like LDBC's, each with other parameters at every call; what they answer is held against plain loops first. */
export async function benchCypherLdbc(): Promise<Comparison[]> {
  const data = makeLsqbData();
  const engine = await openLsqbEngine(data, ldbcProperties);
  try {
    for (const text of indexes) await engine.run(text);
    await engine.run('CREATE INDEX FOR (p:Person) ON (p.firstName)', {}, {}, 'cypher');
    const model = new LdbcModel(data);
    const comparisons: Comparison[] = [];
    for (const [at, read] of ldbcReads.entries()) {
      for (let call = 0; call < checkedCalls; call += 1) {
        const parameters = parametersAt(data, call);
        const given = await answerOf(engine, read, parameters);
        requireEqual(
          `${read.name}, call ${call}`,
          given.map(plain),
          model.answer(at, parameters).flat(),
        );
      }
      comparisons.push(...(await timed(engine, read, (call) => parametersAt(data, call))));
    }
    return comparisons;
  } finally {
    await engine.close();
  }
}

function plain(value: Value): unknown {
  return typeof value === 'object' && value !== null && 'number' in value ? value.number : value;
}

function answerOf(
  engine: TestDatabase,
  { text }: LdbcRead,
  parameters: LdbcParameters,
): Promise<readonly Value[]> {
  return valuesOf(engine, {
    language: 'cypher',
    text,
    parameters: new Map(Object.entries(parameters)),
  });
}

async function timed(
  engine: TestDatabase,
  read: LdbcRead,
  parametersOf: (call: number) => LdbcParameters,
): Promise<Comparison[]> {
  const times: number[] = [];
  for (let call = -warmCalls; call < timedCalls; call += 1) {
    const parameters = parametersOf(1_000 + call);
    const ms = await processorMs(() => answerOf(engine, read, parameters));
    if (call >= 0) times.push(ms);
  }
  const p50 = median(times);
  const p99 = percentile(times, 0.99);
  const most = p50Most[read.kind];
  const shared = { medians: new Map([['p50', p50]]), unit: 'ms', remarks: '' };
  return [
    {
      ...shared,
      name: read.name,
      ratio: p50 / most,
      target: `p50 <= ${most} ms`,
      isReached: p50 <= most,
    },
    {
      ...shared,
      name: `${read.name}, p99`,
      medians: new Map([['p99', p99]]),
      ratio: p99 / p50,
      target: `<= ${p99Most} x p50`,
      isReached: p99 <= p99Most * p50,
    },
  ];
}
