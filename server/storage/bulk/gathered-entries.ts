import type { Rid } from '#core/value/rid.ts';
import type { Timers } from '#core/runtime.ts';
import type { IndexTarget } from '../index-target.ts';
import { EntryRun, RunMerge } from './entry-runs.ts';
import { type GroupedPart, GroupedRun } from './grouped-run.ts';

/** Entries of one index, in order. */
export type SortedEntries = EntryRun | GroupedPart;

/** Entries are written behind each other once they take so much: they fill pages, and each page is written once. */
const bytesMax = 96 * 1024 * 1024;

/** What an index build gathers in rounds, and then has back in order. */
export interface GatheredEntries {
  readonly count: number;
  /** What is there is to be written before more comes. */
  readonly isFull: boolean;
  add(key: Uint8Array, rid: Rid): void;
  /** Called when a round is over and others have their turn. */
  endRound(timers: Pick<Timers, 'yield'>): Promise<void>;
  /** The next ones when those before have been written; undefined when there are no more. */
  next(countMax: number, timers: Pick<Timers, 'yield'>): Promise<SortedEntries | undefined>;
}

export function gatheredEntries(target: IndexTarget): GatheredEntries {
  return target.isChunked === true ? new GatheredGroups(target) : new GatheredRuns(target);
}

/** Each round is a run, in order. */
class GatheredRuns implements GatheredEntries {
  readonly #target: IndexTarget;
  readonly #runs: EntryRun[] = [];
  #bytes = 0;
  #run: EntryRun;
  #merge: RunMerge | undefined;
  /** Made while the disk writes those before. */
  #upcoming: Promise<EntryRun | undefined> | undefined;

  constructor(target: IndexTarget) {
    this.#target = target;
    this.#run = new EntryRun(target);
  }

  get count(): number {
    return this.#run.count;
  }

  get isFull(): boolean {
    return this.#bytes >= bytesMax;
  }

  add(key: Uint8Array, rid: Rid): void {
    this.#run.add(key, rid);
  }

  async endRound(timers: Pick<Timers, 'yield'>): Promise<void> {
    const run = this.#run;
    this.#run = new EntryRun(this.#target);
    await run.sort(timers);
    this.#runs.push(run.laidOut());
    this.#bytes += run.byteLength;
  }

  async next(countMax: number, timers: Pick<Timers, 'yield'>): Promise<EntryRun | undefined> {
    this.#merge ??= new RunMerge(this.#target, this.#runs);
    const run = await (this.#upcoming ?? this.#merge.next(countMax, timers));
    if (run === undefined) return undefined;
    this.#upcoming = this.#merge.next(countMax, timers);
    // What goes wrong with them is told behind what goes wrong where this one is written.
    this.#upcoming.catch(() => {});
    return run;
  }
}

/** An entry of a chunk takes a third of the time of one that is written alone: fewer flushes for which nobody works meanwhile. */
const groupedShare = 3;

class GatheredGroups implements GatheredEntries {
  readonly #run: GroupedRun;
  #isSorted = false;
  #part: GroupedPart | undefined;

  constructor(target: IndexTarget) {
    this.#run = new GroupedRun(target);
  }

  get count(): number {
    return this.#run.count;
  }

  get isFull(): boolean {
    return this.#run.isFull || this.#run.byteLength >= bytesMax;
  }

  add(key: Uint8Array, rid: Rid): void {
    this.#run.add(key, rid);
  }

  async endRound(): Promise<void> {}

  async next(countMax: number, timers: Pick<Timers, 'yield'>): Promise<GroupedPart | undefined> {
    if (!this.#isSorted) {
      this.#isSorted = true;
      await this.#run.sort(timers);
      this.#part = this.#run.begin(groupedShare * countMax);
    } else this.#part = this.#part?.next();
    return this.#part;
  }
}
