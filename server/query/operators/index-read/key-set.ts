import type { Value } from '#core/value/value.ts';
import { valueKey, valuesKey, type ValueKey } from '#core/value/equality.ts';
import type { Rid } from '#core/value/rid.ts';
import { ValueTable } from '../../evaluate/comparison/value-table.ts';
import { textBytes } from '../../evaluate/turns/held-bytes.ts';
import type { HeldMemory } from '../hold/held-memory.ts';
import { ridOf } from '../record-identity.ts';
import { RidSet } from '../scan/rid-set.ts';

/** A set of rows of values under the equality of `valueKey`. Single record columns are kept as bitmaps. */
export class KeySet {
  readonly #memory: HeldMemory;
  readonly #keys = new ValueTable();
  #records: RidSet | undefined;
  #recordBytes = 0;

  constructor(memory: HeldMemory) {
    this.#memory = memory;
  }

  /** @returns true when no equal row is in the set. `values` is copied. */
  add(values: readonly Value[]): boolean {
    if (values.length !== 1) return this.#addKey(valuesKey(values));
    const value = values[0] as Value;
    if (typeof value === 'object' && value !== null && 'rid' in value) {
      const rid = ridOf(value);
      if (rid !== undefined && rid >= 0) return this.#addRid(rid);
    }
    return this.#addKey(valueKey(value));
  }

  #addKey(key: ValueKey): boolean {
    const sizeBefore = this.#keys.size;
    if (this.#keys.add(key) !== sizeBefore) return false;
    this.#memory.addElement(typeof key === 'string' ? 40 + textBytes(key) : 40);
    return true;
  }

  // Records alone do not count as elements: their bitmap costs next to nothing, and k-hop neighbourhoods are large.
  #addRid(rid: Rid): boolean {
    this.#records ??= new RidSet();
    if (!this.#records.add(rid)) return false;
    const { bytes } = this.#records;
    if (bytes > this.#recordBytes) {
      this.#memory.addBytes(bytes - this.#recordBytes);
      this.#recordBytes = bytes;
    }
    return true;
  }
}
