import type { Catalog } from '#catalog/catalog.ts';
import { DatabaseError } from '#core/errors.ts';
import type { LogIndex } from '#core/rid.ts';
import type { Runtime } from '#core/runtime.ts';
import type { TemporalFormats } from '#core/temporal-format.ts';
import type { StorageEngine } from '#storage/engine.ts';
import type { WriteSet } from './guards.ts';
import type { GuardSequencer, Ticket } from './guard-sequencer.ts';
import type { Replicator } from './replicator.ts';
import type { SchemaGate } from './schema-gate.ts';

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
  readonly offerTimeoutMs: number;
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
  async commit(writeSet: WriteSet): Promise<LogIndex> {
    const { gate, replicator, runtime } = this.#options;
    let deadlineMs: number | undefined;
    for (;;) {
      let wait: Promise<void> | undefined = gate.closed;
      let refusal = schemaBusy;
      let limitMs = this.#options.lockTimeoutMs();
      if (wait === undefined && !replicator.hasRoom()) {
        wait = replicator.room();
        refusal = queueFull;
        limitMs = this.#options.offerTimeoutMs;
      }
      if (wait === undefined) {
        // In one block with entering flight: who takes a lock waits for what is in flight, and for nothing else.
        wait = writeSet.heldBack?.();
        refusal = lockBusy;
      }
      if (wait === undefined) {
        const owner = this.#validate(writeSet);
        if (owner === undefined) return this.#replicate(writeSet);
        wait = owner.settled;
        refusal = keyBusy;
      }
      deadlineMs ??= runtime.clock.monotonicMs() + limitMs;
      const leftMs = deadlineMs - runtime.clock.monotonicMs();
      if (leftMs <= 0 || !(await isDoneWithin(wait, leftMs, runtime))) throw refusal();
    }
  }

  #validate(writeSet: WriteSet): Ticket | undefined {
    const { engine, sequencer, catalog, formats } = this.#options;
    using latest = engine.snapshot();
    return sequencer.validate(writeSet, latest, { catalog: catalog(), formats: formats() });
  }

  #replicate(writeSet: WriteSet): Promise<LogIndex> {
    const { sequencer, replicator } = this.#options;
    const ticket = sequencer.enter(writeSet);
    const replicated = replicator.replicate({
      operations: writeSet.operations,
      bytes: writeSet.bytes,
      placed: (index) => {
        ticket.index = index;
      },
    });
    // Its units leave the table only now that they are visible, so nobody can miss them in between.
    return replicated.finally(() => sequencer.leave(ticket));
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
