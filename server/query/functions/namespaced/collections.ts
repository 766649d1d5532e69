import { valueKey, valuesEqual } from '#core/value/equality.ts';
import { compareValues } from '#core/value/value-order.ts';
import { double, isList, type Value, type ValueList } from '#core/value/value.ts';
import type { EvaluationContext } from '../../evaluate/context.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import { NumericSum } from '../aggregates/numeric-sum.ts';
import { integerArgument, listArgument, refusal } from '../arguments.ts';
import { boundedList, requireElements } from '../number/bounds.ts';
import { sorted, sortedListInTurns } from '../list/collections.ts';
import { type ArgumentCount, inTurns, nullSafe } from '../define.ts';
import { distinct, distinctInTurns } from '../list/distinct.ts';

/** `coll.*` (sql-functions.md 9), over a list argument. */
export const collFunctions: readonly ScalarFunction[] = [
  onList('sum(list)', [1, 1], (list) => double(sumOf(list, 'coll.sum()').toDouble())),
  onList('avg(list)', [1, 1], (list) => {
    const sum = sumOf(list, 'coll.avg()');
    return sum.count === 0 ? null : double(sum.toDouble() / sum.count);
  }),
  onList('min(list)', [1, 1], (list) => extremeOf(list, -1)),
  onList('max(list)', [1, 1], (list) => extremeOf(list, 1)),
  inTurns(
    onList('sort(list)', [1, 1], (list) => sorted(list, true)),
    ([list], _context, meter) => sortedListInTurns(listArgument(list, 'coll.sort()'), true, meter),
  ),
  ...['distinct', 'toSet'].map((name) =>
    inTurns(
      onList(`${name}(list)`, [1, 1], (list) => distinct(list)),
      ([list], _context, meter) => distinctInTurns(listArgument(list, `coll.${name}()`), meter),
    ),
  ),
  onList('flatten(list [, depth])', [1, 2], (list, args, context) => {
    const depth = integerArgument(args[1] ?? 1, 'coll.flatten()');
    const flat: Value[] = [];
    flatten(list, depth < 0 ? Infinity : depth, flat, context);
    return flat;
  }),
  inTurns(
    onList('union(a, b)', [2, 2], (list, args, context) =>
      distinct(concatenated(list, args[1] as Value, 'coll.union()', context)),
    ),
    ([list, other = null], context, meter) => {
      const what = 'coll.union()';
      const all = concatenated(listArgument(list, what), other, what, context);
      return distinctInTurns(all, meter);
    },
  ),
  onList('unionAll(a, b)', [2, 2], (list, args, context) =>
    concatenated(list, args[1] as Value, 'coll.unionAll()', context),
  ),
  onList('insert(list, i, x)', [3, 3], (list, args, context) => {
    const at = positionIn(list, args[1], list.length, 'coll.insert()');
    return boundedList(list.toSpliced(at, 0, args[2] as Value), context);
  }),
  onList('remove(list, i [, n])', [2, 3], (list, args) => {
    const at = positionIn(list, args[1], list.length, 'coll.remove()');
    return list.toSpliced(at, Math.max(0, integerArgument(args[2] ?? 1, 'coll.remove()')));
  }),
  onList('indexOf(list, x)', [2, 2], (list, args) =>
    list.findIndex((element) => valuesEqual(element, args[1] as Value)),
  ),
  onList('pairsMin(list)', [1, 1], (list) => {
    const pairs: Value[] = [];
    for (let i = 1; i < list.length; i++) pairs.push([list[i - 1] as Value, list[i] as Value]);
    return pairs;
  }),
];

type OnList = (list: ValueList, args: readonly Value[], context: EvaluationContext) => Value;

function onList(syntax: string, count: ArgumentCount, evaluate: OnList): ScalarFunction {
  const what = `coll.${syntax.slice(0, syntax.indexOf('('))}()`;
  return nullSafe(`coll.${syntax}`, count, (args, context) =>
    evaluate(listArgument(args[0], what), args, context),
  );
}

function sumOf(list: ValueList, what: string): NumericSum {
  const sum = new NumericSum();
  for (const element of list) sum.add(element, what);
  return sum;
}

/** Nulls are skipped; null for none. */
export function extremeOf(list: ValueList, sign: 1 | -1): Value {
  let extreme: Value = null;
  for (const element of list)
    if (element !== null && (extreme === null || compareValues(element, extreme) * sign > 0))
      extreme = element;
  return extreme;
}

function flatten(list: ValueList, depth: number, flat: Value[], context: EvaluationContext): void {
  for (const element of list) {
    if (isList(element) && depth > 0) flatten(element, depth - 1, flat, context);
    else flat.push(element);
    requireElements(flat.length, 'coll.flatten()', context);
  }
}

function concatenated(
  list: ValueList,
  other: Value,
  what: string,
  context: EvaluationContext,
): ValueList {
  const more = other === null ? [] : listArgument(other, what);
  requireElements(list.length + more.length, what, context);
  return boundedList([...list, ...more], context);
}

function positionIn(list: ValueList, value: Value | undefined, max: number, what: string): number {
  const at = integerArgument(value, what);
  if (at < 0 || at > max)
    throw refusal(`${what}: position ${at} is outside the list of ${list.length} elements`);
  return at;
}

/** Hash keys of the elements. */
export function keysOf(list: ValueList): ReadonlySet<unknown> {
  return new Set(list.map(valueKey));
}
