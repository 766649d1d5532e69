import type { BucketId, Rid } from '#core/value/rid.ts';
import type { Value } from '#core/value/value.ts';
import type {
  CreatedRecords,
  IndexCursor,
  IndexReader,
  KeyBounds,
  RecordCursor,
} from './read-view.ts';

// What views have in common that judge records before they show them (guarded-view.ts, watched-view.ts).

/** Whether a record that an index names is shown; it may throw instead. */
type IsShown = (rid: Rid) => boolean;

/** Entries of the index whose records are shown. @param recordWith as the reader's own, judged */
export function checkedReader(
  reader: IndexReader,
  isShown: IsShown,
  recordWith: IndexReader['recordWith'],
): IndexReader {
  return {
    entryCount: reader.entryCount,
    recordWith,
    lookup: (key: readonly Value[]) => checkedCursor(reader.lookup(key), isShown),
    range: (bounds: KeyBounds, order: 'ascending' | 'descending') =>
      checkedCursor(reader.range(bounds, order), isShown),
    get entries() {
      return reader.entries;
    },
  };
}

function checkedCursor(cursor: IndexCursor, isShown: IsShown): IndexCursor {
  return {
    next: () => {
      while (cursor.next()) if (isShown(cursor.rid)) return true;
      return false;
    },
    get rid() {
      return cursor.rid;
    },
    get keyBytes() {
      return cursor.keyBytes;
    },
    keyValues: () => cursor.keyValues(),
  };
}

/** The records that a transaction has made, by a scan that judges them. */
export function withScan(
  created: CreatedRecords | undefined,
  scan: (created: CreatedRecords, buckets: readonly BucketId[]) => RecordCursor,
): CreatedRecords | undefined {
  if (created === undefined) return undefined;
  return {
    scan: (buckets: readonly BucketId[]) => scan(created, buckets),
    placeOf: (rid: Rid) => created.placeOf(rid),
    places: created.places,
    ridAt: (place: Rid) => created.ridAt(place),
  };
}
