import type { LogIndex, Rid } from '#core/value/rid.ts';
import type { ChangeSource } from '../read/change-merge.ts';
import { BlockChanges, blockEntriesMax, type ComponentRange, EntryBlock } from './entry-block.ts';

/** Of a small commit. */
const firstCapacity = 64;
/** With what stands beside its components. */
const entryBytes = 16;

/**
 * What commits changed of an index in chunks, in the order in which they did: packed, since a commit of one text has dozens. Blocks of
 * it are sorted when they are full, the last one when somebody reads it or the checkpoint takes it.
 */
export class PendingEntries {
  readonly #blocks: EntryBlock[] = [];
  count = 0;
  /** Entries that come less those that go. */
  balance = 0;
  #fullBytes = 0;
  /** The commits, and up to which entry each goes. */
  readonly #commits: LogIndex[] = [];
  readonly #ends: number[] = [];

  /** Memory of the entries. */
  get bytes(): number {
    return this.#fullBytes + (this.#blocks.at(-1)?.usedBytes ?? 0) + entryBytes * this.count;
  }

  add(key: Uint8Array, rid: Rid, isAddition: boolean): void {
    this.#open(firstCapacity).add(key, rid, isAddition);
    this.count += 1;
    this.balance += isAddition ? 1 : -1;
  }

  addComponents(components: Uint8Array, isAddition: boolean): void {
    this.#open(firstCapacity).addComponents(components, isAddition);
    this.count += 1;
    this.balance += isAddition ? 1 : -1;
  }

  /** What a commit changed. */
  take(commit: PendingEntries, since: LogIndex): void {
    for (const block of commit.#blocks)
      for (let place = 0; place < block.count; place += 1)
        this.#open(blockEntriesMax).addOf(block, place);
    this.count += commit.count;
    this.balance += commit.balance;
    this.#commits.push(since);
    this.#ends.push(this.count);
  }

  #open(capacity: number): EntryBlock {
    const last = this.#blocks.at(-1);
    if (last !== undefined && !last.isFull) return last;
    if (last !== undefined) {
      // Now, so that who reads has at most one to sort.
      last.sort();
      this.#fullBytes += last.usedBytes;
    }
    const block = new EntryBlock(last === undefined ? capacity : blockEntriesMax);
    this.#blocks.push(block);
    return block;
  }

  /**
   * Everything in order, or what a range has; the newest first.
   * @param seenAt the state that sees it: commits up to this index
   */
  sources(range?: ComponentRange, seenAt?: LogIndex): ChangeSource[] {
    let visible = seenAt === undefined ? this.count : this.#countAt(seenAt);
    const sources: ChangeSource[] = [];
    for (const block of this.#blocks) {
      if (visible <= 0) break;
      sources.unshift(new BlockChanges(block, Math.min(visible, block.count), range));
      visible -= block.count;
    }
    return sources;
  }

  /** As `sources` of everything, with a step for each block that is sorted. */
  *sortedSources(): Generator<undefined, ChangeSource[], undefined> {
    for (const block of this.#blocks) {
      block.sort();
      yield;
    }
    return this.sources();
  }

  #countAt(index: LogIndex): number {
    let low = 0;
    let high = this.#commits.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#commits[middle] as LogIndex) <= index) low = middle + 1;
      else high = middle;
    }
    return low === 0 ? 0 : (this.#ends[low - 1] as number);
  }
}
