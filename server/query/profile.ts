import type { Clock } from '#core/runtime.ts';
import {
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from './operators/operator.ts';

/** What PROFILE measured of one operator. */
export interface Measurement {
  /** Nanoseconds in this operator and below it. */
  readonly totalNanos: number;
  readonly rowCount: number;
}

/** Passes everything on and measures it; time includes the inputs, which are wrapped as well. */
export class ProfiledOperator implements PhysicalOperator {
  readonly #operator: PhysicalOperator;
  readonly #clock: Clock;
  #totalMs = 0;
  #rowCount = 0;

  constructor(operator: PhysicalOperator, clock: Clock) {
    this.#operator = operator;
    this.#clock = clock;
  }

  get name(): string {
    return this.#operator.name;
  }

  get description(): string {
    return this.#operator.description;
  }

  get inputs(): readonly PhysicalOperator[] {
    return this.#operator.inputs;
  }

  get measurement(): Measurement {
    return { totalNanos: Math.round(this.#totalMs * 1e6), rowCount: this.#rowCount };
  }

  open(context: ExecutionContext): void {
    const startMs = this.#clock.monotonicMs();
    this.#operator.open(context);
    this.#totalMs += this.#clock.monotonicMs() - startMs;
  }

  next(): Pulled {
    const startMs = this.#clock.monotonicMs();
    const pulled = this.#operator.next();
    this.#totalMs += this.#clock.monotonicMs() - startMs;
    if (pulled === ROW) this.#rowCount += 1;
    return pulled;
  }

  close(): void {
    this.#operator.close();
  }
}
