import { valuesEqual } from '#core/value/equality.ts';
import { textOf } from '#core/text/text-form.ts';
import { compareValues } from '#core/value/value-order.ts';
import {
  EmbeddedDocument,
  isList,
  isMap,
  isRecord,
  kindOf,
  type Value,
} from '#core/value/value.ts';
import type { EvaluationContext, LongWork } from '../../evaluate/context.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import { booleanArgument, describe, refusal, textArgument } from '../arguments.ts';
import { boundedText, requireBytes } from '../number/bounds.ts';
import { characterCount } from '../text/characters.ts';
import type { WorkMeter } from '#core/pausing-work.ts';
import { Pieces } from '#core/text/text-in-turns.ts';
import { ANY_NUMBER, inTurns, method, methodOnNull, nullSafe } from '../define.ts';
import { sortedInTurns, sortedNumbersInTurns } from './sorting.ts';
import { followed, namesOf, propertyOf } from '../graph/navigation.ts';
import { recordBytes } from '../graph/record-bytes.ts';

/** Lists, maps and records (sql-functions.md 1 and 11.3). */
export const collectionFunctions: readonly ScalarFunction[] = [
  nullSafe('first(x)', [1, 1], (args) => endOf(args[0] as Value, 'first')),
  nullSafe('last(x)', [1, 1], (args) => endOf(args[0] as Value, 'last')),
];

export const collectionMethods: readonly ScalarFunction[] = [
  methodOnNull('size()', [0, 0], (args) => sizeOf(args[0] as Value)),
  method('keys()', [0, 0], (args, context) => keysOf(args[0] as Value, context)),
  method('values()', [0, 0], (args, context) => valuesOf(args[0] as Value, context)),
  method('field(name)', [1, 1], (args, context) => {
    const name = textArgument(args[1], 'field()');
    return propertyOf(followed(args[0] as Value, context), name);
  }),
  inTurns(
    method('join([sep])', [0, 1], (args, context) => {
      const separator = args[1] ?? ',';
      return joined(args[0] as Value, textOf(separator, context.formats), context);
    }),
    (args, context, meter) =>
      joinedInTurns(args[0] as Value, textOf(args[1] ?? ',', context.formats), context, meter),
  ),
  inTurns(
    method('sort([asc])', [0, 1], (args) => {
      const list = args[0] as Value;
      const isAscending = args[1] === undefined || booleanArgument(args[1], 'sort()');
      return isList(list) ? sorted(list, isAscending) : list;
    }),
    function* ([list = null, order], _context, meter) {
      const isAscending = order === undefined || booleanArgument(order, 'sort()');
      return isList(list) ? yield* sortedListInTurns(list, isAscending, meter) : list;
    },
  ),
  method('remove(x...)', [1, ANY_NUMBER], (args) => without(args, 'first')),
  method('removeAll(x...)', [1, ANY_NUMBER], (args) => without(args, 'all')),
];

function endOf(value: Value, end: 'first' | 'last'): Value {
  if (!isList(value)) return value;
  return value[end === 'first' ? 0 : value.length - 1] ?? null;
}

/** Entries of a collection, characters of a text, stored bytes of a record; 0 for anything else. */
export function sizeOf(value: Value): number {
  if (typeof value === 'string') return characterCount(value);
  if (isList(value)) return value.length;
  if (value === null || typeof value !== 'object') return 0;
  if (isMap(value)) return value.size;
  if (value instanceof Uint8Array) return value.length;
  if (isRecord(value)) return recordBytes(value);
  return value instanceof EmbeddedDocument ? value.properties.size : 0;
}

function keysOf(value: Value, context: EvaluationContext): Value {
  if (!isList(value)) return namesOf(followed(value, context)) ?? null;
  const names: string[] = [];
  for (const element of value)
    for (const name of namesOf(followed(element, context)) ?? []) names.push(name);
  return names;
}

function valuesOf(value: Value, context: EvaluationContext): Value {
  const values: Value[] = [];
  for (const element of isList(value) ? value : [value]) {
    const target = followed(element, context);
    const names = namesOf(target);
    if (names === undefined && !isList(value)) return null;
    for (const name of names ?? []) values.push(propertyOf(target, name));
  }
  return values;
}

/** Texts of the elements with the separator between them; a null element is the text `null`. */
export function joined(value: Value, separator: string, context: EvaluationContext): string {
  if (!isList(value)) return boundedText(textOf(value, context.formats), context);
  const parts: string[] = [];
  let length = 0;
  for (const element of value) {
    const part = element === null ? 'null' : textOf(element, context.formats);
    length += part.length + separator.length;
    if (length > context.limits.valueBytesMax) boundedText(parts.join(separator) + part, context);
    parts.push(part);
  }
  return boundedText(parts.join(separator), context);
}

/** As `joined`, in turns. */
export function* joinedInTurns(
  value: Value,
  separator: string,
  context: EvaluationContext,
  meter: WorkMeter,
): LongWork {
  if (!isList(value)) return boundedText(textOf(value, context.formats), context);
  const pieces = new Pieces(separator);
  for (let i = 0; i < value.length; i += 1) {
    const element = value[i] as Value;
    pieces.add(element === null ? 'null' : textOf(element, context.formats));
    if (!pieces.isFull) continue;
    requireBytes(pieces.length + i * separator.length, context);
    if (pieces.isSpent(meter)) yield;
  }
  return boundedText(pieces.toText(), context);
}

/** As `sorted`, in turns. */
export function* sortedListInTurns(
  list: readonly Value[],
  isAscending: boolean,
  meter: WorkMeter,
): LongWork {
  const numbers = plainNumbers(list);
  if (numbers !== undefined) {
    const ordered = listOf(yield* sortedNumbersInTurns(numbers, meter));
    return isAscending ? ordered : ordered.reverse();
  }
  requireOneKind(list);
  return yield* sortedInTurns(
    list,
    isAscending ? compareValues : (left, right) => compareValues(right, left),
    meter,
  );
}

/** A sorted copy; nulls come first. @throws DatabaseError `IllegalArgument` for elements of different kinds */
export function sorted(list: readonly Value[], isAscending: boolean): readonly Value[] {
  const numbers = plainNumbers(list);
  if (numbers !== undefined) {
    const ordered = listOf(numbers.sort());
    return isAscending ? ordered : ordered.reverse();
  }
  requireOneKind(list);
  const copy = [...list];
  return isAscending
    ? copy.sort(compareValues)
    : copy.sort((left, right) => compareValues(right, left));
}

function requireOneKind(list: readonly Value[]): void {
  let kind: string | undefined;
  for (const element of list) {
    if (element === null) continue;
    const own = orderKind(element);
    if (kind !== undefined && own !== kind)
      throw refusal(`sort() cannot compare ${describe(element)} with a ${kind}`);
    kind = own;
  }
}

/** Many plain numbers, which an array of doubles orders as `compareValues` does, five times as fast; undefined for other lists. */
function plainNumbers(list: readonly Value[]): Float64Array | undefined {
  if (list.length < manyNumbers) return undefined;
  const numbers = new Float64Array(list.length);
  for (let i = 0; i < list.length; i++) {
    const element = list[i];
    if (typeof element !== 'number' || Object.is(element, -0)) return undefined;
    numbers[i] = element;
  }
  return numbers;
}

/** Ten times as fast as `Array.from`. */
function listOf(numbers: Float64Array): number[] {
  const list: number[] = new Array(numbers.length);
  for (let i = 0; i < numbers.length; i += 1) list[i] = numbers[i] as number;
  return list;
}

const manyNumbers = 256;

/** Kinds that compare with each other have one name. */
function orderKind(value: Value): string {
  const kind = kindOf(value);
  switch (kind) {
    case 'integer':
    case 'double':
    case 'decimal':
      return 'number';
    case 'record':
      return 'link';
    case 'datetime':
      return 'date';
    default:
      return kind;
  }
}

/** A copy without the first or every element equal to one of `args[1]...`; from a map the entries with such keys. */
function without(args: readonly Value[], which: 'first' | 'all'): Value {
  const from = args[0] as Value;
  if (isMap(from)) return mapWithout(from, args);
  if (!isList(from)) return from;
  const rest = [...from];
  for (let i = 1; i < args.length; i++) {
    const sought = args[i] as Value;
    if (removeFrom(rest, sought, which) || !isList(sought)) continue;
    for (const element of sought) removeFrom(rest, element, which);
  }
  return rest;
}

function mapWithout(from: ReadonlyMap<string, Value>, args: readonly Value[]): Value {
  const rest = new Map(from);
  for (let i = 1; i < args.length; i++) {
    const key = args[i] as Value;
    for (const one of isList(key) ? key : [key]) if (typeof one === 'string') rest.delete(one);
  }
  return rest;
}

/** True when an element was there. */
function removeFrom(list: Value[], sought: Value, which: 'first' | 'all'): boolean {
  let kept = 0;
  let isFound = false;
  for (let i = 0; i < list.length; i++) {
    const element = list[i] as Value;
    if ((which === 'all' || !isFound) && isSame(element, sought)) isFound = true;
    else list[kept++] = element;
  }
  list.length = kept;
  return isFound;
}

function isSame(a: Value, b: Value): boolean {
  return a === b || (a !== null && b !== null && valuesEqual(a, b));
}
