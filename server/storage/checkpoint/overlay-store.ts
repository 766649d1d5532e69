import type { IndexId, LogIndex } from '#core/value/rid.ts';
import type { Bytes } from '../format/bytes.ts';
import type { Key, Store } from '../format/sub-databases.ts';
import { type HeldStates, Versioned } from '../read/versioned.ts';
import { PendingEntries } from './pending-entries.ts';
import type { Write } from './write-batch.ts';

// Values between the log and LMDB (storage.md 5): what commits since the last checkpoint wrote, by sub-database and key.
// A layer is filled by commits, then frozen while a checkpoint carries it to LMDB, then dropped. A snapshot keeps the
// layers that were there when it was taken and looks in them before LMDB; it sees in them what is not newer than itself.

/** The bytes of a key as text, one character each: order of texts is order of keys. */
export function keyText(key: Key, scratch: Bytes): string {
  return scratch.latin1Slice(0, key.write(scratch, 0));
}

/** The pending values of one sub-database. */
export class LayerStore {
  readonly #values = new Map<string, Versioned<Write>>();
  /** All keys in order, but for the fresh ones, which are sorted in when a range is asked for. */
  #sorted: string[] = [];
  #fresh: string[] = [];

  get(text: string, index: LogIndex): Write | undefined {
    return this.#values.get(text)?.at(index);
  }

  /** Values, each key once. */
  get size(): number {
    return this.#values.size;
  }

  /** @returns the newest value before */
  put(text: string, write: Write, since: LogIndex, held: HeldStates): Write | undefined {
    const old = this.#values.get(text);
    if (old === undefined) this.#fresh.push(text);
    this.#values.set(text, old?.replacedBy(write, since, held) ?? new Versioned(write, since));
    return old?.value;
  }

  /** Keys from `low` on and below `high`, in order. */
  keysBetween(low: string, high: string): readonly string[] {
    const keys = this.#ordered();
    return keys.slice(lowerBound(keys, low), lowerBound(keys, high));
  }

  /** The newest values in key order. */
  newest(): Write[] {
    return this.#ordered().map((text) => (this.#values.get(text) as Versioned<Write>).value);
  }

  #ordered(): readonly string[] {
    if (this.#fresh.length > 0) {
      this.#sorted = merge(this.#sorted, this.#fresh.sort(compareTexts));
      this.#fresh = [];
    }
    return this.#sorted;
  }
}

/** What the commits between two checkpoints wrote. */
export class OverlayLayer {
  readonly #stores = new Map<Store, LayerStore>();
  readonly #entries = new Map<IndexId, PendingEntries>();
  #heldBytes = 0;
  #bytes = 0;

  /** Memory of the values; replaced ones are included, since one image keeps the memory of its neighbours. */
  get heldBytes(): number {
    return this.#heldBytes + this.#entryBytes;
  }

  /** What a checkpoint has to write. */
  get bytes(): number {
    return this.#bytes + this.#entryBytes;
  }

  get #entryBytes(): number {
    let bytes = 0;
    for (const entries of this.#entries.values()) bytes += entries.bytes;
    return bytes;
  }

  /** Values that a checkpoint has to write. */
  get count(): number {
    let count = 0;
    for (const values of this.#stores.values()) count += values.size;
    return count;
  }

  get isEmpty(): boolean {
    return this.#stores.size === 0 && this.#entries.size === 0;
  }

  /** Of indexes in chunks, what commits changed. */
  get entries(): ReadonlyMap<IndexId, PendingEntries> {
    return this.#entries;
  }

  takeEntries(changed: ReadonlyMap<IndexId, PendingEntries>, since: LogIndex): void {
    for (const [index, entries] of changed) {
      let all = this.#entries.get(index);
      if (all === undefined) {
        all = new PendingEntries();
        this.#entries.set(index, all);
      }
      all.take(entries, since);
    }
  }

  store(store: Store): LayerStore | undefined {
    return this.#stores.get(store);
  }

  put(write: Write, scratch: Bytes, since: LogIndex, held: HeldStates): void {
    let values = this.#stores.get(write.store);
    if (values === undefined) {
      values = new LayerStore();
      this.#stores.set(write.store, values);
    }
    const replaced = values.put(keyText(write.key, scratch), write, since, held);
    const bytes = bytesOf(write);
    this.#heldBytes += bytes;
    this.#bytes += replaced === undefined ? bytes : bytes - bytesOf(replaced);
  }

  /** Everything that a checkpoint has to write beside `entries`, in key order per sub-database. */
  newest(): Write[] {
    return [...this.#stores.values()].flatMap((values) => values.newest());
  }
}

/** With the objects around it. */
function bytesOf({ size }: Write): number {
  return size + 100;
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function lowerBound(keys: readonly string[], text: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((keys[middle] as string) < text) low = middle + 1;
    else high = middle;
  }
  return low;
}

function merge(a: readonly string[], b: readonly string[]): string[] {
  if (a.length === 0) return [...b];
  const merged: string[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    merged.push((a[i] as string) < (b[j] as string) ? (a[i++] as string) : (b[j++] as string));
  }
  while (i < a.length) merged.push(a[i++] as string);
  while (j < b.length) merged.push(b[j++] as string);
  return merged;
}
