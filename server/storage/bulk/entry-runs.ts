import type { IndexId, Rid } from '#core/value/rid.ts';
import type { Timers } from '#core/runtime.ts';
import type { IndexTarget } from '../index-target.ts';
import { ImageMemory, Slab } from '../checkpoint/image-memory.ts';
import { GroupedRun } from './grouped-run.ts';
import { orderByPrefix, prefixOf, prefixSize } from './prefix-sort.ts';
import { type Key, ridSize, type Store, writeRid } from '../format/sub-databases.ts';

/**
 * Entries of one index that come, or that go. Packed into arrays: a large commit has hundreds of thousands of them, and an object
 * for each would weigh more than the entry and make the collector copy it around.
 */
export class EntryRun {
  readonly target: IndexTarget;
  count = 0;
  #bytes: Uint8Array<ArrayBuffer>;
  #used = 0;
  /** Where the components of each entry start; one more than there are entries. */
  #starts: Float64Array<ArrayBuffer>;
  #rids: Float64Array<ArrayBuffer>;
  /** The first bytes of each as a number: most comparisons need no more. */
  #prefixes: Float64Array<ArrayBuffer>;
  #order: Uint32Array = new Uint32Array(0);
  readonly #values = new ValueMemory();

  /** @param capacity entries for which there is room at first, of some twenty bytes each */
  constructor(target: IndexTarget, capacity = 768) {
    this.target = target;
    this.#bytes = new Uint8Array(capacity * 21);
    this.#starts = new Float64Array(capacity + 2);
    this.#rids = new Float64Array(capacity + 2);
    this.#prefixes = new Float64Array(capacity + 2);
  }

  add(key: Uint8Array, rid: Rid): void {
    const at = this.count++;
    if (at + 1 === this.#starts.length) this.#growEntries();
    const start = this.#used;
    const end = start + key.length + (this.target.isUnique ? 0 : ridSize);
    if (end > this.#bytes.length) this.#growBytes(end);
    const bytes = this.#bytes;
    // Here, not in a function for all: that one meets every kind of array, and takes 20 ns a byte then.
    for (let i = 0; i < key.length; i += 1) bytes[start + i] = key[i] as number;
    if (!this.target.isUnique) writeRid(bytes, start + key.length, rid);
    this.#used = end;
    this.#starts[at + 1] = end;
    this.#rids[at] = rid;
    this.#prefixes[at] = prefixOf(this.#bytes, start, end);
  }

  /** Brings the entries into the order of their keys, in slices; nothing is added after that. */
  async sort(timers: Pick<Timers, 'yield'>): Promise<void> {
    const { count } = this;
    const starts = this.#starts;
    const bytes = this.#bytes;
    const compareRest = (a: number, b: number): number => {
      const endA = starts[a + 1] as number;
      const endB = starts[b + 1] as number;
      let atA = (starts[a] as number) + prefixSize;
      let atB = (starts[b] as number) + prefixSize;
      // In place: a call for a dozen bytes takes longer than they do.
      for (; atA < endA && atB < endB; atA += 1, atB += 1) {
        const difference = (bytes[atA] as number) - (bytes[atB] as number);
        if (difference !== 0) return difference;
      }
      return endA - (starts[a] as number) - (endB - (starts[b] as number));
    };
    this.#order = await orderByPrefix({ count, prefixes: this.#prefixes, compareRest }, timers);
  }

  /** Bytes that it takes. */
  get byteLength(): number {
    return this.#bytes.length + 3 * this.#starts.byteLength + this.#order.byteLength;
  }

  /** The same entries one behind the other in their order, so that who goes through them stays within a processor's cache. */
  laidOut(): EntryRun {
    const run = new EntryRun(this.target, this.count);
    if (this.#used > run.#bytes.length) run.#bytes = new Uint8Array(this.#used);
    for (let place = 0; place < this.count; place += 1) run.#take(this, place);
    run.endInOrder();
    return run;
  }

  /** Adds an entry of another run of the same index. */
  #take(from: EntryRun, place: number): void {
    const source = from.#order[place] as number;
    const at = this.count++;
    if (at + 1 === this.#starts.length) this.#growEntries();
    const start = this.#used;
    const sourceStart = from.#starts[source] as number;
    const end = start + (from.#starts[source + 1] as number) - sourceStart;
    if (end > this.#bytes.length) this.#growBytes(end);
    const [bytes, sourceBytes] = [this.#bytes, from.#bytes];
    for (let i = start, j = sourceStart; i < end; i += 1, j += 1)
      bytes[i] = sourceBytes[j] as number;
    this.#used = end;
    this.#starts[at + 1] = end;
    this.#rids[at] = from.#rids[source] as number;
    this.#prefixes[at] = from.#prefixes[source] as number;
  }

  /** Nothing is added after that: the entries came in the order of their keys. */
  endInOrder(): void {
    this.#order = new Uint32Array(this.count);
    for (let at = 0; at < this.count; at += 1) this.#order[at] = at;
  }

  /** Leaves out the entries of records that are not wanted; of a run that is in order. */
  keepOnly(isWanted: (rid: Rid) => boolean): void {
    const rids = this.#rids;
    const wanted = this.#order.filter((at) => isWanted(rids[at] as Rid));
    this.#order = wanted;
    this.count = wanted.length;
  }

  /** Puts the next of sorted runs, at places of theirs which it moves, into this one: those of the lowest keys, at most so many. */
  takeLeast(runs: RunPlace[], countMax: number): void {
    for (let taken = 0; taken < countMax && runs.length > 0; taken += 1) {
      const least = runs[0] as RunPlace;
      this.#take(least.run, least.place);
      stepLeast(runs);
    }
  }

  /** Compares the entry at a place with one of another run. */
  compareAt(place: number, other: EntryRun, otherPlace: number): number {
    const at = this.#order[place] as number;
    const otherAt = other.#order[otherPlace] as number;
    const difference = (this.#prefixes[at] as number) - (other.#prefixes[otherAt] as number);
    if (difference !== 0) return difference;
    const [bytes, otherBytes] = [this.#bytes, other.#bytes];
    const end = this.#starts[at + 1] as number;
    const otherEnd = other.#starts[otherAt + 1] as number;
    let i = (this.#starts[at] as number) + prefixSize;
    let j = (other.#starts[otherAt] as number) + prefixSize;
    for (; i < end && j < otherEnd; i += 1, j += 1) {
      const step = (bytes[i] as number) - (otherBytes[j] as number);
      if (step !== 0) return step;
    }
    return end - i - (otherEnd - j);
  }

  /** The components of the entry at a place of the order, and its record. */
  componentsAt(place: number): Uint8Array {
    const at = this.#order[place] as number;
    return this.#bytes.slice(this.#starts[at] as number, this.#starts[at + 1] as number);
  }

  /** The bytes that hold all components; those at a place of the order lie from `startAt` to `endAt`. */
  get bytes(): Uint8Array {
    return this.#bytes;
  }

  startAt(place: number): number {
    return this.#starts[this.#order[place] as number] as number;
  }

  endAt(place: number): number {
    return this.#starts[(this.#order[place] as number) + 1] as number;
  }

  ridAt(place: number): Rid {
    return this.#rids[this.#order[place] as number] as Rid;
  }

  /** Puts the entries of places `[from, to)` of the order. Keep the run until they are durable: LMDB points to its values. */
  put(ix: Pick<Store, 'put'>, from: number, to: number): void {
    const key = new PackedKey(this.target.id, this.#bytes);
    for (let place = from; place < to; place += 1) {
      const at = this.#order[place] as number;
      key.start = this.#starts[at] as number;
      key.end = this.#starts[at + 1] as number;
      const value = this.target.isUnique ? this.#values.add(this.#rids[at] as Rid) : noBytes.source;
      ix.put(key, value);
    }
  }

  /** As `put`: takes the entries out. */
  remove(ix: Pick<Store, 'remove'>, from: number, to: number): void {
    const key = new PackedKey(this.target.id, this.#bytes);
    for (let place = from; place < to; place += 1) {
      const at = this.#order[place] as number;
      key.start = this.#starts[at] as number;
      key.end = this.#starts[at + 1] as number;
      ix.remove(key);
    }
  }

  #growEntries(): void {
    const bytes = this.#starts.byteLength * 2;
    this.#starts = new Float64Array(this.#starts.buffer.transfer(bytes));
    this.#rids = new Float64Array(this.#rids.buffer.transfer(bytes));
    this.#prefixes = new Float64Array(this.#prefixes.buffer.transfer(bytes));
  }

  #growBytes(needed: number): void {
    const length = Math.max(needed, this.#bytes.length * 2);
    this.#bytes = new Uint8Array(this.#bytes.buffer.transfer(length));
  }
}

/** How far a run has been gone through. */
export interface RunPlace {
  readonly run: EntryRun;
  place: number;
}

/** The runs that have entries, by their first ones. */
export function placesOf(runs: readonly EntryRun[]): RunPlace[] {
  const places = runs.filter(({ count }) => count > 0).map((run) => ({ run, place: 0 }));
  return places.sort(compareHeads);
}

/** The first run goes on by one entry, and to where it belongs then. */
export function stepLeast(runs: RunPlace[]): void {
  const least = runs[0];
  if (least === undefined) return;
  least.place += 1;
  if (least.place === least.run.count) {
    runs.shift();
    return;
  }
  for (let i = 1; i < runs.length && compareHeads(least, runs[i] as RunPlace) > 0; i += 1) {
    runs[i - 1] = runs[i] as RunPlace;
    runs[i] = least;
  }
}

function compareHeads(a: RunPlace, b: RunPlace): number {
  return a.run.compareAt(a.place, b.run, b.place);
}

/** Entries between two turns of the event loop. */
const entriesPerSlice = 4_096;

/** Goes through sorted runs of one index together, in the order of all their entries. */
export class RunMerge {
  readonly #target: IndexTarget;
  /** Those that have more, by their next entries. */
  readonly #runs: RunPlace[];

  constructor(target: IndexTarget, runs: readonly EntryRun[]) {
    this.#target = target;
    this.#runs = placesOf(runs);
  }

  /** @returns the next entries, in order; undefined when there are no more */
  async next(countMax: number, timers: Pick<Timers, 'yield'>): Promise<EntryRun | undefined> {
    if (this.#runs.length === 0) return undefined;
    const part = new EntryRun(this.#target, countMax);
    while (part.count < countMax && this.#runs.length > 0) {
      part.takeLeast(this.#runs, Math.min(entriesPerSlice, countMax - part.count));
      await timers.yield();
    }
    part.endInOrder();
    return part;
  }
}

/** A value of no bytes. */
const noBytes = new Slab(8);

/** Record ids as values, all of which are kept. */
class ValueMemory {
  readonly #memory = new ImageMemory();
  readonly #slabs: Slab[] = [];

  add(rid: Rid): Uint8Array {
    const start = this.#memory.take(ridSize);
    const { slab } = this.#memory;
    if (this.#slabs.at(-1) !== slab) this.#slabs.push(slab);
    writeRid(slab.bytes, start, rid);
    slab.source.start = start;
    slab.source.end = start + ridSize;
    return slab.source;
  }
}

/** Index id and components that lie somewhere in a larger array. */
class PackedKey implements Key {
  start = 0;
  end = 0;
  readonly #index: IndexId;
  readonly #bytes: Uint8Array;

  constructor(index: IndexId, bytes: Uint8Array) {
    this.#index = index;
    this.#bytes = bytes;
  }

  write(target: Uint8Array, at: number): number {
    const index = this.#index;
    target[at] = index >>> 24;
    target[at + 1] = index >>> 16;
    target[at + 2] = index >>> 8;
    target[at + 3] = index;
    let end = at + 4;
    for (let i = this.start; i < this.end; i += 1) target[end++] = this.#bytes[i] as number;
    return end;
  }
}

/** Entries of several indexes, gathered per index, to be written in key order: 3.5 times faster than at random. */
export class EntryRuns {
  readonly #runs = new Map<IndexId, EntryRun>();
  /** Of indexes in chunks. */
  readonly #grouped = new Map<IndexId, GroupedRun[]>();

  add(target: IndexTarget, key: Uint8Array, rid: Rid): void {
    if (target.isChunked === true) this.#groupedOf(target).add(key, rid);
    else this.#runOf(target).add(key, rid);
  }

  #runOf(target: IndexTarget): EntryRun {
    let run = this.#runs.get(target.id);
    if (run === undefined) {
      run = new EntryRun(target);
      this.#runs.set(target.id, run);
    }
    return run;
  }

  #groupedOf(target: IndexTarget): GroupedRun {
    const runs = this.#grouped.get(target.id);
    const last = runs?.at(-1);
    if (last !== undefined && !last.isFull) return last;
    const run = new GroupedRun(target);
    if (runs === undefined) this.#grouped.set(target.id, [run]);
    else runs.push(run);
    return run;
  }

  drop(index: IndexId): void {
    this.#runs.delete(index);
    this.#grouped.delete(index);
  }

  /** Those of each index; nothing is added after that. */
  async sorted(timers: Pick<Timers, 'yield'>): Promise<SortedRuns> {
    for (const run of this.#runs.values()) await run.sort(timers);
    for (const runs of this.#grouped.values()) for (const run of runs) await run.sort(timers);
    return { runs: [...this.#runs.values()], grouped: this.#grouped };
  }
}

export interface SortedRuns {
  readonly runs: readonly EntryRun[];
  /** Of indexes in chunks. */
  readonly grouped: ReadonlyMap<IndexId, readonly GroupedRun[]>;
}
