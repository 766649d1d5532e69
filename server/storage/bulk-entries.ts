import type { IndexId, Rid } from '#core/rid.ts';
import type { Timers } from '#core/runtime.ts';
import type { CommitBuilder } from './commit-builder.ts';
import type { EntryChanges, IndexTarget } from './engine.ts';
import { entryWrite, withRid } from './entry-builder.ts';
import { sortedInSlices } from './sliced-sort.ts';
import { IxKey } from './sub-databases.ts';
import type { Write } from './write-batch.ts';

interface NewEntry {
  /** The first six bytes as a number: most comparisons need no more. */
  readonly prefix: number;
  readonly components: Uint8Array;
  readonly rid: Rid;
}

/** Index entries of a bulk load: gathered per index, sorted, written in key order (3.5 times faster than at random). */
export class BulkEntries implements EntryChanges {
  readonly #entries = new Map<
    IndexId,
    { readonly target: IndexTarget; readonly list: NewEntry[] }
  >();

  add(target: IndexTarget, key: Uint8Array, rid: Rid): void {
    let entries = this.#entries.get(target.id);
    if (entries === undefined) {
      entries = { target, list: [] };
      this.#entries.set(target.id, entries);
    }
    const components = target.isUnique ? key : withRid(key, rid);
    entries.list.push({ prefix: prefixOf(components), components, rid });
  }

  /** Records of a bulk load are new. */
  remove(): void {}

  /** Puts the entries into a commit; lets others in between now and then. */
  async build(commit: CommitBuilder, timers: Pick<Timers, 'yield'>): Promise<void> {
    for (const { target, list } of this.#entries.values()) {
      const sorted = await sortedInSlices(list, compareEntries, timers);
      const writes: Write[] = [];
      for (let at = 0; at < sorted.length; at += 1) {
        const entry = sorted[at] as NewEntry;
        if (target.isBuilding) commit.entries.addEncoded(target, entry.components, entry.rid);
        else writes.push(writeOf(commit, target, entry));
        if ((at + 1) % entriesPerSlice === 0) await timers.yield();
      }
      if (!target.isBuilding) commit.entries.addSorted(target.id, writes);
    }
    commit.entries.endEntry();
  }
}

/** Entries between two turns of the event loop: a millisecond or two. */
const entriesPerSlice = 2048;

function writeOf(commit: CommitBuilder, target: IndexTarget, entry: NewEntry): Write {
  const key = new IxKey();
  key.index = target.id;
  key.components = entry.components;
  return entryWrite(commit.reader.subs.ix, key, commit.memory, target, entry.rid);
}

function prefixOf(bytes: Uint8Array): number {
  let prefix = 0;
  for (let i = 1; i < 7; i++) prefix = prefix * 256 + (bytes[i] ?? 0);
  return (bytes[0] ?? 0) * 2 ** 45 + Math.floor(prefix / 8);
}

function compareEntries(a: NewEntry, b: NewEntry): number {
  return a.prefix - b.prefix || Buffer.compare(a.components, b.components);
}
