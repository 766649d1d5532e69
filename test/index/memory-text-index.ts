import type { IndexDefinition } from '#catalog/catalog.ts';
import type { StoredRecord } from '#core/value/record.ts';
import type { LogIndex, Rid } from '#core/value/rid.ts';
import type { Value } from '#core/value/value.ts';
import type { EntryReader } from '#index/entry-reader.ts';
import { IndexKeys } from '#index/ordered/index-keys.ts';
import { type BackgroundWork, IndexMemory } from '#index/search-memory.ts';
import type { EntryCursor } from '#storage/engine.ts';
import { component, definition } from './fake-catalog.ts';

/**
 * A search index whose entries lie in a sorted array; for searches without storage.
 * @param background does what is done beside searches; nobody does it without
 */
export function memoryIndex(
  index: IndexDefinition,
  background?: BackgroundWork,
): {
  readonly reader: EntryReader;
  put(rid: number, values: Readonly<Record<string, Value>>): void;
} {
  const keys = new IndexKeys(index);
  let entries: { readonly key: Uint8Array; readonly rid: Rid }[] = [];
  let lsn = 1;
  const records = new Map<number, StoredRecord>();
  const memory = new IndexMemory(true, background);
  let isSorted = true;
  const between = (low: Uint8Array, high: Uint8Array) => {
    if (!isSorted) entries.sort((a, b) => Buffer.compare(a.key, b.key) || a.rid - b.rid);
    isSorted = true;
    return entries.filter(
      ({ key }) => Buffer.compare(key, low) >= 0 && Buffer.compare(key, high) < 0,
    );
  };
  const reader: EntryReader = {
    definition: index,
    get lsn() {
      return lsn as LogIndex;
    },
    memory,
    get storedCount() {
      return entries.length;
    },
    stored: (low, high) => cursorOver(between(low, high)),
    own: () => [],
    hasOwn: false,
    isHidden: () => false,
    record: (rid) => records.get(rid),
    storedRecord: (rid) => records.get(rid),
  };
  return {
    reader,
    put(rid, values) {
      lsn += 1;
      memory.changed(lsn as LogIndex, rid as Rid);
      if (records.has(rid)) {
        for (const { key } of entries.filter((entry) => entry.rid === rid))
          memory.entry(lsn as LogIndex, key, rid as Rid, -1);
        entries = entries.filter((entry) => entry.rid !== rid);
      }
      const record = { rid, get: (name: string) => values[name] } as unknown as StoredRecord;
      records.set(rid, record);
      for (const key of keys.keysOf(record)) {
        entries.push({ key, rid: rid as Rid });
        memory.entry(lsn as LogIndex, key, rid as Rid, 1);
      }
      isSorted = false;
    },
  };
}

export function memoryTextIndex(
  properties: readonly string[],
  metadata: Readonly<Record<string, Value>>,
): ReturnType<typeof memoryIndex> {
  return memoryIndex({
    ...definition(
      1,
      properties.map((name) => component(name)),
    ),
    kind: 'FULL_TEXT',
    metadata: new Map(Object.entries(metadata)),
  });
}

function cursorOver(
  found: readonly { readonly key: Uint8Array; readonly rid: Rid }[],
): EntryCursor {
  let at = -1;
  return {
    next() {
      at += 1;
      return at < found.length;
    },
    get key() {
      return found[at]?.key ?? new Uint8Array();
    },
    get rid() {
      return found[at]?.rid as Rid;
    },
    close() {},
  };
}
