import { double, isList, type Value, type ValueList } from '#core/value/value.ts';
import { compareValues } from '#core/value/value-order.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import {
  describe,
  integerArgument,
  isNumeric,
  listArgument,
  numberArgument,
  refusal,
  toDouble,
} from '../arguments.ts';
import { type ArgumentCount, inTurns, nullSafe } from '../define.ts';
import { sortedNumbersInTurns } from '../list/sorting.ts';
import { quantileFromZero, RunningVariance } from '../number/statistics.ts';

/** `agg.*` (sql-functions.md 9): over a list argument, not over rows. Nulls are skipped by the statistics. */
export const listStatistics: readonly ScalarFunction[] = [
  onList('first(list)', [1, 1], (list) => list.find((element) => element !== null) ?? null),
  onList('last(list)', [1, 1], (list) => list.findLast((element) => element !== null) ?? null),
  onList('nth(list, n)', [2, 2], (list, args) => {
    const at = integerArgument(args[1], 'agg.nth()');
    return at < 0 ? null : (list[at] ?? null);
  }),
  onList('slice(list, from [, to])', [2, 3], (list, args) => {
    const from = Math.max(0, integerArgument(args[1], 'agg.slice()'));
    const to =
      args[2] === undefined || args[2] === null
        ? list.length
        : integerArgument(args[2], 'agg.slice()');
    return list.slice(from, Math.max(from, to));
  }),
  onSorted('median(list)', [1, 1], (numbers) =>
    numbers.length === 0 ? null : double(quantileFromZero(numbers, 0.5)),
  ),
  onSorted('percentiles(list, ps)', [1, 2], (numbers, args) => {
    const wanted = args[1] === undefined || args[1] === null ? defaultPercentiles : args[1];
    const quantiles = (isList(wanted) ? wanted : [wanted]).map((p) => {
      const q = numberArgument(p, 'agg.percentiles()');
      if (!(q >= 0 && q <= 1))
        throw refusal(`agg.percentiles() requires numbers from 0 to 1, not ${q}`);
      return q;
    });
    return quantiles.map((q) =>
      numbers.length === 0 ? null : double(quantileFromZero(numbers, q)),
    );
  }),
  onSorted('product(list)', [1, 1], (numbers) =>
    numbers.length === 0 ? null : double(numbers.reduce((product, n) => product * n, 1)),
  ),
  onSorted('statistics(list)', [1, 1], statisticsOf),
  extremeItems('minItems(values, items)', -1),
  extremeItems('maxItems(values, items)', 1),
];

const defaultPercentiles: ValueList = [0.5, 0.75, 0.9, 0.95, 0.99];

type OnList = (list: ValueList, args: readonly Value[]) => Value;

function onList(syntax: string, count: ArgumentCount, evaluate: OnList): ScalarFunction {
  const what = `agg.${syntax.slice(0, syntax.indexOf('('))}()`;
  return nullSafe(`agg.${syntax}`, count, (args) => evaluate(listArgument(args[0], what), args));
}

/** Over the numbers of the list in ascending order, which are sorted in turns. */
function onSorted(
  syntax: string,
  count: ArgumentCount,
  evaluate: (numbers: Float64Array, args: readonly Value[]) => Value,
): ScalarFunction {
  const what = `agg.${syntax.slice(0, syntax.indexOf('('))}()`;
  return inTurns(
    onList(syntax, count, (list, args) => evaluate(numbersIn(list, what).sort(), args)),
    function* (args, _context, meter) {
      const numbers = numbersIn(listArgument(args[0], what), what);
      return evaluate(yield* sortedNumbersInTurns(numbers, meter), args);
    },
  );
}

function numbersIn(list: ValueList, what: string): Float64Array {
  const numbers: number[] = [];
  for (const element of list) {
    if (element === null) continue;
    if (!isNumeric(element)) throw refusal(`${what} requires numbers, not ${describe(element)}`);
    numbers.push(toDouble(element));
  }
  const doubles = new Float64Array(numbers.length);
  for (let i = 0; i < doubles.length; i += 1) doubles[i] = numbers[i] as number;
  return doubles;
}

/** Standard deviation of the population. */
function statisticsOf(numbers: Float64Array): Value {
  const running = new RunningVariance();
  let sum = 0;
  for (const number of numbers) {
    running.add(number);
    sum += number;
  }
  const isEmpty = numbers.length === 0;
  return new Map<string, Value>([
    ['count', numbers.length],
    ['min', isEmpty ? null : double(numbers[0] as number)],
    ['max', isEmpty ? null : double(numbers[numbers.length - 1] as number)],
    ['sum', double(sum)],
    ['mean', isEmpty ? null : double(sum / numbers.length)],
    ['stdev', isEmpty ? null : double(Math.sqrt(running.populationVariance()))],
  ]);
}

/** `{value, items}`: the extreme of the values and the items that stand at its places; of one list its own elements. */
function extremeItems(syntax: string, sign: 1 | -1): ScalarFunction {
  return onList(syntax, [1, 2], (values, args) => {
    const what = `agg.${syntax.slice(0, syntax.indexOf('('))}()`;
    const items = args[1] === undefined || args[1] === null ? values : listArgument(args[1], what);
    if (items.length !== values.length)
      throw refusal(
        `${what} requires as many items as values, not ${items.length} and ${values.length}`,
      );
    let extreme: Value = null;
    let chosen: Value[] = [];
    values.forEach((value, i) => {
      if (value === null) return;
      const order = extreme === null ? 1 : compareValues(value, extreme) * sign;
      if (order > 0) chosen = [];
      if (order < 0) return;
      extreme = value;
      chosen.push(items[i] as Value);
    });
    return new Map<string, Value>([
      ['value', extreme],
      ['items', chosen],
    ]);
  });
}
