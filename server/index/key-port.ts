import type { StoredRecord } from '#core/value/record.ts';

/** What keys of a search index are made from. */
export type KeyedRecord = Pick<StoredRecord, 'get' | 'readFloats'>;

/** Keys of one record, made some at a time; each step takes some milliseconds, and a piece may be empty. */
export type KeyPieces = Generator<readonly Uint8Array[], void, undefined>;

/**
 * The port of a kind of search index: which entries a record has. Everything else (apply, builds, overlays of transactions,
 * checks, drops, backups) treats them as those of any index, so a new kind is a folder with one of these.
 */
export interface SearchKeys {
  /** Distinct, a function of the record alone: two nodes that apply one log hold equal entries. It never throws. */
  keysOf(record: KeyedRecord): readonly Uint8Array[];
  /**
   * As `keysOf`; pieces for a record with more keys than one turn of the event loop may make. What they are made from is read at
   * once: the record may change before they are asked for. Absent: no record has so many.
   */
  keysOrPieces?(record: KeyedRecord): readonly Uint8Array[] | KeyPieces;
  /** @throws DatabaseError `Validation` for a value that the index cannot hold */
  requireValid(record: KeyedRecord): void;
}
