import { integer, isList, type Value } from '#core/value/value.ts';
import type { EvaluationContext } from '../../evaluate/context.ts';
import { argumentError, kindName, notA } from '../../evaluate/cypher-failures.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import { scalar } from '../define.ts';

/** Functions of openCypher on lists and texts (cypher.md 9); null gives null. */

function ofList(
  name: string,
  evaluate: (list: readonly Value[], context: EvaluationContext) => Value,
): ScalarFunction {
  return scalar(`#cypher.${name}(list)`, [1, 1], ([value], context) => {
    if (value === null || value === undefined) return null;
    if (!isList(value)) throw notA('a list', value);
    return evaluate(value, context);
  });
}

function size(value: Value): Value {
  if (value === null) return null;
  if (isList(value)) return value.length;
  if (typeof value === 'string') return [...value].length;
  throw notA('a list or string', value);
}

function reverse(value: Value): Value {
  if (value === null) return null;
  if (isList(value)) return value.toReversed();
  if (typeof value === 'string') return [...value].reverse().join('');
  throw notA('a list or string', value);
}

function range(args: readonly Value[], context: EvaluationContext): Value {
  const [from = null, to = null, step = 1] = args;
  const bounds = [from, to, step];
  if (bounds.some((bound) => bound === null)) return null;
  for (const bound of bounds)
    if (typeof bound !== 'bigint' && !Number.isInteger(bound))
      throw argumentError('InvalidArgumentType', `range() takes integers, not ${kindName(bound)}`);
  const [start, end, by] = bounds as [number, number, number];
  if (![start, end, by].every(Number.isSafeInteger))
    return wideRange([BigInt(start), BigInt(end), BigInt(by)], context);
  if (by === 0) throw argumentError('NumberOutOfRange', 'the step of range() is not 0');
  const count = Math.max(0, Math.floor((end - start) / by) + 1);
  requireRangeSize(count, context);
  const list: number[] = [];
  for (let at = 0; at < count; at += 1) list.push(start + at * by);
  return list;
}

/** A range with bounds beyond the integers that a double holds. */
function wideRange(
  [start, end, by]: readonly [bigint, bigint, bigint],
  context: EvaluationContext,
): Value {
  if (by === 0n) throw argumentError('NumberOutOfRange', 'the step of range() is not 0');
  const isEmpty = by > 0n ? end < start : end > start;
  const count = isEmpty ? 0n : (end - start) / by + 1n;
  requireRangeSize(count, context);
  const list: Value[] = [];
  for (let at = 0n; at < count; at += 1n) list.push(integer(start + at * by));
  return list;
}

/** @throws DatabaseError `NumberOutOfRange` */
function requireRangeSize(count: number | bigint, { limits }: EvaluationContext): void {
  if (count <= limits.rangeSizeMax) return;
  throw argumentError(
    'NumberOutOfRange',
    `range() of ${count} elements, more than the limit of ${limits.rangeSizeMax} (service.queryMaxRangeSize)`,
  );
}

export const listFunctions: readonly ScalarFunction[] = [
  ofList('head', (list) => list[0] ?? null),
  ofList('last', (list) => list.at(-1) ?? null),
  ofList('tail', (list) => list.slice(1)),
  scalar('#cypher.size(x)', [1, 1], ([value]) => size(value ?? null)),
  scalar('#cypher.reverse(x)', [1, 1], ([value]) => reverse(value ?? null)),
  scalar('#cypher.range(from, to [, step])', [2, 3], range),
];
