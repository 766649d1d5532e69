import type { StoredRecord } from '#core/value/record.ts';
import type { Rid, TypeId } from '#core/value/rid.ts';
import type { IndexKeys } from '#index/ordered/index-keys.ts';

/** An entry of an index that exists only in a transaction. */
export interface PendingEntry {
  readonly key: Uint8Array;
  readonly rid: Rid;
  /** Where the record stands in scan order among those with the same key (`CreatedRecords.placeOf`). */
  readonly place: Rid;
}

/** The changes to catch up with, and the records as they are now. */
export interface ChangeLog {
  readonly log: readonly Rid[];
  typeOf(rid: Rid): TypeId | undefined;
  recordOf(rid: Rid): StoredRecord | undefined;
  placeOf(rid: Rid): Rid;
}

/**
 * The entries that the records changed by a transaction have in one index, sorted. A reader takes these for changed records
 * and ignores every stored entry of such a record, so nothing need be remembered about removed keys.
 *
 * It is brought up to date only when the index is read, so a large update that reads no index pays nothing.
 */
export class IndexOverlay {
  readonly #keys: IndexKeys;
  readonly #types: ReadonlySet<TypeId>;
  readonly #entries: PendingEntry[] = [];
  readonly #keysOf = new Map<Rid, readonly Uint8Array[]>();
  #seen = 0;

  constructor(keys: IndexKeys, types: ReadonlySet<TypeId>) {
    this.#keys = keys;
    this.#types = types;
  }

  /** Sorted by key, then in scan order; valid until the next call. */
  entries(changes: ChangeLog): readonly PendingEntry[] {
    const { log } = changes;
    const pendingCount = log.length - this.#seen;
    if (pendingCount === 0) return this.#entries;
    // A few changes are inserted where they belong; many are appended and sorted once.
    const isBulk = pendingCount > 16 + (this.#entries.length >> 3);
    if (isBulk) this.#takeBulk(changes);
    else {
      for (; this.#seen < log.length; this.#seen++) this.#takeOne(log[this.#seen] as Rid, changes);
    }
    return this.#entries;
  }

  #takeBulk(changes: ChangeLog): void {
    const { log } = changes;
    for (; this.#seen < log.length; this.#seen++) {
      const rid = log[this.#seen] as Rid;
      const keys = this.#currentKeys(rid, changes);
      if (keys !== undefined) this.#keysOf.set(rid, keys);
    }
    this.#entries.length = 0;
    for (const [rid, keys] of this.#keysOf) {
      const place = changes.placeOf(rid);
      for (const key of keys) this.#entries.push({ key, rid, place });
    }
    this.#entries.sort(compareEntries);
  }

  #takeOne(rid: Rid, changes: ChangeLog): void {
    const keys = this.#currentKeys(rid, changes);
    if (keys === undefined) return;
    const place = changes.placeOf(rid);
    for (const key of this.#keysOf.get(rid) ?? []) {
      this.#entries.splice(lowerBound(this.#entries, key, place), 1);
    }
    this.#keysOf.set(rid, keys);
    for (const key of keys) {
      this.#entries.splice(lowerBound(this.#entries, key, place), 0, { key, rid, place });
    }
  }

  /** No keys for a deleted record; undefined for one that is none of the index's business. */
  #currentKeys(rid: Rid, changes: ChangeLog): readonly Uint8Array[] | undefined {
    const type = changes.typeOf(rid);
    // One that was in it before its type changed has no keys any more.
    if (type === undefined || !this.#types.has(type)) return this.#keysOf.has(rid) ? [] : undefined;
    const record = changes.recordOf(rid);
    return record === undefined ? [] : this.#keys.keysOf(record);
  }
}

/** Byte order of keys, then scan order; stored entries come by key and record id, which is the same for stored records. */
export function compareEntries(a: PendingEntry, b: PendingEntry): number {
  return Buffer.compare(a.key, b.key) || a.place - b.place;
}

/** Index of the first entry that is not before `(key, place)`. */
export function lowerBound(
  entries: readonly PendingEntry[],
  key: Uint8Array,
  place: number,
): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const entry = entries[middle] as PendingEntry;
    if ((Buffer.compare(entry.key, key) || entry.place - place) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
