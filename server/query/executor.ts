import { DatabaseError } from '#core/errors.ts';
import type { Timers } from '#core/runtime.ts';
import type { Value } from '#core/value.ts';
import type { Slot } from './algebra/expression.ts';
import { slotsOfOutput } from './algebra/walk.ts';
import { END, ROW, type ExecutionContext, type PhysicalOperator } from './operators/operator.ts';
import { detach } from './operators/record-reference.ts';
import type { PreparedPlan } from './physical/planner.ts';
import { ProfiledOperator } from './profile.ts';

/** Milliseconds that a statement may work before it lets other events have their turn. */
const sliceMs = 5;
const rowsPerBatch = 1024;
/** Text in one batch, in characters: wide rows make small batches. */
const charactersPerBatch = 1024 * 1024;
/** Most pulls between two looks at the clock. */
const pullsPerLookMax = 64;

/** Rows of a running statement; structurally the batch of `database/session.ts`. */
export interface RowBatch {
  readonly rowCount: number;
  /** Row-major: `rowCount` times the number of columns (1 when the row is one value). */
  readonly values: readonly Value[];
}

export interface ExecutionOptions {
  readonly plan: PreparedPlan;
  readonly context: ExecutionContext;
  /** For giving up the event loop; the database hands in one that is fair among statements. */
  readonly timers: Timers;
  /** Aborted when the client leaves or the statement is cancelled. */
  readonly signal?: AbortSignal;
  /** Called at the start of each slice but the first. @throws the reason for which the statement is to end */
  readonly check?: () => void;
  /** Ends the rows after this many; the caller asks for one more than it takes to see whether there are more. */
  readonly rowCountMax?: number;
  /** Measure every operator. */
  readonly isProfiled?: boolean;
}

/**
 * One execution of a prepared plan, pulled batch by batch. Work is synchronous inside a slice of 5 ms; between slices the event
 * loop has its turn, and the signal and the deadline of the context are looked at. A batch ends with the slice, so the first
 * rows of a long statement come early.
 *
 * The caller closes it in any case. After an error it is closed already.
 */
export class Execution {
  readonly #plan: PreparedPlan;
  readonly #context: ExecutionContext;
  readonly #timers: Timers;
  readonly #signal: AbortSignal | undefined;
  readonly #check: (() => void) | undefined;
  readonly #slots: readonly Slot[];
  readonly #isProfiled: boolean;
  readonly #root: PhysicalOperator;
  #rowsLeft: number;
  #state: 'new' | 'open' | 'ended' = 'new';
  #sliceStartMs: number;
  #lookedAtMs: number;
  #pullsPerLook = 1;
  #pullsToLook = 1;

  constructor(options: ExecutionOptions) {
    const { plan, context } = options;
    this.#plan = plan;
    this.#context = context;
    this.#timers = options.timers;
    this.#signal = options.signal;
    this.#check = options.check;
    this.#slots = slotsOfOutput(plan.output);
    this.#isProfiled = options.isProfiled ?? false;
    this.#rowsLeft = options.rowCountMax ?? Number.POSITIVE_INFINITY;
    this.#root = this.#isProfiled
      ? plan.makeWrapped((operator) => new ProfiledOperator(operator, context.runtime.clock))
      : plan.take();
    this.#sliceStartMs = context.runtime.clock.monotonicMs();
    this.#lookedAtMs = this.#sliceStartMs;
  }

  /** The operators, for EXPLAIN and PROFILE. */
  get root(): PhysicalOperator {
    return this.#root;
  }

  /** True after the last row: what was pulled so far is all there is. */
  get hasEnded(): boolean {
    return this.#state === 'ended';
  }

  /**
   * As much as one slice gives, without a promise; possibly no rows. A short statement is over with it (`hasEnded`);
   * otherwise go on with `nextBatch`.
   */
  pullNow(): RowBatch {
    try {
      this.#start();
      return this.#pullSlice();
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /**
   * The next rows: at most 1,024, or what one slice gave; never an empty batch. undefined at the end.
   * @throws DatabaseError `Cancelled`, `Timeout`, and whatever the statement raises
   */
  async nextBatch(): Promise<RowBatch | undefined> {
    if (this.#state === 'ended') return undefined;
    try {
      this.#start();
      for (;;) {
        if (this.#isSliceSpent()) await this.#yield();
        const batch = this.#pullSlice();
        if (this.#context.pending.work !== undefined) await this.#runPendingWork();
        if (batch.rowCount > 0) return batch;
        if (this.hasEnded) return undefined;
      }
    } catch (error) {
      this.close();
      throw error;
    }
  }

  close(): void {
    const wasOpen = this.#state === 'open';
    this.#state = 'ended';
    if (!wasOpen) return;
    this.#root.close();
    if (!this.#isProfiled) this.#plan.giveBack(this.#root);
  }

  #start(): void {
    if (this.#state !== 'new') return;
    this.#state = 'open';
    this.#checkAlive(this.#sliceStartMs);
    this.#root.open(this.#context);
  }

  /** Pulls rows until the batch is full, the slice is spent, or work must be awaited. */
  #pullSlice(): RowBatch {
    const { frame, pending } = this.#context;
    const root = this.#root;
    const slots = this.#slots;
    const values: Value[] = [];
    let rowCount = 0;
    let characters = 0;
    while (rowCount < rowsPerBatch && characters < charactersPerBatch) {
      if (this.#rowsLeft <= 0) {
        this.close();
        break;
      }
      const pulled = root.next();
      if (pulled === ROW) {
        for (let at = 0; at < slots.length; at += 1) {
          const value = (frame[slots[at] as Slot] ?? null) as Value;
          if (typeof value === 'string') characters += value.length;
          values.push(typeof value === 'object' && value !== null ? detach(value) : value);
        }
        rowCount += 1;
        this.#rowsLeft -= 1;
      } else if (pulled === END) {
        this.close();
        break;
      } else if (pending.work !== undefined) break;
      this.#pullsToLook -= 1;
      if (this.#pullsToLook <= 0 && this.#isSliceSpent()) break;
    }
    return { rowCount, values };
  }

  /** Looks at the clock; the faster the pulls, the rarer the looks. */
  #isSliceSpent(): boolean {
    const nowMs = this.#context.runtime.clock.monotonicMs();
    const sinceLookMs = nowMs - this.#lookedAtMs;
    if (sinceLookMs > 1) this.#pullsPerLook = 1;
    else if (this.#pullsPerLook < pullsPerLookMax) this.#pullsPerLook *= 2;
    this.#lookedAtMs = nowMs;
    this.#pullsToLook = this.#pullsPerLook;
    return nowMs - this.#sliceStartMs >= sliceMs;
  }

  async #yield(): Promise<void> {
    await this.#timers.yield();
    const nowMs = this.#context.runtime.clock.monotonicMs();
    this.#sliceStartMs = nowMs;
    this.#lookedAtMs = nowMs;
    this.#check?.();
    this.#checkAlive(nowMs);
  }

  async #runPendingWork(): Promise<void> {
    const { pending } = this.#context;
    const { work } = pending;
    pending.work = undefined;
    await work?.();
    this.#sliceStartMs = this.#context.runtime.clock.monotonicMs();
    this.#lookedAtMs = this.#sliceStartMs;
  }

  #checkAlive(nowMs: number): void {
    if (this.#signal?.aborted === true) throw cancelled(this.#signal.reason);
    const { deadlineMs } = this.#context;
    if (deadlineMs !== undefined && nowMs > deadlineMs)
      throw new DatabaseError('Timeout', 'the statement took longer than its time limit');
    if (this.#state === 'ended') throw new DatabaseError('Cancelled', 'the statement was closed');
  }
}

/** The signal's own reason when it is one of ours: a time limit cancels through the signal too. */
function cancelled(reason: unknown): DatabaseError {
  if (reason instanceof DatabaseError) return reason;
  return new DatabaseError('Cancelled', 'the statement was cancelled');
}
