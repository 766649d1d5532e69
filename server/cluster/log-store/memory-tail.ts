import type { LogView } from '#raft/log.ts';
import type { SnapshotMeta } from '#raft/message.ts';
import type { Entry, Index, Term } from '#raft/vocabulary.ts';
import type { TermRun } from './log-layout.ts';

export interface TailStart {
  readonly before: { readonly index: Index; readonly term: Term };
  readonly last: Index;
  readonly terms: readonly TermRun[];
  readonly newest: readonly Entry[];
}

/**
 * The durable log as the core reads it: all terms, and the newest entries within `bytesMax`. Older ones are `unavailable` until
 * a range of them was loaded (`offer`).
 */
export class MemoryTail implements LogView {
  readonly #bytesMax: number;
  #before: { readonly index: Index; readonly term: Term };
  #runs: TermRun[] = [];
  #last: Index;
  /** The newest entries, without a gap up to the last one. */
  #entries: Entry[] = [];
  #bytes = 0;
  /** One older range that was asked for. */
  #loaded: readonly Entry[] = [];
  #snapshot: SnapshotMeta | undefined;

  constructor(bytesMax: number, snapshot: SnapshotMeta | undefined) {
    this.#bytesMax = bytesMax;
    this.#snapshot = snapshot;
    this.#before = { index: snapshot?.index ?? 0, term: snapshot?.term ?? 0 };
    this.#last = this.#before.index;
  }

  firstIndex(): Index {
    return this.#before.index + 1;
  }

  lastIndex(): Index {
    return this.#last;
  }

  term(index: Index): Term | 'compacted' | 'unavailable' {
    if (index === this.#before.index) return this.#before.term;
    if (index < this.#before.index) return 'compacted';
    if (index > this.#last) return 'unavailable';
    let low = 0;
    let high = this.#runs.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((this.#runs[middle]?.from ?? 0) <= index) low = middle;
      else high = middle;
    }
    return this.#runs[low]?.term ?? 'unavailable';
  }

  entries(
    low: Index,
    high: Index,
    bytesMax: number,
  ): readonly Entry[] | 'compacted' | 'unavailable' {
    if (low <= this.#before.index) return 'compacted';
    const from = this.#last - this.#entries.length + 1;
    if (low >= from) return within(this.#entries, low - from, high - from, bytesMax);
    const first = this.#loaded[0]?.index ?? Number.POSITIVE_INFINITY;
    const end = first + this.#loaded.length;
    if (low < first || low >= end) return 'unavailable';
    return within(this.#loaded, low - first, Math.min(high, end) - first, bytesMax);
  }

  snapshotMeta(): SnapshotMeta | undefined {
    return this.#snapshot;
  }

  /** Entries that are durable now; those at and behind the first one make place. */
  put(entries: readonly Entry[]): void {
    for (const entry of entries) {
      if (entry.index <= this.#last) this.#cutFrom(entry.index);
      if (this.#runs.at(-1)?.term !== entry.term)
        this.#runs.push({ from: entry.index, term: entry.term });
      this.#entries.push(entry);
      this.#bytes += heldBytes(entry);
      this.#last = entry.index;
    }
    this.#shed();
  }

  /** What a start finds on the disk: terms of all entries, and the newest entries themselves, up to the last one. */
  recover({ before, last, terms, newest }: TailStart): void {
    this.#before = before;
    this.#runs = [...terms];
    this.#last = last;
    this.#entries = [...newest];
    this.#bytes = 0;
    for (const entry of newest) this.#bytes += heldBytes(entry);
    this.#shed();
  }

  offer(entries: readonly Entry[]): void {
    this.#loaded = entries;
  }

  /** The log begins behind this index. */
  compactTo(index: Index): void {
    const term = this.term(index);
    if (typeof term !== 'number' || index <= this.#before.index) return;
    this.#before = { index, term };
    this.#loaded = [];
    while (this.#runs.length > 1 && (this.#runs[1]?.from ?? 0) <= index + 1) this.#runs.shift();
    const count = this.#entries.length - (this.#last - index);
    if (count > 0) this.#drop(count);
  }

  /** A snapshot came from the leader: nothing of the old log holds. */
  reset(snapshot: SnapshotMeta): void {
    this.#before = { index: snapshot.index, term: snapshot.term };
    this.#snapshot = snapshot;
    this.#last = snapshot.index;
    this.#runs = [];
    this.#entries = [];
    this.#loaded = [];
    this.#bytes = 0;
  }

  renewSnapshot(snapshot: SnapshotMeta): void {
    this.#snapshot = snapshot;
  }

  #cutFrom(index: Index): void {
    const kept = this.#entries.length - (this.#last - index + 1);
    for (const entry of this.#entries.slice(Math.max(0, kept))) this.#bytes -= heldBytes(entry);
    this.#entries.length = Math.max(0, kept);
    while ((this.#runs.at(-1)?.from ?? 0) >= index) this.#runs.pop();
    this.#loaded = [];
    this.#last = index - 1;
  }

  #shed(): void {
    let count = 0;
    let bytes = this.#bytes;
    // A quarter more than allowed goes at once: taking the first ones off a long list is no work for each entry.
    if (bytes <= this.#bytesMax * 1.25) return;
    while (bytes > this.#bytesMax && count < this.#entries.length - 1) {
      bytes -= heldBytes(this.#entries[count] as Entry);
      count += 1;
    }
    this.#drop(count);
  }

  #drop(count: number): void {
    for (const entry of this.#entries.slice(0, count)) this.#bytes -= heldBytes(entry);
    this.#entries = this.#entries.slice(count);
  }
}

/** What an entry is beside its data: the objects that hold it, which the collector of a thread walks through. */
const objectsBytes = 320;

function heldBytes({ data }: Entry): number {
  return data.length + objectsBytes;
}

function within(entries: readonly Entry[], from: number, to: number, bytesMax: number): Entry[] {
  const found: Entry[] = [];
  let bytes = 0;
  for (let i = from; i < to; i++) {
    const entry = entries[i];
    if (entry === undefined) break;
    bytes += entry.data.length;
    if (found.length > 0 && bytes > bytesMax) break;
    found.push(entry);
  }
  return found;
}
