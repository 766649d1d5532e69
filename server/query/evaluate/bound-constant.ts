import { convertValue } from '#core/value/conversion.ts';
import { compileLike } from '#core/text/like-pattern.ts';
import type { LikePattern } from '#core/text/like-pattern.ts';
import { isRidShaped, parseRid } from '#core/value/rid.ts';
import { DateTime, LocalDate } from '#core/temporal/temporal.ts';
import type { TemporalFormats } from '#core/temporal/format.ts';
import { textOf } from '#core/text/text-form.ts';
import { Float } from '#core/value/value.ts';
import type { Value } from '#core/value/value.ts';
import { cellKind } from '#storage/format/cell.ts';
import type { CellKind } from '#storage/format/cell.ts';
import { type longMembers, manyCandidates } from './comparison/membership.ts';
import { ridOf } from './comparison/sql-comparison.ts';

/**
 * A constant in the form in which generated code compares it with the cells of one kind. The `mode` decides which code is
 * generated, the `value` is bound to it.
 */
export type BoundConstant =
  /** The raw f64 of the cell against a number. */
  | { readonly mode: 'number'; readonly value: number }
  /** The byte of a boolean cell against 0 or 1. */
  | { readonly mode: 'boolean'; readonly value: number }
  /** The bytes of a text cell against UTF-8. */
  | { readonly mode: 'bytes'; readonly value: Uint8Array }
  /** The record id in a link cell against a packed one. */
  | { readonly mode: 'rid'; readonly value: number }
  /** Null: the comparison is unknown for every row. */
  | { readonly mode: 'null'; readonly value: undefined }
  /** No short way: the cell becomes a value and the general comparison decides. */
  | { readonly mode: 'general'; readonly value: Value };

/**
 * @param isReversed the constant is the left operand, so that conversion goes the other way and only equal types have a short way
 */
export function boundConstant(
  constant: Value,
  kind: CellKind,
  isReversed: boolean,
  formats: TemporalFormats,
): BoundConstant {
  if (constant === null) return { mode: 'null', value: undefined };
  switch (kind) {
    case cellKind.number:
    case cellKind.double:
      return numberConstant(constant);
    case cellKind.boolean:
      return typeof constant === 'boolean'
        ? { mode: 'boolean', value: constant ? 1 : 0 }
        : general(constant);
    case cellKind.string:
      return textConstant(constant, isReversed, formats);
    case cellKind.date:
      return dateConstant(constant, isReversed, formats);
    case cellKind.dateTimeMillis:
    case cellKind.dateTimeSecond:
      return momentConstant(constant, isReversed, formats);
    case cellKind.link:
      return linkConstant(constant);
    default:
      return general(constant);
  }
}

function general(value: Value): BoundConstant {
  return { mode: 'general', value };
}

function numberConstant(constant: Exclude<Value, null>): BoundConstant {
  if (typeof constant === 'number') return { mode: 'number', value: constant };
  return constant instanceof Float ? { mode: 'number', value: constant.number } : general(constant);
}

/** The right operand becomes text; record ids, rows and lists compare by other rules. */
function textConstant(
  constant: Exclude<Value, null>,
  isReversed: boolean,
  formats: TemporalFormats,
): BoundConstant {
  if (typeof constant === 'string') return { mode: 'bytes', value: Buffer.from(constant) };
  const isScalar =
    typeof constant === 'number' || typeof constant === 'boolean' || typeof constant === 'bigint';
  return isScalar && !isReversed
    ? { mode: 'bytes', value: Buffer.from(textOf(constant, formats)) }
    : general(constant);
}

function dateConstant(
  constant: Exclude<Value, null>,
  isReversed: boolean,
  formats: TemporalFormats,
): BoundConstant {
  if (isReversed && !(constant instanceof LocalDate)) return general(constant);
  const date = isConvertible(constant) ? convertValue(constant, 'DATE', formats) : undefined;
  return date instanceof LocalDate ? { mode: 'number', value: date.epochDay } : general(constant);
}

function momentConstant(
  constant: Exclude<Value, null>,
  isReversed: boolean,
  formats: TemporalFormats,
): BoundConstant {
  if (isReversed && !(constant instanceof DateTime)) return general(constant);
  const moment = isConvertible(constant)
    ? convertValue(constant, 'DATETIME_NANOS', formats)
    : undefined;
  return moment instanceof DateTime && moment.nanosOfMs === 0
    ? { mode: 'number', value: moment.epochMs }
    : general(constant);
}

/** Rows and lists are unwrapped or wrapped before they are converted; the general comparison knows how. */
function isConvertible(constant: Value): boolean {
  return !(constant instanceof Map) && !Array.isArray(constant);
}

function linkConstant(constant: Exclude<Value, null>): BoundConstant {
  const rid =
    typeof constant === 'string' && isRidShaped(constant) ? parseRid(constant) : ridOf(constant);
  return rid === undefined || constant instanceof Map
    ? general(constant)
    : { mode: 'rid', value: rid };
}

/** The list of `IN`, when all its elements have the type of the cells. */
export type BoundList =
  | { readonly mode: 'numbers'; readonly value: Keys<number>; readonly hasNull: boolean }
  | {
      readonly mode: 'texts';
      readonly value: Keys<string>;
      /** The texts themselves, when they are not very many. */
      readonly all?: ReadonlySet<string>;
      readonly hasNull: boolean;
    }
  | { readonly mode: 'closure'; readonly value: undefined; readonly hasNull: boolean };

type Keys<Key> = Pick<ReadonlySet<Key>, 'has'>;

const closureList: BoundList = { mode: 'closure', value: undefined, hasNull: false };

export function boundList(
  list: Value,
  kind: CellKind,
  membersOf: (list: readonly Value[]) => ReturnType<typeof longMembers>,
): BoundList {
  if (!Array.isArray(list) || list.length === 0) return closureList;
  const isNumeric = kind === cellKind.number || kind === cellKind.double;
  if (!isNumeric && kind !== cellKind.string) return closureList;
  if (list.length >= manyCandidates) {
    const members = membersOf(list);
    if (members === undefined || (members.kind === 'number') !== isNumeric) return closureList;
    return { mode: isNumeric ? 'numbers' : 'texts', value: members, hasNull: members.hasNull };
  }
  const numbers = new Set<number>();
  const texts = new Set<string>();
  let hasNull = false;
  for (const item of list as readonly Value[]) {
    const number = item instanceof Float ? item.number : item;
    if (item === null) hasNull = true;
    else if (isNumeric && typeof number === 'number' && !Number.isNaN(number)) numbers.add(number);
    else if (!isNumeric && typeof item === 'string') texts.add(item);
    else return closureList;
  }
  return isNumeric
    ? { mode: 'numbers', value: numbers, hasNull }
    : { mode: 'texts', value: texts, all: texts, hasNull };
}

/** The pattern of LIKE on text cells. */
export type BoundPattern =
  | { readonly mode: 'exact' | 'prefix'; readonly value: Uint8Array }
  | { readonly mode: 'pattern'; readonly value: LikePattern }
  | { readonly mode: 'closure'; readonly value: undefined };

export function boundPattern(
  pattern: Value,
  kind: CellKind,
  options: { readonly ignoreCase: boolean },
): BoundPattern {
  if (typeof pattern !== 'string' || kind !== cellKind.string)
    return { mode: 'closure', value: undefined };
  const compiled = compileLike(pattern, options);
  // `%` alone refuses the empty text, which the bytes of its empty prefix cannot tell.
  if (compiled.form === 'other' || compiled.prefix === '')
    return { mode: 'pattern', value: compiled };
  return { mode: compiled.form, value: Buffer.from(compiled.prefix) };
}
