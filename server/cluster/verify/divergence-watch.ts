import type { Log } from '#core/log.ts';
import type { Runtime } from '#core/runtime.ts';
import { localState } from '../bootstrap/fingerprint.ts';
import { chainName, type DatabaseSeat } from '../replication/database-seat.ts';
import { entryKind } from '../replication/entry-codec.ts';
import type { ServerProposer } from '../replication/server-proposer.ts';
import {
  type DigestSource,
  type Place,
  type Slice,
  type SliceOrder,
  sliceOf,
} from './database-digest.ts';

export interface DivergenceWatchOptions {
  readonly leads: () => boolean;
  readonly seats: () => readonly DatabaseSeat[];
  readonly proposer: () => Pick<ServerProposer, 'proposeFor'>;
  /** The newest state of an open database; disposed here. @throws DatabaseError while it is not open */
  readonly view: (name: string) => DigestSource & Disposable;
  readonly runtime: Runtime;
  readonly log: Log;
  /** Of the first slice of a database. */
  readonly firstWeight?: number;
}

/** How often the leader looks for databases that are due. */
const everyMs = 5000;
/** Databases that are compared in one turn. */
const perTurnMax = 4;
/** A database that was written is compared so often at most. */
const writtenEveryMs = 10_000;
/** A pass over all of a database begins so often at most; it reads a slice in each turn. */
const passEveryMs = 30_000;
/** So long a slice is to take here, by what the one before took: a small share of a processor, however large the database is. */
const sliceMs = 100;
const firstWeight = 50_000;
const weightMin = 10_000;
const weightMax = 2_000_000;
/** Marks whose outcome is kept for what the leader says of them. */
const keptMax = 64;

type Mark =
  | {
      readonly check: string;
      /** Builds without slices read all records where it is true. */
      readonly whole: false;
      readonly slice?: SliceOrder;
    }
  | { readonly check: string; readonly told: string };

/** What one server found at a mark. */
interface Found {
  readonly quick: string;
  /** Of the records in it; undefined: not asked for, or not read to its end. */
  readonly slice: Promise<TimedSlice | undefined>;
}

interface TimedSlice extends Slice {
  readonly tookMs: number;
}

interface Due {
  checkedMs: number;
  txId: number;
  /** When the pass began that goes on, or the last one. */
  passMs: number;
  /** Where it goes on; undefined: it is at its end. */
  next: Place | undefined;
  weightMax: number;
}

/**
 * Copies that differ are found without being asked for (ha.md 9.5). The leader puts marks into the log; each server takes the
 * fingerprint of the database at the mark: position, chain, content, schema, and the digest of a slice of its records, entries and
 * edges, so that in turn all of them are read. A second entry says what the leader found. A server that found something else, or that cannot read its copy, closes that copy
 * until it is fetched anew.
 */
export class DivergenceWatch {
  readonly #options: DivergenceWatchOptions;
  readonly #found = new Map<string, Found>();
  readonly #due = new Map<string, Due>();
  #stop = () => {};

  constructor(options: DivergenceWatchOptions) {
    this.#options = options;
  }

  start(): void {
    this.#stop = this.#options.runtime.timers.after(everyMs, () => {
      void this.turn().finally(() => this.start());
    });
  }

  stop(): void {
    this.#stop();
    this.#stop = () => {};
  }

  /** Marks what is due, if this server leads. */
  async turn(): Promise<void> {
    const { leads, seats, runtime } = this.#options;
    if (!leads()) return this.#due.clear();
    const nowMs = runtime.clock.monotonicMs();
    let left = perTurnMax;
    const dues = seats().map((seat) => ({ seat, due: this.#dueOf(seat, nowMs) }));
    // Whoever has waited longest, so that nobody is passed over when there are many.
    dues.sort((a, b) => a.due.checkedMs - b.due.checkedMs);
    for (const { seat, due } of dues) {
      const { txId } = seat.engine.applied();
      const isWritten = txId !== due.txId && nowMs - due.checkedMs >= writtenEveryMs;
      const begins = due.next === undefined && nowMs - due.passMs >= passEveryMs;
      const hasSlice = begins || due.next !== undefined;
      if (seat.damage !== undefined || left === 0 || !(isWritten || hasSlice)) continue;
      left -= 1;
      Object.assign(due, { checkedMs: nowMs, txId, ...(begins && { passMs: nowMs }) });
      await this.#mark(seat, hasSlice ? due : undefined);
    }
  }

  #dueOf({ member: { uuid } }: DatabaseSeat, nowMs: number): Due {
    const none = { txId: -1, next: undefined, weightMax: this.#options.firstWeight ?? firstWeight };
    const due = this.#due.get(uuid) ?? { checkedMs: nowMs, passMs: nowMs, ...none };
    this.#due.set(uuid, due);
    return due;
  }

  /** @returns whether the entry was one of these marks */
  marked(seat: DatabaseSeat, body: Uint8Array): boolean {
    const mark = JSON.parse(Buffer.from(body).toString()) as Partial<Mark> & object;
    if (!('check' in mark) || typeof mark.check !== 'string') return false;
    if ('told' in mark && typeof mark.told === 'string')
      void this.#compare(seat, mark.check, mark.told);
    else if ('whole' in mark) this.#take(seat, mark.check, mark.slice);
    return true;
  }

  /** @param due whose next slice is read */
  async #mark(seat: DatabaseSeat, due: Due | undefined): Promise<void> {
    const { proposer, runtime, log } = this.#options;
    const check = runtime.random.uuid();
    const propose = (mark: Mark) =>
      proposer().proposeFor(
        seat.member.uuid,
        entryKind.verifyMark,
        Buffer.from(JSON.stringify(mark)),
      );
    try {
      const slice = due && { from: due.next, weightMax: due.weightMax };
      await propose({ check, whole: false, ...(slice && { slice }) });
      const found = this.#found.get(check);
      if (found === undefined) return;
      const told = await textOf(found);
      if (due !== undefined) this.#goOn(due, await found.slice);
      // A copy that cannot be read has stopped by itself, and this server hands the lead over.
      if (seat.damage === undefined) await propose({ check, told });
    } catch (error) {
      log.debug('databases are not compared now', {
        db: seat.member.name,
        reason: error instanceof Error ? error.message : String(error),
      });
    }
  }

  #goOn(due: Due, slice: TimedSlice | undefined): void {
    due.next = slice?.next;
    if (slice === undefined || slice.tookMs === 0 || slice.weight < due.weightMax / 2) return;
    const weight = Math.round((slice.weight / slice.tookMs) * sliceMs);
    due.weightMax = Math.min(weightMax, Math.max(weightMin, weight));
  }

  /** The mark is applied: what came before it, and nothing else, is visible. */
  #take(seat: DatabaseSeat, check: string, order: SliceOrder | undefined): void {
    const { name } = seat.member;
    if (seat.damage !== undefined) return;
    let view: DigestSource & Disposable;
    try {
      view = this.#options.view(name);
    } catch {
      // Being installed, or closed: it is compared when it is open.
      return;
    }
    const { fingerprint } = localState('', view, seat.engine.applied());
    const chain = Buffer.from(view.snapshot.meta(chainName) ?? []).toString('hex');
    const slice = order === undefined ? Promise.resolve(undefined) : this.#read(seat, view, order);
    void slice.finally(() => view[Symbol.dispose]());
    this.#found.set(check, { quick: `${fingerprint} ${chain}`, slice });
    for (const oldest of this.#found.keys()) {
      if (this.#found.size <= keptMax) break;
      this.#found.delete(oldest);
    }
  }

  async #read(
    seat: DatabaseSeat,
    view: DigestSource,
    order: SliceOrder,
  ): Promise<TimedSlice | undefined> {
    const { runtime, log } = this.#options;
    const beganMs = runtime.clock.monotonicMs();
    try {
      const slice = await sliceOf(view, runtime, order);
      if (slice.unreadable !== undefined)
        seat.differs(`a part of it is unreadable here: ${slice.unreadable}`);
      return { ...slice, tookMs: runtime.clock.monotonicMs() - beganMs };
    } catch (error) {
      log.warn('a database could not be read through', {
        db: seat.member.name,
        reason: error instanceof Error ? error.message : String(error),
      });
      return undefined;
    }
  }

  async #compare(seat: DatabaseSeat, check: string, told: string): Promise<void> {
    const found = this.#found.get(check);
    if (found === undefined) return;
    const own = await textOf(found);
    this.#found.delete(check);
    // Not digested on one of the two sides: what was is compared.
    const [mine, theirs] = [own.split(' '), told.split(' ')];
    const isEqual = mine.every(
      (part, at) => part === theirs[at] || [part, theirs[at]].includes('-'),
    );
    if (!isEqual && seat.damage === undefined)
      seat.differs(`it holds something else than the leader's copy at transaction mark ${check}`);
  }
}

async function textOf({ quick, slice }: Found): Promise<string> {
  return `${quick} ${(await slice)?.checksum ?? '-'}`;
}
