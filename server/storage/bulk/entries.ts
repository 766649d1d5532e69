import { toEnd } from '#core/pausing-work.ts';
import type { Timers } from '#core/runtime.ts';
import type { CommitBuilder } from '../commit/builder.ts';
import type { EntryChanges } from '../engine.ts';
import type { IndexTarget } from '../index-target.ts';
import type { Rid } from '#core/value/rid.ts';
import { EntryRuns } from './entry-runs.ts';

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
    for (const runs of await this.#runs.sorted(timers)) {
      if (runs[0]?.target.isBuilding !== true) {
        await commit.entries.addRuns(runs, timers);
        continue;
      }
      for (const run of runs) {
        for (let place = 0; place < run.count; place += 1) {
          commit.entries.addEncoded(run.target, run.componentsAt(place), run.ridAt(place));
          if ((place + 1) % entriesPerSlice === 0) await timers.yield();
        }
      }
    }
    commit.entries.endEntry();
  }
}
