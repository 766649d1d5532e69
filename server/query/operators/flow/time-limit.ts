import { DatabaseError } from '#core/errors.ts';
import {
  END,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';

/** Rows between two looks at the clock. */
const rowsPerLook = 64;

/** Stops the statement, or ends its rows silently, after a number of milliseconds of wall time (`TIMEOUT`). */
export class TimeLimitOperator implements PhysicalOperator {
  readonly name = 'Time limit';
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly #input: PhysicalOperator;
  readonly #timeoutMs: number;
  readonly #onTimeout: 'fail' | 'end';
  #context: ExecutionContext | undefined;
  #deadlineMs = 0;
  #rowCount = 0;

  constructor(input: PhysicalOperator, timeoutMs: number, onTimeout: 'fail' | 'end') {
    this.inputs = [input];
    this.description = `${timeoutMs} ms, then ${onTimeout}`;
    this.#input = input;
    this.#timeoutMs = timeoutMs;
    this.#onTimeout = onTimeout;
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#rowCount = 0;
    this.#deadlineMs = context.runtime.clock.monotonicMs() + this.#timeoutMs;
    this.#input.open(context);
  }

  next(): Pulled {
    const pulled = this.#input.next();
    if (pulled === END) return END;
    if (pulled === ROW) {
      this.#rowCount += 1;
      if (this.#rowCount % rowsPerLook !== 0) return ROW;
    }
    const nowMs = this.#context?.runtime.clock.monotonicMs() ?? 0;
    if (nowMs <= this.#deadlineMs) return pulled;
    if (this.#onTimeout === 'end') return END;
    throw new DatabaseError(
      'Timeout',
      `the statement took longer than its TIMEOUT of ${this.#timeoutMs} ms`,
    );
  }

  close(): void {
    this.#context = undefined;
    this.#input.close();
  }
}
