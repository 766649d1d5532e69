import { parseDouble } from '#core/value/number-text.ts';
import { double, int64Max, int64Min, integer, isList, type Value } from '#core/value/value.ts';
import { isNumber } from '../../evaluate/arithmetic/arithmetic.ts';
import { kindName, notA, typeError } from '../../evaluate/cypher-failures.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import { toDouble } from '../arguments.ts';
import { nullForNull } from './arguments.ts';

/** Conversions of openCypher (cypher.md 9.4): undefined marks a type that has none. */

type Conversion = (value: Exclude<Value, null>) => Value | undefined;

const wholeShape = /^[+-]?\d{1,40}$/;

function toInteger(value: Exclude<Value, null>): Value | undefined {
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (typeof value === 'string') return integerIn(value.trim());
  if (!isNumber(value)) return undefined;
  if (typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value)))
    return value;
  return truncated(toDouble(value));
}

function integerIn(text: string): Value {
  if (wholeShape.test(text)) {
    const exact = BigInt(text.startsWith('+') ? text.slice(1) : text);
    return exact > int64Max || exact < int64Min ? null : integer(exact);
  }
  const number = parseDouble(text);
  return number === undefined ? null : truncated(number);
}

/** Null beyond 64 bits. */
function truncated(number: number): Value {
  const whole = Math.trunc(number);
  if (!Number.isFinite(whole) || Math.abs(whole) > 2 ** 63) return null;
  const exact = BigInt(whole);
  return exact > int64Max || exact < int64Min ? null : integer(exact);
}

function toFloat(value: Exclude<Value, null>): Value | undefined {
  if (typeof value === 'string') return floatIn(value.trim());
  return isNumber(value) ? double(toDouble(value)) : undefined;
}

function floatIn(text: string): Value {
  const named = /^([+-]?)(NaN|Infinity)$/.exec(text);
  if (named !== null) return Number(text);
  const number = parseDouble(text);
  return number === undefined ? null : double(number);
}

function toBoolean(value: Exclude<Value, null>): Value | undefined {
  if (typeof value === 'boolean') return value;
  if (typeof value === 'string') {
    const word = value.trim().toLowerCase();
    return word === 'true' ? true : word === 'false' ? false : null;
  }
  if (typeof value === 'bigint') return true;
  return typeof value === 'number' && Number.isInteger(value) ? value !== 0 : undefined;
}

/** `toX`, `toXOrNull` and `toXList`. */
function family(name: string, convert: Conversion): readonly ScalarFunction[] {
  return [
    nullForNull(`${name}(value)`, [1, 1], ([value]) => {
      const converted = convert(value as Exclude<Value, null>);
      if (converted !== undefined) return converted;
      throw typeError('InvalidArgumentValue', `${name}() of ${kindName(value as Value)}`);
    }),
    nullForNull(
      `${name}OrNull(value)`,
      [1, 1],
      ([value]) => convert(value as Exclude<Value, null>) ?? null,
    ),
    nullForNull(`${name}List(list)`, [1, 1], ([list]) => {
      if (!isList(list as Value)) throw notA('a list', list as Value);
      return (list as readonly Value[]).map((item) =>
        item === null ? null : (convert(item) ?? null),
      );
    }),
  ];
}

export const cypherConversions: readonly ScalarFunction[] = [
  ...family('toInteger', toInteger),
  ...family('toFloat', toFloat),
  ...family('toBoolean', toBoolean),
];
