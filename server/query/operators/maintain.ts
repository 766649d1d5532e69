import type { ValueMap } from '#core/value.ts';
import type { Slot } from '../algebra/expression.ts';
import type { Maintenance } from '../algebra/maintenance.ts';
import {
  END,
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from './operator.ts';

/** Work on the database as a whole; awaited by the executor between two pulls. Gives the rows of the statement. */
export class MaintainOperator implements PhysicalOperator {
  readonly name = 'Maintain';
  readonly inputs: readonly PhysicalOperator[] = [];
  readonly description: string;
  readonly #work: Maintenance;
  readonly #as: Slot;
  #context: ExecutionContext | undefined;
  #rows: readonly ValueMap[] | undefined;
  #isQueued = false;
  #position = 0;

  constructor(work: Maintenance, as: Slot) {
    this.#work = work;
    this.#as = as;
    this.description = work.kind;
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#rows = undefined;
    this.#isQueued = false;
    this.#position = 0;
  }

  next(): Pulled {
    const context = this.#context as ExecutionContext;
    if (!this.#isQueued) {
      this.#isQueued = true;
      context.pending.work = async (pause) => {
        this.#rows = await context.maintain(this.#work, pause);
      };
      return PAUSE;
    }
    if (this.#rows === undefined) return PAUSE;
    const row = this.#rows[this.#position];
    if (row === undefined) return END;
    this.#position += 1;
    context.frame[this.#as] = row;
    return ROW;
  }

  close(): void {
    this.#context = undefined;
    this.#rows = undefined;
  }
}
