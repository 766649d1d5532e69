import type { SchemaChange } from '#catalog/changes.ts';
import type { ValueMap } from '#core/value.ts';
import type { Slot } from '../algebra/expression.ts';
import {
  END,
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from './operator.ts';
import { transactionOf } from './writing.ts';

/** Changes the schema; the change is awaited by the executor between two pulls. Gives the result rows of the statement. */
export class AlterOperator implements PhysicalOperator {
  readonly name = 'Alter schema';
  readonly inputs: readonly PhysicalOperator[] = [];
  readonly description: string;
  readonly #change: SchemaChange;
  readonly #as: Slot;
  #context: ExecutionContext | undefined;
  #rows: readonly ValueMap[] | undefined;
  #isQueued = false;
  #position = 0;

  constructor(change: SchemaChange, as: Slot) {
    this.#change = change;
    this.#as = as;
    this.description = change.kind;
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
      const transaction = transactionOf(context);
      context.pending.work = async (pause) => {
        this.#rows = await transaction.alter(this.#change, pause);
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
