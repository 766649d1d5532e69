import { DatabaseError } from '#core/errors.ts';
import type { Value } from '#core/value/value.ts';
import type { Evaluator } from './evaluator.ts';
import { singleColumn } from './comparison/sql-comparison.ts';

/** Results of sub-queries used as values (sql.md 5.6, house decision 48). */

/** A row of one column is its value; records, wider rows and scalars stay as they are. */
export function unwrapRow(row: Value): Value {
  const column = singleColumn(row);
  return column === undefined ? row : column;
}

/**
 * The one value of a list of rows: null for none.
 * @throws DatabaseError `TooManyRows` for several rows
 */
export function singleValue(rows: Value): Value {
  if (!Array.isArray(rows)) return rows;
  if (rows.length > 1)
    throw new DatabaseError(
      'TooManyRows',
      `a sub-query used as a value returned ${rows.length} rows; at most one is allowed`,
    );
  return rows.length === 0 ? null : unwrapRow(rows[0] as Value);
}

/** The rows of a list, each unwrapped; null and other values pass. */
export function unwrapRows(rows: Value): Value {
  if (!Array.isArray(rows)) return rows;
  const list = rows as readonly Value[];
  for (let i = 0; i < list.length; i++)
    if (unwrapRow(list[i] as Value) !== list[i]) return list.map(unwrapRow);
  return list;
}

/** A variable that holds a list of one row with one column counts as that value in arithmetic and comparisons (sql.md 5.3). */
export function compileUnwrapped(operand: Evaluator): Evaluator {
  return (context) => {
    const value = operand(context);
    if (!Array.isArray(value) || value.length !== 1) return value;
    const column = singleColumn(value[0] as Value);
    return column === undefined ? value : column;
  };
}

/** UnwrapRows over the same list for every row of a statement keeps its result as long as the list, so that IN can hash it once. */
export function compileUnwrapRows(rows: Evaluator): Evaluator {
  const results = new WeakMap<readonly Value[], Value>();
  return (context) => {
    const list = rows(context);
    if (!Array.isArray(list)) return list;
    let result = results.get(list);
    if (result === undefined) {
      result = unwrapRows(list);
      results.set(list, result);
    }
    return result;
  };
}
