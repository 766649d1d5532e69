import type { Catalog } from '#catalog/catalog.ts';
import { type IndexId, noRid, type Rid, type TypeId } from '#core/value/rid.ts';
import type { Timers } from '#core/runtime.ts';
import type { TemporalFormats } from '#core/temporal/format.ts';
import type { IndexKeys, KeySource } from '#index/ordered/index-keys.ts';
import type { StorageSnapshot } from '#storage/engine.ts';
import { duplicatedKey } from '#transaction/write/unique-claims.ts';
import { WriteRuleBook, type WriteRules } from '#transaction/write/write-rules.ts';
import { hashOf, IdTable } from './ends/id-table.ts';

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
  /** One table per index, also when several types share it. */
  readonly #claims = new Map<IndexId, { readonly keys: IndexKeys; readonly holders: IdTable }>();
  readonly #seed: number;
  /** The record whose key `requireFree` found taken. */
  failedRid: Rid = noRid;

  /** @param seed for hash tables */
  constructor(catalog: Catalog, formats: TemporalFormats, seed: number) {
    this.#seed = seed;
    this.#book = new WriteRuleBook(catalog);
    this.#formats = formats;
  }

  rulesOf(type: TypeId): KeyRules {
    let rules = this.#rules.get(type);
    if (rules === undefined) {
      const all = this.#book.rulesOf(type);
      const { refusing, longKeyed, uniqueIndexes } = all;
      const isKeyed = refusing.length + longKeyed.length + uniqueIndexes.length > 0;
      rules = { ...all, isKeyed };
      this.#rules.set(type, rules);
    }
    return rules;
  }

  /** @throws DatabaseError `DuplicatedKey` when another record of the chunk has the key, `Validation`, `SchemaLimit` */
  claim(rules: WriteRules, rid: Rid, record: KeySource): void {
    for (const keys of rules.refusing) keys.requireAllowed(record);
    for (const keys of rules.longKeyed) keys.keysOf(record);
    for (const keys of rules.uniqueIndexes) {
      const holders = this.#holdersOf(keys);
      for (const key of keys.keysOf(record)) {
        const hash = hashOf(key, 0, key.length);
        const entry = holders.add(key, 0, key.length, hash);
        if (entry < 0) {
          const holder = holders.ridOf(holders.find(key, 0, key.length, hash));
          throw duplicatedKey(keys, key, record, holder, this.#formats);
        }
        holders.setRid(entry, rid);
      }
    }
  }

  #holdersOf(keys: IndexKeys): IdTable {
    const { id } = keys.definition;
    let claims = this.#claims.get(id);
    if (claims === undefined) {
      claims = { keys, holders: new IdTable(this.#seed) };
      this.#claims.set(id, claims);
    }
    return claims.holders;
  }

  /** @throws DatabaseError `DuplicatedKey` when a stored record has one of the keys */
  async requireFree(latest: StorageSnapshot, timers: Pick<Timers, 'yield'>): Promise<void> {
    let untilYield = checksPerSlice;
    for (const [id, { keys, holders }] of this.#claims) {
      if (latest.entryCount(id) === 0) continue;
      for (let entry = holders.entryAt(0); entry < holders.end; entry = holders.after(entry)) {
        if (--untilYield === 0) {
          untilYield = checksPerSlice;
          await timers.yield();
        }
        const key = holders.keyOf(entry);
        const holder = latest.uniqueEntry(id, key);
        const record = holder === undefined ? undefined : latest.record(holder);
        if (holder === undefined || record === undefined) continue;
        this.failedRid = holders.ridOf(entry);
        throw duplicatedKey(keys, key, record, holder, this.#formats);
      }
    }
  }

  /** Whether no record of the chunk has a unique key. */
  get isEmpty(): boolean {
    return this.#claims.size === 0;
  }
}
