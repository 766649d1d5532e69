import type { IndexDefinition } from '#catalog/catalog.ts';
import { DatabaseError } from '#core/errors.ts';
import { isList, type Value } from '#core/value/value.ts';
import type { KeyedRecord, SearchKeys } from '../key-port.ts';
import { valueAt } from '../text/text-keys.ts';
import { doubleOf } from '../vector/vector-keys.ts';
import { numberIn } from '../vector/vector-settings.ts';
import { type WeightCode, weightCode } from './weight-codes.ts';

// Entries of a sparse vector index, for each record with a vector
//   01
// and for each dimension in which it has a weight other than 0
//   02 dimension u32 big-endian, code of the weight (1, 2 or 4 bytes).

/** Tells that the record has a vector. */
export const vectorTag = 0x01;
export const weightTag = 0x02;
/** Dimensions are numbers below this. */
export const dimensionBound = 2 ** 32;

export interface SparseSettings {
  readonly indices: string;
  readonly weights: string;
  /** 0: any. */
  readonly dimensions: number;
  readonly usesIdf: boolean;
  readonly code: WeightCode;
}

export function sparseSettings({ components, metadata }: IndexDefinition): SparseSettings {
  const word = (key: string) => String(metadata.get(key) ?? '').toUpperCase();
  return {
    indices: components[0]?.property ?? '',
    weights: components[1]?.property ?? '',
    dimensions: numberIn(metadata.get('dimensions')) ?? 0,
    usesIdf: word('modifier') === 'IDF',
    code: weightCode(word('weightQuantization')),
  };
}

export class SparseKeys implements SearchKeys {
  readonly #settings: SparseSettings;
  readonly #name: string;

  constructor(definition: IndexDefinition) {
    this.#settings = sparseSettings(definition);
    this.#name = definition.name;
  }

  keysOf(record: KeyedRecord): readonly Uint8Array[] {
    const vector = sparseVectorOf(record, this.#settings);
    if (typeof vector === 'string' || vector === undefined) return [];
    const { code } = this.#settings;
    const keys: Uint8Array[] = [Uint8Array.of(vectorTag)];
    vector.forEach((weight, dimension) => {
      if (weight === 0) return;
      const key = new Uint8Array(5 + code.size);
      const view = new DataView(key.buffer);
      key[0] = weightTag;
      view.setUint32(1, dimension);
      code.write(view, 5, weight);
      keys.push(key);
    });
    return keys;
  }

  requireValid(record: KeyedRecord): void {
    const vector = sparseVectorOf(record, this.#settings);
    if (typeof vector !== 'string') return;
    throw new DatabaseError(
      'Validation',
      `the index '${this.#name}' refuses the vector: ${vector}`,
    );
  }
}

/** Weights by dimension; undefined when there is no vector, a sentence when what is there is none. */
export function sparseVectorOf(
  record: KeyedRecord,
  settings: Pick<SparseSettings, 'indices' | 'weights' | 'dimensions'>,
): ReadonlyMap<number, number> | string | undefined {
  const indices = valueAt(record, settings.indices) ?? null;
  const weights = valueAt(record, settings.weights) ?? null;
  if (indices === null && weights === null) return undefined;
  if (indices === null || weights === null)
    return `'${settings.indices}' and '${settings.weights}' must both be there`;
  return sparseVectorFrom(indices, weights, settings.dimensions);
}

/** @param dimensionCount 0: any */
export function sparseVectorFrom(
  indices: Value,
  weights: Value,
  dimensionCount: number,
): ReadonlyMap<number, number> | string {
  if (!isList(indices) || !isList(weights)) return 'lists of indices and weights are required';
  if (indices.length !== weights.length)
    return `there are ${indices.length} indices and ${weights.length} weights`;
  const vector = new Map<number, number>();
  for (let i = 0; i < indices.length; i += 1) {
    const dimension = doubleOf(indices[i] as Value);
    const weight = doubleOf(weights[i] as Value);
    if (dimension === undefined || !Number.isInteger(dimension) || dimension < 0)
      return `index ${dimension ?? 'null'} at position ${i} is no integer of at least 0`;
    if (dimension >= (dimensionCount === 0 ? dimensionBound : dimensionCount))
      return `index ${dimension} is outside of the ${dimensionCount === 0 ? dimensionBound : dimensionCount} dimensions`;
    if (weight === undefined || !Number.isFinite(Math.fround(weight)))
      return `the weight at position ${i} is no finite number`;
    if (vector.has(dimension)) return `index ${dimension} comes twice`;
    vector.set(dimension, Math.fround(weight));
  }
  return vector;
}
