import type { Catalog, IndexDefinition } from '#catalog/catalog.ts';
import type { StoredRecord } from '#core/value/record.ts';
import type { BucketId, IndexId, LogIndex, TypeId } from '#core/value/rid.ts';
import type { EntryChanges, IndexDeriver } from '#storage/engine.ts';
import { isSearchKind } from '#catalog/search-index.ts';
import { type IndexMemory, SearchMemory } from '../search-memory.ts';
import { areAllMade, derivePieces } from './derived-pieces.ts';
import { IndexKeys } from './index-keys.ts';

export interface OrderedIndexMaintainerOptions {
  /** Reads a schema document; the catalog's codec. */
  readonly decodeCatalog: (document: Uint8Array) => Catalog;
  /** `vectorCacheMaxSize`, bytes; absent: any. */
  readonly vectorBytesMax?: () => number;
}

/**
 * Turns row changes into changes of index entries, under the schema that holds at that place of the log. Storage calls it
 * while applying; nothing else may decide what an index holds.
 */
export class OrderedIndexMaintainer implements IndexDeriver {
  readonly #decodeCatalog: (document: Uint8Array) => Catalog;
  #catalog: Catalog | undefined;
  #hasTexts = false;
  #hasChunks = false;
  readonly #byType = new Map<TypeId, readonly Maintained[]>();
  readonly #byIndex = new Map<IndexId, Maintained>();
  /** What searches keep; told of every change. */
  readonly searchMemory: SearchMemory;

  constructor(options: OrderedIndexMaintainerOptions) {
    this.#decodeCatalog = options.decodeCatalog;
    this.searchMemory = new SearchMemory(true, options.vectorBytesMax);
  }

  schemaChanged(document: Uint8Array): void {
    this.#catalog = this.#decodeCatalog(document);
    this.#byType.clear();
    this.#byIndex.clear();
    this.#hasChunks = this.#catalog.indexes().some(({ isChunked }) => isChunked === true);
    this.#hasTexts = this.#catalog.indexes().some(({ kind }) => kind === 'FULL_TEXT');
    this.searchMemory.retain(new Set(this.#catalog.indexes().map(({ id }) => id)));
  }

  isIndexed(type: TypeId): boolean {
    return (this.#byType.get(type) ?? this.#indexesOn(type)).length > 0;
  }

  hasTexts(): boolean {
    return this.#hasTexts;
  }

  hasChunks(): boolean {
    return this.#hasChunks;
  }

  derivesMuch(before: StoredRecord | undefined, after: StoredRecord | undefined): boolean {
    const hasSameType = before?.type === after?.type;
    const isLongIn = (record: StoredRecord | undefined, other: StoredRecord | undefined) =>
      record !== undefined &&
      (this.#byType.get(record.type) ?? this.#indexesOn(record.type)).some(
        ({ keys, plainProperties }) => {
          const { kind } = keys.definition;
          if (kind !== 'FULL_TEXT' || areAllMade(keys.keysOrPieces(record))) return false;
          return (
            other === undefined || !hasSameType || !hasSameValues(plainProperties, record, other)
          );
        },
      );
    return isLongIn(before, after) || isLongIn(after, before);
  }

  windowsOn(bucket: BucketId): ReadonlyMap<TypeId, BucketId> | undefined {
    return this.#catalog?.windowsOn(bucket);
  }

  derive(
    before: StoredRecord | undefined,
    after: StoredRecord | undefined,
    changes: EntryChanges,
    version: LogIndex = 0 as LogIndex,
  ): void {
    const record = after ?? before;
    if (record === undefined) return;
    const indexes = this.#byType.get(record.type) ?? this.#indexesOn(record.type);
    if (before !== undefined && after !== undefined && before.type !== after.type) {
      this.#deriveRetyped(before, after, changes, version);
      return;
    }
    for (let i = 0; i < indexes.length; i++) {
      deriveOne(indexes[i] as Maintained, before, after, changes, version);
    }
  }

  /** The record leaves the indexes of one type and enters those of the other; in those of both it is changed. */
  #deriveRetyped(
    before: StoredRecord,
    after: StoredRecord,
    changes: EntryChanges,
    version: LogIndex,
  ): void {
    const former = this.#byType.get(before.type) ?? this.#indexesOn(before.type);
    const indexes = this.#byType.get(after.type) ?? this.#indexesOn(after.type);
    for (const index of former)
      if (!indexes.includes(index)) deriveOne(index, before, undefined, changes, version);
    for (const index of indexes)
      deriveOne(index, former.includes(index) ? before : undefined, after, changes, version);
  }

  #indexesOn(type: TypeId): readonly Maintained[] {
    const definitions = this.#catalog?.indexesOn(type) ?? [];
    const indexes = definitions.map((definition) => {
      const known = this.#byIndex.get(definition.id) ?? {
        keys: new IndexKeys(definition),
        plainProperties: plainPropertiesOf(definition),
        memory: isSearchKind(definition.kind) ? this.searchMemory.of(definition.id) : undefined,
      };
      this.#byIndex.set(definition.id, known);
      return known;
    });
    this.#byType.set(type, indexes);
    return indexes;
  }
}

interface Maintained {
  readonly keys: IndexKeys;
  /** What the keys are of, where that is values of properties alone. */
  readonly plainProperties: readonly string[] | undefined;
  /** Of a search index. */
  readonly memory: IndexMemory | undefined;
}

const noKeys: readonly Uint8Array[] = [];

function plainPropertiesOf({ components }: IndexDefinition): readonly string[] | undefined {
  const arePlain = components.every(
    ({ property, by }) => by === 'value' && !property.startsWith('@') && !property.includes('.'),
  );
  return arePlain ? components.map(({ property }) => property) : undefined;
}

/** A cheap test before keys are made: most changes leave the indexed properties as they are. */
function hasSameValues(
  properties: readonly string[] | undefined,
  before: StoredRecord,
  after: StoredRecord,
): boolean {
  if (properties === undefined) return false;
  for (let i = 0; i < properties.length; i += 1) {
    const property = properties[i] as string;
    if (before.get(property) !== after.get(property)) return false;
  }
  return true;
}

/** Entries that stay are left alone. */
function deriveOne(
  { keys: index, memory, plainProperties }: Maintained,
  before: StoredRecord | undefined,
  after: StoredRecord | undefined,
  changes: EntryChanges,
  version: LogIndex,
): void {
  if (before !== undefined && after !== undefined && hasSameValues(plainProperties, before, after))
    return;
  const target = index.target;
  const { rid } = (after ?? before) as StoredRecord;
  memory?.changed(version, rid);
  const old = before === undefined ? noKeys : index.keysOrPieces(before);
  const now = after === undefined ? noKeys : index.keysOrPieces(after);
  if (!areAllMade(old) || !areAllMade(now)) {
    changes.later(derivePieces(old, now, { target, memory, changes, version, rid }));
    return;
  }
  const wasThere = now.length === 0 ? isAbsent : keySet(old);
  const staysThere = old.length === 0 ? isAbsent : keySet(now);
  for (let i = 0; i < old.length; i++) {
    const key = old[i] as Uint8Array;
    if (staysThere(key)) continue;
    changes.remove(target, key, rid);
    memory?.entry(version, key, rid, -1);
  }
  for (let i = 0; i < now.length; i++) {
    const key = now[i] as Uint8Array;
    if (wasThere(key)) continue;
    changes.add(target, key, rid);
    memory?.entry(version, key, rid, 1);
  }
}

function isAbsent(): boolean {
  return false;
}

/** Whether a key is among `keys`; hashed for lists that are not tiny (BY ITEM). */
function keySet(keys: readonly Uint8Array[]): (key: Uint8Array) => boolean {
  if (keys.length === 0) return isAbsent;
  if (keys.length <= 8) {
    return (key) => {
      for (let i = 0; i < keys.length; i++) {
        if (Buffer.compare(keys[i] as Uint8Array, key) === 0) return true;
      }
      return false;
    };
  }
  const texts = new Set(keys.map((key) => Buffer.from(key).toString('latin1')));
  return (key) => texts.has(Buffer.from(key).toString('latin1'));
}
