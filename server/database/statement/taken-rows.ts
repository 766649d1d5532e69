import type { RunOptions } from '../session.ts';

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
