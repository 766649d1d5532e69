import { assert } from '#core/assert.ts';
import type { Index } from './vocabulary.ts';

export type ProgressState = 'probe' | 'replicate' | 'snapshot';

/** Bounds of what is on its way to one follower. */
export interface WindowLimits {
  readonly messagesMax: number;
  readonly bytesMax: number;
}

/** What the leader knows of one follower (ha.md 2.6). */
export class Progress {
  match: Index = 0;
  next: Index;
  state: ProgressState = 'probe';
  /** It answered since the last look at the quorum. */
  isActive = false;
  /** False: its answers do not count, since it is not admitted. */
  isCounted = true;
  /** The newest round of reads that it confirmed. */
  readRound = 0;
  /** The commit index that was last told. */
  sentCommit: Index = 0;
  /** A probe is on its way, or the window is full: nothing goes until an answer or a heartbeat's answer comes. */
  isPaused = false;
  /** Counts the fresh starts: appends carry it and their answers return it, so that an answer to an earlier one is known as such. */
  attempt = 0;
  #window: { last: Index; bytes: number }[] = [];
  #windowBytes = 0;
  /** The disk of the member: another one has none of what this one acknowledged. */
  readonly storageId: string;
  readonly #limits: WindowLimits;

  constructor(next: Index, storageId: string, limits: WindowLimits) {
    this.next = next;
    this.storageId = storageId;
    this.#limits = limits;
  }

  get isWindowFull(): boolean {
    return (
      this.#window.length >= this.#limits.messagesMax || this.#windowBytes >= this.#limits.bytesMax
    );
  }

  /** Nothing may be sent now, not even an empty append. */
  get waits(): boolean {
    return this.state === 'snapshot' || this.isPaused;
  }

  becomeProbe(): void {
    this.#reset('probe');
    this.attempt += 1;
    this.next = this.match + 1;
  }

  becomeReplicate(): void {
    this.#reset('replicate');
    this.next = this.match + 1;
  }

  becomeSnapshot(index: Index): void {
    this.#reset('snapshot');
    this.next = index + 1;
  }

  /** After an append with so many entries left. */
  sent(count: number, bytes: number): void {
    assert(this.match < this.next, 'I8: what a follower has was sent to it');
    if (this.state === 'probe') {
      this.isPaused = true;
      return;
    }
    if (count > 0) {
      this.next += count;
      this.#window.push({ last: this.next - 1, bytes });
      this.#windowBytes += bytes;
    }
    this.isPaused = this.isWindowFull;
  }

  /** @returns whether the follower has more than was known */
  reached(index: Index): boolean {
    if (index <= this.match) return false;
    this.match = index;
    this.next = Math.max(this.next, index + 1);
    this.isPaused = false;
    return true;
  }

  /** Messages up to `index` have arrived. */
  free(index: Index): void {
    let count = 0;
    for (const { last, bytes } of this.#window) {
      if (last > index) break;
      this.#windowBytes -= bytes;
      count += 1;
    }
    if (count > 0) this.#window.splice(0, count);
    this.isPaused = this.isWindowFull;
  }

  /**
   * A rejection of the append behind `rejected`. @param hint where the logs may agree
   * @returns false for a stale one, which says nothing
   */
  back(rejected: Index, hint: Index): boolean {
    if (this.state === 'replicate') {
      if (rejected <= this.match) return false;
      this.next = this.match + 1;
      return true;
    }
    if (this.next - 1 !== rejected) return false;
    this.next = Math.max(Math.min(rejected, hint + 1), this.match + 1);
    this.isPaused = false;
    return true;
  }

  #reset(state: ProgressState): void {
    this.state = state;
    this.isPaused = false;
    this.#window = [];
    this.#windowBytes = 0;
  }
}
