import { DatabaseError } from '#core/errors.ts';
import type { LogIndex, Rid, TypeId } from '#core/value/rid.ts';

/** An edge that was made because there was none, and the state in which there was none. */
export interface EdgeClaim {
  readonly key: string;
  readonly snapshotIndex: LogIndex;
}

interface Entry {
  readonly settled: Promise<void>;
  /** Undefined while its commit is under way. */
  committedAt: LogIndex | undefined;
}

/** Of commits that are over: so many pairs of vertices are remembered. */
const rememberedMax = 4096;

/**
 * Lets one of several transactions make an edge that is to be made only when there is none (CREATE EDGE IF NOT EXISTS, sql.md
 * 10.5): no stored unit tells that two of them made one between the same vertices, since edges at one vertex never conflict.
 * What it forgets it answers for with a conflict.
 */
export class EdgeClaims {
  readonly #entries = new Map<string, Entry>();
  /** Transactions that looked before this place of the log may have missed a claim that is forgotten. */
  #knownSince = 0;

  static keyOf(type: TypeId, from: Rid, to: Rid): string {
    return `${type} ${from} ${to}`;
  }

  /**
   * Takes the claims of a transaction that is about to commit.
   * @returns tells what became of the commit; undefined: nothing was committed
   * @throws DatabaseError `ConcurrentModification` when another took one since the transaction looked
   */
  take(claims: readonly EdgeClaim[]): (committedAt: LogIndex | undefined) => void {
    for (const { key, snapshotIndex } of claims) {
      const entry = this.#entries.get(key);
      if (entry === undefined) {
        if (snapshotIndex < this.#knownSince) throw conflict(Promise.resolve());
      } else if (entry.committedAt === undefined || entry.committedAt > snapshotIndex) {
        throw conflict(entry.settled);
      }
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    const entry: Entry = { settled: promise, committedAt: undefined };
    for (const { key } of claims) this.#entries.set(key, entry);
    return (committedAt) => {
      entry.committedAt = committedAt;
      if (committedAt === undefined) for (const { key } of claims) this.#entries.delete(key);
      this.#forget();
      resolve();
    };
  }

  /** Claims of others, up to this place of the log, are not known here: whoever looked before is answered with a conflict. */
  beginAt(index: LogIndex): void {
    this.#knownSince = Math.max(this.#knownSince, index);
    for (const [key, { committedAt }] of this.#entries)
      if (committedAt !== undefined) this.#entries.delete(key);
  }

  #forget(): void {
    for (const [key, { committedAt }] of this.#entries) {
      if (this.#entries.size <= rememberedMax) return;
      if (committedAt === undefined) continue;
      this.#knownSince = Math.max(this.#knownSince, committedAt);
      this.#entries.delete(key);
    }
  }
}

function conflict(blockedBy: Promise<void>): DatabaseError {
  return new DatabaseError(
    'ConcurrentModification',
    'another transaction made the edge that was to be made if there is none; nothing was committed, run the transaction again',
    { blockedBy },
  );
}
