import { END, ROW, type PhysicalOperator, type Pulled } from '../operator.ts';

/** One row without slots of its own: where a plan without a source starts, and the inner side of an Apply. */
export class ArgumentOperator implements PhysicalOperator {
  readonly name = 'Argument';
  readonly inputs: readonly PhysicalOperator[] = [];
  readonly description = 'one row';
  #given = true;

  open(): void {
    this.#given = false;
  }

  next(): Pulled {
    if (this.#given) return END;
    this.#given = true;
    return ROW;
  }

  close(): void {
    this.#given = true;
  }
}
