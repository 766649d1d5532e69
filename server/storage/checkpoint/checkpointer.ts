import type { LogIndex } from '#core/value/rid.ts';
import { inTurns } from '#core/pausing-work.ts';
import type { Cancel, Clock, Timers } from '#core/runtime.ts';
import type { OverlayLayer } from './overlay-store.ts';
import type { ReaderBook } from '../read/reader-book.ts';
import type { SubDatabases } from '../format/sub-databases.ts';
import type { CheckpointFold, EntryFolds } from '../commit/entry-folds.ts';
import { writeSegment } from '../commit/segment-writes.ts';
import { ImageMemory } from './image-memory.ts';
import { type Write, writeBatch } from './write-batch.ts';

/** Dirty bytes are written after this time at the earliest (storage.md 5) ... */
const delayMsMin = 50;
/** ... after so many times what the last checkpoint took, so that commits have the disk to themselves 97 % of the time ... */
const restFactor = 40;
/** ... though after this time at the latest ... */
const delayMsMax = 1000;
/** ... or when there are this many ... */
const dirtyBytesMax = 4 * 1024 * 1024;
/** ... or when they hold so much memory with what they have replaced: writers of one block make thousands of images of it ... */
const heldBytesMax = 8 * 1024 * 1024;
/** ... or so many values, since handing them to LMDB takes the main thread a microsecond or two each ... */
const dirtyValuesMax = 2_048;
/** ... and above this much, commits wait. */
const heldBytesLimit = 64 * 1024 * 1024;
const dirtyValuesLimit = 16_384;

/** How long commits gather before a timed checkpoint, when the last one took `tookMs`. Milliseconds. */
export function gatheringMs(tookMs: number): number {
  return Math.min(delayMsMax, Math.max(delayMsMin, tookMs * restFactor));
}

function isFull(layer: OverlayLayer): boolean {
  return (
    layer.bytes >= dirtyBytesMax || layer.heldBytes >= heldBytesMax || layer.count >= dirtyValuesMax
  );
}

interface EntryWrites {
  readonly writes: readonly Write[];
  readonly fold: CheckpointFold | undefined;
}

export interface CheckpointerOptions {
  readonly subs: SubDatabases;
  readonly readers: ReaderBook;
  readonly timers: Pick<Timers, 'after' | 'yield'>;
  /** Without it the pauses between checkpoints are the shortest ones. */
  readonly clock?: Pick<Clock, 'monotonicMs'> | undefined;
  readonly folds: Pick<EntryFolds, 'withCheckpoint'>;
  /** Newest applied LSN. */
  readonly appliedIndex: () => LogIndex;
  /** Everything up to the index is in LMDB, durably. */
  readonly written: (index: LogIndex) => void;
  readonly failed: (error: unknown) => void;
}

/** Carries what commits wrote to the overlay into LMDB: all of it in key order, as one LMDB transaction, one at a time. */
export class Checkpointer {
  readonly #options: CheckpointerOptions;
  #running: Promise<void> | undefined;
  #cancelTimer: Cancel | undefined;
  /** What the last run took. */
  #tookMs = 0;
  /** What it was to write stays in the overlay and in the log; nothing later may overtake it. */
  #hasFailed = false;
  /** What a run is to write: the layer, and the newest state that is in it. Left by a run that failed. */
  #frozen: { readonly layer: OverlayLayer; readonly index: LogIndex } | undefined;

  constructor(options: CheckpointerOptions) {
    this.#options = options;
  }

  /** The disk is busy with a checkpoint. */
  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** What `all` is expected to take; 0: nothing is to be written. */
  get expectedMs(): number {
    const isClean = this.#options.readers.layer.isEmpty && this.#frozen === undefined;
    return isClean ? 0 : this.#tookMs;
  }

  /** A commit has written to the overlay. */
  changed(): void {
    const { readers, timers } = this.#options;
    if (this.#running !== undefined || this.#hasFailed) return;
    if (isFull(readers.layer)) void this.#start();
    else {
      this.#cancelTimer ??= timers.after(gatheringMs(this.#tookMs), () => {
        this.#cancelTimer = undefined;
        void this.#start();
      });
    }
  }

  /** So much is dirty that commits are to wait for `all`. */
  get isBehind(): boolean {
    const { layer } = this.#options.readers;
    return layer.heldBytes > heldBytesLimit || layer.count > dirtyValuesLimit;
  }

  /**
   * Resolves when everything committed before the call is in LMDB; what was committed meanwhile may or may not be. A run that is
   * under way may have begun before, so it is awaited first; the next one has all of it, whoever starts it.
   */
  async all(): Promise<void> {
    await this.#running;
    await this.#start();
  }

  /** After a run that failed: tries it again, and goes on when it succeeds. @returns whether nothing is left of the failure */
  async mend(): Promise<boolean> {
    if (!this.#hasFailed) return true;
    await this.#running;
    this.#hasFailed = false;
    await this.#start();
    return !this.#hasFailed;
  }

  /** Resolves when nothing is under way and nothing will be: for LMDB that is about to be closed. */
  async stop(): Promise<void> {
    this.#hasFailed = true;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    await this.#running;
  }

  /** What is pending of indexes in chunks becomes segments, and some of these go into chunks. Nobody else writes to LMDB meanwhile. */
  async #entries({ entries }: OverlayLayer): Promise<EntryWrites> {
    const { readers, timers, folds } = this.#options;
    const reader = readers.newest;
    reader.hold();
    try {
      const writing = { reader, memory: new ImageMemory(), writes: [] as Write[] };
      let count = 0;
      for (const pending of entries.values()) count += pending.count;
      const fold = await inTurns(folds.withCheckpoint(writing, count), timers);
      for (const [index, pending] of entries) {
        const listed = () =>
          (fold?.index === index ? fold.left : undefined) ?? reader.segmentsOf(index);
        await inTurns(writeSegment({ ...writing, index }, pending, listed), timers);
      }
      return { writes: writing.writes, fold };
    } finally {
      reader.drop();
      readers.released(reader);
    }
  }

  #start(): Promise<void> {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    const isClean = this.#options.readers.layer.isEmpty && this.#frozen === undefined;
    if (isClean || this.#hasFailed) return this.#running ?? Promise.resolve();
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      if (!this.#options.readers.layer.isEmpty) this.changed();
    });
    return this.#running;
  }

  async #run(): Promise<void> {
    const { subs, readers, timers, clock, appliedIndex, written, failed } = this.#options;
    const startMs = clock?.monotonicMs() ?? 0;
    this.#frozen ??= { index: appliedIndex(), layer: readers.freeze() };
    const { layer, index } = this.#frozen;
    try {
      const { writes, fold } = await this.#entries(layer);
      await writeBatch(subs, [...layer.newest(), ...writes], timers);
      this.#frozen = undefined;
      if (clock !== undefined) this.#tookMs = clock.monotonicMs() - startMs;
      readers.rebase(appliedIndex());
      fold?.written();
      written(index);
    } catch (error) {
      this.#hasFailed = true;
      failed(error);
    }
  }
}
