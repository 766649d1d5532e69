import type { IndexDefinition } from '#catalog/catalog.ts';
import { DatabaseError } from '#core/errors.ts';
import { formatRid, type LogIndex, type Rid } from '#core/rid.ts';
import type { TemporalFormats } from '#core/temporal-format.ts';
import { textOf } from '#core/text-form.ts';
import type { Value } from '#core/value.ts';
import type { IndexKeys, KeySource } from '#index/ordered/index-keys.ts';
import type { StorageSnapshot } from '#storage/engine.ts';

/** A unique key that a transaction gives to a record. */
export interface UniqueClaim {
  readonly keys: IndexKeys;
  readonly key: Uint8Array;
  readonly rid: Rid;
  /** The committed state in which the key was seen to be free. */
  readonly seenAt: LogIndex;
}

/** What a transaction knows about the holder of a key. */
export interface KeyHolders {
  readonly snapshot: StorageSnapshot;
  /**
   * The record as the transaction left it when it changed it: `gone` when deleted, undefined when it was not touched.
   */
  changed(rid: Rid): KeySource | 'gone' | undefined;
}

/**
 * The unique keys that a transaction claims, in the order they were claimed. A key is free when no stored record has it, but
 * for those that this transaction deleted or gave another key (sql.md 13.10 rule 6).
 */
export class UniqueClaims {
  readonly #claims = new Map<string, UniqueClaim>();
  readonly #formats: TemporalFormats;

  constructor(formats: TemporalFormats) {
    this.#formats = formats;
  }

  get size(): number {
    return this.#claims.size;
  }

  /** By `claimText`. */
  get all(): ReadonlyMap<string, UniqueClaim> {
    return this.#claims;
  }

  /** @returns puts the claims back that there are now */
  savepoint(): () => void {
    const saved = new Map(this.#claims);
    return () => {
      this.#claims.clear();
      for (const [text, claim] of saved) this.#claims.set(text, claim);
    };
  }

  /** The record of this transaction that claims the key. */
  holderOf(index: IndexDefinition, key: Uint8Array): Rid | undefined {
    return this.#claims.size === 0 ? undefined : this.#claims.get(claimText(index, key))?.rid;
  }

  /**
   * Claims the keys of a new or changed record and gives up those it had in this transaction.
   * @throws DatabaseError `DuplicatedKey` when another record has one of them
   */
  claim(
    keys: IndexKeys,
    rid: Rid,
    change: { readonly before: KeySource | undefined; readonly after: KeySource },
    holders: KeyHolders,
  ): void {
    const { before, after } = change;
    if (before !== undefined && hasSameValues(keys.definition, before, after)) return;
    const claimed = keys.keysOf(after);
    if (before === undefined && claimed.length === 1) {
      // The common case, a new record with one key.
      const key = claimed[0] as Uint8Array;
      const text = claimText(keys.definition, key);
      this.#requireFree(keys, { key, text, rid }, after, holders);
      this.#claims.set(text, { keys, key, rid, seenAt: holders.snapshot.index });
      return;
    }
    const texts = claimed.map((key) => claimText(keys.definition, key));
    const given = before === undefined ? [] : keys.keysOf(before);
    const old = new Set(given.map((key) => claimText(keys.definition, key)));
    for (let i = 0; i < claimed.length; i++) {
      const text = texts[i] as string;
      if (old.has(text)) continue;
      const key = claimed[i] as Uint8Array;
      this.#requireFree(keys, { key, text, rid }, after, holders);
      this.#claims.set(text, { keys, key, rid, seenAt: holders.snapshot.index });
    }
    for (const text of old) {
      if (!texts.includes(text)) this.#giveUp(text, rid);
    }
  }

  /** The record is deleted: its keys are free again. */
  release(keys: IndexKeys, rid: Rid, before: KeySource): void {
    if (this.#claims.size === 0) return;
    for (const key of keys.keysOf(before)) this.#giveUp(claimText(keys.definition, key), rid);
  }

  #giveUp(text: string, rid: Rid): void {
    if (this.#claims.get(text)?.rid === rid) this.#claims.delete(text);
  }

  #requireFree(
    keys: IndexKeys,
    wanted: { readonly key: Uint8Array; readonly text: string; readonly rid: Rid },
    record: KeySource,
    holders: KeyHolders,
  ): void {
    const claimed = this.#claims.get(wanted.text);
    let holder: Rid | undefined;
    if (claimed !== undefined && claimed.rid !== wanted.rid) holder = claimed.rid;
    else {
      const stored = holders.snapshot.uniqueEntry(keys.definition.id, wanted.key);
      if (
        stored !== undefined &&
        stored !== wanted.rid &&
        hasKey(keys, stored, wanted.key, holders)
      ) {
        holder = stored;
      }
    }
    if (holder === undefined) return;
    throw duplicatedKey(keys, wanted.key, record, holder, this.#formats);
  }
}

/** Whether the stored holder of a key still has it, as far as the transaction is concerned. */
export function hasKey(
  keys: IndexKeys,
  holder: Rid,
  key: Uint8Array,
  holders: Pick<KeyHolders, 'changed'>,
): boolean {
  const changed = holders.changed(holder);
  if (changed === undefined) return true;
  if (changed === 'gone') return false;
  return keys.keysOf(changed).some((own) => Buffer.compare(own, key) === 0);
}

/** A key of a hash table for a unique key: two claims have the same text exactly when they cannot both be committed. */
export function claimText(index: IndexDefinition, key: Uint8Array): string {
  const bytes = Buffer.from(key.buffer, key.byteOffset, key.byteLength);
  return `${index.id}:${bytes.toString('latin1')}`;
}

/** `Duplicated key [albert] found on index 'User[name]' already assigned to record #4:12`. */
export function duplicatedKey(
  keys: IndexKeys,
  key: Uint8Array,
  record: KeySource,
  holder: Rid,
  formats: TemporalFormats,
): DatabaseError {
  const at = keys.keysOf(record).findIndex((own) => Buffer.compare(own, key) === 0);
  const values = keys.keyValuesOf(record)[at] ?? [];
  const shown = `[${values.map((value) => shownValue(value, formats)).join(', ')}]`;
  const name = keys.definition.name;
  return new DatabaseError(
    'DuplicatedKey',
    `Duplicated key ${shown} found on index '${name}' already assigned to record ${formatRid(holder)}`,
    { arguments: [name, shown, formatRid(holder)] },
  );
}

function shownValue(value: Value, formats: TemporalFormats): string {
  const text = value === null ? 'null' : textOf(value, formats);
  return text.length > 200 ? `${text.slice(0, 200)}...` : text;
}

/** A cheap test before keys are made: most updates leave the indexed properties as they are. */
function hasSameValues(index: IndexDefinition, before: KeySource, after: KeySource): boolean {
  for (const component of index.components) {
    const name = component.property;
    if (name === '@out' || name === '@in') continue;
    if (name.includes('.')) return false;
    if (before.get(name) !== after.get(name)) return false;
  }
  return true;
}
