import { valueKey, valuesKey, type ValueKey } from '#core/value/equality.ts';
import { ValueTable } from '../../evaluate/comparison/value-table.ts';
import type { Value } from '#core/value/value.ts';

interface RecentGroup {
  readonly key: ValueKey;
  readonly group: number;
}

/** What stands for the number of a group that finds no place any more. */
export const noGroup = -1;

/** Numbers groups in the order in which they are first seen. */
export class GroupTable {
  readonly #sizeMax: number;
  readonly #groups = new ValueTable();
  #lastKey: ValueKey | undefined;
  #lastGroup = 0;
  /** Groups of texts that were asked for lately, by `placeOf`: half the time of a lookup in the map. */
  #recent: RecentGroup[] | undefined;

  /** @param sizeMax groups beyond this number are not taken in */
  constructor(sizeMax = Number.POSITIVE_INFINITY) {
    this.#sizeMax = sizeMax;
  }

  get size(): number {
    return this.#groups.size;
  }

  /** The number of the group with these key values; a new one gets the next number, which is the size before, or `noGroup`. */
  groupOf(values: readonly Value[]): number {
    const key = keyOf(values);
    // Rows of one group often stand together.
    if (key === this.#lastKey) return this.#lastGroup;
    return typeof key === 'string' ? this.#groupOfText(key) : this.#groupOfKey(key);
  }

  #groupOfText(key: string): number {
    const place = placeOf(key);
    this.#recent ??= new Array(recentCount).fill(noRecentGroup);
    const known = this.#recent[place] as RecentGroup;
    if (known.key === key) {
      this.#lastKey = key;
      this.#lastGroup = known.group;
      return known.group;
    }
    const group = this.#groupOfKey(key);
    this.#recent[place] = { key, group };
    return group;
  }

  #groupOfKey(key: ValueKey): number {
    const groups = this.#groups;
    const group = groups.size < this.#sizeMax ? groups.add(key) : groups.find(key);
    if (group < 0) return noGroup;
    this.#lastKey = key;
    this.#lastGroup = group;
    return group;
  }
}

function keyOf(values: readonly Value[]): ValueKey {
  if (values.length === 1) return valueKey(values[0] as Value);
  return values.length === 0 ? null : valuesKey(values);
}

/** A power of two. */
const recentCount = 256;
const noRecentGroup: RecentGroup = { key: null, group: noGroup };

/** Texts of groups differ in length, or in one of three characters, more often than not. */
function placeOf(text: string): number {
  const { length } = text;
  const mixed =
    text.charCodeAt(0) * 31 + text.charCodeAt(length >> 1) * 7 + text.charCodeAt(length - 1) * 3;
  return (mixed + length) & (recentCount - 1);
}
