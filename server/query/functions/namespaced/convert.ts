import { parseJsonInTurns } from '#core/value/json-slices.ts';
import { parseJson } from '#core/value/json-value.ts';
import { parseDouble, parseInteger } from '#core/value/number-text.ts';
import { textOf } from '#core/text/text-form.ts';
import { jsonInTurns, textInTurns } from '#core/text/text-in-turns.ts';
import { double, isList, isMap, type Value } from '#core/value/value.ts';
import type { EvaluationContext } from '../../evaluate/context.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import { isNumeric, toDouble } from '../arguments.ts';
import { boundedText } from '../number/bounds.ts';
import { inTurns, nullSafe } from '../define.ts';
import { distinct, distinctInTurns } from '../list/distinct.ts';
import { jsonFormInTurns, jsonFormOf } from '../text/json-form.ts';
import { followed, propertiesOf } from '../graph/navigation.ts';

/** `convert.*` (sql-functions.md 9): what cannot be converted is null, never an error. */
export const convertFunctions: readonly ScalarFunction[] = [
  nullSafe('convert.toInteger(x)', [1, 1], (args) => toInteger(args[0] as Value)),
  nullSafe('convert.toFloat(x)', [1, 1], (args) => {
    const value = args[0] as Value;
    if (isNumeric(value)) return double(toDouble(value));
    if (typeof value === 'boolean') return double(value ? 1 : 0);
    const number = typeof value === 'string' ? parseDouble(value.trim()) : undefined;
    return number === undefined ? null : double(number);
  }),
  nullSafe('convert.toBoolean(x)', [1, 1], (args) => {
    const value = args[0] as Value;
    if (typeof value === 'boolean') return value;
    if (isNumeric(value)) return toDouble(value) !== 0;
    const word = typeof value === 'string' ? value.trim().toLowerCase() : '';
    return word === 'true' ? true : word === 'false' ? false : null;
  }),
  inTurns(
    nullSafe('convert.toString(x)', [1, 1], (args, context) =>
      boundedText(textOf(args[0] as Value, context.formats), context),
    ),
    function* ([value = null], context, meter) {
      return boundedText(yield* textInTurns(value, context.formats, meter), context);
    },
  ),
  inTurns(
    nullSafe('convert.toJson(x)', [1, 1], (args, context) => jsonText(args[0] as Value, context)),
    function* ([value = null], context, meter) {
      const form = yield* jsonFormInTurns(value, context, meter);
      return boundedText(yield* jsonInTurns(form, context.formats, meter, 0), context);
    },
  ),
  fromJson('convert.fromJsonMap(text)', isMap),
  fromJson('convert.fromJsonList(text)', isList),
  nullSafe('convert.toMap(x)', [1, 1], (args, context) => {
    const value = followed(args[0] as Value, context);
    return propertiesOf(value) ?? null;
  }),
  nullSafe('convert.toList(x)', [1, 1], (args) => listOf(args[0] as Value)),
  inTurns(
    nullSafe('convert.toSet(x)', [1, 1], (args) => distinct(listOf(args[0] as Value))),
    ([value = null], _context, meter) => distinctInTurns(listOf(value), meter),
  ),
];

/** The value of a JSON text when it is of the kind that is wanted. */
function fromJson(syntax: string, isWanted: (value: Value) => boolean): ScalarFunction {
  const wanted = (value: Value): Value => (isWanted(value) ? value : null);
  return inTurns(
    nullSafe(syntax, [1, 1], (args) => wanted(jsonIn(args[0] as Value))),
    function* ([value = null], _context, meter) {
      if (typeof value !== 'string') return wanted(value);
      try {
        return wanted(yield* parseJsonInTurns(value, meter));
      } catch {
        // As in `jsonIn`.
        return null;
      }
    },
  );
}

function toInteger(value: Value): Value {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (typeof value === 'string') {
    const text = value.trim();
    return parseInteger(text) ?? wholeOf(parseDouble(text));
  }
  return isNumeric(value) ? wholeOf(toDouble(value)) : null;
}

function wholeOf(number: number | undefined): Value {
  if (number === undefined) return null;
  const whole = Math.trunc(number) + 0;
  return Number.isSafeInteger(whole) ? whole : null;
}

/** JSON text; records as objects with their system attributes. */
function jsonText(value: Value, context: EvaluationContext): string {
  // The text form of a list is JSON, whatever its element is.
  const text = textOf([jsonFormOf(value, context)], context.formats);
  return boundedText(text.slice(1, -1), context);
}

function jsonIn(value: Value): Value {
  if (typeof value !== 'string') return value;
  try {
    return parseJson(value);
  } catch {
    // Every error of the parser says that the text is no JSON, which is an answer here.
    return null;
  }
}

function listOf(value: Value): readonly Value[] {
  return isList(value) ? value : [value];
}
