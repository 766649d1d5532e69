import type { Catalog } from '#catalog/catalog.ts';
import { type IndexId, noRid, type Rid, type TypeId } from '#core/rid.ts';
import type { Timers } from '#core/runtime.ts';
import type { TemporalFormats } from '#core/temporal-format.ts';
import type { IndexKeys, KeySource } from '#index/ordered/index-keys.ts';
import type { StorageSnapshot } from '#storage/engine.ts';
import { duplicatedKey } from '#transaction/unique-claims.ts';
import { WriteRuleBook, type WriteRules } from '#transaction/write-rules.ts';

/** The rules of a type, and whether they concern keys at all. */
export interface KeyRules extends WriteRules {
  readonly isKeyed: boolean;
}

const checksPerSlice = 1024;

/** The unique keys that one chunk of a load takes. */
export class BulkKeys {
  readonly #book: WriteRuleBook;
  readonly #formats: TemporalFormats;
  readonly #rules = new Map<TypeId, KeyRules>();
  /** Holders by the bytes of their key, one character each: a third of the memory of buffers. */
  readonly #claims = new Map<
    IndexId,
    { readonly keys: IndexKeys; readonly holders: Map<string, Rid> }
  >();
  /** The record whose key `requireFree` found taken. */
  failedRid: Rid = noRid;

  constructor(catalog: Catalog, formats: TemporalFormats) {
    this.#book = new WriteRuleBook(catalog);
    this.#formats = formats;
  }

  rulesOf(type: TypeId): KeyRules {
    let rules = this.#rules.get(type);
    if (rules === undefined) {
      const all = this.#book.rulesOf(type);
      const { nullRefusing, longKeyed, uniqueIndexes } = all;
      const isKeyed = nullRefusing.length + longKeyed.length + uniqueIndexes.length > 0;
      rules = { ...all, isKeyed };
      this.#rules.set(type, rules);
    }
    return rules;
  }

  /** @throws DatabaseError `DuplicatedKey` when another record of the chunk has the key, `Validation`, `SchemaLimit` */
  claim(rules: WriteRules, rid: Rid, record: KeySource): void {
    for (const keys of rules.nullRefusing) keys.requireNoNulls(record);
    for (const keys of rules.longKeyed) keys.keysOf(record);
    for (const keys of rules.uniqueIndexes) {
      const holders = this.#holdersOf(keys);
      for (const key of keys.keysOf(record)) {
        const text = textOfKey(key);
        const holder = holders.get(text);
        if (holder !== undefined) throw duplicatedKey(keys, key, record, holder, this.#formats);
        holders.set(text, rid);
      }
    }
  }

  /** One table per index, also when several types share it. */
  #holdersOf(keys: IndexKeys): Map<string, Rid> {
    const { id } = keys.definition;
    let claims = this.#claims.get(id);
    if (claims === undefined) {
      claims = { keys, holders: new Map() };
      this.#claims.set(id, claims);
    }
    return claims.holders;
  }

  /** @throws DatabaseError `DuplicatedKey` when a stored record has one of the keys */
  async requireFree(latest: StorageSnapshot, timers: Pick<Timers, 'yield'>): Promise<void> {
    let untilYield = checksPerSlice;
    for (const [id, { keys, holders }] of this.#claims) {
      if (latest.entryCount(id) === 0) continue;
      for (const [text, rid] of holders) {
        if (--untilYield === 0) {
          untilYield = checksPerSlice;
          await timers.yield();
        }
        const key = Buffer.from(text, 'latin1');
        const holder = latest.uniqueEntry(id, key);
        const record = holder === undefined ? undefined : latest.record(holder);
        if (holder === undefined || record === undefined) continue;
        this.failedRid = rid;
        throw duplicatedKey(keys, key, record, holder, this.#formats);
      }
    }
  }

  clear(): void {
    this.#claims.clear();
  }
}

function textOfKey(key: Uint8Array): string {
  return Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('latin1');
}
