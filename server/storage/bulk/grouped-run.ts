import type { Rid } from '#core/value/rid.ts';
import type { Timers } from '#core/runtime.ts';
import { compareBytes, componentsMax, putRid } from '../format/entry-chunk.ts';
import { ridSize } from '../format/sub-databases.ts';
import type { IndexTarget } from '../index-target.ts';
import { type ChangeSource, prefixOf as firstBits } from '../read/change-merge.ts';
import { EntryLists, ListPlace } from './entry-lists.ts';
import { GroupTable } from './group-table.ts';
import { orderByPrefix, prefixOf, prefixSize } from './prefix-sort.ts';
import { orderInSlices } from './sliced-sort.ts';

/** Above it tables grow in turns of 20 ms. */
const groupsMax = 2 ** 20;
/** Entries, and groups, between two turns of the event loop. */
const entriesPerSlice = 4_096;
const groupsPerSlice = 32_768;

/**
 * Entries of one index in chunks that come, or that go: a list for each group (a term), as text indexes are made everywhere. What is to be
 * sorted are the groups, of which there are few; entries of one come in their order most often.
 */
export class GroupedRun {
  readonly target: IndexTarget;
  count = 0;
  readonly #groups = new GroupTable();
  readonly #lists = new EntryLists();
  /** Groups whose entries came in another order. */
  readonly #unordered = new Set<number>();
  #order: Uint32Array = new Uint32Array(0);

  constructor(target: IndexTarget) {
    this.target = target;
  }

  /** What comes next goes into another run. */
  get isFull(): boolean {
    return this.#groups.count >= groupsMax || this.#lists.isFull;
  }

  /** Bytes that it takes. */
  get byteLength(): number {
    return this.#groups.byteLength + this.#lists.byteLength;
  }

  add(key: Uint8Array, rid: Rid): void {
    const group = this.#groups.numberOf(key);
    if (group === this.#lists.count) this.#lists.begin(group);
    const end = this.#groups.lengthOf(group);
    if (!this.#lists.put(group, rid, key, end, key.length)) this.#unordered.add(group);
    this.count += 1;
  }

  /** Brings the entries into the order of their components, in slices; nothing is added after that. */
  async sort(timers: Pick<Timers, 'yield'>): Promise<void> {
    const { count, bytes, starts } = this.#groups;
    const prefixes = new Float64Array(count);
    for (let group = 0; group < count; group += 1) {
      prefixes[group] = prefixOf(bytes, starts[group] as number, starts[group + 1] as number);
      if ((group + 1) % groupsPerSlice === 0) await timers.yield();
    }
    const compareRest = (a: number, b: number): number => {
      const startA = (starts[a] as number) + prefixSize;
      const startB = (starts[b] as number) + prefixSize;
      const [endA, endB] = [starts[a + 1] as number, starts[b + 1] as number];
      return compareBytes(bytes, startA, endA, bytes, startB, endB);
    };
    this.#order = await orderByPrefix({ count, prefixes, compareRest }, timers);
    let untilYield = entriesPerSlice;
    for (const group of this.#unordered) {
      untilYield -= await this.#sortGroup(group, timers);
      if (untilYield > 0) continue;
      untilYield = entriesPerSlice;
      await timers.yield();
    }
    this.#unordered.clear();
  }

  /** Lays the list of a group anew. @returns its entries */
  async #sortGroup(group: number, timers: Pick<Timers, 'yield'>): Promise<number> {
    const lists = this.#lists;
    const rids: Rid[] = [];
    const slabs: Uint8Array[] = [];
    const starts: number[] = [];
    const ends: number[] = [];
    const place = new ListPlace();
    for (lists.enter(group, place); lists.next(group, place); ) {
      rids.push(place.rid);
      slabs.push(place.bytes);
      starts.push(place.tailStart);
      ends.push(place.tailEnd);
      if (rids.length % entriesPerSlice === 0) await timers.yield();
    }
    const compareTails = (a: number, b: number): number => {
      const [slabA, slabB] = [slabs[a] as Uint8Array, slabs[b] as Uint8Array];
      const [startA, startB] = [starts[a] as number, starts[b] as number];
      return compareBytes(slabA, startA, ends[a] as number, slabB, startB, ends[b] as number);
    };
    const compare = (a: number, b: number): number =>
      (rids[a] as number) - (rids[b] as number) || compareTails(a, b);
    const order = await orderInSlices(rids.length, compare, timers);
    lists.begin(group);
    for (let at = 0; at < order.length; at += 1) {
      const entry = order[at] as number;
      const [start, end] = [starts[entry] as number, ends[entry] as number];
      lists.put(group, rids[entry] as Rid, slabs[entry] as Uint8Array, start, end);
      if ((at + 1) % entriesPerSlice === 0) await timers.yield();
    }
    return order.length;
  }

  /** All entries, of a run that is sorted. */
  whole(): GroupedPart {
    return new GroupedPart(this, new RunPlace(), Infinity);
  }

  /** The first of its entries, so many at most; undefined when there are none. */
  begin(countMax: number): GroupedPart | undefined {
    return new GroupedPart(this, new RunPlace(), countMax).orNone();
  }

  /** To the next entry in order. @returns false when there is none */
  step(place: RunPlace): boolean {
    while (place.at < 0 || !this.#lists.next(place.group, place.list)) {
      if (place.at + 1 >= this.#order.length) return false;
      place.at += 1;
      place.group = this.#order[place.at] as number;
      this.#lists.enter(place.group, place.list);
    }
    return true;
  }

  /** Lays the bytes of a group at the start of `target`. @returns where they end */
  writeGroup(group: number, target: Uint8Array): number {
    const { bytes, starts } = this.#groups;
    const start = starts[group] as number;
    const length = (starts[group + 1] as number) - start;
    for (let i = 0; i < length; i += 1) target[i] = bytes[start + i] as number;
    return length;
  }
}

/** How far a run has been gone through. */
class RunPlace {
  /** In the order of groups. */
  at = -1;
  group = 0;
  list = new ListPlace();

  copy(): RunPlace {
    const { at, group, list } = this;
    return Object.assign(new RunPlace(), { at, group, list: list.copy() });
  }
}

/** Some entries of a sorted run that follow each other; how many it has is known when they have been gone through. */
export class GroupedPart {
  readonly #run: GroupedRun;
  readonly #from: RunPlace;
  readonly #countMax: number;
  #isWanted: ((rid: Rid) => boolean) | undefined;
  #changes: GroupedChanges | undefined;

  constructor(run: GroupedRun, from: RunPlace, countMax: number) {
    this.#run = run;
    this.#from = from;
    this.#countMax = countMax;
  }

  get target(): IndexTarget {
    return this.#run.target;
  }

  /** Leaves out the entries of records that are not wanted. */
  keepOnly(isWanted: (rid: Rid) => boolean): void {
    this.#isWanted = isWanted;
  }

  /** Goes through the entries, from the first on. */
  changes(isAddition: boolean): GroupedChanges {
    const bounds = { from: this.#from, countMax: this.#countMax, isWanted: this.#isWanted };
    this.#changes = new GroupedChanges(this.#run, bounds, isAddition);
    return this.#changes;
  }

  /** The entries that were gone through. */
  get count(): number {
    return this.#changes?.count ?? 0;
  }

  /** What follows when this part has been gone through; undefined when that is nothing. */
  next(): GroupedPart | undefined {
    return new GroupedPart(this.#run, this.#changes?.place ?? this.#from, this.#countMax).orNone();
  }

  /** Undefined when it has no entries. */
  orNone(): this | undefined {
    return this.#run.step(this.#from.copy()) ? this : undefined;
  }
}

interface PartBounds {
  readonly from: RunPlace;
  readonly countMax: number;
  readonly isWanted: ((rid: Rid) => boolean) | undefined;
}

class GroupedChanges implements ChangeSource {
  readonly #run: GroupedRun;
  readonly #bounds: PartBounds;
  /** Where it stands. */
  readonly place: RunPlace;
  /** Entries so far. */
  count = 0;
  readonly #components = new Uint8Array(componentsMax);
  #groupLength = 0;
  /** Whose group stands in the components. */
  #groupAt = -1;
  bytes: Uint8Array | undefined;
  readonly start = 0;
  end = 0;
  readonly isAddition: boolean;
  readonly isDistinct = true;
  prefix = 0;

  constructor(run: GroupedRun, bounds: PartBounds, isAddition: boolean) {
    this.#run = run;
    this.#bounds = bounds;
    this.place = bounds.from.copy();
    this.isAddition = isAddition;
    this.step();
  }

  get rid(): Rid {
    return this.place.list.rid;
  }

  step(): void {
    const { place } = this;
    const { countMax, isWanted } = this.#bounds;
    do
      if (this.count === countMax || !this.#run.step(place)) {
        this.bytes = undefined;
        return;
      }
    while (isWanted !== undefined && !isWanted(place.list.rid));
    this.count += 1;
    const components = this.#components;
    if (place.at !== this.#groupAt) {
      this.#groupAt = place.at;
      this.#groupLength = this.#run.writeGroup(place.group, components);
    }
    const { rid, bytes, tailStart, tailEnd } = place.list;
    putRid(components, this.#groupLength, rid);
    let at = this.#groupLength + ridSize;
    for (let i = tailStart; i < tailEnd; i += 1) components[at++] = bytes[i] as number;
    this.bytes = components;
    this.end = at;
    this.prefix = firstBits(components, 0);
  }
}
