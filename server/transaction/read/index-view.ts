import type { Catalog, IndexDefinition } from '#catalog/catalog.ts';
import { valuesEqual } from '#core/value/equality.ts';
import type { StoredRecord } from '#core/value/record.ts';
import { type IndexId, type LogIndex, noRid, type Rid } from '#core/value/rid.ts';
import { compareValues } from '#core/value/value-order.ts';
import { kindOf, type Value } from '#core/value/value.ts';
import { componentForm, type IndexKeys } from '#index/ordered/index-keys.ts';
import { type KeyRange, keyRange, wholeKey, writeWholeKey } from '#index/ordered/key-range.ts';
import type { EntryReader, OwnEntry } from '#index/entry-reader.ts';
import type { IndexMemory } from '#index/search-memory.ts';
import type { EntryCursor, StorageSnapshot } from '#storage/engine.ts';
import { keyBytesMax } from '#storage/format/ordered-key.ts';
import { lowerBound, type PendingEntry } from './index-overlay.ts';
import type { IndexCursor, IndexReader, KeyBounds } from './read-view.ts';

/** What an index reader needs of the view it belongs to. */
export interface IndexHost {
  readonly catalog: Catalog;
  readonly snapshot: StorageSnapshot;
  record(rid: Rid): StoredRecord | undefined;
  readonly hasChanges: boolean;
  /** Some of them gave records a unique key. */
  readonly hasClaims: boolean;
  /** The transaction's own record that has a unique key it was not stored with. */
  claimHolder(index: IndexDefinition, key: Uint8Array): Rid | undefined;
  storedRecord(rid: Rid): StoredRecord | undefined;
  /** What searches keep about the index. */
  memoryOf(index: IndexId): IndexMemory;
  /** True for records that the transaction changed: their stored entries do not count. */
  isHidden(rid: Rid): boolean;
  /** Closes the stored cursor when the view is closed before the cursor has come to its end. */
  opened(cursor: EntryCursor): void;
  ended(cursor: EntryCursor): void;
  /** The entries of the transaction's own records, sorted. */
  pendingEntries(keys: IndexKeys): readonly PendingEntry[];
  /** How many stored entries of the index belong to records that the transaction changed. */
  hiddenEntryCount(keys: IndexKeys): number;
}

/** One ordered index as a transaction sees it. */
export class IndexView implements IndexReader {
  readonly #host: IndexHost;
  readonly #keys: IndexKeys;
  readonly #definition: IndexDefinition;
  #entries: EntryReader | undefined;

  constructor(host: IndexHost, keys: IndexKeys) {
    this.#host = host;
    this.#keys = keys;
    this.#definition = keys.definition;
  }

  get id(): IndexId {
    return this.#definition.id;
  }

  get entries(): EntryReader {
    this.#entries ??= new IndexEntryReader(this.#host, this.#keys);
    return this.#entries;
  }

  get entryCount(): number {
    const stored = this.#host.snapshot.entryCount(this.#definition.id);
    return (
      stored -
      this.#host.hiddenEntryCount(this.#keys) +
      this.#host.pendingEntries(this.#keys).length
    );
  }

  recordWith(key: readonly Value[]): Rid | undefined {
    const definition = this.#definition;
    if (!definition.unique || key.length !== definition.components.length) return undefined;
    const written = writeWholeKey(definition, key);
    if (written === undefined || written.length > keyBytesMax) return undefined;
    const host = this.#host;
    if (host.hasClaims) return this.#holderOf(written.take()) ?? noRid;
    const hit = host.snapshot.uniqueEntry(definition.id, written.bytes, written.length);
    if (hit === undefined) return noRid;
    if (!host.hasChanges || !host.isHidden(hit)) return hit;
    return this.#stillHas(hit, written.take()) ? hit : noRid;
  }

  lookup(key: readonly Value[]): IndexCursor {
    if (this.#definition.unique && key.length === this.#definition.components.length) {
      const whole = wholeKey(this.#definition, key);
      if (whole !== undefined) return this.#uniqueHit(whole);
    }
    const pending = this.#host.pendingEntries(this.#keys);
    const range = keyRange(this.#definition, { prefix: key });
    return this.#open(range, 'ascending', { prefix: key }, pending);
  }

  range(bounds: KeyBounds, order: 'ascending' | 'descending'): IndexCursor {
    if (isUnmeetable(bounds)) return new SingleHit(this, noRid, noKey);
    return this.#open(
      keyRange(this.#definition, bounds),
      order,
      bounds,
      this.#host.pendingEntries(this.#keys),
    );
  }

  /** The common case of a point read: one get. */
  #uniqueHit(key: Uint8Array): IndexCursor {
    return new SingleHit(this, this.#holderOf(key) ?? noRid, key);
  }

  /** The record that has the whole key, after the changes of the transaction. */
  #holderOf(key: Uint8Array): Rid | undefined {
    const host = this.#host;
    const claimed = host.hasChanges ? host.claimHolder(this.#definition, key) : undefined;
    if (claimed !== undefined) return claimed;
    const hit = host.snapshot.uniqueEntry(this.#definition.id, key);
    if (hit === undefined || !host.isHidden(hit)) return hit;
    return this.#stillHas(hit, key) ? hit : undefined;
  }

  /** Whether a record that the transaction changed kept the key it is stored with. */
  #stillHas(rid: Rid, key: Uint8Array): boolean {
    const record = this.#host.record(rid);
    return (
      record !== undefined &&
      this.#host.catalog.isSubtype(record.type, this.#definition.type) &&
      this.#keys.keysOf(record).some((own) => Buffer.compare(own, key) === 0)
    );
  }

  #open(
    range: KeyRange,
    order: 'ascending' | 'descending',
    bounds: KeyBounds,
    pending: readonly PendingEntry[],
  ): IndexCursor {
    const stored = this.#host.snapshot.entries(this.#definition.id, range.low, range.high, order);
    this.#host.opened(stored);
    const own = slice(pending, range);
    const checked = range.isExact ? undefined : bounds;
    return new MergedCursor(this, this.#host, { stored, own, order, checked });
  }

  /** The values that gave a key; those of the record, since keys may be cut. */
  valuesOf(rid: Rid, key: Uint8Array): readonly Value[] {
    const record = this.#host.record(rid);
    if (record === undefined) return [];
    const at = this.#keys.keysOf(record).findIndex((own) => Buffer.compare(own, key) === 0);
    return this.#keys.keyValuesOf(record)[at] ?? [];
  }

  /** Whether an entry found by a key that stands for several values really is in bounds. */
  meets(rid: Rid, key: Uint8Array, bounds: KeyBounds): boolean {
    const values = this.valuesOf(rid, key);
    const { components } = this.#definition;
    for (let i = 0; i < bounds.prefix.length; i++) {
      const component = components[i];
      if (component === undefined) return false;
      const wanted = componentForm(component, bounds.prefix[i] ?? null);
      if (!valuesEqual(values[i] ?? null, wanted)) return false;
    }
    const component = components[bounds.prefix.length];
    const value = values[bounds.prefix.length] ?? null;
    if (component === undefined) return true;
    if (bounds.textPrefix !== undefined) {
      const wanted = componentForm(component, bounds.textPrefix) as string;
      if (typeof value !== 'string' || !value.startsWith(wanted)) return false;
    }
    if (bounds.low !== undefined) {
      const order = compareValues(value, componentForm(component, bounds.low.value));
      if (bounds.low.inclusive ? order < 0 : order <= 0) return false;
    }
    if (bounds.high !== undefined) {
      const order = compareValues(value, componentForm(component, bounds.high.value));
      if (bounds.high.inclusive ? order > 0 : order >= 0) return false;
    }
    return true;
  }
}

class IndexEntryReader implements EntryReader {
  readonly #host: IndexHost;
  readonly #keys: IndexKeys;

  constructor(host: IndexHost, keys: IndexKeys) {
    this.#host = host;
    this.#keys = keys;
  }

  get definition(): IndexDefinition {
    return this.#keys.definition;
  }

  get lsn(): LogIndex {
    return this.#host.snapshot.index;
  }

  get memory(): IndexMemory {
    return this.#host.memoryOf(this.#keys.definition.id);
  }

  get storedCount(): number {
    return this.#host.snapshot.entryCount(this.#keys.definition.id);
  }

  stored(low: Uint8Array, high: Uint8Array): EntryCursor {
    const { snapshot } = this.#host;
    const cursor = snapshot.entries(this.#keys.definition.id, low, high, 'ascending');
    this.#host.opened(cursor);
    return cursor;
  }

  own(low: Uint8Array, high: Uint8Array): readonly OwnEntry[] {
    return slice(this.#host.pendingEntries(this.#keys), { low, high });
  }

  get hasOwn(): boolean {
    return this.#host.hasChanges;
  }

  isHidden(rid: Rid): boolean {
    return this.#host.isHidden(rid);
  }

  record(rid: Rid): StoredRecord | undefined {
    return this.#indexed(this.#host.record(rid));
  }

  storedRecord(rid: Rid): StoredRecord | undefined {
    return this.#indexed(this.#host.storedRecord(rid));
  }

  /** A record that has left the type stays where it was, with its properties: it is none of the index. */
  #indexed(record: StoredRecord | undefined): StoredRecord | undefined {
    const { catalog } = this.#host;
    if (record === undefined || !catalog.hasWindows) return record;
    return catalog.isSubtype(record.type, this.#keys.definition.type) ? record : undefined;
  }
}

const noKey = new Uint8Array(0);

/** A value compares with one kind of bound only, so bounds of different kinds leave nothing between them. */
function isUnmeetable({ low, high }: KeyBounds): boolean {
  return (
    low !== undefined && high !== undefined && comparedKind(low.value) !== comparedKind(high.value)
  );
}

function comparedKind(value: Value): string {
  const kind = kindOf(value);
  if (kind === 'double' || kind === 'decimal') return 'integer';
  return kind === 'datetime' ? 'date' : kind;
}

function slice(
  entries: readonly PendingEntry[],
  range: Pick<KeyRange, 'low' | 'high'>,
): readonly PendingEntry[] {
  if (entries.length === 0) return entries;
  const from = lowerBound(entries, range.low, -1);
  const to = lowerBound(entries, range.high, -1);
  return from === 0 && to === entries.length ? entries.slice() : entries.slice(from, to);
}

class SingleHit implements IndexCursor {
  rid: Rid = noRid;
  readonly #view: IndexView;
  readonly #key: Uint8Array;
  #hit: Rid;

  constructor(view: IndexView, hit: Rid, key: Uint8Array) {
    this.#view = view;
    this.#hit = hit;
    this.#key = key;
  }

  get keyBytes(): number {
    return this.#key.length;
  }

  next(): boolean {
    if (this.#hit === noRid) return false;
    this.rid = this.#hit;
    this.#hit = noRid;
    return true;
  }

  keyValues(): readonly Value[] {
    return this.#view.valuesOf(this.rid, this.#key);
  }
}

interface MergeInputs {
  readonly stored: EntryCursor;
  readonly own: readonly PendingEntry[];
  readonly order: 'ascending' | 'descending';
  /** Set when hits must be checked against the values of their records. */
  readonly checked: KeyBounds | undefined;
}

/** Stored entries and the transaction's own ones, in order of their keys; of one key, what it created comes last. */
class MergedCursor implements IndexCursor {
  rid: Rid = noRid;
  #key: Uint8Array | undefined;
  readonly #view: IndexView;
  readonly #host: IndexHost;
  readonly #stored: EntryCursor;
  readonly #own: readonly PendingEntry[];
  readonly #checked: KeyBounds | undefined;
  readonly #step: 1 | -1;
  #ownAt: number;
  /** The stored entry that is next but not given yet. */
  #hasStored = false;
  #isStoredDone = false;

  constructor(view: IndexView, host: IndexHost, inputs: MergeInputs) {
    this.#view = view;
    this.#host = host;
    this.#stored = inputs.stored;
    this.#own = inputs.own;
    this.#checked = inputs.checked;
    this.#step = inputs.order === 'ascending' ? 1 : -1;
    this.#ownAt = this.#step === 1 ? 0 : inputs.own.length - 1;
  }

  get keyBytes(): number {
    return this.#key?.length ?? 0;
  }

  next(): boolean {
    while (this.#advance()) {
      if (this.#checked === undefined) return true;
      if (this.#view.meets(this.rid, this.#key as Uint8Array, this.#checked)) return true;
    }
    return false;
  }

  keyValues(): readonly Value[] {
    return this.#key === undefined ? [] : this.#view.valuesOf(this.rid, this.#key);
  }

  #advance(): boolean {
    const own = this.#own[this.#ownAt];
    if (!this.#fillStored()) return own === undefined ? false : this.#giveOwn(own);
    if (own === undefined) return this.#giveStored();
    const order = Buffer.compare(this.#stored.key, own.key) || this.#stored.rid - own.place;
    return order * this.#step <= 0 ? this.#giveStored() : this.#giveOwn(own);
  }

  /** Makes the next stored entry that counts the current one of its cursor. */
  #fillStored(): boolean {
    if (this.#hasStored) return true;
    if (this.#isStoredDone) return false;
    while (this.#stored.next()) {
      if (this.#host.isHidden(this.#stored.rid)) continue;
      this.#hasStored = true;
      return true;
    }
    this.#isStoredDone = true;
    this.#host.ended(this.#stored);
    return false;
  }

  #giveStored(): boolean {
    this.rid = this.#stored.rid;
    this.#key = this.#stored.key;
    this.#hasStored = false;
    return true;
  }

  #giveOwn(own: PendingEntry): boolean {
    this.rid = own.rid;
    this.#key = own.key;
    this.#ownAt += this.#step;
    return true;
  }
}
