import type { BucketId, IndexId, LogIndex } from '#core/value/rid.ts';
import { decodeBucketState, decodeIndexState } from '../format/counters.ts';
import type { ShapeRegistry } from '../format/shape.ts';
import type { PinnedReader } from './pinned-reader.ts';
import type { StateReader } from './state-reader.ts';
import { heldStates } from './versioned.ts';

/** What is kept of buckets, indexes and shapes, as a database is opened. */
export function loadStates(reader: PinnedReader, state: StateReader, shapes: ShapeRegistry): void {
  const since = 0 as LogIndex;
  for (const name of reader.metaNames('bucket/')) {
    const bucket = decodeBucketState(reader.meta(name) as Uint8Array);
    state.setBucket(Number(name.slice(7)) as BucketId, bucket, since, heldStates([]));
  }
  for (const name of reader.metaNames('index/')) {
    const index = decodeIndexState(reader.meta(name) as Uint8Array);
    state.setIndexState(Number(name.slice(6)) as IndexId, index, since, heldStates([]));
  }
  for (const name of reader.metaNames('shapes/')) {
    const id = Number(name.slice(7));
    shapes.define(id, reader.meta(name) as Uint8Array);
    shapes.saved(id);
  }
}
