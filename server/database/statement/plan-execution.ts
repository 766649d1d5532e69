import { madeBytes } from '#core/value/made-bytes.ts';
import type { Wait } from '#core/pausing-work.ts';
import type { Cancel, PausingWorker, Timers } from '#core/runtime.ts';
import { enterTurn, leaveTurn, type Turn } from '#core/turn-end.ts';
import type { Value } from '#core/value/value.ts';
import type { Slot } from '#query/algebra/expression.ts';
import { doneWork, unitsAtOnce } from '#query/evaluate/turns/done-work.ts';
import { END, PAUSE, ROW, type PhysicalOperator } from '#query/operators/operator.ts';
import { refusalOfOverflow } from './compile-steps.ts';
import type { ResultBatch } from '../session.ts';
import { pullsUnwatchedMin, type StatementContext } from './context.ts';

/**
 * Milliseconds that a statement may work before it lets other events have their turn. Less than the 5 ms of architecture.md 6: a
 * request on a new connection needs two or three turns, and `/health` is to answer within 20 ms.
 */
const sliceMs = 2;
/** A pull that does not end by itself is to pause then. */
const pullMsMax = 4;
export const rowsPerBatch = 1024;
/** Text in one batch, in characters: wide rows make small batches. */
const charactersPerBatch = 1024 * 1024;
/** Bytes of large values that are made for one batch, whatever its rows hold them in. */
const madePerBatch = 1024 * 1024;
/** Most pulls between two looks at the clock. */
const pullsPerLookMax = 64;
const pullsUnwatchedMax = 64;
/**
 * Time between two looks: below the first more pulls go between them, above the second one only. A pull may be a row or the
 * work for hundreds of rows, so their number alone would let a slice run over by half its length.
 */
const shortLookMs = 0.1;
const longLookMs = 0.3;
/** While something else is waited for, the statement looks whether it is to end. */
const waitLookMs = 50;

const noRows: ResultBatch = { rowCount: 0, values: [] };

export interface PlanExecutionOptions {
  readonly root: PhysicalOperator;
  /** Entered. */
  readonly context: StatementContext;
  readonly outputSlots: readonly Slot[];
  /** Its `yield` is fair among statements. */
  readonly timers: Timers;
  /** Asked at the start of each slice but the first. */
  readonly watch: ExecutionWatch;
  /** Ends the rows after this many. */
  readonly rowCountMax: number;
  /** Rows that a slice gave before it failed are given first, the failure with the next pull; else they are dropped. */
  readonly keepsRowsOfFailure?: boolean;
  /** When the work of this turn began, where that is before the statement did: compiling may have been all that a turn has. */
  readonly beganMs?: number | undefined;
}

export interface ExecutionWatch {
  /** When the statement began, on the monotonic clock: its first slice began then, too. */
  readonly startedMs: number;
  /** @throws the reason for which the statement is to end */
  check(): void;
}

/**
 * One execution of a plan, pulled batch by batch. Work is synchronous inside a slice of 2 ms; between slices the event loop
 * has its turn. A batch ends with the slice, so the first rows of a long statement come early.
 *
 * Close it in any case; after an error it is closed already.
 */
export class PlanExecution implements PausingWorker, Turn {
  readonly #root: PhysicalOperator;
  readonly #context: StatementContext;
  readonly #slots: readonly Slot[];
  readonly #timers: Timers;
  readonly #watch: ExecutionWatch;
  readonly #keepsRowsOfFailure: boolean;
  #rowsLeft: number;
  /** What the next pull throws. */
  #failure: { readonly error: unknown } | undefined;
  #state: 'new' | 'open' | 'ended' = 'new';
  /** The first slice is for another turn. */
  readonly #beginsLater: boolean;
  #sliceStartMs: number;
  #lookedAtMs: number;
  #pullsPerLook = 1;
  #pullsToLook: number;
  #hasLooked = false;
  /** Slices that are over. */
  #sliceCount = 0;

  constructor(options: PlanExecutionOptions) {
    this.#root = options.root;
    this.#context = options.context;
    this.#slots = options.outputSlots;
    this.#timers = options.timers;
    this.#watch = options.watch;
    this.#keepsRowsOfFailure = options.keepsRowsOfFailure === true;
    this.#rowsLeft = options.rowCountMax;
    this.#pullsToLook = options.context.pullsUnwatched;
    const { startedMs } = options.watch;
    const { beganMs = startedMs } = options;
    this.#beginsLater = startedMs - beganMs >= sliceMs;
    this.#sliceStartMs = startedMs;
    this.#lookedAtMs = startedMs;
  }

  /** True after the last row: what was pulled so far is all there is. */
  get hasEnded(): boolean {
    return this.#state === 'ended' && this.#failure === undefined;
  }

  get pauseCount(): number {
    return this.#sliceCount;
  }

  /** It has worked for so long, roughly. */
  get workedMs(): number {
    return this.#sliceCount * sliceMs;
  }

  /**
   * As much as one slice gives, without a promise; possibly no rows, and none where the turn is over already. A short statement is over with it (`hasEnded`);
   * otherwise go on with `nextBatch`.
   */
  pullNow(): ResultBatch {
    if (this.#beginsLater) return noRows;
    try {
      this.#start();
      return this.#pullSlice();
    } catch (error) {
      this.#closeQuietly();
      throw refusalOfOverflow(error);
    }
  }

  /**
   * The next rows: at most 1,024, or what one slice gave; never an empty batch. undefined at the end.
   * @throws what `check` throws, and whatever the statement raises
   */
  async nextBatch(): Promise<ResultBatch | undefined> {
    if (this.hasEnded) return undefined;
    const failure = this.#failure;
    if (failure !== undefined) {
      this.#failure = undefined;
      throw failure.error;
    }
    try {
      if (this.#state === 'new' && this.#beginsLater) await this.#yield();
      this.#start();
      for (;;) {
        if (this.#isSliceSpent()) await this.#yield();
        // Closed by the caller meanwhile.
        if (this.hasEnded) return undefined;
        const batch = this.#pullSlice();
        const { pending } = this.#context;
        if (this.#failure !== undefined) return batch;
        if (pending.work !== undefined) await this.#runPendingWork();
        if (pending.wait !== undefined) await this.#wait(pending.wait);
        if (batch.rowCount > 0) return batch;
        if (this.hasEnded) return undefined;
      }
    } catch (error) {
      this.#closeQuietly();
      throw refusalOfOverflow(error);
    }
  }

  /** Operators that make much ask now and then. */
  isOver(): boolean {
    return this.#context.runtime.clock.monotonicMs() - this.#sliceStartMs >= pullMsMax;
  }

  close(): void {
    const wasOpen = this.#state === 'open';
    this.#state = 'ended';
    this.#failure = undefined;
    if (wasOpen) this.#root.close();
  }

  #start(): void {
    if (this.#state !== 'new') return;
    this.#state = 'open';
    this.#boundTurn();
    this.#root.open(this.#context);
  }

  #boundTurn(): void {
    const { turnBytesMax = Number.POSITIVE_INFINITY } = this.#context.limits;
    this.#context.madeBytesMax = madeBytes.total + turnBytesMax;
    madeBytes.rowStart = madeBytes.total;
  }

  #pullSlice(): ResultBatch {
    const values: Value[] = [];
    const { fill } = this.#root;
    this.#boundTurn();
    const outer = enterTurn(this);
    try {
      return fill === undefined ? this.#pullRows(values) : this.#fillRows(fill, values);
    } catch (error) {
      return this.#rowsBefore(error, values);
    } finally {
      leaveTurn(outer);
    }
  }

  /** @throws the error, when no row came before it */
  #rowsBefore(error: unknown, values: Value[]): ResultBatch {
    const width = this.#slots.length;
    const rowCount = width === 0 ? 0 : Math.floor(values.length / width);
    if (!this.#keepsRowsOfFailure || rowCount === 0) throw error;
    this.#closeQuietly();
    this.#failure = { error: refusalOfOverflow(error) };
    values.length = rowCount * width;
    return { rowCount, values };
  }

  /** As `#pullRows`, in portions as large as the number of pulls between two looks at the clock. */
  #fillRows(fill: NonNullable<PhysicalOperator['fill']>, values: Value[]): ResultBatch {
    const { pending } = this.#context;
    const width = this.#slots.length;
    const madeMax = madeBytes.total + madePerBatch;
    let rowCount = 0;
    let characters = 0;
    while (rowCount < rowsPerBatch && characters < charactersPerBatch) {
      if (this.#rowsLeft <= 0) {
        this.close();
        break;
      }
      if (rowCount > 0 && madeBytes.total > madeMax) break;
      const before = values.length;
      const portion = Math.min(rowsPerBatch - rowCount, this.#rowsLeft, this.#pullsToLook);
      const pulled = fill(values, portion);
      for (let at = before; at < values.length; at += 1) {
        const value = values[at];
        if (typeof value === 'string') characters += value.length;
      }
      const filled = (values.length - before) / width;
      rowCount += filled;
      this.#rowsLeft -= filled;
      if (pulled === END) {
        this.close();
        break;
      }
      if (pulled === PAUSE) {
        if (pending.work !== undefined || pending.wait !== undefined) break;
        this.#pullsToLook = 0;
      } else this.#pullsToLook -= filled;
      if (this.#pullsToLook <= 0 && this.#isSliceSpent()) break;
    }
    return { rowCount, values };
  }

  /** Pulls rows until the batch is full, the slice is spent, or work must be awaited. */
  #pullRows(values: Value[]): ResultBatch {
    const { frame, pending } = this.#context;
    const root = this.#root;
    const slots = this.#slots;
    const madeMax = madeBytes.total + madePerBatch;
    let unitsMax = doneWork.units + unitsAtOnce;
    let rowCount = 0;
    let characters = 0;
    while (rowCount < rowsPerBatch && characters < charactersPerBatch) {
      if (this.#rowsLeft <= 0) {
        this.close();
        break;
      }
      if (rowCount > 0 && madeBytes.total > madeMax) break;
      const pulled = root.next();
      if (pulled === ROW) {
        for (let at = 0; at < slots.length; at += 1) {
          const value = frame[slots[at] as Slot] ?? null;
          if (typeof value === 'string') characters += value.length;
          values.push(value);
        }
        rowCount += 1;
        this.#rowsLeft -= 1;
      } else if (pulled === END) {
        this.close();
        break;
      } else {
        if (pending.work !== undefined || pending.wait !== undefined) break;
        // A pause comes after a share of work, of which a look at the clock is a small part.
        this.#pullsToLook = 1;
      }
      this.#pullsToLook -= 1;
      if (doneWork.units > unitsMax) {
        unitsMax = doneWork.units + unitsAtOnce;
        this.#pullsToLook = 0;
      }
      if (this.#pullsToLook <= 0 && this.#isSliceSpent()) break;
    }
    return { rowCount, values };
  }

  /** Looks at the clock; the faster the pulls, the rarer the looks. */
  #isSliceSpent(): boolean {
    const nowMs = this.#context.runtime.clock.monotonicMs();
    const sinceLookMs = nowMs - this.#lookedAtMs;
    if (!this.#hasLooked) this.#learn(sinceLookMs);
    else if (sinceLookMs > longLookMs) this.#pullsPerLook = 1;
    else if (sinceLookMs < shortLookMs && this.#pullsPerLook < pullsPerLookMax)
      this.#pullsPerLook *= 2;
    this.#lookedAtMs = nowMs;
    this.#pullsToLook = this.#pullsPerLook;
    return nowMs - this.#sliceStartMs >= sliceMs;
  }

  /**
   * What the first pulls took says how many the next execution may make before it looks, and this one before it looks again.
   */
  #learn(tookMs: number): void {
    const context = this.#context;
    this.#hasLooked = true;
    if (tookMs > longLookMs) {
      context.pullsUnwatched = pullsUnwatchedMin;
    } else if (tookMs < shortLookMs) {
      this.#pullsPerLook = Math.min(pullsPerLookMax, context.pullsUnwatched);
      context.pullsUnwatched = Math.min(pullsUnwatchedMax, context.pullsUnwatched * 2);
    }
  }

  async #yield(): Promise<void> {
    this.#sliceCount += 1;
    await this.#timers.yield(this);
    this.#newSlice();
  }

  async #runPendingWork(): Promise<void> {
    const { pending } = this.#context;
    const { work } = pending;
    pending.work = undefined;
    // From now on others see the statement and may end it, also a client that leaves before the first pause.
    this.#watch.check();
    await work?.(() => this.#pauseWork());
    // What it did is done, and told even when the time is over by now.
    this.#startSlice();
  }

  /** Until what operators wait for is over, or the statement is to end. */
  async #wait({ over }: Wait): Promise<void> {
    const { timers } = this.#context.runtime;
    this.#context.pending.wait = undefined;
    this.#watch.check();
    let isOver = false;
    void over.then(() => {
      isOver = true;
    });
    while (!isOver && !this.hasEnded) {
      let stop: Cancel = () => {};
      const look = new Promise<void>((resolve) => {
        stop = timers.after(waitLookMs, resolve);
      });
      await Promise.race([over, look]);
      stop();
      if (!this.hasEnded) this.#watch.check();
    }
    this.#startSlice();
  }

  /** Work that is awaited stands still here and learns whether it is to go on. */
  async #pauseWork(): Promise<void> {
    await this.#timers.yield();
    if (!this.hasEnded) this.#watch.check();
  }

  #newSlice(): void {
    this.#startSlice();
    if (!this.hasEnded) this.#watch.check();
  }

  #startSlice(): void {
    this.#sliceStartMs = this.#context.runtime.clock.monotonicMs();
    this.#lookedAtMs = this.#sliceStartMs;
  }

  /** What closing says after an error adds nothing: the first error is the one to tell. */
  #closeQuietly(): void {
    try {
      this.close();
    } catch {
      // The operators are not used again.
    }
  }
}
