import { DatabaseError } from '#core/errors.ts';
import { Link } from '#core/value/record.ts';
import { textOf } from '#core/text/text-form.ts';
import { EmbeddedDocument, isRecord } from '#core/value/value.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import type { Dialect } from '../algebra/expression.ts';
import { requireDialect } from './comparison/compile-comparison.ts';
import type { EvaluationContext } from './context.ts';
import { kindName, notA, typeError } from './cypher-failures.ts';
import type { Evaluator } from './evaluator.ts';
import { attributeNamed, attributeOf, propertyOf } from './navigation.ts';

/** Selectors `value[key]` and `value[low..high]` (sql.md 5.5). */

/** One key gives one value, several keys a list of their values. */
export function compileElement(
  of: Evaluator,
  keys: readonly Evaluator[],
  dialect: Dialect,
): Evaluator {
  const select = requireDialect(dialect, 'selectors') === 'sql' ? elementOf : cypherElementOf;
  const [only] = keys;
  if (only && keys.length === 1) return (context) => select(of(context), only(context), context);
  return (context) => {
    const value = of(context);
    if (value === null) return null;
    const elements: Value[] = new Array(keys.length);
    for (let i = 0; i < keys.length; i++)
      elements[i] = select(value, (keys[i] as Evaluator)(context), context);
    return elements;
  };
}

/** A position, when the value is a number without a fraction. */
function positionOf(key: Value): number | undefined {
  if (typeof key === 'number') return Number.isInteger(key) ? key : undefined;
  // Beyond every list, however exact.
  if (typeof key === 'bigint') return Number(key);
  if (typeof key !== 'object' || key === null || !('valueKind' in key)) return undefined;
  return key.valueKind === 'float' ? key.number : undefined;
}

function elementOf(value: Value, key: Value, context: EvaluationContext): Value {
  if (value === null || key === null) return null;
  const position = positionOf(key);
  if (position !== undefined) return nthElement(value, position);
  if (typeof key === 'string') return entryOf(value, key, context);
  return null;
}

/** The n-th element of a list, of the values of a map, of bytes (signed); null outside. */
function nthElement(value: Value, position: number): Value {
  if (Array.isArray(value)) return (value[position] as Value | undefined) ?? null;
  if (value instanceof Uint8Array) {
    const byte = value[position];
    return byte === undefined ? null : byte > 127 ? byte - 256 : byte;
  }
  const map = value instanceof EmbeddedDocument ? value.properties : value;
  if (!(map instanceof Map) || position < 0 || position >= map.size) return null;
  let index = 0;
  for (const item of (map as ValueMap).values()) if (index++ === position) return item;
  return null;
}

/** An entry or property by name; on a list that of each element, and of a single element the value itself. */
function entryOf(value: Value, name: string, context: EvaluationContext): Value {
  const attribute = attributeNamed(name);
  const entry = attribute
    ? attributeOf(value, attribute, context)
    : propertyOf(value, name, context);
  return Array.isArray(value) && value.length === 1 && Array.isArray(entry)
    ? (entry[0] as Value)
    : entry;
}

function cypherElementOf(value: Value, key: Value, context: EvaluationContext): Value {
  if (value === null || key === null) return null;
  if (Array.isArray(value)) {
    const position = typeof key === 'object' ? undefined : positionOf(key);
    if (position === undefined)
      throw typeError(
        'ListElementAccessByNonInteger',
        `a list index is an integer, not ${kindName(key)}`,
      );
    return nthElement(value, position < 0 ? value.length + position : position);
  }
  if (!hasEntries(value))
    throw typeError(
      'InvalidArgumentType',
      `only lists, maps, nodes and relationships have elements, not ${kindName(value)}`,
    );
  if (typeof key !== 'string')
    throw typeError('MapElementAccessByNonString', `a key is a string, not ${kindName(key)}`);
  return propertyOf(value, key, context);
}

/**
 * `value[low..high]`: low is raised to 0, high lowered to the size; null when low is above high, for a null bound and for
 * what is no list or bytes. A missing bound is the first or last.
 * @throws DatabaseError `IllegalArgument` for a bound that is no integer
 */
export function compileSlice(
  of: Evaluator,
  low: Evaluator | undefined,
  high: Evaluator | undefined,
  isInclusive: boolean,
  dialect?: Dialect,
): Evaluator {
  if (dialect === 'cypher') return compileCypherSlice(of, low, high);
  return (context) => {
    const value = of(context);
    const from = low ? low(context) : 0;
    const to = high ? high(context) : undefined;
    if (value === null || from === null || to === null) return null;
    if (!Array.isArray(value) && !(value instanceof Uint8Array)) return null;
    const first = boundOf(from, context);
    const size = value.length;
    const last = to === undefined ? size : boundOf(to, context) + (isInclusive ? 1 : 0);
    // An inclusive range is empty only when its ends are in the wrong order.
    if (first > last - (isInclusive && to !== undefined ? 1 : 0)) return null;
    const start = Math.max(first, 0);
    const end = Math.min(last, size);
    return start > end ? null : (value.slice(start, end) as Value);
  };
}

function hasEntries(value: Value): boolean {
  return (
    isRecord(value) ||
    value instanceof Map ||
    value instanceof Link ||
    value instanceof EmbeddedDocument
  );
}

/** `list[from..to]`: negative bounds count from the end, both are clipped; null of null; a missing bound is the first or last. */
function compileCypherSlice(
  of: Evaluator,
  low: Evaluator | undefined,
  high: Evaluator | undefined,
): Evaluator {
  return (context) => {
    const value = of(context);
    const from = low ? low(context) : 0;
    const to = high ? high(context) : undefined;
    if (value === null || from === null || to === null) return null;
    if (!Array.isArray(value)) throw notA('a list', value);
    // As JavaScript has it: negative bounds from the end, clipped.
    return value.slice(
      cypherBound(from),
      to === undefined ? value.length : cypherBound(to),
    ) as Value;
  };
}

function cypherBound(value: Value): number {
  const bound = typeof value === 'object' ? undefined : positionOf(value);
  if (bound !== undefined) return bound;
  throw typeError(
    'ListElementAccessByNonInteger',
    `a list index is an integer, not ${kindName(value)}`,
  );
}

function boundOf(value: Value, context: EvaluationContext): number {
  const bound = positionOf(value);
  if (bound === undefined)
    throw new DatabaseError(
      'IllegalArgument',
      `range bound '${textOf(value, context.formats)}' is not an integer`,
    );
  return bound;
}
