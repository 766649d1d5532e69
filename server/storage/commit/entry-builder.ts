import type { IndexId, Rid } from '#core/value/rid.ts';
import { inTurns, toEnd } from '#core/pausing-work.ts';
import type { Timers } from '#core/runtime.ts';
import { type EntryRun, EntryRuns } from '../bulk/entry-runs.ts';
import type { GroupedPart, GroupedRun } from '../bulk/grouped-run.ts';
import type { EntryChanges } from '../engine.ts';
import type { IndexTarget } from '../index-target.ts';
import type { IndexBuilds } from './index-builds.ts';
import type { ImageMemory } from '../checkpoint/image-memory.ts';
import { PendingEntries } from '../checkpoint/pending-entries.ts';
import type { PinnedReader } from '../read/pinned-reader.ts';
import { chunkedComponents } from '../format/entry-chunk.ts';
import { entriesInAll, type EntrySegment } from '../format/entry-segments.ts';
import { IxKey, ridSize, type Store, writeRid } from '../format/sub-databases.ts';
import { hasChunkedEntry } from '../read/changes-beside.ts';
import type { UniqueEntryCache } from '../read/unique-entry-cache.ts';
import { putEmpty, putLast, removal, type Write } from '../checkpoint/write-batch.ts';
import { foldSlice, type MergeBounds, type MergedRuns } from './chunk-merge.ts';
import type { PendingMeta } from './pending-meta.ts';
import { type EntryWriting, writeSegment } from './segment-writes.ts';

interface Change {
  readonly target: IndexTarget;
  readonly components: Uint8Array;
  readonly rid: Rid;
}

/** Changes that are written between two turns of the event loop: a millisecond or two. */
const changesPerSlice = 2048;
/** Entries of unique indexes that go, above which everything that is remembered of such indexes is forgotten. */
const freedMax = 16_384;

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
  /** Sorted entries by the hundred thousand, which go before any of the others come. */
  readonly removalRuns: EntryRun[] = [];
  readonly additionRuns: EntryRun[] = [];
  #packed: { readonly removals: EntryRuns; readonly additions: EntryRuns } | undefined;
  #isSliced = false;
  /** Work that an operation left. */
  readonly #waiting: Generator<undefined, void, undefined>[] = [];
  readonly #key = new IxKey();
  readonly #memory: ImageMemory;
  readonly #builds: IndexBuilds;
  readonly #meta: Pick<PendingMeta, 'use'>;
  /** Of indexes in chunks, what comes and goes in small numbers. */
  readonly pending = new Map<IndexId, PendingEntries>();
  #lastPending: { readonly index: IndexId; readonly entries: PendingEntries } | undefined;
  /** Indexes in chunks that change, with the entries that came to stand beside the chunks before this commit, where it knows better. */
  readonly chunked = new Map<IndexId, number | undefined>();
  /** The segments of indexes as this commit leaves them, so far. */
  readonly #segments = new Map<IndexId, readonly EntrySegment[]>();

  constructor(
    reader: PinnedReader,
    memory: ImageMemory,
    builds: IndexBuilds,
    meta: Pick<PendingMeta, 'use'>,
  ) {
    this.#reader = reader;
    this.#memory = memory;
    this.#builds = builds;
    this.#meta = meta;
  }

  /**
   * A log entry is applied in slices, until `endInSlices`: `workInSlices` after each operation that leaves work waiting.
   * @param packs changes are packed: the log entry is the only one of its commit and changes each record once, so its entries are
   * written in the order of their keys, behind everything else
   */
  beginSlices(packs: boolean): void {
    this.#isSliced = true;
    if (packs) this.#packed = { removals: new EntryRuns(), additions: new EntryRuns() };
  }

  later(work: Generator<undefined, void, undefined>): void {
    if (this.#isSliced) this.#waiting.push(work);
    else toEnd(work);
  }

  get isWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  async workInSlices(timers: Pick<Timers, 'yield'>): Promise<void> {
    for (const work of this.#waiting) await inTurns(work, timers);
    this.#waiting.length = 0;
  }

  /** The log entry is over; what was packed is sorted. */
  async endInSlices(timers: Pick<Timers, 'yield'>): Promise<void> {
    this.#isSliced = false;
    await this.#writeInSlices(this.#removals, -1, timers);
    await this.#writeInSlices(this.#additions, 1, timers);
    this.#removals = [];
    this.#additions = [];
    const packed = this.#packed;
    if (packed === undefined) return;
    this.#packed = undefined;
    const removals = await packed.removals.sorted(timers);
    const additions = await packed.additions.sorted(timers);
    for (const run of removals.runs) {
      this.#count(run.target.id, -run.count);
      this.removalRuns.push(run);
    }
    for (const run of additions.runs) this.addRun(run);
    for (const index of new Set([...removals.grouped.keys(), ...additions.grouped.keys()])) {
      const coming = wholeOf(additions.grouped.get(index));
      await this.addGrouped(coming, timers, wholeOf(removals.grouped.get(index)));
    }
  }

  /** Sorted entries that are known to be new. */
  addRun(run: EntryRun): void {
    this.#count(run.target.id, run.count);
    this.additionRuns.push(run);
  }

  /**
   * Sorted entries of one index in chunks that are known to be new.
   * @param removals the entries that go before
   */
  async addGrouped(
    additions: readonly GroupedPart[],
    timers: Pick<Timers, 'yield'>,
    removals: readonly GroupedPart[] = [],
  ): Promise<void> {
    const index = (additions[0] ?? removals[0])?.target.id;
    if (index === undefined) return;
    await inTurns(this.#merge(index, { additions, removals }), timers);
    for (const { count } of additions) this.#count(index, count);
    for (const { count } of removals) this.#count(index, -count);
  }

  /**
   * What stands beside the chunks of an index goes into them.
   * @returns where to go on; undefined: all of them did
   */
  fold(
    index: IndexId,
    bounds: MergeBounds,
    timers: Pick<Timers, 'yield'>,
  ): Promise<Uint8Array | undefined> {
    return inTurns(this.#merge(index, {}, bounds), timers);
  }

  /** The highest number of a segment of the index; those that come are higher. */
  newestSegment(index: IndexId): number {
    return this.#reader.segmentsOf(index).at(-1)?.number ?? 0;
  }

  *#merge(
    index: IndexId,
    runs: MergedRuns,
    bounds?: MergeBounds,
  ): Generator<undefined, Uint8Array | undefined, undefined> {
    this.#useChunks(index);
    const { next, left } = yield* foldSlice(this.#writing(index), runs, bounds);
    if (left !== undefined) {
      this.#segments.set(index, left);
      this.chunked.set(index, entriesInAll(left));
    }
    return next;
  }

  #writing(index: IndexId): EntryWriting {
    return { reader: this.#reader, index, memory: this.#memory, writes: this.#writes };
  }

  /** What is pending becomes segments: of a commit that goes to LMDB. */
  *segmentWrites(): Generator<undefined, readonly Write[], undefined> {
    const writes: Write[] = [];
    for (const [index, entries] of this.pending) {
      const listed = () => this.#segments.get(index) ?? this.#reader.segmentsOf(index);
      yield* writeSegment({ ...this.#writing(index), writes }, entries, listed);
    }
    return writes;
  }

  #useChunks(index: IndexId): void {
    this.#meta.use('entryChunks');
    this.#meta.use('entrySegments');
    if (!this.chunked.has(index)) this.chunked.set(index, undefined);
  }

  #pendingOf(index: IndexId): PendingEntries {
    if (this.#lastPending?.index === index) return this.#lastPending.entries;
    let entries = this.pending.get(index);
    if (entries === undefined) {
      this.#useChunks(index);
      entries = new PendingEntries();
      this.pending.set(index, entries);
    }
    this.#lastPending = { index, entries };
    return entries;
  }

  remove(target: IndexTarget, key: Uint8Array, rid: Rid): void {
    if (this.#packed !== undefined && !target.isBuilding) {
      this.#packed.removals.add(target, key, rid);
      return;
    }
    if (target.isChunked === true && !target.isBuilding) {
      this.#pendingOf(target.id).add(key, rid, false);
      return;
    }
    this.#removals.push({ target, components: componentsOf(target, key, rid), rid });
  }

  add(target: IndexTarget, key: Uint8Array, rid: Rid): void {
    if (this.#packed !== undefined && !target.isBuilding) {
      this.#packed.additions.add(target, key, rid);
      return;
    }
    if (target.isChunked === true && !target.isBuilding) {
      this.#pendingOf(target.id).add(key, rid, true);
      return;
    }
    this.#additions.push({ target, components: componentsOf(target, key, rid), rid });
  }

  /** All removals of a log entry come before its additions: records may swap unique keys in one transaction. */
  endEntry(): void {
    for (const change of this.#removals) this.#write(change, -1);
    for (const change of this.#additions) this.#write(change, 1);
    this.#removals = [];
    this.#additions = [];
  }

  async #writeInSlices(
    changes: readonly Change[],
    sign: 1 | -1,
    timers: Pick<Timers, 'yield'>,
  ): Promise<void> {
    for (let i = 0; i < changes.length; i += 1) {
      this.#write(changes[i] as Change, sign);
      if ((i + 1) % changesPerSlice === 0) await timers.yield();
    }
  }

  /** Like `add` for components that have the RID in them already where the index is not unique. */
  addEncoded(target: IndexTarget, components: Uint8Array, rid: Rid): void {
    this.#additions.push({ target, components, rid });
  }

  get deltas(): ReadonlyMap<IndexId, number> {
    if (this.pending.size === 0) return this.#deltas;
    const deltas = new Map(this.#deltas);
    for (const [index, { balance }] of this.pending)
      deltas.set(index, (deltas.get(index) ?? 0) + balance);
    return deltas;
  }

  finish(writes: Write[]): void {
    for (const write of this.#writes) writes.push(write);
  }

  /** Takes out of the cache what does not hold any more. What was added was not there before, or was taken out first. */
  publish(cache: UniqueEntryCache): void {
    // Most commits have none.
    const { removalRuns } = this;
    const freedRuns = removalRuns.length === 0 ? removalRuns : removalRuns.filter(isOfUnique);
    let count = this.#freed.length;
    for (const run of freedRuns) count += run.count;
    if (count > freedMax) {
      cache.clear();
      return;
    }
    for (const { target, components } of this.#freed) cache.remove(target.id, components);
    for (const run of freedRuns)
      for (let place = 0; place < run.count; place += 1)
        cache.remove(run.target.id, run.componentsAt(place));
  }

  /** Forgets counting for a dropped index. */
  drop(index: IndexId): void {
    this.#deltas.delete(index);
    this.pending.delete(index);
    this.#lastPending = undefined;
    this.chunked.delete(index);
    this.#packed?.removals.drop(index);
    this.#packed?.additions.drop(index);
  }

  #write(change: Change, sign: 1 | -1): void {
    const { target, components } = change;
    if (target.isBuilding && !this.#changes(change, sign === 1)) return;
    if (target.isChunked === true) {
      this.#pendingOf(target.id).addComponents(components, sign === 1);
      return;
    }
    const key = new IxKey();
    key.index = target.id;
    key.components = components;
    const { ix } = this.#reader.subs;
    if (sign === -1 && target.isUnique) this.#freed.push(change);
    this.#writes.push(
      sign === 1 ? entryWrite(ix, key, this.#memory, target, change.rid) : removal(ix, key),
    );
    this.#count(target.id, sign);
  }

  #count(index: IndexId, count: number): void {
    this.#deltas.set(index, (this.#deltas.get(index) ?? 0) + count);
  }

  /** Whether an entry of an index under construction changes between there and not there. */
  #changes({ target, components, rid }: Change, isThereThen: boolean): boolean {
    this.#builds.note(target.id, rid);
    const name = `${target.id}/${Buffer.from(components).toString('latin1')}`;
    const isThere = this.#known.get(name) ?? this.#isStored(target, components);
    this.#known.set(name, isThereThen);
    return isThere !== isThereThen;
  }

  #isStored({ id, isChunked }: IndexTarget, components: Uint8Array): boolean {
    if (isChunked === true) return hasChunkedEntry(this.#reader, id, components);
    this.#key.index = id;
    this.#key.components = components;
    return this.#reader.find(this.#reader.subs.ix, this.#key);
  }
}

function wholeOf(runs: readonly GroupedRun[] = []): readonly GroupedPart[] {
  return runs.map((run) => run.whole());
}

function isOfUnique({ target }: EntryRun): boolean {
  return target.isUnique;
}

function componentsOf({ isUnique, isChunked }: IndexTarget, key: Uint8Array, rid: Rid): Uint8Array {
  if (isUnique) return key;
  return isChunked === true ? chunkedComponents(key, rid) : withRid(key, rid);
}

export function withRid(key: Uint8Array, rid: Rid): Uint8Array {
  const { length } = key;
  const whole = new Uint8Array(length + ridSize);
  // Here, not in a function for all: that one meets every kind of array, and takes 20 ns a byte then.
  for (let i = 0; i < length; i += 1) whole[i] = key[i] as number;
  writeRid(whole, length, rid);
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
