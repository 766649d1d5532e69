import type { Value } from '#core/value/value.ts';
import type { Evaluator } from '../../evaluate/evaluator.ts';
import { HeldMemory } from '../hold/held-memory.ts';
import { KeySet } from '../index-read/key-set.ts';
import {
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';
import { doneWork, unitsAtOnce } from '../../evaluate/turns/done-work.ts';
import { rowsPerTurn } from '../hold/work-share.ts';

/** Passes the first row of each combination of values. Rows that are records compare by record id. */
export class DistinctOperator implements PhysicalOperator {
  readonly name = 'Distinct';
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly #input: PhysicalOperator;
  readonly #on: readonly Evaluator[];
  readonly #values: Value[];
  #context: ExecutionContext | undefined;
  #seen: KeySet | undefined;
  #memory: HeldMemory | undefined;

  constructor(input: PhysicalOperator, on: readonly Evaluator[], description: string) {
    this.inputs = [input];
    this.description = description;
    this.#input = input;
    this.#on = on;
    this.#values = on.map(() => null);
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#memory = new HeldMemory(context, 'DISTINCT');
    this.#seen = new KeySet(this.#memory);
    this.#input.open(context);
  }

  next(): Pulled {
    const context = this.#context as ExecutionContext;
    const seen = this.#seen as KeySet;
    const values = this.#values;
    const on = this.#on;
    const unitsMax = doneWork.units + unitsAtOnce;
    for (let count = 0; count < rowsPerTurn && doneWork.units < unitsMax; count += 1) {
      const pulled = this.#input.next();
      if (pulled !== ROW) return pulled;
      for (let at = 0; at < on.length; at += 1) values[at] = (on[at] as Evaluator)(context);
      if (seen.add(values)) return ROW;
    }
    return PAUSE;
  }

  close(): void {
    this.#memory?.release();
    this.#memory = undefined;
    this.#seen = undefined;
    this.#context = undefined;
    this.#input.close();
  }
}
