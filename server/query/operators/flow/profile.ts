import type { Slot } from '../../algebra/expression.ts';
import { explainOperators } from '../../explain.ts';
import { measureOperators, type Measurements } from '../../profile.ts';
import {
  END,
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';
import { rowsPerTurn } from '../hold/work-share.ts';

/** PROFILE inside another statement: runs its plan to the end and gives one row with the plan and its times as text. */
export class ProfileOperator implements PhysicalOperator {
  readonly name = 'Profile';
  readonly inputs: readonly PhysicalOperator[] = [];
  readonly description = '';
  readonly #makeInput: () => PhysicalOperator;
  readonly #as: Slot;
  #context: ExecutionContext | undefined;
  /** Made for each execution, since what was measured is not used again. */
  #input: PhysicalOperator | undefined;
  #measured: Measurements = new Map();
  #isOver = false;

  constructor(makeInput: () => PhysicalOperator, as: Slot) {
    this.#makeInput = makeInput;
    this.#as = as;
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#isOver = false;
    this.#input = this.#makeInput();
    this.#measured = measureOperators(this.#input, context.runtime.clock);
    this.#input.open(context);
  }

  next(): Pulled {
    const input = this.#input as PhysicalOperator;
    if (this.#isOver) return END;
    for (let count = 0; count < rowsPerTurn; count += 1) {
      const pulled = input.next();
      if (pulled === PAUSE) return PAUSE;
      if (pulled === ROW) continue;
      this.#isOver = true;
      const { frame } = this.#context as ExecutionContext;
      frame[this.#as] = explainOperators(input, this.#measured).text;
      return ROW;
    }
    return PAUSE;
  }

  close(): void {
    this.#input?.close();
    this.#input = undefined;
    this.#context = undefined;
  }
}
