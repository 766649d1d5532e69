import { valueKey, valuesKey, type ValueKey } from '#core/equality.ts';
import type { Value } from '#core/value.ts';

/** Numbers groups in the order in which they are first seen. */
export class GroupTable {
  readonly #groups = new Map<ValueKey, number>();
  #lastKey: ValueKey | undefined;
  #lastGroup = 0;

  get size(): number {
    return this.#groups.size;
  }

  /** The number of the group with these key values; a new one gets the next number, which is the size before. */
  groupOf(values: readonly Value[]): number {
    const key = keyOf(values);
    // Rows of one group often stand together.
    if (key === this.#lastKey) return this.#lastGroup;
    let group = this.#groups.get(key);
    if (group === undefined) {
      group = this.#groups.size;
      this.#groups.set(key, group);
    }
    this.#lastKey = key;
    this.#lastGroup = group;
    return group;
  }
}

function keyOf(values: readonly Value[]): ValueKey {
  if (values.length === 1) return valueKey(values[0] as Value);
  return values.length === 0 ? null : valuesKey(values);
}
