import { assert } from '#core/assert.ts';
import type { IndexId, LogIndex } from '#core/value/rid.ts';
import { entriesInAll } from '../format/entry-segments.ts';
import { LargeCellReader, type RetiredCells } from './large-cells.ts';
import type { Write } from '../checkpoint/write-batch.ts';
import { OverlayLayer } from '../checkpoint/overlay-store.ts';
import { PinnedBase, PinnedReader, type ValueWindow } from './pinned-reader.ts';
import type { SubDatabases } from '../format/sub-databases.ts';
import { type HeldStates, heldStates, heldWith } from './versioned.ts';

export interface ReaderBookOptions {
  readonly subs: SubDatabases;
  readonly window: ValueWindow;
  readonly retired: RetiredCells;
  /** States of LMDB that its lock file has room for. */
  readonly readersMax: number;
}

/** Left for the next state, for copies, and for what the binding reads itself. */
const readersSpared = 16;

/**
 * Which states can be read: the newest one, and older ones that somebody holds. Knows the state of LMDB below and the
 * overlay layers above it, and pins both for every reader it makes.
 */
export class ReaderBook {
  readonly #options: ReaderBookOptions;
  #base: PinnedBase;
  /** States of LMDB that are pinned. */
  #baseCount = 0;
  /** Newest first: the one that commits fill, then perhaps the one that a checkpoint is writing. */
  #layers: readonly OverlayLayer[] = [new OverlayLayer()];
  #newest: PinnedReader;
  /** Older readers that are held. */
  readonly #held = new Set<PinnedReader>();
  /** How many keep a reader for longer than a statement. */
  readonly #keeperCounts = new Map<PinnedReader, number>();

  constructor(options: ReaderBookOptions, index: LogIndex) {
    this.#options = options;
    this.#base = this.#pinBase();
    this.#newest = this.#open(index);
  }

  get newest(): PinnedReader {
    return this.#newest;
  }

  /** The layer that commits fill. */
  get layer(): OverlayLayer {
    return this.#layers[0] as OverlayLayer;
  }

  /** The states that somebody holds. */
  get held(): HeldStates {
    return this.#newest.isHeld ? this.heldOrNewest : heldStates(this.#held);
  }

  /** The same with the newest one, which somebody may hold soon. */
  get heldOrNewest(): HeldStates {
    return heldWith(heldStates(this.#held), this.#newest.index);
  }

  /** Whether the newest reader may be held: without bound, nothing could be written in the end. */
  get hasRoom(): boolean {
    return this.#newest.isHeld || this.#baseCount <= this.#options.readersMax - readersSpared;
  }

  /** Told by holders after they let go. */
  readonly released = (reader: PinnedReader): void => {
    if (reader !== this.#newest && !reader.isHeld) this.#held.delete(reader);
  };

  /** One more keeps the newest reader. @returns false when that were more than so many distinct ones, and nobody does yet */
  keep(countMax: number): boolean {
    const count = this.#keeperCounts.get(this.#newest) ?? 0;
    if (count === 0 && this.#keeperCounts.size >= countMax) return false;
    this.#keeperCounts.set(this.#newest, count + 1);
    return true;
  }

  /** Told by keepers after they let go. */
  readonly letGo = (reader: PinnedReader): void => {
    const count = this.#keeperCounts.get(reader) ?? 0;
    if (count > 1) this.#keeperCounts.set(reader, count - 1);
    else this.#keeperCounts.delete(reader);
    this.released(reader);
  };

  /** What a commit wrote goes into the layer; `advance` follows. */
  fill(writes: readonly Write[], entries: OverlayLayer['entries'], index: LogIndex): void {
    const { layer, held } = this;
    const { scratch } = this.#newest.window;
    for (const write of writes) layer.put(write, scratch, index, held);
    layer.takeEntries(entries, index);
  }

  /** A commit filled the layer: a new state. */
  advance(index: LogIndex): void {
    const old = this.#newest;
    this.#newest = this.#open(index);
    if (old.isHeld) this.#held.add(old);
    old.retire();
  }

  /** Changes that stand beside the chunks of an index. @throws DatabaseError `CorruptedRecord` */
  countBeside(index: IndexId): number {
    let count = entriesInAll(this.#newest.segmentsOf(index));
    for (const layer of this.#layers) count += layer.entries.get(index)?.count ?? 0;
    return count;
  }

  /** What commits wrote so far is frozen and goes to LMDB; they fill a new layer from now on. */
  freeze(): OverlayLayer {
    const frozen = this.layer;
    this.#layers = [new OverlayLayer(), frozen];
    return frozen;
  }

  /** LMDB has changed: it holds the frozen layer, or what was written past the layers. */
  rebase(index: LogIndex): void {
    const old = this.#base;
    this.#layers = [this.layer];
    this.#base = this.#pinBase();
    this.advance(index);
    old.leave();
  }

  /** Nobody holds a state, and LMDB has all of the newest one. */
  get isIdle(): boolean {
    return !this.#newest.isHeld && this.#held.size === 0 && this.#layers.every(isEmpty);
  }

  /** Pins no state while `reopen` opens LMDB anew. Only while `isIdle`. */
  apart(reopen: () => void): void {
    assert(this.isIdle, 'nobody reads while LMDB is opened anew');
    const { index } = this.#newest;
    this.#newest.retire();
    this.#base.leave();
    reopen();
    // Layers know their values by the stores that were open.
    this.#layers = [new OverlayLayer()];
    this.#base = this.#pinBase();
    this.#newest = this.#open(index);
  }

  /** Ends all readers, held or not. */
  close(): void {
    for (const reader of this.#held) reader.close();
    this.#newest.close();
    this.#base.leave();
  }

  #pinBase(): PinnedBase {
    const base = new PinnedBase(this.#options.subs, () => {
      this.#baseCount -= 1;
    });
    this.#baseCount += 1;
    base.use();
    return base;
  }

  #open(index: LogIndex): PinnedReader {
    const { window, retired } = this.#options;
    const reader = new PinnedReader(this.#base, this.#layers, index, window);
    reader.largeCells = new LargeCellReader({ reader, newest: () => this.#newest, retired });
    return reader;
  }
}

function isEmpty(layer: OverlayLayer): boolean {
  return layer.isEmpty;
}
