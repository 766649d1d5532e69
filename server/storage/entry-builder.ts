import type { IndexId, Rid } from '#core/rid.ts';
import type { EntryChanges, IndexTarget } from './engine.ts';
import type { ImageMemory } from './image-memory.ts';
import type { PinnedReader } from './pinned-reader.ts';
import { copyInto, IxKey, ridSize, type Store, writeRid } from './sub-databases.ts';
import type { UniqueEntryCache } from './unique-entry-cache.ts';
import { putEmpty, putLast, removal, type Write } from './write-batch.ts';

interface Change {
  readonly target: IndexTarget;
  readonly components: Uint8Array;
  readonly rid: Rid;
}

/** Gathers the index changes of one commit, and how many entries they add to each index. */
export class EntryBuilder implements EntryChanges {
  readonly #reader: PinnedReader;
  readonly #deltas = new Map<IndexId, number>();
  readonly #writes: Write[] = [];
  /** Of the log entry that is being applied. */
  #removals: Change[] = [];
  #additions: Change[] = [];
  /** Whether entries of indexes under construction exist, as far as this commit knows. */
  readonly #known = new Map<string, boolean>();
  /** Unique keys that no longer lead where they led. */
  readonly #freed: Change[] = [];
  readonly #key = new IxKey();
  readonly #memory: ImageMemory;

  constructor(reader: PinnedReader, memory: ImageMemory) {
    this.#reader = reader;
    this.#memory = memory;
  }

  remove(target: IndexTarget, key: Uint8Array, rid: Rid): void {
    const components = target.isUnique ? key : withRid(key, rid);
    this.#removals.push({ target, components, rid });
  }

  add(target: IndexTarget, key: Uint8Array, rid: Rid): void {
    const components = target.isUnique ? key : withRid(key, rid);
    this.#additions.push({ target, components, rid });
  }

  /** All removals of a log entry come before its additions: records may swap unique keys in one transaction. */
  endEntry(): void {
    for (const change of this.#removals) this.#write(change, -1);
    for (const change of this.#additions) this.#write(change, 1);
    this.#removals = [];
    this.#additions = [];
  }

  /** Like `add` for components that end with the RID already where the index is not unique. */
  addEncoded(target: IndexTarget, components: Uint8Array, rid: Rid): void {
    this.#additions.push({ target, components, rid });
  }

  /** Counts entries that a bulk load puts in itself; known to be new. */
  addCount(index: IndexId, count: number): void {
    this.#deltas.set(index, (this.#deltas.get(index) ?? 0) + count);
  }

  get deltas(): ReadonlyMap<IndexId, number> {
    return this.#deltas;
  }

  finish(writes: Write[]): void {
    for (const write of this.#writes) writes.push(write);
  }

  /** Takes out of the cache what does not hold any more. What was added was not there before, or was taken out first. */
  publish(cache: UniqueEntryCache): void {
    for (const { target, components } of this.#freed) cache.remove(target.id, components);
  }

  /** Forgets counting for a dropped index. */
  drop(index: IndexId): void {
    this.#deltas.delete(index);
  }

  #write(change: Change, sign: 1 | -1): void {
    const { target, components } = change;
    if (target.isBuilding && !this.#changes(change, sign === 1)) return;
    const key = new IxKey();
    key.index = target.id;
    key.components = components;
    const { ix } = this.#reader.subs;
    if (sign === -1 && target.isUnique) this.#freed.push(change);
    this.#writes.push(
      sign === 1 ? entryWrite(ix, key, this.#memory, target, change.rid) : removal(ix, key),
    );
    this.#deltas.set(target.id, (this.#deltas.get(target.id) ?? 0) + sign);
  }

  /** Whether an entry of an index under construction changes between there and not there. */
  #changes({ target, components }: Change, isThereThen: boolean): boolean {
    const name = `${target.id}/${Buffer.from(components).toString('latin1')}`;
    const isThere = this.#known.get(name) ?? this.#isStored(target.id, components);
    this.#known.set(name, isThereThen);
    return isThere !== isThereThen;
  }

  #isStored(index: IndexId, components: Uint8Array): boolean {
    this.#key.index = index;
    this.#key.components = components;
    return this.#reader.find(this.#reader.subs.ix, this.#key);
  }
}

export function withRid(key: Uint8Array, rid: Rid): Uint8Array {
  const whole = new Uint8Array(key.length + ridSize);
  writeRid(whole, copyInto(whole, 0, key), rid);
  return whole;
}

/** The put of an entry: unique ones have the RID as their value, others nothing. */
export function entryWrite(
  ix: Store,
  key: IxKey,
  memory: ImageMemory,
  target: IndexTarget,
  rid: Rid,
): Write {
  if (!target.isUnique) return putEmpty(ix, key);
  const start = memory.take(ridSize);
  writeRid(memory.slab.bytes, start, rid);
  return putLast(ix, key, memory, start, ridSize);
}
