import type { Value } from '#core/value/value.ts';
import type { QueryProgram } from '#query/algebra/plan.ts';
import type { RunOptions } from '../session.ts';

/** The LIMIT of a statement whose parameters are known; undefined when there is none, or it bounds nothing. */
export function limitOf(
  written: QueryProgram['statementLimit'],
  parameters: ReadonlyMap<string, Value>,
): number | undefined {
  if (typeof written !== 'object') return written;
  const value = parameters.get(written.parameter);
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : undefined;
}

/**
 * How many rows of a statement its caller takes (http-api.md 6.3); Infinity for all.
 * @param statementLimit the LIMIT that the statement itself has
 */
export function takenRows(options: RunOptions, statementLimit: number | undefined): number {
  const { rowCountMax, limitedRowCountMax } = options;
  if (rowCountMax === undefined) return Number.POSITIVE_INFINITY;
  if (statementLimit === undefined || limitedRowCountMax === undefined) return rowCountMax;
  return Math.max(rowCountMax, Math.min(statementLimit, limitedRowCountMax));
}
