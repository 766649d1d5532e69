import type { LogIndex, Rid } from '#core/value/rid.ts';
import type { ChangeListener } from '../search-memory.ts';
import { lengthTag } from './posting-key.ts';
import { lengthIn, termIn } from './text-keys.ts';

/** The postings of one term in one snapshot, by record id, then field. */
export interface Postings {
  readonly count: number;
  readonly rids: Float64Array;
  readonly fields: Uint8Array;
  readonly frequencies: Uint32Array;
  readonly lengths: Uint32Array;
}

/** Number of records with terms in a field, and of all those terms. */
export interface FieldStatistics {
  recordCount: number;
  termCount: number;
}

interface KeptPostings {
  readonly postings: Postings;
  readonly lsn: LogIndex;
}

interface LengthChange {
  readonly version: LogIndex;
  readonly field: number;
  readonly length: number;
  readonly sign: 1 | -1;
}

/** Bytes of a posting in memory. */
const postingBytes = 17;
/** Terms of which the newest change is remembered. */
const changedTermsMax = 100_000;
/** Bytes of postings that are kept for one index. */
const postingBytesMax = 64 * 1024 * 1024;

/**
 * What searches keep about one full-text index: postings of terms that were searched, the sums that averages are made of, and all
 * terms there are. All of it can be read again from the entries.
 */
export class TextMemory implements ChangeListener {
  readonly #kept = new Map<string, KeptPostings>();
  #keptBytes = 0;
  readonly #changedAt = new Map<string, LogIndex>();
  /** Terms that are not in `#changedAt` did not change after this. */
  #changedFloor: LogIndex;
  #statistics: FieldStatistics[] | undefined;
  #isGathering = false;
  /** Changes that the sums do not hold yet. */
  #pending: LengthChange[] = [];
  #pendingKeys = new Set<string>();
  /** All terms, and perhaps some that are gone; undefined until they were read. */
  #terms: Set<string> | undefined;
  #sortedTerms: readonly string[] | undefined;
  #asked = 0;

  constructor(changedFloor: LogIndex) {
    this.#changedFloor = changedFloor;
  }

  changed(): void {
    // Entries tell all.
  }

  entry(version: LogIndex, key: Uint8Array, rid: Rid, sign: 1 | -1): void {
    if (key[0] === lengthTag) {
      this.#noteLength(version, key, rid, sign);
      return;
    }
    const term = termIn(key);
    if (this.#changedAt.size >= changedTermsMax && !this.#changedAt.has(term)) {
      this.#changedAt.clear();
      this.#changedFloor = version;
      this.#kept.clear();
      this.#keptBytes = 0;
    }
    this.#changedAt.set(term, version);
    if (sign === 1 && this.#terms !== undefined && !this.#terms.has(term)) {
      this.#terms.add(term);
      this.#sortedTerms = undefined;
    }
  }

  /** A commit that is built again tells the same changes again. */
  #noteLength(version: LogIndex, key: Uint8Array, rid: Rid, sign: 1 | -1): void {
    if (this.#statistics === undefined && !this.#isGathering) return;
    const length = lengthIn(key);
    const field = key[1] as number;
    const name = `${version}/${rid}/${field}/${sign}/${length}`;
    if (this.#pendingKeys.has(name)) return;
    this.#pendingKeys.add(name);
    this.#pending.push({ version, field, length, sign });
  }

  /** What is kept of the term and holds in the snapshot. */
  postings(term: string, lsn: LogIndex): Postings | undefined {
    const kept = this.#kept.get(term);
    if (kept === undefined) return undefined;
    const changed = this.#changedAt.get(term) ?? this.#changedFloor;
    // Nothing changed between the two snapshots.
    if (changed > Math.min(kept.lsn, lsn)) {
      if (changed > kept.lsn) this.#drop(term, kept);
      return undefined;
    }
    // Those used last stand at the end, which matters once space is short.
    if (this.#keptBytes > postingBytesMax / 2) {
      this.#kept.delete(term);
      this.#kept.set(term, kept);
    }
    return kept.postings;
  }

  keep(term: string, lsn: LogIndex, postings: Postings): void {
    if ((this.#changedAt.get(term) ?? this.#changedFloor) > lsn) return;
    const known = this.#kept.get(term);
    if (known !== undefined) this.#drop(term, known);
    this.#kept.set(term, { postings, lsn });
    this.#keptBytes += bytesOf(postings);
    for (const [oldest, kept] of this.#kept) {
      if (this.#keptBytes <= postingBytesMax || oldest === term) break;
      this.#drop(oldest, kept);
    }
  }

  #drop(term: string, kept: KeptPostings): void {
    this.#kept.delete(term);
    this.#keptBytes -= bytesOf(kept.postings);
  }

  /** The sums of each field; undefined until they were set. */
  statistics(lsn: LogIndex): readonly FieldStatistics[] | undefined {
    const sums = this.#statistics;
    if (sums === undefined) return undefined;
    let taken = 0;
    for (const { version, field, length, sign } of this.#pending) {
      if (version > lsn) break;
      taken += 1;
      const sum = sums[field];
      if (sum === undefined) continue;
      sum.recordCount += sign;
      sum.termCount += sign * length;
    }
    if (taken === this.#pending.length) {
      this.#pending = [];
      this.#pendingKeys.clear();
    } else if (taken > 0) this.#pending.splice(0, taken);
    return sums;
  }

  /**
   * Sums are being made from a snapshot; changes are remembered from now on.
   * @returns false when somebody does so already
   */
  beginGathering(): boolean {
    if (this.#isGathering) return false;
    this.#isGathering = true;
    return true;
  }

  /** @param sums of the snapshot with this LSN; undefined when they were not finished */
  endGathering(sums: FieldStatistics[] | undefined, lsn: LogIndex): void {
    this.#isGathering = false;
    if (sums !== undefined) {
      this.#statistics = sums;
      this.#pending = this.#pending.filter(({ version }) => version > lsn);
    } else if (this.#statistics === undefined) {
      this.#pending = [];
      this.#pendingKeys.clear();
    }
  }

  refresh(): void {
    this.#statistics = undefined;
    this.#pending = [];
    this.#pendingKeys.clear();
  }

  /** Terms in order of their UTF-16 units; some may be gone. */
  get terms(): readonly string[] | undefined {
    if (this.#terms === undefined) return undefined;
    this.#sortedTerms ??= [...this.#terms].sort();
    return this.#sortedTerms;
  }

  /** True from the second time on. */
  asksForTermsAgain(): boolean {
    this.#asked += 1;
    return this.#asked > 1;
  }

  setTerms(terms: Set<string> | undefined): void {
    this.#terms = terms;
    this.#sortedTerms = undefined;
  }
}

function bytesOf(postings: Postings): number {
  return postings.count * postingBytes + 200;
}
