import {
  END,
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';
import { rowsPerLook, rowsPerTurn, WorkShare } from '../hold/work-share.ts';

/**
 * For each input row one row of each step, in order; a step without a row, which a trigger vetoed, takes the row with it. Steps are made
 * when the first row comes to them: a statement may have tens of thousands.
 */
export class InsertAllOperator implements PhysicalOperator {
  readonly name = 'Insert all';
  readonly description: string;
  readonly #input: PhysicalOperator;
  readonly #makers: readonly (() => PhysicalOperator)[];
  /** The first ones of them. */
  readonly #steps: PhysicalOperator[] = [];
  readonly #share = new WorkShare(rowsPerTurn, rowsPerLook);
  #context: ExecutionContext | undefined;
  /** The step that is next for the row at hand; -1: there is no row. */
  #at = -1;
  #isOpen = false;

  /** @param makers of the steps */
  constructor(
    input: PhysicalOperator,
    makers: readonly (() => PhysicalOperator)[],
    description: string,
  ) {
    this.description = description;
    this.#input = input;
    this.#makers = makers;
  }

  /** All of them; only who looks at plans asks. */
  get inputs(): readonly PhysicalOperator[] {
    return [this.#input, ...this.#makers.map((_, at) => this.#step(at))];
  }

  #step(at: number): PhysicalOperator {
    const made = this.#steps[at] ?? (this.#makers[at] as () => PhysicalOperator)();
    this.#steps[at] = made;
    return made;
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#at = -1;
    this.#share.open();
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
      if (this.#at === this.#makers.length) {
        this.#at = -1;
        return ROW;
      }
      const step = this.#step(this.#at);
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
