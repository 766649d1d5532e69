import type { PausingWork, WorkMeter } from '#core/pausing-work.ts';
import { madeBytes } from '#core/value/made-bytes.ts';
import { Link } from '#core/value/record.ts';
import { EmbeddedDocument, isRecord } from '#core/value/value.ts';
import type { Value } from '#core/value/value.ts';
import type { Dialect, Slot } from '../algebra/expression.ts';
import { notA } from './cypher-failures.ts';
import type { EvaluationContext, Frame } from './context.ts';
import type { Condition, Evaluator } from './evaluator.ts';
import {
  gathered,
  goneThrough,
  type LoopBody,
  type LoopPlace,
  requireTurns,
  takesTurns,
} from './turns/list-turns.ts';
import { doneWork, unitsAtOnce } from './turns/done-work.ts';
import { canPause, pausingValue } from './turns/long-calls.ts';
import { boundedContainer, measuredInTurns, requireTurn } from './turns/value-size.ts';

/** Lists and maps: literals, comprehensions, quantifiers and folds. Elements stand in a slot of the frame while it is their turn. */

/** Where more parts than these stand side by side, each is looked at: it may be a copy of a large value. */
export const partsUnwatched = 64;

/** `[a, b, ...]` */
export function compileList(items: readonly Evaluator[]): Evaluator {
  const isLong = items.length > partsUnwatched;
  return (context) => {
    const list: Value[] = new Array(items.length);
    for (let i = 0; i < items.length; i++) {
      list[i] = (items[i] as Evaluator)(context);
      if (isLong) requireTurn(context);
    }
    return boundedContainer(list, context);
  };
}

/** As `compileList` for many items, in turns where the statement can pause. No item may take long itself. */
export function compileLongList(items: readonly Evaluator[]): Evaluator {
  const atOnce = compileList(items);
  return (context) =>
    canPause(context)
      ? pausingValue(context, items, (meter) => listInTurns(items, context, meter))
      : atOnce(context);
}

const itemsPerLook = 64;
const unitsPerLook = 16;

function* listInTurns(
  items: readonly Evaluator[],
  context: EvaluationContext,
  meter: WorkMeter,
): PausingWork<Value> {
  const list: Value[] = [];
  for (let at = 0; at < items.length; at += 1) {
    list.push((items[at] as Evaluator)(context));
    requireTurn(context);
    if (list.length % itemsPerLook === 0 && meter.isSpent(unitsPerLook)) yield;
  }
  return boundedContainer(yield* measuredInTurns(list, meter), context);
}

interface CompiledEntry {
  readonly key: string;
  readonly value: Evaluator;
}

/** As `compileMap`, as `compileLongList` does it. */
export function compileLongMap(entries: readonly CompiledEntry[]): Evaluator {
  const atOnce = compileMap(entries);
  return (context) =>
    canPause(context)
      ? pausingValue(context, entries, (meter) => mapInTurns(entries, context, meter))
      : atOnce(context);
}

function* mapInTurns(
  entries: readonly CompiledEntry[],
  context: EvaluationContext,
  meter: WorkMeter,
): PausingWork<Value> {
  const map = new Map<string, Value>();
  for (let at = 0; at < entries.length; at += 1) {
    const { key, value } = entries[at] as CompiledEntry;
    map.set(key, value(context));
    requireTurn(context);
    if (at % itemsPerLook === 0 && meter.isSpent(unitsPerLook)) yield;
  }
  return boundedContainer(map, context);
}

/** `{a: x, ...}`; of equal keys the last wins. */
export function compileMap(entries: readonly CompiledEntry[]): Evaluator {
  const isLong = entries.length > partsUnwatched;
  return (context) => {
    const map = new Map<string, Value>();
    for (let i = 0; i < entries.length; i++) {
      const entry = entries[i] as CompiledEntry;
      map.set(entry.key, entry.value(context));
      if (isLong) requireTurn(context);
    }
    return boundedContainer(map, context);
  };
}

export interface LoopOptions {
  readonly dialect: Dialect;
  readonly body: LoopBody;
}

/**
 * The elements that satisfy `predicate`, each replaced by `result`. A single record, map or link is a collection of one in
 * dialect sql; other values give null.
 */
export function compileComprehension(
  list: Evaluator,
  element: Slot,
  predicate: Condition | undefined,
  result: Evaluator | undefined,
  { dialect, body }: LoopOptions,
): Evaluator {
  const { isWeighty } = body;
  const given = (item: Value, context: EvaluationContext): Value | undefined => {
    (context.frame as Frame)[element] = item;
    if (predicate && predicate(context) !== true) return undefined;
    return result ? result(context) : item;
  };
  return (context) => {
    const elements = elementsOf(list(context), dialect);
    if (elements === undefined) return null;
    if (takesTurns(elements, context, body)) {
      const long = pausingValue(context, given, (meter) =>
        gathered(elements, { context, meter, body }, (item) => given(item, context)),
      );
      return result ? boundedContainer(long, context) : long;
    }
    const frame = context.frame as Frame;
    const results: Value[] = [];
    const stepsBefore = doneWork.steps;
    countSteps(elements.length);
    const unitsMax = doneWork.units + unitsAtOnce;
    for (let i = 0; i < elements.length; i++) {
      const item = elements[i] as Value;
      frame[element] = item;
      const isWanted = !predicate || predicate(context) === true;
      if (isWanted) results.push(result ? result(context) : item);
      if (isWeighty && doneWork.units > unitsMax) requireTurns(stepsBefore, body, context);
      if (isWanted) requireTurn(context);
    }
    return result ? boundedContainer(results, context) : results;
  };
}

function countSteps(count: number): void {
  doneWork.steps += count;
  doneWork.units += count;
}

function elementsOf(value: Value, dialect: Dialect): readonly Value[] | undefined {
  if (value === null) return undefined;
  if (Array.isArray(value)) return value;
  if (dialect === 'cypher') throw notA('a list', value);
  if (value instanceof Uint8Array) return [...new Int8Array(value)];
  const isSingle =
    isRecord(value) ||
    value instanceof Map ||
    value instanceof Link ||
    value instanceof EmbeddedDocument;
  return dialect === 'sql' && isSingle ? [value] : undefined;
}

type QuantifierKind = 'any' | 'all' | 'none' | 'single';

/**
 * A condition over the elements of a list. In SQL an element for which it is unknown does not satisfy it, and what is no
 * list gives false; elsewhere unknown elements make the answer unknown unless the others decide it. Null is unknown.
 */
export function compileQuantifier(
  kind: QuantifierKind,
  list: Evaluator,
  element: Slot,
  predicate: Condition,
  options: LoopOptions,
): Condition {
  const { dialect, body } = options;
  return (context) => {
    const elements = list(context);
    if (elements === null) return null;
    if (!Array.isArray(elements)) {
      if (dialect === 'cypher') throw notA('a list', elements);
      return false;
    }
    const counts = takesTurns(elements, context, body)
      ? pausingValue(context, predicate, (meter) =>
          countMatchesInTurns(kind, elements, { context, meter, body }, (item) => {
            (context.frame as Frame)[element] = item;
            return predicate(context);
          }),
        )
      : countMatches(kind, elements, { element, predicate, body }, context);
    if (dialect === 'sql' || counts.unknown === 0)
      return decide(kind, counts.matching, elements.length);
    return decideUnknown(kind, counts, elements.length);
  };
}

interface Counts {
  matching: number;
  unknown: number;
}

/** Counts until the answer is certain. */
function countMatches(
  kind: QuantifierKind,
  elements: readonly Value[],
  loop: {
    readonly element: Slot;
    readonly predicate: Condition;
    readonly body: LoopBody;
  },
  context: EvaluationContext,
): Counts {
  const { element, predicate, body } = loop;
  const frame = context.frame as Frame;
  const counts = { matching: 0, unknown: 0 };
  const stepsBefore = doneWork.steps;
  const unitsMax = doneWork.units + unitsAtOnce;
  let i = 0;
  for (; i < elements.length; i++) {
    frame[element] = elements[i] as Value;
    if (!isOpen(kind, counts, predicate(context))) break;
    if (body.isWeighty && doneWork.units > unitsMax) requireTurns(stepsBefore, body, context);
  }
  countSteps(i);
  return counts;
}

/** As `countMatches`, in turns. */
function* countMatchesInTurns(
  kind: QuantifierKind,
  elements: readonly Value[],
  place: LoopPlace,
  holds: (element: Value) => boolean | null,
): PausingWork<Counts> {
  const counts = { matching: 0, unknown: 0 };
  yield* goneThrough(elements, place, (element) => isOpen(kind, counts, holds(element)));
  return counts;
}

/** Counts an element. @returns false when the answer is certain */
function isOpen(kind: QuantifierKind, counts: Counts, holds: boolean | null): boolean {
  if (holds === true) counts.matching++;
  else if (holds === null) counts.unknown++;
  return kind === 'all' ? holds !== false : counts.matching <= (kind === 'single' ? 1 : 0);
}

function decide(kind: QuantifierKind, matching: number, length: number): boolean {
  switch (kind) {
    case 'any':
      return matching > 0;
    case 'all':
      return matching === length;
    case 'none':
      return matching === 0;
    case 'single':
      return matching === 1;
  }
}

function decideUnknown(kind: QuantifierKind, counts: Counts, length: number): boolean | null {
  const { matching, unknown } = counts;
  switch (kind) {
    case 'any':
      return matching > 0 ? true : null;
    case 'all':
      return matching + unknown < length ? false : null;
    case 'none':
      return matching > 0 ? false : null;
    case 'single':
      return matching > 1 ? false : null;
  }
}

/** Folds a list: `step` sees the accumulator and the element in their slots. Null gives null. */
export function compileReduce(
  list: Evaluator,
  accumulator: Slot,
  initial: Evaluator,
  element: Slot,
  step: Evaluator,
  options: { readonly dialect: Dialect | undefined; readonly body: LoopBody },
): Evaluator {
  const { dialect, body } = options;
  const { isWeighty } = body;
  const next: Fold = (value, item, context) => {
    const frame = context.frame as Frame;
    frame[accumulator] = value;
    frame[element] = item;
    const before = madeBytes.total;
    const made = step(context);
    // The value is bounded by itself; the one before is part of it or garbage.
    madeBytes.rowStart += madeBytes.total - before;
    if (context.madeBytesMax !== undefined) context.madeBytesMax += madeBytes.total - before;
    return made;
  };
  return (context) => {
    const elements = list(context);
    if (!Array.isArray(elements)) {
      if (dialect === 'cypher' && elements !== null) throw notA('a list', elements);
      return null;
    }
    const first = initial(context);
    if (takesTurns(elements, context, body))
      return pausingValue(context, next, (meter) =>
        foldedInTurns(elements, first, next, { context, meter, body }),
      );
    let value = first;
    const stepsBefore = doneWork.steps;
    countSteps(elements.length);
    const unitsMax = doneWork.units + unitsAtOnce;
    for (let i = 0; i < elements.length; i++) {
      value = next(value, elements[i] as Value, context);
      if (isWeighty && doneWork.units > unitsMax) requireTurns(stepsBefore, body, context);
    }
    return value;
  };
}

type Fold = (value: Value, item: Value, context: EvaluationContext) => Value;

function* foldedInTurns(
  elements: readonly Value[],
  first: Value,
  next: Fold,
  place: LoopPlace,
): PausingWork<Value> {
  let value = first;
  yield* goneThrough(elements, place, (item) => {
    value = next(value, item, place.context);
    return true;
  });
  return value;
}
