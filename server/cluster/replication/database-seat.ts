import { createHash, hash } from 'node:crypto';
import { unknownInSchema } from '#catalog/catalog-codec.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Log } from '#core/log.ts';
import type { Timers } from '#core/runtime.ts';
import type { LogIndex } from '#core/value/rid.ts';
import type { FollowingDatabase } from '#database/catalogue/replication.ts';
import type { Entry, Index, Term } from '#raft/vocabulary.ts';
import type { BulkWriter } from '#storage/bulk/writer.ts';
import type { LogEntry, StorageEngine } from '#storage/engine.ts';
import type { RowOperation } from '#storage/format/row-operations.ts';
import { type ClusterEntry, entryKind, UnknownEntry } from './entry-codec.ts';
import type { LoadTime } from './load-time.ts';
import type { MemberDatabase } from './server-entries.ts';
import { decodeRows, decodeTransaction } from './write-sets.ts';

/** A committed entry of one database. */
export interface SeatEntry {
  readonly entry: Entry;
  readonly decoded: ClusterEntry;
  /** It was written here, and who wrote it still holds what it was made from. */
  readonly own?: { readonly writer: BulkWriter | undefined } | undefined;
}

/** An entry as the engine takes it. */
interface Prepared {
  readonly entry: LogEntry;
  /** No other entry is in its commit. */
  readonly isAlone: boolean;
  /** Of a row run: how it is applied. */
  readonly bulk: ((entries: readonly LogEntry[]) => Promise<void>) | undefined;
}

/** Name in `meta` of the hash over everything that was applied; equal on all servers with the same applied index. */
export const chainName = 'chain';
const chainBytes = 32;

const busyRetryMs = 500;

/** One database on this server, as the log sees it: applies its entries, the same way on every server (ha.md 5.7). */
export class DatabaseSeat {
  readonly member: MemberDatabase;
  readonly engine: StorageEngine;
  /** The last number given to an entry of this leadership, and the last one that the log has. */
  lastTxId = 0;
  acceptedTxId = 0;
  /** The leadership it is ready for. */
  ledIn: Term = 0;
  /** Why this copy is not like the others any more; it takes no entries then. */
  damage: string | undefined;
  skippedCount = 0;
  /** Told once when this copy stops. */
  onDamage: () => void = () => {};
  #database: FollowingDatabase | undefined;
  readonly #log: Log;
  readonly #timers: Timers;
  readonly #loads: LoadTime;
  #chain: Uint8Array | undefined;
  #work: Promise<void> = Promise.resolve();
  isClosing = false;

  constructor(
    member: MemberDatabase,
    engine: StorageEngine,
    {
      log,
      timers,
      loads,
    }: { readonly log: Log; readonly timers: Timers; readonly loads: LoadTime },
  ) {
    this.#loads = loads;
    this.member = member;
    this.engine = engine;
    this.#log = log;
    this.#timers = timers;
  }

  get isOpen(): boolean {
    return this.#database !== undefined && !this.isClosing;
  }

  opened(database: FollowingDatabase): void {
    this.#database = database;
  }

  async closing(): Promise<void> {
    this.isClosing = true;
    await this.#work.catch(() => {});
  }

  /** Everything that came before its leadership is applied. */
  lead(term: Term): void {
    if (this.ledIn === term || this.#database === undefined) return;
    this.lastTxId = this.engine.applied().txId;
    this.acceptedTxId = this.lastTxId;
    this.#database.lead();
    this.ledIn = term;
  }

  follow(): void {
    if (this.ledIn === 0) return;
    this.ledIn = 0;
    this.#database?.follow();
  }

  requireSound(): void {
    if (this.damage === undefined) return;
    throw new DatabaseError(
      'DatabaseInstalling',
      `Database '${this.member.name}' on this server differs from the other servers and is fetched anew: ${this.damage}`,
    );
  }

  /** The database has more than what came up to the index, as when a start applies the log again. */
  hasPassed(index: Index): boolean {
    return this.engine.applied().index > index + this.member.offset;
  }

  /**
   * Applies entries in order; resolves when they are visible, or were passed over because this copy is damaged.
   * @throws UnknownEntry for an entry of a newer build, from then on: what came before it is applied, nothing else is
   */
  apply(entries: readonly SeatEntry[]): Promise<void> {
    this.#work = this.#work.then(() => this.#applyAll(entries));
    return this.#work;
  }

  async #applyAll(entries: readonly SeatEntry[]): Promise<void> {
    let group: LogEntry[] = [];
    const flush = async (): Promise<void> => {
      if (group.length > 0) await this.#carryOut(group, (all) => this.engine.apply(all));
      group = [];
    };
    let { index, txId } = this.engine.applied();
    for (const { entry, decoded, own } of entries) {
      const lsn = (entry.index + this.member.offset) as LogIndex;
      if (lsn <= index || decoded.txId === 0) continue;
      if (this.damage !== undefined) {
        this.skippedCount += 1;
        continue;
      }
      if (decoded.txId !== txId + 1) {
        await flush();
        this.#quarantine(`transaction ${decoded.txId} follows ${txId}`);
        continue;
      }
      index = lsn;
      txId = decoded.txId;
      const position = { index, term: entry.term, txId };
      try {
        const next = this.#prepare(decoded, position, own);
        if (next.isAlone) await flush();
        const { bulk } = next;
        if (bulk !== undefined) await this.#loads.during(() => this.#carryOut([next.entry], bulk));
        else group.push(next.entry);
        if (next.isAlone) await flush();
      } catch (error) {
        await flush();
        if (error instanceof UnknownEntry) throw error;
        this.#quarantine(reasonOf(error));
      }
    }
    await flush();
  }

  #prepare(
    { kind, body }: ClusterEntry,
    position: LogEntry['position'],
    own: SeatEntry['own'],
  ): Prepared {
    const chain: RowOperation = { op: 'meta', name: chainName, value: this.#nextChain(body) };
    if (kind !== entryKind.rows) {
      const entry = decodeTransaction(body, position, chain);
      const isAlone = entry.operations.some(({ op }) => op === 'schema');
      if (isAlone) requireKnownSchemas(entry.operations);
      return { entry, isAlone, bulk: undefined };
    }
    const { run, operations } = decodeRows(body);
    // A flush takes what the writer holds, also one that does not succeed.
    let attempts = 0;
    const entry = { position, operations: [...operations, chain] };
    return {
      entry,
      isAlone: true,
      bulk: async () => {
        const held = attempts === 0 ? own?.writer : undefined;
        attempts += 1;
        const writer = held ?? this.engine.bulk();
        if (held === undefined) await writer.addRun(run);
        await writer.flush(position, entry.operations);
      },
    };
  }

  #nextChain(body: Uint8Array): Uint8Array {
    if (this.#chain === undefined) {
      using stored = this.engine.snapshot();
      this.#chain = stored.meta(chainName)?.slice() ?? new Uint8Array(chainBytes);
    }
    this.#chain = chained(this.#chain, body);
    return this.#chain;
  }

  async #carryOut(
    entries: readonly LogEntry[],
    apply: (entries: readonly LogEntry[]) => Promise<void>,
  ): Promise<void> {
    let isApplied = false;
    try {
      for (const entry of entries) {
        const pending = this.#database?.applying(entry);
        if (pending !== undefined) await pending;
      }
      await this.#patiently(() => apply(entries));
      isApplied = true;
    } catch (error) {
      this.#quarantine(reasonOf(error));
    }
    for (const entry of entries) this.#database?.applied(entry, isApplied);
  }

  /** A full disk is waited out: what a quorum has may not be refused. */
  async #patiently(apply: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        await apply();
        return;
      } catch (error) {
        const isPassing = error instanceof DatabaseError && error.code === 'Busy';
        if (!isPassing || this.isClosing) throw error;
        this.#log.error('an entry of the log cannot be applied yet', {
          database: this.member.name,
          reason: error.message,
        });
        await this.#timers.sleep(busyRetryMs);
      }
    }
  }

  /** What it holds is not what the others hold, or cannot be read: it takes no more entries until it is fetched anew. */
  differs(reason: string): void {
    this.#quarantine(reason);
  }

  #quarantine(reason: string): void {
    if (this.damage !== undefined || this.isClosing) return;
    this.damage = reason;
    this.onDamage();
    const { name, offset } = this.member;
    const index = this.engine.applied().index - offset;
    this.#log.error(`Database '${name}' diverged at index ${index}: ${reason}`, {});
  }
}

/** A copy that cannot read a schema is not another one than those that can: it waits for a newer build of its server. */
function requireKnownSchemas(operations: readonly RowOperation[]): void {
  for (const operation of operations) {
    if (operation.op !== 'schema') continue;
    const unknown = unknownInSchema(operation.document);
    if (unknown !== undefined) throw new UnknownEntry(`a schema has ${unknown}`);
  }
}

/** Below it a copy is less work than a hash in steps. */
const copiedMax = 4096;
const copy = Buffer.alloc(chainBytes + copiedMax);

function chained(chain: Uint8Array, body: Uint8Array): Uint8Array {
  if (body.length > copiedMax) return createHash('sha256').update(chain).update(body).digest();
  copy.set(chain);
  copy.set(body, chainBytes);
  return hash('sha256', copy.subarray(0, chainBytes + body.length), 'buffer');
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
