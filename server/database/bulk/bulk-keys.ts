import type { Catalog } from '#catalog/catalog.ts';
import { noRid, type Rid, type TypeId } from '#core/rid.ts';
import type { Timers } from '#core/runtime.ts';
import type { TemporalFormats } from '#core/temporal-format.ts';
import type { IndexKeys, KeySource } from '#index/ordered/index-keys.ts';
import type { StorageSnapshot } from '#storage/engine.ts';
import { claimText, duplicatedKey } from '#transaction/unique-claims.ts';
import { WriteRuleBook, type WriteRules } from '#transaction/write-rules.ts';

interface Claimed {
  readonly keys: IndexKeys;
  readonly key: Uint8Array;
  readonly rid: Rid;
}

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
  readonly #claims = new Map<string, Claimed>();
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
      for (const key of keys.keysOf(record)) {
        const text = claimText(keys.definition, key);
        const holder = this.#claims.get(text);
        if (holder !== undefined) {
          throw duplicatedKey(keys, key, record, holder.rid, this.#formats);
        }
        this.#claims.set(text, { keys, key, rid });
      }
    }
  }

  /** @throws DatabaseError `DuplicatedKey` when a stored record has one of the keys */
  async requireFree(latest: StorageSnapshot, timers: Pick<Timers, 'yield'>): Promise<void> {
    const isEmpty = new Map<IndexKeys, boolean>();
    let untilYield = checksPerSlice;
    for (const { keys, key, rid } of this.#claims.values()) {
      const { id } = keys.definition;
      const known = isEmpty.get(keys) ?? latest.entryCount(id) === 0;
      isEmpty.set(keys, known);
      if (known) continue;
      if (--untilYield === 0) {
        untilYield = checksPerSlice;
        await timers.yield();
      }
      const holder = latest.uniqueEntry(id, key);
      const record = holder === undefined ? undefined : latest.record(holder);
      if (holder === undefined || record === undefined) continue;
      this.failedRid = rid;
      throw duplicatedKey(keys, key, record, holder, this.#formats);
    }
  }

  clear(): void {
    this.#claims.clear();
  }
}
