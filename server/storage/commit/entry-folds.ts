import { DatabaseError } from '#core/errors.ts';
import type { Cancel, Timers } from '#core/runtime.ts';
import type { IndexId, LogIndex } from '#core/value/rid.ts';
import { droppedIndex } from '../read/state-reader.ts';
import type { CommitBuilder } from './builder.ts';
import type { MergeBounds } from './chunk-merge.ts';

/** Single entries beside the chunks of an index, and their share of all entries of it, above which they go into these ... */
const singlesMin = 65_536;
const singlesShare = 1 / 4;
/** ... once nobody has committed for so long: many go in for less each, and writers do not wait ... */
const quietMs = 250;
/** ... or at once, when there are so many. */
const singlesMax = 524_288;

/** Of one commit: some milliseconds of the main thread. */
const slice = { chunkMax: 256, changeMax: 8_192 };

export interface EntryFoldsOptions {
  readonly timers: Pick<Timers, 'yield' | 'after'>;
  /** `StateReader.singles`. */
  readonly singles: ReadonlyMap<IndexId, number>;
  readonly entryCount: (index: IndexId) => number;
  /** As a commit of its own. */
  readonly commit: (prepare: (commit: CommitBuilder) => Promise<void>) => Promise<void>;
  readonly appliedIndex: () => LogIndex;
  /** The engine is at work. */
  readonly mayRun: () => boolean;
}

/**
 * Brings the single entries of indexes in chunks into these, in small commits beside all others. Commits write single entries, since
 * making a chunk anew for each word of a text is dear. A stop in between does no harm: what is not in a chunk stands beside it.
 */
export class EntryFolds {
  readonly #options: EntryFoldsOptions;
  #running: Promise<void> | undefined;
  #cancelTimer: Cancel | undefined;
  /** With a damaged chunk: left to REBUILD INDEX. */
  readonly #damaged = new Set<IndexId>();

  constructor(options: EntryFoldsOptions) {
    this.#options = options;
  }

  /** Resolves when nothing is under way. */
  async settled(): Promise<void> {
    await this.#running;
  }

  /** Single entries have come. */
  check(): void {
    if (this.#running !== undefined) return;
    if (this.#due(singlesMax) !== undefined) this.#start();
    else if (this.#due(singlesMin) !== undefined) this.#waitForQuiet();
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
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
    });
  }

  /**
   * All single entries go into chunks, and all chunks are filled.
   * @returns false when there was nothing to be gained
   */
  async compact(index: IndexId): Promise<boolean> {
    await this.#running;
    if (!this.#options.singles.has(index)) return false;
    const hadSingles = (this.#options.singles.get(index) ?? 0) > 0;
    await this.#fold(index, true);
    return hadSingles;
  }

  #due(countMin: number): IndexId | undefined {
    const { singles, entryCount } = this.#options;
    for (const [index, count] of singles) {
      if (count < countMin || count < entryCount(index) * singlesShare) continue;
      if (!this.#damaged.has(index)) return index;
    }
    return undefined;
  }

  async #run(): Promise<void> {
    for (let index = this.#due(singlesMin); index !== undefined; index = this.#due(singlesMin)) {
      if (!this.#options.mayRun()) return;
      try {
        await this.#fold(index, false);
      } catch (error) {
        // What kept it from writing may pass: the next single entries try again. Damage is told to who searches.
        if (!(error instanceof DatabaseError) || error.code !== 'CorruptedRecord') return;
        this.#damaged.add(index);
      }
    }
  }

  async #fold(index: IndexId, isWhole: boolean): Promise<void> {
    const { timers, singles, commit, mayRun } = this.#options;
    const before = singles.get(index) ?? 0;
    let from: Uint8Array | undefined = new Uint8Array(0);
    while (from !== undefined && mayRun()) {
      const bounds: MergeBounds = { ...slice, from, isWhole };
      let next: Uint8Array | undefined;
      await commit(async ({ entries }) => {
        next = undefined;
        if (singles.get(index) === droppedIndex) return;
        next = await entries.fold(index, bounds, timers);
        if (next === undefined) entries.folded(index, before);
      });
      from = next;
      await timers.yield();
    }
  }
}
