import type { IndexDefinition } from '#catalog/catalog.ts';
import { DatabaseError } from '#core/errors.ts';
import { isList, type Value } from '#core/value/value.ts';
import { valueAt } from '../text/text-keys.ts';
import type { KeyedRecord, SearchKeys } from '../key-port.ts';
import { vectorSettings } from './vector-settings.ts';

/** One entry for each record that has a vector; the vectors themselves are cells of records (storage.md 3.5). */
export const vectorKey: Uint8Array = Uint8Array.of(0x02);

export class VectorKeys implements SearchKeys {
  readonly #property: string;
  readonly #name: string;
  readonly #dimensions: number;
  readonly #scratch: Float32Array;

  constructor(definition: IndexDefinition) {
    const settings = vectorSettings(definition);
    this.#property = settings.property;
    this.#name = definition.name;
    this.#dimensions = settings.dimensions;
    this.#scratch = new Float32Array(settings.dimensions);
  }

  keysOf(record: KeyedRecord): readonly Uint8Array[] {
    const scratch = this.#scratch;
    if (record.readFloats?.(this.#property, scratch, 0, this.#dimensions) === true)
      return scratch.every(Number.isFinite) ? [vectorKey] : [];
    const value = valueAt(record, this.#property);
    return value !== undefined && isVector(value, this.#dimensions) ? [vectorKey] : [];
  }

  requireValid(record: KeyedRecord): void {
    const value = valueAt(record, this.#property) ?? null;
    if (value === null || isVector(value, this.#dimensions)) return;
    const refuse = (what: string) =>
      new DatabaseError(
        'Validation',
        `the index '${this.#name}' takes vectors of ${this.#dimensions} finite numbers in '${this.#property}', not ${what}`,
      );
    if (!isList(value)) throw refuse('other values');
    if (value.length !== this.#dimensions) throw refuse(`of ${value.length}`);
    throw refuse('NaN, infinities or null');
  }
}

/** A list of that many numbers, each finite as float32. */
export function isVector(value: Value, dimensions: number): boolean {
  if (!isList(value) || value.length !== dimensions) return false;
  for (let i = 0; i < dimensions; i += 1) {
    const component = value[i] as Value;
    const number = typeof component === 'number' ? component : doubleOf(component);
    if (number === undefined || !Number.isFinite(Math.fround(number))) return false;
  }
  return true;
}

/** Writes the vector of a record at `at`. @returns false when there is none */
export function readVector(
  record: KeyedRecord,
  property: string,
  into: Float32Array,
  at: number,
  dimensions: number,
): boolean {
  if (record.readFloats?.(property, into, at, dimensions) === true) return true;
  const value = valueAt(record, property) ?? null;
  if (!isList(value) || value.length !== dimensions) return false;
  for (let i = 0; i < dimensions; i += 1) {
    const component = value[i] as Value;
    const number = typeof component === 'number' ? component : doubleOf(component);
    if (number === undefined) return false;
    into[at + i] = number;
  }
  return true;
}

/** Integral doubles and 64-bit integers. */
export function doubleOf(value: Value): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof Object && 'valueKind' in value && value.valueKind === 'float')
    return value.number;
  return undefined;
}
