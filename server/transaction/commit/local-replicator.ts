import { assert } from '#core/assert.ts';
import { DatabaseError, type ErrorCode } from '#core/errors.ts';
import type { LogIndex } from '#core/value/rid.ts';
import type { Timers } from '#core/runtime.ts';
import type { LogEntry, StorageEngine } from '#storage/engine.ts';
import type { Applier } from './applier.ts';
import type { ProposedEntry, Replicator } from './replicator.ts';

/** Bounds of the queue and of one group (ha.md 5.5). */
export interface GroupCommitLimits {
  readonly queueLengthMax: number;
  readonly queuedBytesMax: number;
  readonly batchLengthMax: number;
  readonly batchBytesMax: number;
}

export const defaultGroupCommitLimits: GroupCommitLimits = {
  queueLengthMax: 10_000,
  queuedBytesMax: 256 * 1024 * 1024,
  batchLengthMax: 500,
  batchBytesMax: 4 * 1024 * 1024,
};

/** So many groups after one of several entries the next ones are expected to have company, too. */
const companyGroups = 8;

/** The engine could not write, or does not any more: that concerns the whole group. */
const ofFailedWrites: ReadonlySet<ErrorCode> = new Set(['Internal', 'Busy', 'DatabaseClosed']);

interface Waiting {
  readonly entry: ProposedEntry;
  readonly resolve: (index: LogIndex) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The log of a single server: the storage engine writes it, per database, before it shows a group (storage.md 5). LSN and txId
 * are given when a group is drained, contiguously. No artificial delay: the entry of a lone writer goes at once. Where several write,
 * those whose requests have arrived together go together, and others gather while their write is under way.
 */
export class LocalReplicator implements Replicator {
  readonly #engine: StorageEngine;
  readonly #applier: Applier;
  readonly #limits: GroupCommitLimits;
  readonly #timers: Pick<Timers, 'soon'> | undefined;
  /** Above 0 while several write. */
  #company = 0;
  #waiting: Waiting[] = [];
  #queuedBytes = 0;
  #isBusy = false;
  #isScheduled = false;
  #roomWaiters: (() => void)[] = [];
  /** Set when an apply failed in a way that nobody foresaw: nothing more may be committed. */
  #failure: unknown;

  /** @param timers without them, a group is what came in one turn of the microtasks */
  constructor(
    engine: StorageEngine,
    applier: Applier,
    limits: GroupCommitLimits,
    timers?: Pick<Timers, 'soon'>,
  ) {
    this.#engine = engine;
    this.#applier = applier;
    this.#limits = limits;
    this.#timers = timers;
  }

  role(): 'single' {
    return 'single';
  }

  hasRoom(): boolean {
    return (
      this.#waiting.length < this.#limits.queueLengthMax &&
      this.#queuedBytes < this.#limits.queuedBytesMax
    );
  }

  room(): Promise<void> {
    if (this.hasRoom()) return Promise.resolve();
    return new Promise((resolve) => {
      this.#roomWaiters.push(resolve);
    });
  }

  replicate(entry: ProposedEntry): Promise<LogIndex> {
    if (this.#failure !== undefined) return Promise.reject(this.#refusal());
    return new Promise((resolve, reject) => {
      this.#waiting.push({ entry, resolve, reject });
      this.#queuedBytes += entry.bytes;
      this.#schedule();
    });
  }

  /**
   * Entries of one turn of the microtasks travel together. Each request has such a turn of its own, so the first of sixteen that have
   * arrived together would be written alone, and the others wait for it: where several write, the turns of all of them come first.
   */
  #schedule(): void {
    if (this.#isBusy || this.#isScheduled) return;
    this.#isScheduled = true;
    const begin = (): void => {
      this.#isScheduled = false;
      void this.#drain();
    };
    if (this.#company > 0 && this.#timers?.soon !== undefined) this.#timers.soon(begin);
    else queueMicrotask(begin);
  }

  async #drain(): Promise<void> {
    assert(!this.#isBusy, 'one group is committed at a time');
    this.#isBusy = true;
    // Whoever came while a group was written was not alone.
    let isFirst = true;
    while (this.#waiting.length > 0) {
      const group = this.#nextGroup();
      if (group.length > 1) this.#company = companyGroups;
      else if (this.#company > 0) this.#company -= 1;
      await this.#commit(group, isFirst && group.length === 1);
      isFirst = false;
    }
    this.#isBusy = false;
  }

  #nextGroup(): readonly Waiting[] {
    const { batchLengthMax, batchBytesMax } = this.#limits;
    let count = 0;
    let bytes = 0;
    for (const { entry } of this.#waiting) {
      // A bulk load is a group of its own, since its writer makes its own storage commit.
      if (count > 0 && (entry.bulk !== undefined || bytes + entry.bytes > batchBytesMax)) break;
      count += 1;
      bytes += entry.bytes;
      if (count >= batchLengthMax || entry.bulk !== undefined) break;
    }
    const group = this.#waiting.slice(0, count);
    this.#waiting = count === this.#waiting.length ? [] : this.#waiting.slice(count);
    this.#queuedBytes -= bytes;
    if (this.hasRoom()) {
      for (const wake of this.#roomWaiters.splice(0)) wake();
    }
    return group;
  }

  async #commit(group: readonly Waiting[], isAlone = false): Promise<void> {
    if (this.#failure !== undefined) {
      for (const waiting of group) waiting.reject(this.#refusal());
      return;
    }
    const entries = this.#place(group);
    try {
      await this.#applier.apply(entries, group[0]?.entry.bulk, isAlone);
    } catch (error) {
      await this.#afterFailure(group, error);
      return;
    }
    for (let i = 0; i < group.length; i++) {
      (group[i] as Waiting).resolve((entries[i] as LogEntry).position.index);
    }
  }

  /** Gives the entries their positions: LSN and txId follow the last applied ones without a gap. */
  #place(group: readonly Waiting[]): LogEntry[] {
    const { index, term, txId } = this.#engine.applied();
    return group.map(({ entry }, i) => {
      const position = { index: (index + 1 + i) as LogIndex, term, txId: txId + 1 + i };
      entry.placed(position.index);
      return { position, operations: entry.operations };
    });
  }

  /**
   * What is refused before anything is written (a damaged image, rows too large for a block) concerns only the entry that needs
   * it: the others of its group are tried one by one. After a failed write the engine itself knows whether it takes another one: a full disk may have room
   * again. Anything else leaves the state unknown.
   */
  async #afterFailure(group: readonly Waiting[], error: unknown): Promise<void> {
    if (!(error instanceof DatabaseError) || ofFailedWrites.has(error.code)) {
      if (!(error instanceof DatabaseError)) this.#failure = error;
      for (const waiting of group) waiting.reject(error);
      return;
    }
    if (group.length === 1) {
      group[0]?.reject(error);
      return;
    }
    for (const waiting of group) await this.#commit([waiting]);
  }

  #refusal(): DatabaseError {
    return new DatabaseError('Internal', 'the database is stopped after a failed commit', {
      cause: this.#failure,
    });
  }
}
