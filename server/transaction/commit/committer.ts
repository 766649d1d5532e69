import type { Catalog } from '#catalog/catalog.ts';
import { DatabaseError } from '#core/errors.ts';
import type { LogIndex } from '#core/value/rid.ts';
import type { Runtime } from '#core/runtime.ts';
import type { TemporalFormats } from '#core/temporal/format.ts';
import type { StorageEngine } from '#storage/engine.ts';
import type { WriteSet } from './guards.ts';
import type { GuardSequencer, Ticket } from './guard-sequencer.ts';
import type { Replicator } from './replicator.ts';
import { whenSettled } from './unknown-outcome.ts';
import type { SchemaGate } from '../schema/schema-gate.ts';

export interface CommitterOptions {
  readonly engine: StorageEngine;
  readonly sequencer: GuardSequencer;
  readonly replicator: Replicator;
  readonly gate: SchemaGate;
  readonly runtime: Runtime;
  /** The newest schema, which a transaction must fit. */
  readonly catalog: () => Catalog;
  readonly formats: () => TemporalFormats;
  /** `service.commitLockTimeout`: how long a commit waits for a schema change or the owner of a key, milliseconds. */
  readonly lockTimeoutMs: () => number;
  /** `groupCommitOfferTimeout`: how long a commit waits for room in the queue, milliseconds. */
  readonly offerTimeoutMs: () => number;
}

interface Obstacle {
  readonly wait: Promise<void>;
  /** The error when it does not go away in time. */
  readonly refusal: () => DatabaseError;
  readonly limitMs: number;
}

/**
 * Commits in three phases (architecture.md 5 B, ha.md 5): validation against everything in flight and committed, the log,
 * and the apply, after which the answer is given. The first phase and the entry into the queue are one synchronous block.
 */
export class Committer {
  readonly #options: CommitterOptions;

  constructor(options: CommitterOptions) {
    this.#options = options;
  }

  /**
   * Resolves with the LSN when the write set is durable and visible.
   * @throws DatabaseError `ConcurrentModification`, `DuplicatedKey`, `LockTimeout`, `QueueFull`: nothing was written
   */
  commit(writeSet: WriteSet): Promise<LogIndex> {
    try {
      const obstacle = this.#obstacle(writeSet);
      return obstacle === undefined
        ? this.#replicate(writeSet)
        : this.#commitBehind(obstacle, writeSet);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async #commitBehind(first: Obstacle, writeSet: WriteSet): Promise<LogIndex> {
    const { runtime } = this.#options;
    let deadlineMs: number | undefined;
    let obstacle: Obstacle | undefined = first;
    while (obstacle !== undefined) {
      deadlineMs ??= runtime.clock.monotonicMs() + obstacle.limitMs;
      const leftMs = deadlineMs - runtime.clock.monotonicMs();
      if (leftMs <= 0 || !(await isDoneWithin(obstacle.wait, leftMs, runtime)))
        throw obstacle.refusal();
      obstacle = this.#obstacle(writeSet);
    }
    return this.#replicate(writeSet);
  }

  /** What the write set has to wait for. @throws DatabaseError when it does not fit what was committed */
  #obstacle(writeSet: WriteSet): Obstacle | undefined {
    const { gate, replicator, lockTimeoutMs, offerTimeoutMs } = this.#options;
    if (gate.closed !== undefined)
      return { wait: gate.closed, refusal: schemaBusy, limitMs: lockTimeoutMs() };
    if (!replicator.hasRoom())
      return { wait: replicator.room(), refusal: queueFull, limitMs: offerTimeoutMs() };
    // In one block with entering flight: who takes a lock waits for what is in flight, and for nothing else.
    const lock = writeSet.heldBack?.();
    if (lock !== undefined) return { wait: lock, refusal: lockBusy, limitMs: lockTimeoutMs() };
    const owner = this.#validate(writeSet);
    return owner && { wait: owner.settled, refusal: keyBusy, limitMs: lockTimeoutMs() };
  }

  #validate(writeSet: WriteSet): Ticket | undefined {
    const { engine, sequencer, catalog, formats } = this.#options;
    // Not `using`, which takes V8 0.4 us: every commit comes by here.
    const latest = engine.snapshot();
    try {
      return sequencer.validate(writeSet, latest, { catalog: catalog(), formats: formats() });
    } finally {
      latest[Symbol.dispose]();
    }
  }

  #replicate(writeSet: WriteSet): Promise<LogIndex> {
    const { sequencer, replicator } = this.#options;
    const ticket = sequencer.enter(writeSet);
    const replicated = replicator.replicate({
      operations: writeSet.operations,
      guards: writeSet.guards,
      leadership: writeSet.leadership,
      bytes: writeSet.bytes,
      placed: (index) => {
        ticket.index = index;
      },
    });
    // Its units leave the table only now that they are visible, so nobody can miss them in between.
    return replicated.then(
      (index) => {
        sequencer.leave(ticket);
        return index;
      },
      (error: unknown) => {
        whenSettled(error, () => sequencer.leave(ticket));
        throw error;
      },
    );
  }
}

function schemaBusy(): DatabaseError {
  return new DatabaseError(
    'LockTimeout',
    'a schema change holds back commits for longer than commitLockTimeout; nothing was committed',
  );
}

function lockBusy(): DatabaseError {
  return new DatabaseError(
    'LockTimeout',
    'another transaction holds a LOCK for longer than service.commitLockTimeout; nothing was committed',
  );
}

function queueFull(): DatabaseError {
  return new DatabaseError('QueueFull', 'the commit queue is full; nothing was committed');
}

function keyBusy(): DatabaseError {
  return new DatabaseError(
    'LockTimeout',
    'another transaction holds a unique key for longer than commitLockTimeout; nothing was committed',
  );
}

/** False when the time is over before `wait` resolves. */
async function isDoneWithin(
  wait: Promise<void>,
  limitMs: number,
  runtime: Runtime,
): Promise<boolean> {
  let cancel: () => void = () => {};
  const timeout = new Promise<boolean>((resolve) => {
    cancel = runtime.timers.after(limitMs, () => resolve(false));
  });
  const isDone = await Promise.race([wait.then(() => true), timeout]);
  cancel();
  return isDone;
}
