import type { Value } from '#core/value/value.ts';
import type { IndexComponent, IndexDefinition } from '#catalog/catalog.ts';
import {
  falseTag,
  keyAfterPrefix,
  OrderedKeyWriter,
  trueTag,
} from '#storage/format/ordered-key.ts';
import { componentForm } from './index-keys.ts';

export interface RangeBound {
  readonly value: Value;
  readonly inclusive: boolean;
}

/** Which keys are wanted: equal leading components, then perhaps a range or a text prefix of the next one. */
export interface WantedKeys {
  readonly prefix: readonly Value[];
  readonly low?: RangeBound;
  readonly high?: RangeBound;
  readonly textPrefix?: string;
}

export interface KeyRange {
  /** Inclusive. */
  readonly low: Uint8Array;
  /** Exclusive. */
  readonly high: Uint8Array;
  /** False: entries in the range must be checked against the values of their records. */
  readonly isExact: boolean;
}

/** Scratch of the functions below, which do not interleave. */
const writer = new OrderedKeyWriter();

/** The whole key of these values; undefined when it stands for other values too, so that hits must be checked. */
export function wholeKey(
  definition: IndexDefinition,
  values: readonly Value[],
): Uint8Array | undefined {
  return writeWholeKey(definition, values)?.take();
}

/** As `wholeKey`, without a copy: the key stands in the writer until the next call of any function of this file. */
export function writeWholeKey(
  { components }: IndexDefinition,
  values: readonly Value[],
): OrderedKeyWriter | undefined {
  writer.reset();
  for (let i = 0; i < values.length; i += 1) {
    writer.component(componentForm(components[i] as IndexComponent, values[i] as Value));
  }
  return writer.isExact ? writer : undefined;
}

/**
 * The byte range that holds the wanted keys. A bound that shares its key with other values (long texts, decimals with a
 * fraction) widens the range to all of them. Ranges and text prefixes are never met by null or other types of value, as in
 * SQL comparisons.
 */
export function keyRange(definition: IndexDefinition, wanted: WantedKeys): KeyRange {
  writer.reset();
  const components = definition.components;
  const leading = wanted.prefix.map((value, i) =>
    componentForm(components[i] as IndexComponent, value),
  );
  for (const value of leading) writer.component(value);
  const prefix = writer.take();
  const isPrefixExact = writer.isExact;
  const component = components[leading.length];
  const { textPrefix, low, high } = wanted;
  if (component === undefined || (textPrefix ?? low ?? high) === undefined) {
    return { low: prefix, high: keyAfterPrefix(prefix), isExact: isPrefixExact };
  }
  if (textPrefix !== undefined) {
    writer.textPrefix(componentForm(component, textPrefix) as string);
    const key = writer.take();
    return { low: key, high: keyAfterPrefix(key), isExact: writer.isExact };
  }
  const bound = (value: Value): BoundKey => {
    writer.reset();
    for (const item of leading) writer.component(item);
    writer.component(componentForm(component, value));
    writer.trimBound(prefix.length);
    return { key: writer.take(), isExact: writer.isExact };
  };
  const lowKey = low && bound(low.value);
  const highKey = high && bound(high.value);
  return {
    low:
      low && lowKey
        ? lowEnd(lowKey, low.inclusive)
        : firstOfTag(prefix, highKey?.key as Uint8Array),
    high:
      high && highKey
        ? highEnd(highKey, high.inclusive)
        : afterTag(prefix, lowKey?.key as Uint8Array),
    isExact: isPrefixExact && (lowKey?.isExact ?? true) && (highKey?.isExact ?? true),
  };
}

interface BoundKey {
  readonly key: Uint8Array;
  readonly isExact: boolean;
}

function lowEnd({ key, isExact }: BoundKey, isInclusive: boolean): Uint8Array {
  return isInclusive || !isExact ? key : keyAfterPrefix(key);
}

function highEnd({ key, isExact }: BoundKey, isInclusive: boolean): Uint8Array {
  return isInclusive || !isExact ? keyAfterPrefix(key) : key;
}

/** An open end stops at the border of the bound's own type of values; false and true have a tag each. */
function firstOfTag(prefix: Uint8Array, bound: Uint8Array): Uint8Array {
  const tag = bound[prefix.length] as number;
  return Buffer.concat([prefix, Buffer.of(tag === trueTag ? falseTag : tag)]);
}

function afterTag(prefix: Uint8Array, bound: Uint8Array): Uint8Array {
  const tag = bound[prefix.length] as number;
  return Buffer.concat([prefix, Buffer.of((tag === falseTag ? trueTag : tag) + 1)]);
}
