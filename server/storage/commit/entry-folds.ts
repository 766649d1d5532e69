import type { Cancel, Timers } from '#core/runtime.ts';
import type { IndexId, LogIndex } from '#core/value/rid.ts';
import { droppedIndex } from '../read/state-reader.ts';
import type { CommitBuilder } from './builder.ts';
import { isDamage } from '../format/checksum.ts';
import type { EntrySegment } from '../format/entry-segments.ts';
import type { PinnedReader } from '../read/pinned-reader.ts';
import { foldSlice, type MergeBounds } from './chunk-merge.ts';
import type { EntryWriting } from './segment-writes.ts';

/** Changes beside the chunks of an index, and their share of all entries of it, above which they go into these ... */
const quiet = { countMin: 65_536, share: 1 / 4 };
/** ... once nobody has committed for so long: many go in for less each, and writers have the processor ... */
const quietMs = 250;
/** ... or a few with each checkpoint, when there are so many. */
const busy = { countMin: 1_048_576, share: 1 / 2 };

/** Of one commit: some milliseconds of the main thread. */
const slice = { chunkMax: 256, changeMax: 8_192 };
/** Changes that go in with a checkpoint: so many for each that it brings, so that there are not more and more of them ... */
const foldedForEach = 2;
/** ... and at least so many. */
const foldedMin = 16_384;
/** Chunks that are made anew for them. */
const chunksForEach = 1 / 64;

interface Progress {
  readonly index: IndexId;
  /** Segments up to this number go in. */
  readonly segmentMax: number;
  readonly from: Uint8Array;
}

/** What a checkpoint does beside its own. */
export interface CheckpointFold {
  readonly index: IndexId;
  /** The segments that it leaves of the index; undefined: all. */
  readonly left: readonly EntrySegment[] | undefined;
  readonly written: () => void;
}

export interface EntryFoldsOptions {
  readonly timers: Pick<Timers, 'yield' | 'after'>;
  /** `StateReader.besideChunks`. */
  readonly besideChunks: Map<IndexId, number>;
  /** The same, counted anew where LMDB and the overlay have it. */
  readonly countBeside: (index: IndexId) => number;
  readonly entryCount: (index: IndexId) => number;
  /** As a commit of its own. */
  readonly commit: (prepare: (commit: CommitBuilder) => Promise<void>) => Promise<void>;
  readonly appliedIndex: () => LogIndex;
  /** Changes beside an index from which on checkpoints bring them in. */
  readonly countMin?: number | undefined;
  /** The engine is at work. */
  readonly mayRun: () => boolean;
}

/**
 * Brings what stands beside the chunks of indexes into these: in small commits once nobody else commits, or with checkpoints, for which
 * nobody waits. Commits leave the chunks alone, since making one anew for each word of a text is dear. A stop in between does no harm:
 * what goes into a chunk stands beside it until all is in.
 */
export class EntryFolds {
  readonly #options: EntryFoldsOptions;
  #running: Promise<void> | undefined;
  #cancelTimer: Cancel | undefined;
  /** How far checkpoints have come with an index. */
  #progress: Progress | undefined;
  /** With a damaged chunk: left to REBUILD INDEX. */
  readonly #damaged = new Set<IndexId>();

  constructor(options: EntryFoldsOptions) {
    this.#options = options;
  }

  get isQuiet(): boolean {
    return this.#running === undefined;
  }

  /** Resolves when nothing is under way. */
  async settled(): Promise<void> {
    await this.#running;
  }

  /** Changes have come. */
  check(): void {
    if (this.#running === undefined && this.#due(quiet) !== undefined) this.#waitForQuiet();
  }

  /**
   * What a checkpoint that brings so many changes does of it. Nobody else writes to LMDB meanwhile.
   * @returns what is to be done once it is durable, and the segments of an index that is finished
   */
  *withCheckpoint(
    writing: Omit<EntryWriting, 'index'>,
    changeCount: number,
  ): Generator<undefined, CheckpointFold | undefined, undefined> {
    if (this.#running !== undefined || !this.#options.mayRun()) return undefined;
    const { besideChunks } = this.#options;
    this.#progress ??= this.#begun(writing.reader);
    const progress = this.#progress;
    if (progress === undefined) return undefined;
    const { index, from, segmentMax } = progress;
    if (besideChunks.get(index) === droppedIndex) {
      this.#progress = undefined;
      return undefined;
    }
    const changeMax = Math.max(foldedMin, changeCount * foldedForEach);
    const chunkMax = changeMax * chunksForEach;
    const before = writing.writes.length;
    try {
      const bounds = { from, segmentMax, chunkMax, changeMax, isWhole: false };
      const { next, left } = yield* foldSlice({ ...writing, index }, {}, bounds);
      return { index, left, written: () => this.#advance(progress, next) };
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.#damaged.add(index);
      this.#progress = undefined;
      writing.writes.length = before;
      return undefined;
    }
  }

  #begun(reader: PinnedReader): Progress | undefined {
    const { countMin = busy.countMin } = this.#options;
    const index = this.#due({ countMin, share: busy.share });
    if (index === undefined) return undefined;
    try {
      const segmentMax = reader.segmentsOf(index).at(-1)?.number ?? 0;
      return { index, segmentMax, from: new Uint8Array(0) };
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.#damaged.add(index);
      return undefined;
    }
  }

  #advance(progress: Progress, next: Uint8Array | undefined): void {
    // Somebody has begun anew.
    if (this.#progress !== progress) return;
    this.#progress = next && { ...progress, from: next };
    const { besideChunks, countBeside } = this.#options;
    const { index } = progress;
    if (next === undefined && besideChunks.get(index) !== droppedIndex)
      besideChunks.set(index, countBeside(index));
  }

  /** Nothing is begun any more. */
  stop(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  #waitForQuiet(): void {
    const { timers, appliedIndex, mayRun } = this.#options;
    if (this.#cancelTimer !== undefined || !mayRun()) return;
    const index = appliedIndex();
    this.#cancelTimer = timers.after(quietMs, () => {
      this.#cancelTimer = undefined;
      if (appliedIndex() !== index) this.check();
      else if (this.#running === undefined) this.#start();
    });
  }

  #start(): void {
    void this.#alone(() => this.#run());
  }

  /** Nothing of it goes with checkpoints meanwhile: two at once would bring in older changes after newer ones. */
  async #alone(run: () => Promise<void>): Promise<void> {
    this.#progress = undefined;
    const work = run();
    // Who waits for the end of it is not told of its errors.
    this.#running = work
      .catch(() => {})
      .finally(() => {
        this.#running = undefined;
      });
    await work;
    await this.#running;
  }

  /**
   * All changes go into chunks, and all chunks are filled.
   * @returns false when there was nothing to be gained
   */
  async compact(index: IndexId): Promise<boolean> {
    while (this.#running !== undefined) await this.#running;
    if (!this.#options.besideChunks.has(index)) return false;
    const hadChanges = (this.#options.besideChunks.get(index) ?? 0) > 0;
    await this.#alone(() => this.#fold(index, true));
    return hadChanges;
  }

  #due({ countMin, share }: typeof quiet): IndexId | undefined {
    const { besideChunks, entryCount } = this.#options;
    for (const [index, count] of besideChunks) {
      if (count < countMin || count < entryCount(index) * share) continue;
      if (!this.#damaged.has(index)) return index;
    }
    return undefined;
  }

  async #run(): Promise<void> {
    for (let index = this.#due(quiet); index !== undefined; index = this.#due(quiet)) {
      if (!this.#options.mayRun()) return;
      try {
        await this.#fold(index, false);
      } catch (error) {
        // What kept it from writing may pass: the next changes try again. Damage is told to who searches.
        if (!isDamage(error)) return;
        this.#damaged.add(index);
      }
    }
  }

  async #fold(index: IndexId, isWhole: boolean): Promise<void> {
    const { timers, besideChunks, commit, mayRun } = this.#options;
    let segmentMax: number | undefined;
    let from: Uint8Array | undefined = new Uint8Array(0);
    while (from !== undefined && mayRun()) {
      const start: Uint8Array = from;
      let next: Uint8Array | undefined;
      await commit(async ({ entries }) => {
        next = undefined;
        if (besideChunks.get(index) === droppedIndex) return;
        // Segments that come meanwhile stay.
        segmentMax ??= entries.newestSegment(index);
        const bounds: MergeBounds = { ...slice, from: start, segmentMax, isWhole };
        next = await entries.fold(index, bounds, timers);
      });
      from = next;
      await timers.yield();
    }
  }
}
