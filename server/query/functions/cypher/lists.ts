import { isList, type Value } from '#core/value/value.ts';
import type { EvaluationContext } from '../../evaluate/context.ts';
import { notA } from '../../evaluate/cypher-failures.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import { canPause, pausingValue } from '../../evaluate/turns/long-calls.ts';
import { inTurns, scalar } from '../define.ts';
import { characterCount } from '../text/characters.ts';
import { listOfRange, listOfRangeInTurns, rangeFunction, rangeOf } from './number-range.ts';
import { characterCountInTurns, reversedInTurns, reversedText } from './text-turns.ts';

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
  if (typeof value === 'string') return characterCount(value);
  throw notA('a list or string', value);
}

function reverse(value: Value): Value {
  if (value === null) return null;
  if (isList(value)) return value.toReversed();
  if (typeof value === 'string') return reversedText(value);
  throw notA('a list or string', value);
}

/** Shorter ones are made at once. */
const longRange = 4_096;

function range(args: readonly Value[], context: EvaluationContext): Value {
  const numbers = rangeOf(args, context);
  if (numbers === null) return null;
  if (numbers.length < longRange || !canPause(context)) return listOfRange(numbers);
  return pausingValue(context, range, (meter) => listOfRangeInTurns(numbers, meter));
}

export const listFunctions: readonly ScalarFunction[] = [
  ofList('head', (list) => list[0] ?? null),
  ofList('last', (list) => list.at(-1) ?? null),
  ofList('tail', (list) => list.slice(1)),
  inTurns(
    scalar('#cypher.size(x)', [1, 1], ([value]) => size(value ?? null)),
    function* ([value = null], _context, meter) {
      return typeof value === 'string' ? yield* characterCountInTurns(value, meter) : size(value);
    },
  ),
  inTurns(
    scalar('#cypher.reverse(x)', [1, 1], ([value]) => reverse(value ?? null)),
    function* ([value = null], _context, meter) {
      return typeof value === 'string' ? yield* reversedInTurns(value, meter) : reverse(value);
    },
  ),
  scalar(`${rangeFunction}(from, to [, step])`, [2, 3], range),
];
