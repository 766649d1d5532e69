import type { IndexId } from '#core/value/rid.ts';

/** An index that entries go to. */
export interface IndexTarget {
  readonly id: IndexId;
  readonly isUnique: boolean;
  /** Entries of records that were there before the index may be missing yet (`addEntries`). */
  readonly isBuilding: boolean;
  /** Its entries lie in chunks (`format/entry-chunk.ts`); not unique then. */
  readonly isChunked?: boolean;
}
