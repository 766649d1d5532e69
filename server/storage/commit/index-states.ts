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
  const { deltas, chunked, pending } = entries;
  for (const id of new Set([...deltas.keys(), ...chunked.keys()])) {
    const isNew = dropped.has(id);
    const before = isNew ? 0 : state.entryCount(reader, id);
    const besideBefore = isNew ? undefined : (chunked.get(id) ?? state.besideChunks.get(id));
    const isChunked = chunked.has(id) || besideBefore !== undefined;
    const come = pending.get(id)?.count ?? 0;
    states.set(id, {
      entries: before + (deltas.get(id) ?? 0),
      besideChunks: isChunked ? Math.max(0, besideBefore ?? 0) + come : undefined,
    });
  }
  return states;
}
