import type { Value } from '#core/value/value.ts';
import type { TestDatabase } from '../../database/support/open-test-database.ts';
import { type Comparison, processorMs, median, percentile, requireEqual } from '../measure.ts';
import { makeLsqbData } from '../sql/lsqb-data.ts';
import { openLsqbEngine } from '../sql/lsqb-engine.ts';
import { LdbcModel, type LdbcParameters, ldbcProperties, parametersAt } from './ldbc-model.ts';
import { type LdbcRead, ldbcReads } from './ldbc-reads.ts';
import { valuesOf } from './statement.ts';

const checkedCalls = 6;
/** Sets of parameters: each is called once in a round. */
const setCount = 300;
const timedRounds = 9;
/** Until the compiler is done with a read: below a few thousand calls its threads take more time than short reads themselves. */
const warmRounds = { short: 12, complex: 3 } as const;
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

/**
 * Which person or message a read is about decides how much there is to do, and that is what p50 and p99 are of: each set of parameters
 * counts with the median of its rounds. Of single calls a hundredth meets the collector or the compiler, whose threads count as the
 * process does, or another program; that tail is told in the remarks and depends on the rest of the process more than on the read.
 */
async function timed(
  engine: TestDatabase,
  read: LdbcRead,
  parametersOf: (call: number) => LdbcParameters,
): Promise<Comparison[]> {
  const sets = Array.from({ length: setCount }, (_, at) => parametersOf(1_000 + at));
  const times = sets.map((): number[] => []);
  for (let round = -warmRounds[read.kind]; round < timedRounds; round += 1)
    for (const [at, parameters] of sets.entries()) {
      const ms = await processorMs(() => answerOf(engine, read, parameters));
      if (round >= 0) times[at]?.push(ms);
    }
  const medians = times.map(median);
  const p50 = median(medians);
  const p99 = percentile(medians, 0.99);
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
      remarks: `single calls p99 ${percentile(times.flat(), 0.99).toPrecision(3)}`,
    },
  ];
}
