import type { IndexId } from '#core/value/rid.ts';
import { type EntryRun, placesOf, type RunPlace, stepLeast } from '../bulk/entry-runs.ts';
import type { ImageMemory } from '../checkpoint/image-memory.ts';
import { putLast, removal, type Write } from '../checkpoint/write-batch.ts';
import { checksumSize, sealValue } from '../format/checksum.ts';
import { compareBytes, EntryChunkReader, EntryChunkWriter } from '../format/entry-chunk.ts';
import { IxKey, keyBytes, type SubDatabases } from '../format/sub-databases.ts';
import { ChunkKeys } from '../read/chunk-keys.ts';
import { chunkBody } from '../read/chunked-cursor.ts';
import { LmdbEntryCursor } from '../read/entry-cursor.ts';
import type { PinnedReader } from '../read/pinned-reader.ts';

/** Changes of entries in the order of their components. */
interface SortedChanges {
  /** undefined: there are no more. */
  readonly head: Uint8Array | undefined;
  readonly start: number;
  readonly end: number;
  readonly isAddition: boolean;
  /** The head has its place; to the next one. */
  take(): void;
}

export interface ChunkMergeOptions {
  readonly reader: PinnedReader;
  readonly index: IndexId;
  readonly memory: ImageMemory;
  readonly writes: Write[];
}

export interface MergedRuns {
  /** Each in order. Those that come count where both have an entry. */
  readonly removals?: readonly EntryRun[] | undefined;
  readonly additions?: readonly EntryRun[] | undefined;
}

export interface MergeBounds {
  /** Components from which on chunks and changes are looked at; empty: from the first. */
  readonly from: Uint8Array;
  /** Chunks that are made anew at most, and single entries that are looked at. */
  readonly chunkMax: number;
  readonly changeMax: number;
  /** Chunks that nothing changes are made anew as well, so that all are full. */
  readonly isWhole: boolean;
}

const everything: MergeBounds = {
  from: new Uint8Array(0),
  chunkMax: Infinity,
  changeMax: Infinity,
  isWhole: false,
};

/** Entries between two steps: half a millisecond. */
const entriesPerStep = 4_096;

/**
 * Makes chunks anew in which entries change: those of runs and single entries, which go. A chunk without a change stays as it is.
 * What a chunk cannot take goes into a new one behind it, and neighbours that change are filled up one after the other.
 * @returns where to go on; undefined at the end
 */
export function* mergeChunks(
  { reader, index, memory, writes }: ChunkMergeOptions,
  runs: MergedRuns,
  { from, chunkMax, changeMax, isWhole }: MergeBounds = everything,
): Generator<undefined, Uint8Array | undefined, undefined> {
  const { subs } = reader;
  const writer = new EntryChunkWriter((first, body) => {
    const key = ixKey(index, first.slice());
    const size = body.length + checksumSize;
    const start = memory.take(size);
    const { bytes } = memory.slab;
    bytes.set(body, start);
    sealValue(keyBytes(key, reader.window.scratch), bytes, start, start + size);
    writes.push(putLast(subs.ft, key, memory, start, size));
  });
  const singles = new SingleChanges(reader, { index, from, countMax: changeMax }, writes);
  const [additions, removals] = [
    new RunChanges(runs.additions, true),
    new RunChanges(runs.removals, false),
  ];
  const changes = new Newest([additions, removals, singles]);
  const keys = new ChunkKeys(reader, index);
  const chunk = new EntryChunkReader();
  let components = new Uint8Array(2048);
  let chunkCount = 0;
  let seen = 0;
  let last: Uint8Array | undefined;
  keys.seek(from);
  for (;;) {
    const head = changes.head?.subarray(changes.start, changes.end);
    if (!isWhole) {
      if (head === undefined) break;
      keys.advanceTo(head);
      // What lies between stays as it is, so what was made ends before it.
      if (keys.current !== last) writer.finish();
    } else if (
      head === undefined &&
      (keys.current === undefined || singles.placeOfRest !== undefined)
    )
      break;
    if (chunkCount >= chunkMax) {
      writer.finish();
      return (isWhole ? keys.current : head)?.slice();
    }
    const { current, following } = keys;
    let hasEntry = false;
    if (current !== undefined) {
      chunk.open(chunkBody(reader, index, current));
      writes.push(removal(subs.ft, ixKey(index, current)));
      hasEntry = chunk.next();
    }
    for (;;) {
      const change = changes.head;
      const isInside =
        change !== undefined && (following === undefined || isBefore(changes, following));
      if (!hasEntry && !isInside) break;
      const { start, end } = changes;
      const order = !isInside ? -1 : hasEntry ? chunk.compareComponents(change, start, end) : 1;
      if (order < 0) {
        const size = chunk.keyLength + 7;
        if (size > components.length) components = new Uint8Array(2 * size);
        writer.add(components, 0, chunk.writeComponents(components));
        hasEntry = chunk.next();
      } else {
        if (order === 0) hasEntry = chunk.next();
        if (changes.isAddition) writer.add(change as Uint8Array, start, end);
        changes.take();
      }
      seen += 1;
      if (seen % entriesPerStep === 0) yield;
    }
    chunkCount += 1;
    last = following;
    keys.step();
  }
  writer.finish();
  return singles.placeOfRest?.slice();
}

function isBefore({ head, start, end }: SortedChanges, bytes: Uint8Array): boolean {
  return compareBytes(head as Uint8Array, start, end, bytes, 0, bytes.length) < 0;
}

function ixKey(index: IndexId, components: Uint8Array): IxKey {
  const key = new IxKey();
  key.index = index;
  key.components = components;
  return key;
}

/** The entries of runs. */
class RunChanges implements SortedChanges {
  readonly isAddition: boolean;
  /** Those that have more, by their next entries. */
  readonly #runs: RunPlace[];
  head: Uint8Array | undefined;
  start = 0;
  end = 0;

  constructor(runs: readonly EntryRun[] | undefined, isAddition: boolean) {
    this.#runs = placesOf(runs ?? []);
    this.isAddition = isAddition;
    this.#look();
  }

  take(): void {
    stepLeast(this.#runs);
    this.#look();
  }

  #look(): void {
    const least = this.#runs[0];
    this.head = least?.run.bytes;
    if (least === undefined) return;
    this.start = least.run.startAt(least.place);
    this.end = least.run.endAt(least.place);
  }
}

/** The single entries that stand beside chunks; those that were taken are removed. */
class SingleChanges implements SortedChanges {
  readonly #cursor: LmdbEntryCursor;
  readonly #index: IndexId;
  readonly #subs: SubDatabases;
  readonly #writes: Write[];
  readonly #countMax: number;
  #count = 0;
  head: Uint8Array | undefined;
  isAddition = false;
  readonly start = 0;
  /** The first one beyond `countMax`. */
  placeOfRest: Uint8Array | undefined;

  constructor(
    reader: PinnedReader,
    range: { readonly index: IndexId; readonly from: Uint8Array; readonly countMax: number },
    writes: Write[],
  ) {
    const high = Uint8Array.of(0xff);
    const { index, from: low } = range;
    this.#cursor = new LmdbEntryCursor(reader, { index, low, high, order: 'ascending' });
    this.#index = index;
    this.#subs = reader.subs;
    this.#writes = writes;
    this.#countMax = range.countMax;
    this.#read();
  }

  get end(): number {
    return this.head?.length ?? 0;
  }

  take(): void {
    if (this.head === undefined) return;
    this.#writes.push(removal(this.#subs.ix, ixKey(this.#index, this.head)));
    this.#read();
  }

  #read(): void {
    const hasNext = this.#cursor.next();
    this.#count += 1;
    this.head = hasNext ? this.#cursor.components : undefined;
    this.isAddition = hasNext && !this.#cursor.isRemoved;
    if (this.#count <= this.#countMax) return;
    this.placeOfRest = this.head;
    this.head = undefined;
    this.#cursor.close();
  }
}

/** Several of them as one; where they change one entry, the first counts. */
class Newest implements SortedChanges {
  readonly #sources: readonly SortedChanges[];
  #least: SortedChanges | undefined;

  constructor(sources: readonly SortedChanges[]) {
    this.#sources = sources;
    this.#find();
  }

  get head(): Uint8Array | undefined {
    return this.#least?.head;
  }

  get start(): number {
    return this.#least?.start ?? 0;
  }

  get end(): number {
    return this.#least?.end ?? 0;
  }

  get isAddition(): boolean {
    return this.#least?.isAddition ?? false;
  }

  take(): void {
    const least = this.#least;
    if (least === undefined) return;
    for (const source of this.#sources)
      if (source !== least && source.head !== undefined && compareHeads(source, least) === 0)
        source.take();
    least.take();
    this.#find();
  }

  #find(): void {
    let least: SortedChanges | undefined;
    for (const source of this.#sources) {
      if (source.head === undefined) continue;
      if (least === undefined || compareHeads(source, least) < 0) least = source;
    }
    this.#least = least;
  }
}

function compareHeads(a: SortedChanges, b: SortedChanges): number {
  const [left, right] = [a.head as Uint8Array, b.head as Uint8Array];
  return compareBytes(left, a.start, a.end, right, b.start, b.end);
}
