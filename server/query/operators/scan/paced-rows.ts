import { PAUSE, ROW, type ExecutionContext } from '../operator.ts';
import type { PhysicalOperator, Pulled } from '../operator.ts';

/**
 * Passes rows on and pauses between them: stands below an operator whose expressions are so long that the rows it takes in one
 * turn would cost too much. A pause passes through every operator, so the one above ends its turn.
 */
export class PacedRowsOperator implements PhysicalOperator {
  readonly name = 'Paced rows';
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly #input: PhysicalOperator;
  readonly #rowsPerTurn: number;
  #left = 0;

  constructor(input: PhysicalOperator, rowsPerTurn: number) {
    this.inputs = [input];
    this.description = `${rowsPerTurn} in a turn`;
    this.#input = input;
    this.#rowsPerTurn = rowsPerTurn;
  }

  open(context: ExecutionContext): void {
    this.#left = this.#rowsPerTurn;
    this.#input.open(context);
  }

  next(): Pulled {
    if (this.#left === 0) {
      this.#left = this.#rowsPerTurn;
      return PAUSE;
    }
    const pulled = this.#input.next();
    if (pulled === ROW) this.#left -= 1;
    else this.#left = this.#rowsPerTurn;
    return pulled;
  }

  close(): void {
    this.#input.close();
  }
}
