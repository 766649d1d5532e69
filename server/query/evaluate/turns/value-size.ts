import { DatabaseError } from '#core/errors.ts';
import type { PausingWork, WorkMeter } from '#core/pausing-work.ts';
import { LateMap } from '#core/value/late-map.ts';
import { madeBytes } from '#core/value/made-bytes.ts';
import { Link } from '#core/value/record.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import type { EvaluationContext, EvaluationLimits } from '../context.ts';

/**
 * How large values are when written out, so that nobody builds a value bomb by putting a list into itself over and over
 * (limits.md 9): shared parts count every time they appear. Sizes of lists and maps are remembered, so measuring a value
 * built from measured ones costs one step per element.
 */
interface Measure {
  readonly bytes: number;
  readonly depth: number;
}

const measures = new WeakMap<object, Measure>();
const scalarMeasure: Measure = { bytes: 8, depth: 0 };
/** As JSON requests may nest (`defaultJsonLimits`). */
const nestingMax = 512;

function measureOf(value: Value): Measure {
  if (typeof value === 'string') return { bytes: value.length, depth: 0 };
  if (typeof value !== 'object' || value === null) return scalarMeasure;
  if (value instanceof Uint8Array) return { bytes: value.length, depth: 0 };
  const isContainer = Array.isArray(value) || value instanceof Map;
  if (!isContainer && !('properties' in value)) return scalarMeasure;
  const known = measures.get(value);
  if (known) return known;
  const measured = measureContainer(
    value as readonly Value[] | ValueMap | { properties: ValueMap },
  );
  measures.set(value, measured);
  return measured;
}

function measureContainer(
  container: readonly Value[] | ValueMap | { readonly properties: ValueMap },
): Measure {
  const sum = { bytes: containerBytes, depth: 0 };
  if (Array.isArray(container)) {
    addElements(container, 0, container.length, sum);
  } else {
    const map =
      container instanceof Map ? container : (container as { properties: ValueMap }).properties;
    if (map instanceof LateMap) {
      for (const key of map.keys()) {
        sum.bytes += key.length;
        if (map.isLate(key)) sum.bytes += map.lateBytes;
        else addItem(map.get(key) as Value, sum);
      }
      return { bytes: sum.bytes, depth: Math.max(sum.depth, 1) + 1 };
    }
    for (const [key, item] of map) {
      sum.bytes += key.length;
      addItem(item, sum);
    }
  }
  return { bytes: sum.bytes, depth: sum.depth + 1 };
}

const containerBytes = 16;

/** A measure while it is taken. */
interface Sum {
  bytes: number;
  depth: number;
}

function addItem(item: Value, sum: Sum): void {
  const inner = measureOf(item);
  sum.bytes += inner.bytes;
  if (inner.depth > sum.depth) sum.depth = inner.depth;
}

function addElements(list: readonly Value[], from: number, to: number, sum: Sum): void {
  for (let at = from; at < to; at += 1) {
    const item = list[at] as Value;
    // Vectors are many and long, and so are lists of what a search found.
    if (typeof item === 'number' || item instanceof Link) sum.bytes += scalarMeasure.bytes;
    else addItem(item, sum);
  }
}

/** Shorter lists are measured at once. */
const longList = 8_192;
const elementsPerLook = 1_024;
const unitsPerLook = 64;

/** A list that takes turns to be measured, which it was not yet. */
export function isUnmeasured(value: unknown): value is readonly Value[] {
  return Array.isArray(value) && value.length >= longList && !measures.has(value);
}

/** Measures a long list, so that its size is known at once from then on. @returns the list */
export function* measuredInTurns(
  list: readonly Value[],
  meter: WorkMeter,
): PausingWork<readonly Value[]> {
  const sum = { bytes: containerBytes, depth: 0 };
  for (let at = 0; at < list.length; at += elementsPerLook) {
    addElements(list, at, Math.min(list.length, at + elementsPerLook), sum);
    if (meter.isSpent(unitsPerLook)) yield;
  }
  measures.set(list, { bytes: sum.bytes, depth: sum.depth + 1 });
  return list;
}

/** Roughly what a value holds in memory; known at once for lists and maps that were measured before. */
export function byteEstimateOf(value: Value): number {
  return typeof value === 'string' ? value.length * 2 : measureOf(value).bytes;
}

/** What the bounds below need of a context. */
type Bounds = Pick<EvaluationContext, 'limits' | 'madeBytesMax'>;

/** Values of fewer bytes are not counted when they are made. */
const countedBytes = 4_096;
/** The place of an element in a list; of an entry in a map it is as much, roughly. */
const placeBytes = 8;

/**
 * Passes a list or map on.
 * @throws DatabaseError `IllegalArgument` naming `queryMaxValueSize` when it is too large, or when it nests too deep
 */
export function boundedContainer<T extends readonly Value[] | ValueMap>(
  container: T,
  context: Bounds,
): T {
  const { limits } = context;
  const { bytes, depth } = measureOf(container as Value);
  if (bytes > limits.valueBytesMax) throw valueTooLarge(bytes, limits);
  // What it holds was counted when that was made.
  if (bytes >= countedBytes) countMade(placeBytes * countOf(container), context);
  if (depth > nestingMax)
    throw new DatabaseError(
      'IllegalArgument',
      `a value is nested deeper than ${nestingMax} levels`,
    );
  return container;
}

/** As `boundedContainer`, for a list that grew by concatenation, whose number of elements is bounded too. */
export function boundedGrowth(list: readonly Value[], context: Bounds): readonly Value[] {
  const { limits } = context;
  if (limits.elementCountMax > 0 && list.length > limits.elementCountMax)
    throw new DatabaseError(
      'IllegalArgument',
      `a list would hold more than ${limits.elementCountMax} elements; the limit is service.queryMaxHeapElementsAllowedPerOp`,
    );
  return boundedContainer(list, context);
}

/** Passes a text on. @throws DatabaseError `IllegalArgument` naming `queryMaxValueSize` when it is too large */
export function boundedText(text: string, context: Bounds): string {
  if (text.length >= countedBytes) countMade(text.length, context);
  // UTF-8 has at most three bytes for a UTF-16 unit, so that short texts need no count.
  if (text.length * 3 > context.limits.valueBytesMax) requireText(text, context.limits);
  return text;
}

/** Bytes of a text that were not counted. */
export const uncounted = -1;

/**
 * `left + right`. @throws DatabaseError as `boundedText`, before it is made
 */
export function joinedText(left: string, right: string, context: Bounds): string {
  const bytes = bytesAppended(left, right, uncounted, context);
  return appendedText(left + right, bytes, context);
}

/**
 * To be asked before `left + right` is made as one of several steps; the last one is followed by `appendedText`.
 * @param leftBytes of `left` in UTF-8, or `uncounted`: to count a text that grows piece by piece anew each time took seconds
 * @returns the bytes of both, or `uncounted` while they are few
 * @throws DatabaseError as `boundedText`
 */
export function bytesAppended(
  left: string,
  right: string,
  leftBytes: number,
  context: Bounds,
): number {
  const { limits } = context;
  const length = left.length + right.length;
  const isNeeded = length * 3 > limits.valueBytesMax;
  if (!isNeeded && length < longText) return uncounted;
  if (length > limits.valueBytesMax) throw valueTooLarge(length, limits);
  const bytesOfLeft = leftBytes === uncounted ? bytesOf(left, context, { isNeeded }) : leftBytes;
  const bytesOfRight = bytesOf(right, context, { isNeeded });
  if (bytesOfLeft === uncounted || bytesOfRight === uncounted) return uncounted;
  const bytes = bytesOfLeft + bytesOfRight;
  if (bytes > limits.valueBytesMax) throw valueTooLarge(bytes, limits);
  return bytes;
}

/** As `boundedText`, after `bytesAppended`. @param bytes what that gave */
export function appendedText(text: string, bytes: number, context: Bounds): string {
  if (text.length >= countedBytes) countMade(text.length, context);
  if (bytes !== uncounted && text.length >= longText) lastCounted.set(context, { text, bytes });
  return text;
}

/** Shorter texts are counted in a moment. */
const longText = 1_048_576;

/**
 * The long text that was made or counted last where a context evaluates. One that grows from step to step is not counted anew: to
 * count a joined text copies all of it into one piece, 90 ms for 64 MiB.
 */
const lastCounted = new WeakMap<object, { readonly text: string; readonly bytes: number }>();

/** Bytes in UTF-8; `uncounted` when they are not known and not needed. */
function bytesOf(
  text: string,
  context: Bounds,
  { isNeeded }: { readonly isNeeded: boolean },
): number {
  if (text.length < longText) return Buffer.byteLength(text);
  const known = lastCounted.get(context);
  if (known?.text.length === text.length && known.text === text) return known.bytes;
  if (!isNeeded) return uncounted;
  const bytes = Buffer.byteLength(text);
  lastCounted.set(context, { text, bytes });
  return bytes;
}

function requireText(text: string, limits: EvaluationLimits): void {
  const { length } = text;
  const bytes = length > limits.valueBytesMax ? length : Buffer.byteLength(text);
  if (bytes > limits.valueBytesMax) throw valueTooLarge(bytes, limits);
}

function countOf(container: readonly Value[] | ValueMap): number {
  return Array.isArray(container) ? container.length : (container as ValueMap).size;
}

/**
 * Something large was made.
 * @throws DatabaseError `TooLarge` when the turn has made too much
 */
function countMade(bytes: number, context: Bounds): void {
  madeBytes.total += bytes;
  requireTurn(context);
}

/** @throws DatabaseError `TooLarge` when the turn has made too much for one row */
export function requireTurn({ limits, madeBytesMax }: Bounds): void {
  if (madeBytesMax === undefined || madeBytes.total <= madeBytesMax) return;
  const { turnBytesMax = Number.POSITIVE_INFINITY } = limits;
  // A joined text costs next to nothing until it is read: thousands of rows may each make one in a turn.
  if (madeBytes.total - madeBytes.rowStart <= turnBytesMax) return;
  throw new DatabaseError(
    'TooLarge',
    `an expression would make values of more than ${limits.turnBytesMax} bytes at once, which service.queryMaxMemory does not allow`,
  );
}

function valueTooLarge(bytes: number, limits: EvaluationLimits): DatabaseError {
  return new DatabaseError(
    'IllegalArgument',
    `a value of ${bytes} bytes is larger than ${limits.valueBytesMax} bytes; the limit is service.queryMaxValueSize`,
  );
}
