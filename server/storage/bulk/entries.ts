import { toEnd } from '#core/pausing-work.ts';
import type { Timers } from '#core/runtime.ts';
import type { CommitBuilder } from '../commit/builder.ts';
import type { EntryChanges } from '../engine.ts';
import type { IndexTarget } from '../index-target.ts';
import type { Rid } from '#core/value/rid.ts';
import { type EntryRun, EntryRuns } from './entry-runs.ts';
import type { GroupedPart } from './grouped-run.ts';

/** Entries between two turns of the event loop: a millisecond or two. */
const entriesPerSlice = 2048;

/** Index entries of a bulk load. */
export class BulkEntries implements EntryChanges {
  readonly #runs = new EntryRuns();

  add(target: IndexTarget, key: Uint8Array, rid: Rid): void {
    this.#runs.add(target, key, rid);
  }

  later(work: Generator<undefined, void, undefined>): void {
    toEnd(work);
  }

  /** Records of a bulk load are new. */
  remove(): void {}

  /** Puts the entries into a commit; lets others in between now and then. */
  async build(commit: CommitBuilder, timers: Pick<Timers, 'yield'>): Promise<void> {
    const { runs, grouped } = await this.#runs.sorted(timers);
    for (const run of runs)
      if (run.target.isBuilding) await addSingly(commit, run, timers);
      else commit.entries.addRun(run);
    for (const groups of grouped.values()) {
      const parts = groups.map((run) => run.whole());
      if (parts[0]?.target.isBuilding !== true) await commit.entries.addGrouped(parts, timers);
      else for (const part of parts) await addGroupsSingly(commit, part, timers);
    }
    commit.entries.endEntry();
  }
}

/** Of an index under construction: those that are there stay. */
async function addSingly(
  commit: CommitBuilder,
  run: EntryRun,
  timers: Pick<Timers, 'yield'>,
): Promise<void> {
  for (let place = 0; place < run.count; place += 1) {
    commit.entries.addEncoded(run.target, run.componentsAt(place), run.ridAt(place));
    if ((place + 1) % entriesPerSlice === 0) await timers.yield();
  }
}

async function addGroupsSingly(
  commit: CommitBuilder,
  part: GroupedPart,
  timers: Pick<Timers, 'yield'>,
): Promise<void> {
  for (const changes = part.changes(true); changes.bytes !== undefined; changes.step()) {
    const components = changes.bytes.slice(changes.start, changes.end);
    commit.entries.addEncoded(part.target, components, changes.rid);
    if (changes.count % entriesPerSlice === 0) await timers.yield();
  }
}
