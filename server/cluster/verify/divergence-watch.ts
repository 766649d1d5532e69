import { createHash } from 'node:crypto';
import type { Log } from '#core/log.ts';
import type { Runtime } from '#core/runtime.ts';
import { localState } from '../bootstrap/fingerprint.ts';
import { chainName, type DatabaseSeat } from '../replication/database-seat.ts';
import { entryKind } from '../replication/entry-codec.ts';
import type { ServerProposer } from '../replication/server-proposer.ts';
import { type DigestSource, digestOf } from './database-digest.ts';

export interface DivergenceWatchOptions {
  readonly leads: () => boolean;
  readonly seats: () => readonly DatabaseSeat[];
  readonly proposer: () => Pick<ServerProposer, 'proposeFor'>;
  /** The newest state of an open database; disposed here. @throws DatabaseError while it is not open */
  readonly view: (name: string) => DigestSource & Disposable;
  readonly runtime: Runtime;
  readonly log: Log;
}

/** How often the leader looks for databases that are due. */
const everyMs = 5000;
/** Databases that are compared in one turn. */
const perTurnMax = 4;
/** A database that was written is compared so often at most. */
const writtenEveryMs = 10_000;
/** Each record of a small database is read so often; of a large one only people ask for it (`verify`). */
const wholeEveryMs = 30_000;
const wholeRecordsMax = 50_000;
/** Marks whose outcome is kept for what the leader says of them. */
const keptMax = 64;

type Mark =
  | { readonly check: string; readonly whole: boolean }
  | { readonly check: string; readonly told: string };

/** What one server found at a mark. */
interface Found {
  readonly quick: string;
  /** Of each record; undefined: not asked for. */
  readonly whole: Promise<string | undefined>;
}

interface Due {
  checkedMs: number;
  wholeMs: number;
  txId: number;
}

/**
 * Copies that differ are found without being asked for (ha.md 9.5). The leader puts marks into the log; each server takes the
 * fingerprint of the database at the mark: position, chain, content, schema, and of small databases the digest of every record.
 * A second entry says what the leader found. A server that found something else, or that cannot read its copy, closes that copy
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
    for (const seat of seats()) {
      const due = this.#due.get(seat.member.uuid) ?? { checkedMs: nowMs, wholeMs: nowMs, txId: -1 };
      this.#due.set(seat.member.uuid, due);
      const { txId } = seat.engine.applied();
      const isWritten = txId !== due.txId && nowMs - due.checkedMs >= writtenEveryMs;
      const isWhole = nowMs - due.wholeMs >= wholeEveryMs && this.#isSmall(seat.member.name);
      if (seat.damage !== undefined || left === 0 || !(isWritten || isWhole)) continue;
      left -= 1;
      Object.assign(due, { checkedMs: nowMs, txId, ...(isWhole && { wholeMs: nowMs }) });
      await this.#mark(seat, isWhole);
    }
  }

  /** @returns whether the entry was one of these marks */
  marked(seat: DatabaseSeat, body: Uint8Array): boolean {
    const mark = JSON.parse(Buffer.from(body).toString()) as Partial<Mark> & object;
    if (!('check' in mark) || typeof mark.check !== 'string') return false;
    if ('told' in mark && typeof mark.told === 'string')
      void this.#compare(seat, mark.check, mark.told);
    else if ('whole' in mark) this.#take(seat, mark.check, mark.whole === true);
    return true;
  }

  async #mark(seat: DatabaseSeat, whole: boolean): Promise<void> {
    const { proposer, runtime, log } = this.#options;
    const check = runtime.random.uuid();
    const propose = (mark: Mark) =>
      proposer().proposeFor(
        seat.member.uuid,
        entryKind.verifyMark,
        Buffer.from(JSON.stringify(mark)),
      );
    try {
      await propose({ check, whole });
      const found = this.#found.get(check);
      if (found === undefined) return;
      const told = await textOf(found);
      // A copy that cannot be read has stopped by itself, and this server hands the lead over.
      if (seat.damage === undefined) await propose({ check, told });
    } catch (error) {
      log.debug('databases are not compared now', {
        db: seat.member.name,
        reason: error instanceof Error ? error.message : String(error),
      });
    }
  }

  /** The mark is applied: what came before it, and nothing else, is visible. */
  #take(seat: DatabaseSeat, check: string, isWhole: boolean): void {
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
    const whole = isWhole ? this.#whole(seat, view) : Promise.resolve(undefined);
    void whole.finally(() => view[Symbol.dispose]());
    this.#found.set(check, { quick: `${fingerprint} ${chain}`, whole });
    for (const oldest of this.#found.keys()) {
      if (this.#found.size <= keptMax) break;
      this.#found.delete(oldest);
    }
  }

  async #whole(seat: DatabaseSeat, view: DigestSource): Promise<string | undefined> {
    try {
      const files = await digestOf(view, this.#options.runtime);
      const unreadable = files.find(({ isUnreadable }) => isUnreadable === true);
      if (unreadable !== undefined) seat.differs(`${unreadable.name} is ${unreadable.checksum}`);
      return createHash('sha256').update(JSON.stringify(files)).digest('hex');
    } catch (error) {
      this.#options.log.warn('a database could not be read through', {
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

  #isSmall(name: string): boolean {
    try {
      using view = this.#options.view(name);
      const buckets = view.catalog.buckets();
      const count = buckets.reduce((sum, { id }) => sum + view.snapshot.recordCount(id), 0);
      return count <= wholeRecordsMax;
    } catch {
      return false;
    }
  }
}

async function textOf({ quick, whole }: Found): Promise<string> {
  return `${quick} ${(await whole) ?? '-'}`;
}
