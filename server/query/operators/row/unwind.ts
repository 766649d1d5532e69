import type { Slot } from '../../algebra/expression.ts';
import { isList, type Value } from '#core/value/value.ts';
import type { Evaluator } from '../../evaluate/evaluator.ts';
import { Patience } from '../../evaluate/turns/patience.ts';
import {
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';
import { WorkShare } from '../hold/work-share.ts';

export interface UnwindOptions {
  readonly input: PhysicalOperator;
  readonly list: Evaluator;
  readonly as: Slot;
  /** SQL: an empty list gives one row with null, what is no list passes unchanged. Otherwise null and empty give no row. */
  readonly keepEmpty: boolean;
  readonly description: string;
}

/** One row per element of a list. */
export class UnwindOperator implements PhysicalOperator {
  readonly name = 'Unwind';
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly #options: UnwindOptions;
  #context: ExecutionContext | undefined;
  #list: readonly Value[] = [];
  #position = 0;
  /** The list of a row is being computed. */
  #isEntering = false;
  #value: Value = null;
  readonly #share = new WorkShare();
  readonly #patience = new Patience();
  readonly #compute = (): void => {
    this.#value = this.#options.list(this.#context as ExecutionContext);
  };

  constructor(options: UnwindOptions) {
    this.inputs = [options.input];
    this.description = options.description;
    this.#options = options;
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#list = [];
    this.#position = 0;
    this.#isEntering = false;
    this.#patience.reset();
    this.#options.input.open(context);
  }

  next(): Pulled {
    const { frame } = this.#context as ExecutionContext;
    const { input, as } = this.#options;
    for (;;) {
      if (this.#share.isSpent()) return PAUSE;
      if (this.#position < this.#list.length) {
        frame[as] = this.#list[this.#position] as Value;
        this.#position += 1;
        return ROW;
      }
      if (!this.#isEntering) {
        const pulled = input.next();
        if (pulled !== ROW) return pulled;
      }
      this.#isEntering = !this.#patience.evaluate(this.#context as ExecutionContext, this.#compute);
      if (this.#isEntering) return PAUSE;
      if (this.#enter(this.#value)) return ROW;
    }
  }

  /** Takes the list of a new row. @returns true when the row passes as it is */
  #enter(value: Value): boolean {
    const context = this.#context as ExecutionContext;
    const { as, keepEmpty } = this.#options;
    this.#value = null;
    this.#position = 0;
    if (isList(value)) {
      this.#list = value;
      if (value.length > 0 || !keepEmpty) return false;
      context.frame[as] = null;
      return true;
    }
    this.#list = [];
    if (!keepEmpty && value === null) return false;
    context.frame[as] = value;
    return true;
  }

  close(): void {
    this.#list = [];
    this.#value = null;
    this.#patience.reset();
    this.#context = undefined;
    this.#options.input.close();
  }
}
