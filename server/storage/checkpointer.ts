import type { LogIndex } from '#core/rid.ts';
import type { Cancel, Timers } from '#core/runtime.ts';
import type { OverlayLayer } from './overlay-store.ts';
import type { ReaderBook } from './reader-book.ts';
import type { SubDatabases } from './sub-databases.ts';
import { writeBatch } from './write-batch.ts';

/** Dirty bytes are written after this time (storage.md 5) ... */
const delayMs = 50;
/** ... or when there are this many ... */
const dirtyBytesMax = 4 * 1024 * 1024;
/** ... or so many values, since handing them to LMDB takes the main thread a microsecond or two each ... */
const dirtyValuesMax = 2_048;
/** ... and above this much, commits wait. */
const dirtyBytesLimit = 64 * 1024 * 1024;
const dirtyValuesLimit = 16_384;

function isFull(layer: OverlayLayer): boolean {
  return layer.bytes >= dirtyBytesMax || layer.count >= dirtyValuesMax;
}

export interface CheckpointerOptions {
  readonly subs: SubDatabases;
  readonly readers: ReaderBook;
  readonly timers: Pick<Timers, 'after'>;
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
  /** What it was to write stays in the overlay and in the log; nothing later may overtake it. */
  #hasFailed = false;

  constructor(options: CheckpointerOptions) {
    this.#options = options;
  }

  /** The disk is busy with a checkpoint. */
  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** A commit has written to the overlay. */
  changed(): void {
    const { readers, timers } = this.#options;
    if (this.#running !== undefined || this.#hasFailed) return;
    if (isFull(readers.layer)) void this.#start();
    else {
      this.#cancelTimer ??= timers.after(delayMs, () => {
        this.#cancelTimer = undefined;
        void this.#start();
      });
    }
  }

  /** So much is dirty that commits are to wait for `all`. */
  get isBehind(): boolean {
    const { layer } = this.#options.readers;
    return layer.bytes > dirtyBytesLimit || layer.count > dirtyValuesLimit;
  }

  /**
   * Resolves when everything committed before the call is in LMDB; what was committed meanwhile may or may not be. A run that is
   * under way may have begun before, so it is awaited first; the next one has all of it, whoever starts it.
   */
  async all(): Promise<void> {
    await this.#running;
    await this.#start();
  }

  #start(): Promise<void> {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (this.#options.readers.layer.isEmpty || this.#hasFailed)
      return this.#running ?? Promise.resolve();
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      if (!this.#options.readers.layer.isEmpty) this.changed();
    });
    return this.#running;
  }

  async #run(): Promise<void> {
    const { subs, readers, appliedIndex, written, failed } = this.#options;
    const index = appliedIndex();
    const frozen = readers.freeze();
    try {
      await writeBatch(subs, frozen.newest());
      readers.rebase(appliedIndex());
      written(index);
    } catch (error) {
      this.#hasFailed = true;
      failed(error);
    }
  }
}
