import { DatabaseError } from '#core/errors.ts';
import type { Value, ValueMap } from '#core/value.ts';
import type { EvaluationLimits } from './context.ts';

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
  let bytes = 16;
  let depth = 0;
  const add = (item: Value) => {
    const inner = measureOf(item);
    bytes += inner.bytes;
    if (inner.depth > depth) depth = inner.depth;
  };
  if (Array.isArray(container)) {
    for (let i = 0; i < container.length; i++) add(container[i] as Value);
  } else {
    const map =
      container instanceof Map ? container : (container as { properties: ValueMap }).properties;
    for (const [key, item] of map) {
      bytes += key.length;
      add(item);
    }
  }
  return { bytes, depth: depth + 1 };
}

/** Roughly what a value holds in memory; known at once for lists and maps that were measured before. */
export function byteEstimateOf(value: Value): number {
  return typeof value === 'string' ? value.length * 2 : measureOf(value).bytes;
}

/**
 * Passes a list or map on.
 * @throws DatabaseError `IllegalArgument` naming `queryMaxValueSize` when it is too large, or when it nests too deep
 */
export function boundedContainer<T extends readonly Value[] | ValueMap>(
  container: T,
  limits: EvaluationLimits,
): T {
  const { bytes, depth } = measureOf(container as Value);
  if (bytes > limits.valueBytesMax) throw valueTooLarge(bytes, limits);
  if (depth > nestingMax)
    throw new DatabaseError(
      'IllegalArgument',
      `a value is nested deeper than ${nestingMax} levels`,
    );
  return container;
}

/** As `boundedContainer`, for a list that grew by concatenation, whose number of elements is bounded too. */
export function boundedGrowth(list: readonly Value[], limits: EvaluationLimits): readonly Value[] {
  if (limits.elementCountMax > 0 && list.length > limits.elementCountMax)
    throw new DatabaseError(
      'IllegalArgument',
      `a list would hold more than ${limits.elementCountMax} elements; the limit is service.queryMaxHeapElementsAllowedPerOp`,
    );
  return boundedContainer(list, limits);
}

/** Passes a text on. @throws DatabaseError `IllegalArgument` naming `queryMaxValueSize` when it is too large */
export function boundedText(text: string, limits: EvaluationLimits): string {
  // UTF-8 has at most three bytes for a UTF-16 unit, so that short texts need no count.
  if (text.length * 3 > limits.valueBytesMax) {
    const bytes = text.length > limits.valueBytesMax ? text.length : Buffer.byteLength(text);
    if (bytes > limits.valueBytesMax) throw valueTooLarge(bytes, limits);
  }
  return text;
}

function valueTooLarge(bytes: number, limits: EvaluationLimits): DatabaseError {
  return new DatabaseError(
    'IllegalArgument',
    `a value of ${bytes} bytes is larger than ${limits.valueBytesMax} bytes; the limit is service.queryMaxValueSize`,
  );
}
