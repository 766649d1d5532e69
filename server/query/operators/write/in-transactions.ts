import { DatabaseError, type ErrorCode } from '#core/errors.ts';
import type { Value } from '#core/value/value.ts';
import type { Transaction } from '#transaction/transaction.ts';
import type { InTransactions, Slot } from '../../algebra/expression.ts';
import type { Evaluator } from '../../evaluate/evaluator.ts';
import { liveValue } from '../../evaluate/live-record.ts';
import { HeldMemory } from '../hold/held-memory.ts';
import { RowStore } from '../hold/row-store.ts';
import { WorkShare } from '../hold/work-share.ts';
import {
  END,
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';
import { describeValue } from '../record-identity.ts';
import { loaded } from '../record-reference.ts';

export interface InTransactionsOptions {
  readonly outer: PhysicalOperator;
  readonly inner: PhysicalOperator;
  readonly count: Evaluator;
  readonly transactions: InTransactions;
  /** The inner plan gives no rows of its own: each outer row is given once. */
  readonly isUnit: boolean;
  readonly isOptional: boolean;
  /** Slots of both plans that somebody above reads. */
  readonly keptSlots: readonly Slot[];
  readonly description: string;
}

/** What is wrong with the statement as a whole, or with the server, is no failure of a batch. */
const fatal: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'Cancelled',
  'CommittedRemotely',
  'CorruptedRecord',
  'DatabaseClosed',
  'DatabaseNotFound',
  'Internal',
  'NotLeader',
  'OutcomeUnknown',
  'QuorumNotReached',
  'Timeout',
]);

/**
 * For each outer row the rows of the inner plan, which are committed after each n outer rows; the rows of a batch are given when
 * its fate is known. A batch that fails is taken back as a whole: its outer rows are given once, without inner values.
 */
export class InTransactionsOperator implements PhysicalOperator {
  readonly name = 'Apply in transactions';
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly #options: InTransactionsOptions;
  /** Rows of the batch at hand: outer ones with nothing inside, for when it fails, and those that it gives. */
  readonly #outerRows: RowStore;
  readonly #rows: RowStore;
  #context: ExecutionContext | undefined;
  #memory: HeldMemory | undefined;
  #phase: 'outer' | 'inner' | 'commit' | 'give' = 'outer';
  #batchSize = 0;
  #batchNumber = 0;
  #outerRowCount = 0;
  #innerRowCount = 0;
  #position = 0;
  /** What the slots held before rows of the batch were put there: the outer plan goes on from it. */
  #ownFrame: readonly Value[] = [];
  #hasEnded = false;
  #failure: DatabaseError | undefined;
  /** A batch before has failed, and no more are begun. */
  #isBroken = false;
  #counted: Readonly<Record<string, number>> = {};
  readonly #share = new WorkShare();

  constructor(options: InTransactionsOptions) {
    this.inputs = [options.outer, options.inner];
    this.description = options.description;
    this.#options = options;
    this.#outerRows = new RowStore(options.keptSlots);
    this.#rows = new RowStore(options.keptSlots);
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    const size = this.#options.count(context);
    if (typeof size !== 'number' || !Number.isInteger(size) || size < 1)
      throw new DatabaseError(
        'IllegalArgument',
        `Invalid value for OF ... ROWS: ${describeValue(size)}; it must be a whole number of at least 1`,
      );
    this.#batchSize = size;
    this.#batchNumber = 0;
    this.#hasEnded = false;
    this.#isBroken = false;
    this.#memory = new HeldMemory(context, 'CALL { } IN TRANSACTIONS');
    this.#beginBatch();
    this.#options.outer.open(context);
  }

  next(): Pulled {
    for (;;) {
      if (this.#share.isSpent()) return PAUSE;
      const pulled = this.#step();
      if (pulled !== undefined) return pulled;
    }
  }

  /** @returns undefined to go on in the next phase */
  #step(): Pulled | undefined {
    switch (this.#phase) {
      case 'outer':
        return this.#takeOuterRow();
      case 'inner':
        return this.#pullInner();
      case 'commit':
        // Asked again before the commit is over.
        return PAUSE;
      default:
        return this.#giveRow();
    }
  }

  #beginBatch(): void {
    this.#phase = 'outer';
    this.#outerRowCount = 0;
    this.#failure = undefined;
    this.#batchNumber += 1;
    this.#counted = { ...this.#at.statistics };
  }

  #takeOuterRow(): Pulled | undefined {
    if (this.#outerRowCount === this.#batchSize || this.#hasEnded) return this.#commit();
    const pulled = this.#options.outer.next();
    if (pulled === PAUSE) return PAUSE;
    if (pulled === END) {
      this.#hasEnded = true;
      return undefined;
    }
    this.#outerRowCount += 1;
    const { frame } = this.#at;
    for (const slot of this.#options.transactions.slots) frame[slot] = null;
    this.#keep(this.#outerRows);
    if (this.#isBroken || this.#failure !== undefined) return undefined;
    this.#innerRowCount = 0;
    this.#phase = 'inner';
    return this.#guarded(() => {
      this.#options.inner.open(this.#at);
      return undefined;
    });
  }

  #pullInner(): Pulled | undefined {
    return this.#guarded(() => {
      const pulled = this.#options.inner.next();
      if (pulled === PAUSE) return PAUSE;
      if (pulled === ROW) {
        this.#innerRowCount += 1;
        if (!this.#options.isUnit) this.#keep(this.#rows);
        return undefined;
      }
      this.#options.inner.close();
      this.#phase = 'outer';
      const { isUnit, isOptional, transactions } = this.#options;
      if (isUnit || (isOptional && this.#innerRowCount === 0)) {
        for (const slot of transactions.slots) this.#at.frame[slot] = null;
        this.#keep(this.#rows);
      }
      return undefined;
    });
  }

  /** A failure of the inner plan is one of its batch, unless the statement is to fail. */
  #guarded(work: () => Pulled | undefined): Pulled | undefined {
    try {
      return work();
    } catch (error) {
      this.#options.inner.close();
      this.#phase = 'outer';
      this.#failed(error);
      return undefined;
    }
  }

  #failed(error: unknown): void {
    const isOurs = error instanceof DatabaseError && !fatal.has(error.code);
    if (!isOurs || this.#options.transactions.onError === 'FAIL') throw error;
    this.#failure = error;
  }

  /** What the batch wrote is stored, or taken back; either way the next one sees the newest state. */
  #commit(): Pulled | undefined {
    const { transaction, pending } = this.#at;
    if (this.#outerRowCount === 0 || this.#isBroken || transaction === undefined) {
      this.#endBatch();
      return undefined;
    }
    this.#phase = 'commit';
    pending.work = async () => {
      await this.#stored(transaction);
      this.#endBatch();
    };
    return PAUSE;
  }

  async #stored(transaction: Transaction): Promise<void> {
    if (this.#failure === undefined)
      try {
        await transaction.flush();
        return;
      } catch (error) {
        this.#failed(error);
      }
    transaction.discard();
    await transaction.flush();
  }

  #endBatch(): void {
    this.#phase = 'give';
    const { frame, statistics } = this.#at;
    this.#ownFrame = this.#options.keptSlots.map((slot) => frame[slot] as Value);
    this.#position = 0;
    if (this.#failure === undefined) return;
    Object.assign(statistics, this.#counted);
    this.#rows.clear();
  }

  #giveRow(): Pulled | undefined {
    const { frame } = this.#at;
    const isDone = this.#failure === undefined && !this.#isBroken;
    const rows = isDone ? this.#rows : this.#outerRows;
    if (this.#position < rows.rowCount) {
      rows.restore(this.#position, frame);
      this.#position += 1;
      const { status } = this.#options.transactions;
      if (status !== undefined) frame[status] = this.#status();
      return ROW;
    }
    if (this.#failure !== undefined && this.#options.transactions.onError === 'BREAK')
      this.#isBroken = true;
    this.#forgetRows();
    if (this.#hasEnded) return END;
    const { keptSlots } = this.#options;
    for (let at = 0; at < keptSlots.length; at += 1)
      frame[keptSlots[at] as Slot] = this.#ownFrame[at] as Value;
    this.#beginBatch();
    return undefined;
  }

  #status(): Value {
    const started = !this.#isBroken;
    return new Map<string, Value>([
      ['started', started],
      ['committed', started && this.#failure === undefined],
      [
        'transactionId',
        started ? `${this.#at.databaseName}-transaction-${this.#batchNumber}` : null,
      ],
      ['errorMessage', this.#failure?.message ?? null],
    ]);
  }

  /** Records in kept rows follow the writes of the statement. */
  #keep(rows: RowStore): void {
    const { frame, view, transaction } = this.#at;
    const row = rows.rowCount;
    this.#memory?.addBytes(rows.append(frame));
    rows.mapValues(row, (value) => liveValue(loaded(value), { view, transaction }));
  }

  #forgetRows(): void {
    this.#rows.clear();
    this.#outerRows.clear();
    this.#memory?.release();
  }

  get #at(): ExecutionContext {
    return this.#context as ExecutionContext;
  }

  close(): void {
    if (this.#phase === 'inner') this.#options.inner.close();
    this.#phase = 'outer';
    this.#forgetRows();
    this.#memory = undefined;
    this.#ownFrame = [];
    this.#failure = undefined;
    this.#context = undefined;
    this.#options.outer.close();
  }
}
