import { DatabaseError } from '#core/errors.ts';
import { valuesEqual } from '#core/value/equality.ts';
import type { TemporalFormats } from '#core/temporal/format.ts';
import { textOf } from '#core/text/text-form.ts';
import { EmbeddedDocument, isList, isMap, type Value } from '#core/value/value.ts';

/** One step into a property: a name, or a position or key already evaluated. */
export type PathKey =
  | { readonly kind: 'property'; readonly name: string }
  | { readonly kind: 'element'; readonly key: Value };

/** What the functions below need to know about the statement. */
export interface ChangeLimits {
  readonly formats: TemporalFormats;
  readonly elementCountMax: number;
}

/**
 * `container` with `value` put at the end of the path; containers on the way are copied, never changed. A list is padded with
 * null up to the position. Where the path leads through nothing (a missing parent, a scalar, a link) nothing changes.
 * @throws DatabaseError `IllegalArgument` for an element of a list at what is no position, or one beyond the bound
 */
export function withValueAt(
  container: Value,
  path: readonly PathKey[],
  value: Value,
  limits: ChangeLimits,
): Value {
  const [step, ...rest] = path;
  if (step === undefined) return value;
  if (isList(container) && step.kind === 'element' && positionOf(step) === undefined)
    throw new DatabaseError(
      'IllegalArgument',
      `cannot set an element of a list at ${textOf(step.key, limits.formats)}: it is no position from 0`,
    );
  return changeAt(container, step, limits, (current) => {
    if (rest.length === 0) return value;
    return current === undefined ? undefined : withValueAt(current, rest, value, limits);
  });
}

/** `container` without what stands at the end of the path. */
export function withoutValueAt(
  container: Value,
  path: readonly PathKey[],
  limits: ChangeLimits,
): Value {
  const [step, ...rest] = path;
  if (step === undefined) return container;
  if (rest.length === 0) return removeStep(container, step, limits);
  return changeAt(container, step, limits, (current) =>
    current === undefined ? undefined : withoutValueAt(current, rest, limits),
  );
}

/** `REMOVE list = value` takes out the first equal element, `REMOVE map = 'key'` the entry; anything else stays as it is. */
export function withoutElement(container: Value, value: Value, formats: TemporalFormats): Value {
  if (isList(container)) {
    const at = container.findIndex((element) => valuesEqual(element, value));
    return at < 0 ? container : container.toSpliced(at, 1);
  }
  if (isMap(container)) {
    const key = textOf(value, formats);
    return withoutKey(container, key);
  }
  return container;
}

/** Replaces one part; `change` gets undefined for a part that does not exist and answers undefined to leave it so. */
function changeAt(
  container: Value,
  step: PathKey,
  limits: ChangeLimits,
  change: (current: Value | undefined) => Value | undefined,
): Value {
  if (isList(container)) return changeList(container, step, limits, change);
  const key = keyOf(step, limits);
  if (isMap(container)) {
    const changed = change(container.get(key));
    return changed === undefined ? container : new Map(container).set(key, changed);
  }
  if (container instanceof EmbeddedDocument) {
    const changed = change(container.properties.get(key));
    if (changed === undefined) return container;
    return new EmbeddedDocument(
      container.typeName,
      new Map(container.properties).set(key, changed),
    );
  }
  return container;
}

function changeList(
  list: readonly Value[],
  step: PathKey,
  limits: ChangeLimits,
  change: (current: Value | undefined) => Value | undefined,
): Value {
  const position = positionOf(step);
  if (position === undefined) return list;
  const changed = change(list[position]);
  if (changed === undefined) return list;
  if (position >= limits.elementCountMax && position >= list.length)
    throw new DatabaseError(
      'IllegalArgument',
      `cannot set element ${position} of a list: more than ${limits.elementCountMax} elements ('queryMaxHeapElementsAllowedPerOp')`,
    );
  const copy = list.slice();
  while (copy.length < position) copy.push(null);
  copy[position] = changed;
  return copy;
}

function removeStep(container: Value, step: PathKey, limits: ChangeLimits): Value {
  if (isList(container)) {
    const position = positionOf(step);
    return position === undefined || position >= container.length
      ? container
      : container.toSpliced(position, 1);
  }
  const key = keyOf(step, limits);
  if (isMap(container)) return withoutKey(container, key);
  if (container instanceof EmbeddedDocument) {
    const properties = withoutKey(container.properties, key);
    return properties === container.properties
      ? container
      : new EmbeddedDocument(container.typeName, properties);
  }
  return container;
}

function withoutKey(map: ReadonlyMap<string, Value>, key: string): ReadonlyMap<string, Value> {
  if (!map.has(key)) return map;
  const copy = new Map(map);
  copy.delete(key);
  return copy;
}

function positionOf(step: PathKey): number | undefined {
  if (step.kind === 'property') return undefined;
  const { key } = step;
  return typeof key === 'number' && Number.isInteger(key) && key >= 0 ? key : undefined;
}

function keyOf(step: PathKey, limits: ChangeLimits): string {
  return step.kind === 'property' ? step.name : textOf(step.key, limits.formats);
}
