import { assert } from '#core/assert.ts';
import type { SnapshotMeta } from './message.ts';
import type { Entry, Index, Term } from './vocabulary.ts';

/** The durable log as the core sees it: in memory, synchronous (ha.md 2.1). */
export interface LogView {
  firstIndex(): Index;
  lastIndex(): Index;
  term(index: Index): Term | 'compacted' | 'unavailable';
  /** Entries from `low`, below `high`, at least one, together at most `bytesMax`. */
  entries(
    low: Index,
    high: Index,
    bytesMax: number,
  ): readonly Entry[] | 'compacted' | 'unavailable';
  snapshotMeta(): SnapshotMeta | undefined;
}

/** Durable entries of the view, and behind them those that the disk does not have yet. */
export class RaftLog {
  commit: Index;
  applied: Index;
  /** Handed out to be applied. */
  applying: Index;
  readonly #view: LogView;
  #tail: Entry[] = [];
  /** Index of the first entry of the tail. */
  #tailFrom: Index;
  /** Entries below it were handed out to be written. */
  #handedOut: Index;
  /** Came from the leader and is not durable yet. */
  #snapshot: SnapshotMeta | undefined;
  #isSnapshotHandedOut = false;
  /** What was handed out to be applied and is not, by its last index. */
  #outstanding: { readonly index: Index; readonly bytes: number }[] = [];
  #outstandingBytes = 0;
  /** Entries to be applied are on the disk only, and were asked for. */
  isWaitingForLoad = false;

  constructor(view: LogView, commit: Index, applied: Index) {
    this.#view = view;
    this.#tailFrom = view.lastIndex() + 1;
    this.#handedOut = this.#tailFrom;
    this.commit = Math.max(commit, applied);
    this.applied = applied;
    this.applying = applied;
    assert(this.commit <= view.lastIndex(), 'I2: what is committed is in the log');
  }

  get firstIndex(): Index {
    return this.#snapshot === undefined ? this.#view.firstIndex() : this.#snapshot.index + 1;
  }

  get lastIndex(): Index {
    return this.#tailFrom + this.#tail.length - 1;
  }

  /** The newest entry that the disk has. */
  get durableIndex(): Index {
    return this.#snapshot === undefined ? this.#tailFrom - 1 : this.#snapshot.index;
  }

  get lastTerm(): Term {
    const term = this.term(this.lastIndex);
    assert(typeof term === 'number', 'the term of the last entry is known');
    return term;
  }

  term(index: Index): Term | 'compacted' | 'unavailable' {
    if (index === 0) return 0;
    if (this.#snapshot?.index === index) return this.#snapshot.term;
    if (this.#snapshot !== undefined && index < this.#snapshot.index) return 'compacted';
    if (index >= this.#tailFrom) return this.#tail[index - this.#tailFrom]?.term ?? 'unavailable';
    return this.#view.term(index);
  }

  hasEntry(index: Index, term: Term): boolean {
    return index <= this.lastIndex && this.term(index) === term;
  }

  /** At least as new as the own log (ha.md 2.5 rule 4). */
  isUpToDate(index: Index, term: Term): boolean {
    return term > this.lastTerm || (term === this.lastTerm && index >= this.lastIndex);
  }

  entries(
    low: Index,
    high: Index,
    bytesMax: number,
  ): readonly Entry[] | 'compacted' | 'unavailable' {
    if (low >= high) return [];
    if (low < this.firstIndex) return 'compacted';
    if (low < this.#tailFrom)
      return this.#view.entries(low, Math.min(high, this.#tailFrom), bytesMax);
    const found: Entry[] = [];
    let bytes = 0;
    for (let index = low; index < high; index++) {
      const entry = this.#tail[index - this.#tailFrom];
      if (entry === undefined) break;
      bytes += entry.data.length;
      if (found.length > 0 && bytes > bytesMax) break;
      found.push(entry);
    }
    return found;
  }

  /** The leader's own entries. */
  append(entries: readonly Entry[]): void {
    for (const entry of entries) this.#push(entry);
  }

  #push(entry: Entry): void {
    assert(
      entry.index === this.lastIndex + 1 && entry.term >= this.lastTerm,
      'I4: indexes without a gap, terms that never decrease',
    );
    this.#tail.push(entry);
  }

  /**
   * Entries of a leader behind one that both have. Drops own entries only from the first real conflict.
   * @returns the index of the last entry that the message covers
   */
  accept(previous: Index, entries: readonly Entry[]): Index {
    const fresh = entries.findIndex(({ index, term }) => !this.hasEntry(index, term));
    this.#compare(fresh < 0 ? entries : entries.slice(0, fresh));
    if (fresh >= 0) {
      const first = entries[fresh] as Entry;
      assert(first.index > this.commit, 'I3: nothing that is committed is cut off');
      this.#cutFrom(first.index);
      for (const entry of entries.slice(fresh)) this.#push(entry);
    }
    return previous + entries.length;
  }

  /** What came twice is the same, as far as it is in memory. */
  #compare(entries: readonly Entry[]): void {
    for (const { index, kind, data } of entries) {
      const own = this.entries(index, index + 1, 0);
      if (typeof own === 'string' || own[0] === undefined) continue;
      assert(
        own[0].kind === kind && Buffer.compare(own[0].data, data) === 0,
        'I5: entries of one index and term are equal',
      );
    }
  }

  #cutFrom(index: Index): void {
    if (index > this.lastIndex) return;
    if (index < this.#tailFrom) {
      this.#tail = [];
      this.#tailFrom = index;
    } else {
      this.#tail.length = index - this.#tailFrom;
    }
    this.#handedOut = Math.min(this.#handedOut, index);
  }

  commitTo(index: Index): boolean {
    if (index <= this.commit) return false;
    assert(index <= this.lastIndex, 'I2: what is committed is in the log');
    this.commit = index;
    return true;
  }

  /** The largest index at most `index` whose term is at most `term` (ha.md 2.6 rule 2). */
  lastOfTerm(index: Index, term: Term): { readonly index: Index; readonly term: Term } {
    for (let at = Math.min(index, this.lastIndex); at > 0; at--) {
      const own = this.term(at);
      if (typeof own !== 'number') return { index: at, term: 0 };
      if (own <= term) return { index: at, term: own };
    }
    return { index: 0, term: 0 };
  }

  /** What is to be written next; the same entries are never given twice. */
  takeUnwritten(): {
    readonly entries: readonly Entry[];
    readonly snapshot: SnapshotMeta | undefined;
  } {
    const entries = this.#tail.slice(this.#handedOut - this.#tailFrom);
    this.#handedOut = this.lastIndex + 1;
    const snapshot = this.#isSnapshotHandedOut ? undefined : this.#snapshot;
    this.#isSnapshotHandedOut = this.#snapshot !== undefined;
    return { entries, snapshot };
  }

  hasUnwritten(): boolean {
    return (
      this.#handedOut <= this.lastIndex ||
      (this.#snapshot !== undefined && !this.#isSnapshotHandedOut)
    );
  }

  get hasTail(): boolean {
    return this.#tail.length > 0;
  }

  /** The disk has everything up to this entry, if it is still the one that stands there. */
  durable(index: Index, term: Term): void {
    if (index < this.#tailFrom || this.#tail[index - this.#tailFrom]?.term !== term) return;
    this.#tail = this.#tail.slice(index - this.#tailFrom + 1);
    this.#tailFrom = index + 1;
    this.#handedOut = Math.max(this.#handedOut, this.#tailFrom);
  }

  /** A snapshot takes the place of the whole log. */
  restore(snapshot: SnapshotMeta): void {
    assert(snapshot.index > this.commit, 'I13: a snapshot never lowers the commit index');
    this.#snapshot = snapshot;
    this.#isSnapshotHandedOut = false;
    this.#tail = [];
    this.#tailFrom = snapshot.index + 1;
    this.#handedOut = this.#tailFrom;
    this.commit = snapshot.index;
  }

  snapshotInstalled(index: Index): void {
    if (this.#snapshot?.index !== index) return;
    this.#snapshot = undefined;
    this.#isSnapshotHandedOut = false;
    this.applied = Math.max(this.applied, index);
    this.applying = Math.max(this.applying, index);
  }

  get isRestoring(): boolean {
    return this.#snapshot !== undefined;
  }

  snapshotMeta(): SnapshotMeta | undefined {
    return this.#snapshot ?? this.#view.snapshotMeta();
  }

  /** Whether `takeCommitted` has something to give. */
  hasCommitted(bytesMax: number): boolean {
    return (
      this.#snapshot === undefined &&
      !this.isWaitingForLoad &&
      this.#outstandingBytes < bytesMax &&
      this.applying < Math.min(this.commit, this.durableIndex)
    );
  }

  /**
   * Committed and durable entries that nobody has got to apply yet (ha.md 2.3 rule 6).
   * @param bytesMax of all that is handed out and not applied
   */
  takeCommitted(bytesMax: number): readonly Entry[] | 'unavailable' {
    if (!this.hasCommitted(bytesMax)) return [];
    const high = Math.min(this.commit, this.durableIndex) + 1;
    const found = this.entries(this.applying + 1, high, bytesMax - this.#outstandingBytes);
    if (found === 'unavailable') return found;
    assert(found !== 'compacted', 'what is not applied is in the log');
    this.applying += found.length;
    let bytes = 0;
    for (const { data } of found) bytes += data.length;
    this.#outstanding.push({ index: this.applying, bytes });
    this.#outstandingBytes += bytes;
    return found;
  }

  /** @returns the first index that is needed */
  waitForLoad(): Index {
    this.isWaitingForLoad = true;
    return this.applying + 1;
  }

  appliedTo(index: Index): void {
    assert(index <= this.commit, 'I2: what is applied is committed');
    assert(index <= this.durableIndex, 'I2: what is applied is durable');
    this.applied = Math.max(this.applied, index);
    while ((this.#outstanding[0]?.index ?? Number.POSITIVE_INFINITY) <= index)
      this.#outstandingBytes -= this.#outstanding.shift()?.bytes ?? 0;
  }
}
