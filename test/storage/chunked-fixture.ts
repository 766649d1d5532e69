import type { StoredRecord } from '#core/value/record.ts';
import type { IndexId } from '#core/value/rid.ts';
import type { EntryChanges, IndexDeriver, StorageSnapshot } from '#storage/engine.ts';
import { personType } from './engine-fixture.ts';

// The words of persons' texts in an index in chunks, and the same in one without: both hold the same, whatever is done.

export const words = { id: 7 as IndexId, isUnique: false, isBuilding: false, isChunked: true };
export const plain = { id: 8 as IndexId, isUnique: false, isBuilding: false };

/** Makes the rows of a commit too large for the log, so that it goes to LMDB and lays chunks itself. */
export const filler = 'x'.repeat(3_000);

export const deriver: IndexDeriver = {
  schemaChanged() {},
  isIndexed: (type) => type === personType,
  derive(before: StoredRecord | undefined, after: StoredRecord | undefined, changes: EntryChanges) {
    const keys = (record: StoredRecord) =>
      [...new Set(String(record.get('text')).split(' '))].map((word) =>
        Buffer.from(`\x02${word}\0`),
      );
    for (const target of [words, plain]) {
      if (before) for (const key of keys(before)) changes.remove(target, key, before.rid);
      if (after) for (const key of keys(after)) changes.add(target, key, after.rid);
    }
  },
};

export function entriesOf(snapshot: StorageSnapshot, index: IndexId): string[] {
  const cursor = snapshot.entries(index, Uint8Array.of(0), Uint8Array.of(0xff), 'ascending');
  const found: string[] = [];
  while (cursor.next()) found.push(`${Buffer.from(cursor.key).toString('latin1')}/${cursor.rid}`);
  return found;
}
