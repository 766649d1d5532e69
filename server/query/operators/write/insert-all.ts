import {
  END,
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';
import { WorkShare } from '../hold/work-share.ts';

/** For each input row one row of each step, in order; a step without a row, which a trigger vetoed, takes the row with it. */
export class InsertAllOperator implements PhysicalOperator {
  readonly name = 'Insert all';
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly #input: PhysicalOperator;
  readonly #steps: readonly PhysicalOperator[];
  readonly #share = new WorkShare();
  #context: ExecutionContext | undefined;
  /** The step that is next for the row at hand; -1: there is no row. */
  #at = -1;
  #isOpen = false;

  constructor(input: PhysicalOperator, steps: readonly PhysicalOperator[], description: string) {
    this.inputs = [input, ...steps];
    this.description = description;
    this.#input = input;
    this.#steps = steps;
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#at = -1;
    this.#input.open(context);
  }

  next(): Pulled {
    for (;;) {
      if (this.#share.isSpent()) return PAUSE;
      if (this.#at < 0) {
        const pulled = this.#input.next();
        if (pulled !== ROW) return pulled;
        this.#at = 0;
      }
      const step = this.#steps[this.#at];
      if (step === undefined) {
        this.#at = -1;
        return ROW;
      }
      if (!this.#isOpen) {
        step.open(this.#context as ExecutionContext);
        this.#isOpen = true;
      }
      const pulled = step.next();
      if (pulled === PAUSE) return PAUSE;
      this.#closeStep();
      this.#at = pulled === END ? -1 : this.#at + 1;
    }
  }

  #closeStep(): void {
    if (this.#isOpen) this.#steps[this.#at]?.close();
    this.#isOpen = false;
  }

  close(): void {
    this.#closeStep();
    this.#context = undefined;
    this.#input.close();
  }
}
