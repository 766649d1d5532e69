import { findText } from '#core/text/find-text.ts';
import { valueKey } from '#core/value/equality.ts';
import type { TemporalFormats } from '#core/temporal/format.ts';
import { textOf } from '#core/text/text-form.ts';
import { EmbeddedDocument } from '#core/value/value.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import type { ContainsKind, Dialect } from '../../algebra/expression.ts';
import { isNumber } from '../arithmetic/arithmetic.ts';
import { requireDialect } from './compile-comparison.ts';
import { notA } from '../cypher-failures.ts';
import { cypherEquals } from './cypher-comparison.ts';
import type { PausingWork, WorkMeter } from '#core/pausing-work.ts';
import type { EvaluationContext } from '../context.ts';
import type { Condition, Evaluator } from '../evaluator.ts';
import { isLarge } from '../turns/large.ts';
import { canPause, pausingValue, rememberedValue } from '../turns/long-calls.ts';
import { sqlEquals, strictlyEqual } from './sql-comparison.ts';
import { ValueTable } from './value-table.ts';

/** IN and the CONTAINS family (sql.md 6.2, 6.4). */

/**
 * `element IN list`: unknown when either side is null, or when nothing matches and the list holds a null; false for the
 * empty list. A right side that is no list is compared by strict equality, one in brackets like an element.
 */
export function compileIn(
  element: Evaluator,
  list: Evaluator,
  { dialect, isBracketed = false }: { readonly dialect: Dialect; readonly isBracketed?: boolean },
): Condition {
  if (requireDialect(dialect, "'IN'") === 'cypher')
    return (context) => {
      const value = element(context);
      const candidates = list(context);
      if (!Array.isArray(candidates) || candidates.length < manyCandidates)
        return cypherIn(value, candidates);
      if (isHashed(value)) {
        takeIn(candidates as readonly Value[], context);
        if (membersOf(candidates).kind === typeof value) return cypherIn(value, candidates);
      }
      return rememberedValue(context, cypherIn, () => cypherIn(value, candidates));
    };
  return (context) => {
    const candidates = list(context);
    if (candidates === null) return null;
    const value = element(context);
    if (Array.isArray(candidates) && candidates.length >= manyCandidates)
      return isInMany(value, candidates as readonly Value[], context);
    if (Array.isArray(candidates))
      return isIn(value, candidates as readonly Value[], context.formats);
    if (value === null) return null;
    return isBracketed
      ? sqlEquals(value, candidates, context.formats)
      : strictlyEqual(value, candidates);
  };
}

/**
 * The members of a long list of texts only, or of numbers only, made in turns where the statement can pause; undefined for other
 * lists.
 */
export function longMembers(
  list: readonly Value[],
  context: EvaluationContext,
):
  | (Pick<Members, 'hasNull'> & {
      readonly kind: 'string' | 'number';
      has(key: string | number): boolean;
    })
  | undefined {
  takeIn(list, context);
  const { kind, keys, hasNull } = membersOf(list);
  if (kind === undefined) return undefined;
  return { kind, hasNull, has: (key) => keys.find(valueKey(key)) >= 0 };
}

function isHashed(value: Value): boolean {
  return typeof value === 'string' || typeof value === 'number';
}

/** In a list that is taken in by turns where the statement can pause. */
function isInMany(
  value: Value,
  list: readonly Value[],
  context: EvaluationContext,
): boolean | null {
  if (isHashed(value)) {
    takeIn(list, context);
    if (membersOf(list).kind === typeof value) return isIn(value, list, context.formats);
  }
  return rememberedValue(context, isIn, () => isIn(value, list, context.formats));
}

/**
 * Collects the members of a list, in turns where the statement can pause. An expression that is evaluated anew asks each time, though
 * they are kept by then: it must meet the same calls. And its list may be another one, of the same elements.
 */
function takeIn(list: readonly Value[], context: EvaluationContext): void {
  const isKept = membersByList.has(list);
  if ((isKept && context.longCalls === undefined) || !canPause(context)) return;
  const members = pausingValue(context, takeIn, (meter) => membersInTurns(list, meter));
  if (!isKept) membersByList.set(list, members);
}

export const manyCandidates = 4_096;

function* membersInTurns(list: readonly Value[], meter: WorkMeter): PausingWork<Members> {
  const kept = membersByList.get(list);
  if (kept !== undefined) return kept;
  const members = new MemberCollection();
  for (let at = 0; at < list.length; at += candidatesPerLook) {
    if (!members.add(list, at, Math.min(list.length, at + candidatesPerLook))) break;
    if (meter.isSpent(unitsPerLook)) yield;
  }
  return members.members();
}

const candidatesPerLook = 256;
const unitsPerLook = 64;

function cypherIn(value: Value, list: Value): boolean | null {
  if (list === null) return null;
  if (!Array.isArray(list)) throw notA('a list', list);
  if (list.length === 0) return false;
  if (value === null) return null;
  if (list.length >= hashedListLength) {
    const members = membersOf(list);
    // Keys of numbers are exact, as the language wants them.
    const kind = isNumber(value) ? 'number' : typeof value;
    if (members.kind === kind) {
      if (members.keys.find(valueKey(value)) >= 0) return true;
      return members.hasNull ? null : false;
    }
  }
  let isUnknown = false;
  for (let i = 0; i < list.length; i++) {
    const equal = cypherEquals(value, list[i] as Value);
    if (equal === true) return true;
    if (equal === null) isUnknown = true;
  }
  return isUnknown ? null : false;
}

/** Lists below this are searched one by one. */
const hashedListLength = 9;

function isIn(value: Value, list: readonly Value[], formats: TemporalFormats): boolean | null {
  if (list.length === 0) return false;
  if (value === null) return null;
  if (list.length >= hashedListLength) {
    const members = membersOf(list);
    if (members.kind !== undefined && typeof value === members.kind) {
      if (members.keys.find(valueKey(value)) >= 0) return true;
      return members.hasNull ? null : false;
    }
  }
  let hasNull = false;
  for (let i = 0; i < list.length; i++) {
    const item = list[i] as Value;
    if (item === null) hasNull = true;
    else if (sqlEquals(value, item, formats)) return true;
  }
  return hasNull ? null : false;
}

/** A long list of texts only, or of plain numbers only, as a hash set; `kind` is undefined for other lists. */
interface Members {
  readonly kind: 'string' | 'number' | undefined;
  readonly keys: Pick<ValueTable, 'find'>;
  readonly hasNull: boolean;
}

const membersByList = new WeakMap<readonly Value[], Members>();

function membersOf(list: readonly Value[]): Members {
  let members = membersByList.get(list);
  if (members === undefined) {
    members = collectMembers(list);
    membersByList.set(list, members);
  }
  return members;
}

function collectMembers(list: readonly Value[]): Members {
  const members = new MemberCollection();
  members.add(list, 0, list.length);
  return members.members();
}

class MemberCollection {
  readonly #keys = new ValueTable();
  #kind: 'string' | 'number' | undefined;
  #isMixed = false;
  #hasNull = false;

  /** @returns false when the list is none to be hashed */
  add(list: readonly Value[], from: number, to: number): boolean {
    for (let at = from; at < to && !this.#isMixed; at += 1) {
      const item = list[at] as Value;
      if (item === null) {
        this.#hasNull = true;
        continue;
      }
      const kind = typeof item;
      // NaN equals nothing here but itself as a key, so a list with one is not hashed.
      const isPlain = kind === 'string' || (kind === 'number' && !Number.isNaN(item));
      this.#isMixed = !isPlain || (this.#kind !== undefined && this.#kind !== kind);
      if (this.#isMixed) break;
      this.#kind = kind as 'string' | 'number';
      this.#keys.add(valueKey(item));
    }
    return !this.#isMixed;
  }

  members(): Members {
    const kind = this.#isMixed ? undefined : this.#kind;
    return { kind, keys: this.#keys, hasNull: this.#hasNull };
  }
}

/** `collection CONTAINS... value`; null on either side is unknown, a left side of another shape is false. */
export function compileContains(
  kind: ContainsKind,
  collection: Evaluator,
  value: Evaluator,
): Condition {
  const test = containsTests[kind];
  return (context) => {
    const left = collection(context);
    const right = value(context);
    if (left === null || right === null) return null;
    return isLarge(left)
      ? containsInMany(kind, left, right, context)
      : test(left, right, context.formats);
  };
}

function containsInMany(
  kind: ContainsKind,
  left: Exclude<Value, null>,
  right: Exclude<Value, null>,
  context: EvaluationContext,
): boolean {
  const test = containsTests[kind];
  const isMany = Array.isArray(left) && Array.isArray(right) && left.length >= manyCandidates;
  const needsMembers = isMany && (kind === 'all' || kind === 'any');
  if (needsMembers && canPause(context)) {
    const list = left as readonly Value[];
    takeIn(list, context);
    return pausingValue(context, test, (meter) => membersFound(kind, list, right, context, meter));
  }
  return rememberedValue(context, test, () => test(left, right, context.formats));
}

function* membersFound(
  kind: 'all' | 'any',
  list: readonly Value[],
  sought: readonly Value[],
  context: EvaluationContext,
  meter: WorkMeter,
): PausingWork<boolean> {
  const isWanted = kind === 'any';
  for (let at = 0; at < sought.length; at += 1) {
    if (hasMember(list, sought[at] as Value, context.formats) === isWanted) return isWanted;
    if (at % candidatesPerLook === 0 && meter.isSpent(unitsPerLook)) yield;
  }
  return !isWanted;
}

type ContainsTest = (left: Value, right: Value, formats: TemporalFormats) => boolean;

const containsTests: Readonly<Record<ContainsKind, ContainsTest>> = {
  element: (left, right, formats) => {
    if (!Array.isArray(left)) return false;
    return hasElement(left, unwrapSingle(right), formats) || hasElement(left, right, formats);
  },
  item: (left, right, formats) =>
    Array.isArray(right)
      ? sqlEquals(left, right, formats)
      : containsTests.element(left, right, formats),
  all: (left, right, formats) => {
    if (!Array.isArray(left)) return false;
    if (!Array.isArray(right)) return hasElement(left, right, formats);
    for (let i = 0; i < right.length; i++)
      if (!hasMember(left, right[i] as Value, formats)) return false;
    return true;
  },
  any: (left, right, formats) => {
    if (!Array.isArray(left)) return false;
    if (!Array.isArray(right)) return hasElement(left, right, formats);
    for (let i = 0; i < right.length; i++)
      if (hasMember(left, right[i] as Value, formats)) return true;
    return false;
  },
  key: (left, right, formats) => entriesOf(left)?.has(textOf(right, formats)) ?? false,
  value: (left, right, formats) => {
    for (const item of entriesOf(left)?.values() ?? [])
      if (item !== null && sqlEquals(item, right, formats)) return true;
    return false;
  },
  text: (left, right, formats) =>
    typeof left === 'string' && findText(left, textOf(right, formats)) >= 0,
};

/** A list of one element stands for it: `[1,2] CONTAINS [1]`. */
function unwrapSingle(value: Value): Value {
  return Array.isArray(value) && value.length === 1 ? (value[0] as Value) : value;
}

function hasElement(list: readonly Value[], value: Value, formats: TemporalFormats): boolean {
  if (value === null) return false;
  const kind = typeof value;
  const isPlain = kind === 'string' || kind === 'number';
  for (let i = 0; i < list.length; i++) {
    const item = list[i] as Value;
    if (isPlain && typeof item === kind) {
      if (item === value) return true;
      continue;
    }
    if (item !== null && sqlEquals(item, value, formats)) return true;
  }
  return false;
}

/** As `hasElement`, through the hash set of a long list when it has one. */
function hasMember(list: readonly Value[], value: Value, formats: TemporalFormats): boolean {
  if (list.length >= hashedListLength) {
    const members = membersOf(list);
    if (members.kind !== undefined && typeof value === members.kind)
      return members.keys.find(valueKey(value)) >= 0;
  }
  return hasElement(list, value, formats);
}

function entriesOf(value: Value): ValueMap | undefined {
  if (value instanceof Map) return value;
  return value instanceof EmbeddedDocument ? value.properties : undefined;
}
