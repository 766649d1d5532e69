import type { Value } from '#core/value/value.ts';
import { root, type TestDatabase } from '../../database/support/open-test-database.ts';
import type { Comparison } from '../measure.ts';

/** One statement of a bench, in the language that it names. */
export interface BenchStatement {
  readonly language: 'sql' | 'cypher';
  readonly text: string;
  readonly parameters?: ReadonlyMap<string, Value>;
}

const noParameters: ReadonlyMap<string, Value> = new Map();
/** Doors make a signal when somebody asks for it, which short statements do not. */
const neverAborted = new AbortController().signal;

/** All values of the rows, row by row. */
export async function valuesOf(
  { database }: TestDatabase,
  { language, text, parameters = noParameters }: BenchStatement,
): Promise<readonly Value[]> {
  const started = database.runNow(
    { language, text, parameters },
    { principal: root, mustBeIdempotent: false, signal: neverAborted },
  );
  const result = started instanceof Promise ? await started : started;
  try {
    if (result.complete) return result.complete.values;
    const values: Value[] = [];
    for (let batch = await result.nextBatch(); batch; batch = await result.nextBatch())
      values.push(...batch.values);
    return values;
  } finally {
    result.close();
  }
}

/** Figures against a bound of their own. */
export function withinLimit(
  name: string,
  medians: ReadonlyMap<string, number>,
  limit: { readonly of: string; readonly most: number; readonly unit: string },
): Comparison {
  const figure = medians.get(limit.of) ?? Number.NaN;
  const target = `${limit.of} <= ${limit.most} ${limit.unit}`;
  const { unit } = limit;
  return {
    name,
    medians,
    unit,
    ratio: figure / limit.most,
    target,
    isReached: figure <= limit.most,
    remarks: '',
  };
}

/** Cypher beside the same in SQL. */
export function besideSql(
  name: string,
  medians: ReadonlyMap<string, number>,
  { most, unit }: { readonly most: number; readonly unit: string },
): Comparison {
  const ratio = (medians.get('cypher') ?? Number.NaN) / (medians.get('sql') ?? Number.NaN);
  return {
    name,
    medians,
    unit,
    ratio,
    target: `<= ${most} x SQL`,
    isReached: ratio <= most,
    remarks: '',
  };
}
