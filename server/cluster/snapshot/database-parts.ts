import { DatabaseError } from '#core/errors.ts';
import type { Cancel, Runtime } from '#core/runtime.ts';
import type { OperatedDatabase } from '#database/operations/operated-database.ts';
import type { Index } from '#raft/vocabulary.ts';
import type { SnapshotArchive } from '../cluster-view.ts';
import { PartSender } from './part-sender.ts';

export interface DatabasePartsOptions {
  /** @throws DatabaseError `DatabaseNotFound`, `DatabaseInstalling`, `DatabaseClosed` */
  readonly operated: (database: string) => OperatedDatabase;
  readonly uuidOf: (database: string) => string | undefined;
  /** Up to which everything is applied in all databases here. */
  readonly applied: () => Index;
  readonly runtime: Runtime;
}

/** A state of a database that is being sent, or was. */
interface PinnedState {
  readonly sender: PartSender;
  readonly appliedIndex: Index;
  readonly uuid: string | undefined;
  readonly databaseBytes: number;
  /** Parts that were handed out so far. */
  partCount: number;
  readonly stopHolding: Cancel;
}

/** What a receiver has: so many parts of the state of this index. */
export interface ReceivedPart {
  readonly from?: number | undefined;
  readonly index?: Index | undefined;
}

/** So long the state of a download that broke off waits for its receiver to go on. */
const keptMs = 60_000;
/** No state is held for longer: what changes meanwhile takes pages that nobody gets back before (ha.md 9.2 rule 3). */
const heldMsMax = 3_600_000;

/** Databases for members that fetch them: one pinned state each, read as it is sent, with no copy on the disk (ha.md 9.3). */
export class DatabaseParts {
  readonly #options: DatabasePartsOptions;
  readonly #kept = new Map<string, { readonly state: PinnedState; readonly drop: () => void }>();

  constructor(options: DatabasePartsOptions) {
    this.#options = options;
  }

  /** @param closed told once, when the receiver is done with it or gone */
  async open(database: string, part: ReceivedPart, closed: () => void): Promise<SnapshotArchive> {
    const goneOn = this.#goneOn(database, part);
    if (goneOn !== undefined) return this.#sent(database, goneOn, part.from ?? 0, closed);
    return this.#sent(database, await this.#pin(database), 0, closed);
  }

  /** The state of the download that broke off, if the receiver has its beginning; one that nobody goes on with is let go of. */
  #goneOn(database: string, { from = 0, index }: ReceivedPart): PinnedState | undefined {
    const kept = this.#kept.get(database);
    if (kept === undefined) return undefined;
    const { state, drop } = kept;
    drop();
    const isTheSame =
      state.appliedIndex === index &&
      state.uuid === this.#options.uuidOf(database) &&
      !state.sender.hasFailed &&
      from > 0 &&
      from <= state.partCount;
    if (isTheSame) return state;
    end(state);
    return undefined;
  }

  #keep(database: string, state: PinnedState): void {
    const cancel = this.#options.runtime.timers.after(keptMs, () => {
      this.#kept.delete(database);
      end(state);
    });
    const drop = () => {
      cancel();
      this.#kept.delete(database);
    };
    this.#kept.set(database, { state, drop });
  }

  async #pin(database: string): Promise<PinnedState> {
    const { operated, applied, uuidOf, runtime } = this.#options;
    const { engine } = operated(database);
    // Before the checkpoint, which has at least this.
    const [appliedIndex, uuid] = [applied(), uuidOf(database)];
    await engine.checkpoint();
    const about = { database, uuid: uuid ?? null, appliedIndex };
    const sender = await PartSender.pinned(engine.directory, about);
    // Another one may have taken its place meanwhile.
    if (uuidOf(database) !== uuid || operated(database).engine !== engine) {
      sender.end();
      throw new DatabaseError('DatabaseInstalling', `Database '${database}' is being replaced`);
    }
    return {
      sender,
      appliedIndex,
      uuid,
      databaseBytes: engine.sizeBytes(),
      partCount: 0,
      stopHolding: runtime.timers.after(heldMsMax, () => sender.end()),
    };
  }

  #sent(database: string, state: PinnedState, from: number, closed: () => void): SnapshotArchive {
    const { appliedIndex, uuid, databaseBytes, sender } = state;
    let isOpen = true;
    let isWhole = false;
    async function* pieces(): AsyncGenerator<Uint8Array> {
      let at = from;
      for await (const part of sender.from(from)) {
        at += 1;
        state.partCount = Math.max(state.partCount, at);
        yield part;
      }
      isWhole = true;
    }
    return {
      form: 'parts',
      appliedIndex,
      uuid,
      sizes: { archiveBytes: undefined, databaseBytes },
      from,
      pieces: pieces(),
      close: () => {
        if (!isOpen) return;
        isOpen = false;
        closed();
        if (isWhole || sender.hasFailed) end(state);
        else {
          sender.rest();
          this.#keep(database, state);
        }
      },
    };
  }
}

function end({ sender, stopHolding }: PinnedState): void {
  stopHolding();
  sender.end();
}
