import type { IndexId } from '#core/value/rid.ts';
import type { IndexState } from '../format/counters.ts';
import type { PinnedReader } from '../read/pinned-reader.ts';
import type { StateReader } from '../read/state-reader.ts';
import type { EntryBuilder } from './entry-builder.ts';

export interface StatesBefore {
  readonly state: StateReader;
  readonly reader: PinnedReader;
  /** By this commit. */
  readonly dropped: ReadonlySet<IndexId>;
}

/** What is kept per index after a commit, of those that it changes; undefined: it drops the index. */
export function indexStatesAfter(
  entries: EntryBuilder,
  { state, reader, dropped }: StatesBefore,
): ReadonlyMap<IndexId, IndexState | undefined> {
  const states = new Map<IndexId, IndexState | undefined>();
  for (const id of dropped) states.set(id, undefined);
  for (const id of new Set([...entries.deltas.keys(), ...entries.singles.keys()])) {
    const isNew = dropped.has(id);
    const before = isNew ? 0 : state.entryCount(reader, id);
    const singlesBefore = isNew ? undefined : state.singles.get(id);
    const singles = entries.singles.get(id);
    const isChunked = singles !== undefined || singlesBefore !== undefined;
    states.set(id, {
      entries: before + (entries.deltas.get(id) ?? 0),
      singles: isChunked ? Math.max(0, (singlesBefore ?? 0) + (singles ?? 0)) : undefined,
    });
  }
  return states;
}
