import type { IndexDefinition } from '#catalog/catalog.ts';
import { DatabaseError } from '#core/errors.ts';
import { type BucketId, bucketOf, formatRid, type LogIndex, type Rid } from '#core/value/rid.ts';
import type { TemporalFormats } from '#core/temporal/format.ts';
import { textOf } from '#core/text/text-form.ts';
import type { Value } from '#core/value/value.ts';
import type { IndexKeys, KeySource } from '#index/ordered/index-keys.ts';
import type { StorageSnapshot } from '#storage/engine.ts';
import type { UndoLog } from './undo-log.ts';

/** A unique key that a transaction gives to a record. */
export interface UniqueClaim {
  readonly keys: IndexKeys;
  readonly key: Uint8Array;
  readonly rid: Rid;
  /** The committed state in which the key was seen to be free. */
  readonly seenAt: LogIndex;
}

/** A key that a record was given while another one had it. */
interface Contest {
  readonly keys: IndexKeys;
  readonly key: Uint8Array;
  readonly text: string;
  readonly rid: Rid;
}

/** Whose changes may have to be taken back. */
export interface Undoing {
  readonly undo: UndoLog | undefined;
}

const noClaims: ReadonlyMap<string, UniqueClaim> = new Map();

/** Looked through in one turn. */
const claimsPerTurn = 8_192;

/** What a transaction knows about the holder of a key. */
export interface KeyHolders {
  readonly snapshot: StorageSnapshot;
  /**
   * The record as the transaction left it when it changed it: `gone` when deleted, undefined when it was not touched.
   * @param index `gone` too when it is of a type by now that the index does not hold
   */
  changed(rid: Rid, index?: IndexDefinition): KeySource | 'gone' | undefined;
}

/**
 * The unique keys that a transaction claims, in the order they were claimed. A key is free when no stored record has it, but
 * for those that this transaction deleted or gave another key (sql.md 13.10 rule 6).
 */
export class UniqueClaims {
  /** Set while a changed record may have a key that its holder gives up later; `settle` follows. */
  defers = false;
  /** Undefined until the first one: most transactions claim nothing. */
  #claims: Map<string, UniqueClaim> | undefined;
  #contests: Contest[] = [];
  #dropped: Set<BucketId> | undefined;
  /** So many of them are judged. */
  #judgedCount = 0;
  readonly #formats: TemporalFormats;

  readonly #undoing: Undoing;

  constructor(formats: TemporalFormats, undoing: Undoing) {
    this.#formats = formats;
    this.#undoing = undoing;
  }

  get size(): number {
    return this.#claims?.size ?? 0;
  }

  /** By `claimText`. */
  get all(): ReadonlyMap<string, UniqueClaim> {
    return this.#claims ?? noClaims;
  }

  /** The record of this transaction that claims the key. */
  holderOf(index: IndexDefinition, key: Uint8Array): Rid | undefined {
    return this.#claims?.get(claimText(index, key))?.rid;
  }

  /**
   * Claims the keys of a new or changed record and gives up those it had in this transaction. Of a changed one, a key that is
   * taken waits for `settle` while `defers` is set.
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
      this.#take({ keys, key, text: claimText(keys.definition, key), rid }, after, holders);
      return;
    }
    const texts = claimed.map((key) => claimText(keys.definition, key));
    const given = before === undefined ? [] : keys.keysOf(before);
    const old = new Set(given.map((key) => claimText(keys.definition, key)));
    for (let i = 0; i < claimed.length; i++) {
      const text = texts[i] as string;
      if (old.has(text)) continue;
      const contest = { keys, key: claimed[i] as Uint8Array, text, rid };
      if (this.defers && before !== undefined && this.#holder(contest, holders) !== undefined)
        this.#contest(contest);
      else this.#take(contest, after, holders);
    }
    for (const text of old) {
      if (!texts.includes(text)) this.#giveUp(text, rid);
    }
  }

  #contest(contest: Contest): void {
    const contests = this.#contests;
    contests.push(contest);
    this.#judgedCount = 0;
    this.#undoing.undo?.add(() => contests.pop());
  }

  /**
   * The statement has ended: keys that were taken when records were given them must be free now.
   * @param countMax judged by this call
   * @returns whether all are; if not, call again before anything else is written
   * @throws DatabaseError `DuplicatedKey`
   */
  settle(holders: KeyHolders, countMax = Number.POSITIVE_INFINITY): boolean {
    const contests = this.#contests;
    if (contests.length === 0) return true;
    const end = Math.min(contests.length, this.#judgedCount + countMax);
    for (let at = this.#judgedCount; at < end; at += 1) {
      const contest = contests[at] as Contest;
      const record = recordWith(contest, holders);
      if (record === undefined) continue;
      // After an error they stay: who goes on without taking the statement back must not commit what nobody has judged.
      this.#judgedCount = 0;
      this.#take(contest, record, holders);
    }
    this.#judgedCount = end;
    if (end < contests.length) return false;
    this.#goOnWith([]);
    return true;
  }

  /** Claims those keys that are free by now; the others go on waiting. @returns false when there are such */
  settleFree(holders: KeyHolders): boolean {
    if (this.#contests.length === 0) return true;
    const waiting: Contest[] = [];
    for (const contest of this.#contests) {
      const record = recordWith(contest, holders);
      if (record === undefined) continue;
      if (this.#holder(contest, holders) === undefined) this.#take(contest, record, holders);
      else waiting.push(contest);
    }
    this.#goOnWith(waiting);
    return waiting.length === 0;
  }

  #goOnWith(contests: Contest[]): void {
    const before = this.#contests;
    this.#contests = contests;
    this.#judgedCount = 0;
    this.#undoing.undo?.add(() => {
      this.#contests = before;
    });
  }

  /** The record is deleted: its keys are free again. */
  release(keys: IndexKeys, rid: Rid, before: KeySource): void {
    if (this.#claims === undefined) return;
    for (const key of keys.keysOf(before)) this.#giveUp(claimText(keys.definition, key), rid);
  }

  /** Forgets the keys of all records in buckets that are dropped: going back does not bring them up again. */
  *forget(buckets: ReadonlySet<BucketId>): Generator<undefined, void, undefined> {
    this.#dropped ??= new Set();
    for (const bucket of buckets) this.#dropped.add(bucket);
    const claims = this.#claims ?? new Map<string, UniqueClaim>();
    let count = 0;
    for (const [text, { rid }] of claims) {
      if (buckets.has(bucketOf(rid))) claims.delete(text);
      count += 1;
      if (count % claimsPerTurn === 0) yield;
    }
  }

  #putBack(text: string, claim: UniqueClaim | undefined): void {
    if (claim === undefined || this.#dropped?.has(bucketOf(claim.rid))) this.#claims?.delete(text);
    else this.#put(text, claim);
  }

  #put(text: string, claim: UniqueClaim): void {
    this.#claims ??= new Map();
    this.#claims.set(text, claim);
  }

  #giveUp(text: string, rid: Rid): void {
    const claim = this.#claims?.get(text);
    if (claim?.rid !== rid) return;
    this.#claims?.delete(text);
    this.#undoing.undo?.add(() => this.#putBack(text, claim));
  }

  /** @throws DatabaseError `DuplicatedKey` when another record has it */
  #take(contest: Contest, record: KeySource, holders: KeyHolders): void {
    const { keys, key, text, rid } = contest;
    const holder = this.#holder(contest, holders);
    if (holder !== undefined) throw duplicatedKey(keys, key, record, holder, this.#formats);
    const { undo } = this.#undoing;
    if (undo !== undefined) this.#noteClaim(undo, text);
    this.#put(text, { keys, key, rid, seenAt: holders.snapshot.index });
  }

  #noteClaim(undo: UndoLog, text: string): void {
    const before = this.#claims?.get(text);
    undo.add(() => this.#putBack(text, before));
  }

  /** Another record that has the key. */
  #holder({ keys, key, text, rid }: Contest, holders: KeyHolders): Rid | undefined {
    const claimed = this.#claims?.get(text);
    if (claimed !== undefined && claimed.rid !== rid) return claimed.rid;
    const stored = holders.snapshot.uniqueEntry(keys.definition.id, key);
    const isTaken = stored !== undefined && stored !== rid && hasKey(keys, stored, key, holders);
    return isTaken ? stored : undefined;
  }
}

/** The record that was given the contested key, as long as it has it. */
function recordWith({ keys, key, rid }: Contest, holders: KeyHolders): KeySource | undefined {
  const record = holders.changed(rid, keys.definition);
  if (record === undefined || record === 'gone') return undefined;
  return hasKey(keys, rid, key, holders) ? record : undefined;
}

/** Whether the stored holder of a key still has it, as far as the transaction is concerned. */
export function hasKey(
  keys: IndexKeys,
  holder: Rid,
  key: Uint8Array,
  holders: Pick<KeyHolders, 'changed'>,
): boolean {
  const changed = holders.changed(holder, keys.definition);
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
