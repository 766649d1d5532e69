import type { Clock } from '#core/runtime.ts';
import type { Value } from '#core/value.ts';
import type { Slot } from '#query/algebra/expression.ts';
import { END, ROW } from '#query/operators/operator.ts';
import type { CompiledStatement, PlanInstance } from './compiled-statement.ts';

/** How long one pull may keep the event loop, milliseconds (architecture.md 6). */
export const sliceMs = 5;

const rowsPerLook = 32;
/** Rows of one batch. */
export const batchRowsMax = 1024;

export type PullOutcome =
  /** There are no more rows, or as many as were wanted. */
  | 'end'
  /** The batch is full. */
  | 'full'
  /** The slice is spent. */
  | 'spent'
  /** The plan waits for work that cannot be done synchronously. */
  | 'pending';

/** Rows as they are gathered; turns into a `ResultBatch`. */
export interface RowBuffer {
  rowCount: number;
  readonly values: Value[];
}

/** Drives one opened plan and copies its rows out of the frame. */
export class PlanCursor {
  readonly instance: PlanInstance;
  readonly #slots: readonly Slot[];
  readonly #clock: Clock;
  /** Rows that are kept; the ones after them are counted, if the plan is run on. */
  #wanted: number;
  readonly #mustRunToEnd: boolean;
  #isOpen = true;

  /**
   * Opens the plan, whose context has been entered.
   * @param options `rowCountMax` rows are given; with `mustRunToEnd` the plan goes on after them
   */
  constructor(
    compiled: CompiledStatement,
    instance: PlanInstance,
    options: { clock: Clock; rowCountMax: number; mustRunToEnd: boolean },
  ) {
    this.instance = instance;
    this.#slots = compiled.outputSlots;
    this.#clock = options.clock;
    this.#wanted = options.rowCountMax;
    this.#mustRunToEnd = options.mustRunToEnd;
    instance.root.open(instance.context);
  }

  /** Rows not yet given. */
  get wantedCount(): number {
    return this.#wanted;
  }

  /**
   * Appends rows to `rows`, up to `rowCountMax` in it, until one of the outcomes. Cost per row: the plan's `next`, one array
   * element per column, and a look at the clock every few rows.
   */
  pull(rows: RowBuffer, rowCountMax: number, deadlineMs: number): PullOutcome {
    const { root, context } = this.instance;
    const { frame } = context;
    const slots = this.#slots;
    const width = slots.length;
    const { values } = rows;
    let untilLook = rowsPerLook;
    for (;;) {
      if (this.#wanted === 0 && !this.#mustRunToEnd) return 'end';
      const pulled = root.next();
      if (pulled === ROW) {
        if (this.#wanted > 0) {
          this.#wanted -= 1;
          for (let at = 0; at < width; at += 1) values.push(frame[slots[at] as number] as Value);
          rows.rowCount += 1;
          if (rows.rowCount >= rowCountMax) return 'full';
        }
        untilLook -= 1;
        if (untilLook > 0) continue;
        untilLook = rowsPerLook;
      } else if (pulled === END) {
        return 'end';
      } else if (context.pending.work !== undefined) {
        return 'pending';
      }
      if (this.#clock.monotonicMs() >= deadlineMs) return 'spent';
    }
  }

  /** Does what the plan waits for. */
  async resolvePending(): Promise<void> {
    const { pending } = this.instance.context;
    const { work } = pending;
    pending.work = undefined;
    await work?.();
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.instance.root.close();
  }
}
