import type { Catalog } from '#catalog/catalog.ts';
import { DatabaseError } from '#core/errors.ts';
import { formatRid, type LogIndex, type Rid } from '#core/value/rid.ts';
import type { TemporalFormats } from '#core/temporal/format.ts';
import type { StorageSnapshot } from '#storage/engine.ts';
import { type Guards, isStillValid, type WriteSet, type WrittenRecord } from './guards.ts';
import { RidMap } from '../write/rid-map.ts';
import { duplicatedKey, hasKey, type UniqueClaim } from '../write/unique-claims.ts';

/** A transaction that passed validation and is not applied yet. */
export class Ticket {
  #guards: Guards;
  /** Order of validation. */
  readonly sequence: number;
  /** Its LSN, once it has its place in the log; 0 before. */
  index: LogIndex = 0 as LogIndex;
  #settled: Promise<void> | undefined;
  #settle: (() => void) | undefined;
  #hasSettled = false;

  constructor(guards: Guards, sequence: number) {
    this.#guards = guards;
    this.sequence = sequence;
  }

  /** Resolves when it was applied or has failed; never rejects. Made for who asks. */
  get settled(): Promise<void> {
    this.#settled ??= this.#hasSettled
      ? Promise.resolve()
      : new Promise((resolve) => {
          this.#settle = resolve;
        });
    return this.#settled;
  }

  /** None any more once it has settled. */
  get guards(): Guards {
    return this.#guards;
  }

  /**
   * Lets go of the guards, and with them of the whole transaction: a table through which tickets pass is replaced by a new one
   * every few commits, and one replaced table that has grown old keeps what was in all later ones from the collector of young
   * objects. Each commit so cost 2.5 KB of copying, and pauses of 8 ms.
   */
  settle(): void {
    this.#guards = noGuards;
    this.#hasSettled = true;
    this.#settle?.();
  }
}

const noGuards: Guards = {
  written: [],
  restored: [],
  requiredVertices: new Set(),
  touchedVertices: new Set(),
  deletedVertices: new Map(),
  claims: new Map(),
  oldestRead: 0 as LogIndex,
  changed: () => undefined,
  has: () => false,
};

/** Above this many records a ticket is asked itself instead of filling the tables with its units. */
const tabledRecordsMax = 256;

/**
 * The table of units in flight (ha.md 5.4): decides who goes first. `validate` and `enter` must be called in one synchronous
 * block; anything in between would let two transactions pass against the same version.
 */
export class GuardSequencer {
  readonly #records = new RidMap<Ticket>();
  readonly #deleted = new RidMap<Ticket>();
  readonly #stamps = new RidMap<Ticket>();
  readonly #keys = new Map<string, Ticket>();
  /** Tickets whose units are not in the tables above. */
  readonly #large = new Set<Ticket>();
  #count = 0;
  #sequence = 0;
  readonly #idleWaiters: (() => void)[] = [];

  /** Tickets in flight. */
  get count(): number {
    return this.#count;
  }

  /** Whether a change of the record is in flight. */
  recordTicket(rid: Rid): Ticket | undefined {
    const ticket = this.#records.get(rid);
    if (this.#large.size === 0) return ticket;
    return this.#newest(ticket, (guards) => guards.has(rid));
  }

  /** Whether some record of the given ones is about to get the key. */
  keyTicket(text: string): Ticket | undefined {
    const ticket = this.#keys.get(text);
    if (this.#large.size === 0) return ticket;
    return this.#newest(ticket, (guards) => guards.claims.has(text));
  }

  /**
   * Checks the guards of a write set against what is in flight and then against the newest committed state.
   *
   * @param latest a snapshot taken in the same synchronous block
   * @returns a ticket in flight that claims the same unique key: wait for its fate and ask again (limits.md 31)
   * @throws DatabaseError `ConcurrentModification` with `blockedBy`; `DuplicatedKey` when the holder of the key is durable
   */
  validate(
    writeSet: WriteSet,
    latest: StorageSnapshot,
    context: { readonly catalog: Catalog; readonly formats: TemporalFormats },
  ): Ticket | undefined {
    const { guards } = writeSet;
    if (guards.restored.length > 0) this.#requireAbsent(guards, latest);
    if (!isStillValid(writeSet.catalog, context.catalog, writeSet.types)) {
      throw conflict('the schema was changed');
    }
    const isNewer = latest.index !== guards.oldestRead;
    if (this.#count > 0 || isNewer) {
      const stored = isNewer ? latest : undefined;
      this.#requireVersions(guards.written, stored);
      this.#requireVertices(guards, stored);
      this.#requireWholeDeletions(guards, latest, { isNewer, catalog: context.catalog });
    }
    if (guards.claims.size === 0) return undefined;
    return this.#requireFreeKeys(guards, latest, context.formats);
  }

  /** Puts a validated write set in flight. */
  enter(writeSet: WriteSet): Ticket {
    const { guards } = writeSet;
    this.#sequence += 1;
    const ticket = new Ticket(guards, this.#sequence);
    this.#count += 1;
    if (guards.written.length > tabledRecordsMax) {
      this.#large.add(ticket);
      return ticket;
    }
    // The newest ticket of a unit wins: when it is applied, so are all before it.
    for (const { rid } of guards.written) this.#records.set(rid, ticket);
    for (const rid of guards.deletedVertices.keys()) this.#deleted.set(rid, ticket);
    for (const rid of guards.touchedVertices) this.#stamps.set(rid, ticket);
    for (const text of guards.claims.keys()) this.#keys.set(text, ticket);
    return ticket;
  }

  /** Takes an applied or failed ticket out, after its changes became visible, and wakes who waits for it. */
  leave(ticket: Ticket): void {
    const { guards } = ticket;
    this.#count -= 1;
    if (!this.#large.delete(ticket)) {
      for (const { rid } of guards.written) remove(this.#records, rid, ticket);
      for (const rid of guards.deletedVertices.keys()) remove(this.#deleted, rid, ticket);
      for (const rid of guards.touchedVertices) remove(this.#stamps, rid, ticket);
      for (const text of guards.claims.keys()) remove(this.#keys, text, ticket);
    }
    ticket.settle();
    if (this.#count === 0) for (const wake of this.#idleWaiters.splice(0)) wake();
  }

  /** Resolves when everything that is in flight now was applied or has failed. */
  async settledSoFar(): Promise<void> {
    const tickets = new Set(this.#large);
    const note = (ticket: Ticket): void => {
      tickets.add(ticket);
    };
    for (const table of [this.#records, this.#deleted, this.#stamps]) table.forEach(note);
    this.#keys.forEach(note);
    await Promise.all([...tickets].map((ticket) => ticket.settled));
  }

  /** Resolves when nothing is in flight. */
  idle(): Promise<void> {
    if (this.#count === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#idleWaiters.push(resolve);
    });
  }

  /** The later one of the ticket found in a table and the large ones that have the unit. */
  #newest(tabled: Ticket | undefined, matches: (guards: Guards) => boolean): Ticket | undefined {
    let newest = tabled;
    for (const ticket of this.#large) {
      if (ticket.sequence > (newest?.sequence ?? 0) && matches(ticket.guards)) newest = ticket;
    }
    return newest;
  }

  #requireVersions(written: readonly WrittenRecord[], latest: StorageSnapshot | undefined): void {
    for (let i = 0; i < written.length; i++) {
      const { rid, base } = written[i] as WrittenRecord;
      if (base === 0) continue;
      const ticket = this.recordTicket(rid);
      if (ticket !== undefined && ticket.index !== base) {
        throw conflict(`record ${formatRid(rid)} is being changed`, ticket);
      }
      if (ticket !== undefined || latest === undefined) continue;
      const version = latest.record(rid)?.version ?? 0;
      if (version !== base) {
        const how = version === 0 ? 'deleted' : 'changed';
        throw conflict(`record ${formatRid(rid)} was ${how} by another transaction`);
      }
    }
  }

  #requireAbsent({ restored }: Guards, latest: StorageSnapshot): void {
    for (const { rid } of restored) {
      const ticket = this.recordTicket(rid);
      if (ticket !== undefined) throw conflict(`record ${formatRid(rid)} is being changed`, ticket);
      if (latest.record(rid) !== undefined)
        throw conflict(`record ${formatRid(rid)} was restored by another transaction`);
    }
  }

  /** Both ends of a new edge must still be there. */
  #requireVertices(guards: Guards, latest: StorageSnapshot | undefined): void {
    for (const rid of guards.requiredVertices) {
      // What the transaction itself changed is guarded by its version.
      if (guards.has(rid)) continue;
      const ticket = this.#newest(this.#deleted.get(rid), (o) => o.deletedVertices.has(rid));
      if (ticket !== undefined && !isSeen(ticket, guards)) {
        throw conflict(`vertex ${formatRid(rid)} is being deleted`, ticket);
      }
      if (latest !== undefined && latest.record(rid) === undefined) {
        throw conflict(`vertex ${formatRid(rid)} was deleted by another transaction`);
      }
    }
  }

  /**
   * A deletion of a vertex rests on having seen all its edges. The edges it listed are guarded as records; that there are no
   * others is seen from their number.
   */
  #requireWholeDeletions(
    guards: Guards,
    latest: StorageSnapshot,
    context: { readonly isNewer: boolean; readonly catalog: Catalog },
  ): void {
    for (const [rid, edgeCount] of guards.deletedVertices) {
      const ticket = this.#newest(this.#stamps.get(rid), (o) => o.touchedVertices.has(rid));
      if (ticket !== undefined && !isSeen(ticket, guards)) {
        throw conflict(`an edge of vertex ${formatRid(rid)} is being added or removed`, ticket);
      }
      if (context.isNewer && edgeCountOf(rid, latest, context.catalog) !== edgeCount) {
        throw conflict(`the edges of vertex ${formatRid(rid)} were changed by another transaction`);
      }
    }
  }

  #requireFreeKeys(
    guards: Guards,
    latest: StorageSnapshot,
    formats: TemporalFormats,
  ): Ticket | undefined {
    for (const [text, claim] of guards.claims) {
      const ticket = this.keyTicket(text);
      if (ticket !== undefined && !isSeen(ticket, guards)) return ticket;
      if (claim.seenAt === latest.index) continue;
      requireKeyFree(claim, guards, latest, formats);
    }
    return undefined;
  }
}

function requireKeyFree(
  claim: UniqueClaim,
  guards: Guards,
  latest: StorageSnapshot,
  formats: TemporalFormats,
): void {
  const { keys, key, rid } = claim;
  const holder = latest.uniqueEntry(keys.definition.id, key);
  if (holder === undefined || holder === rid || !hasKey(keys, holder, key, guards)) return;
  const record = guards.changed(rid);
  if (record === undefined || record === 'gone') return;
  throw duplicatedKey(keys, key, record, holder, formats);
}

/** True when the transaction read a state that has the ticket's changes already. */
function isSeen(ticket: Ticket, guards: Guards): boolean {
  return ticket.index !== 0 && ticket.index <= guards.oldestRead;
}

/** Listed edges of all types, both directions: what `RecordWriter` counted. */
function edgeCountOf(vertex: Rid, snapshot: StorageSnapshot, catalog: Catalog): number {
  let count = 0;
  for (const type of catalog.types()) {
    if (type.kind !== 'edge') continue;
    count += snapshot.degree(vertex, 'out', type.id) + snapshot.degree(vertex, 'in', type.id);
  }
  return count;
}

interface Table<K> {
  get(unit: K): Ticket | undefined;
  delete(unit: K): unknown;
}

function remove<K>(table: Table<K>, unit: K, ticket: Ticket): void {
  if (table.get(unit) === ticket) table.delete(unit);
}

/** The retryable error of a lost race; nothing was written. */
export function conflict(what: string, blocking?: Ticket): DatabaseError {
  return new DatabaseError(
    'ConcurrentModification',
    `${what}; nothing was committed, run the transaction again`,
    blocking === undefined ? {} : { blockedBy: blocking.settled },
  );
}
