import type { Rid } from '#core/rid.ts';
import type { Value } from '#core/value.ts';
import type { Slot } from '../algebra/expression.ts';
import { NeighbourCursor, type ResolvedMove } from './neighbour-cursor.ts';
import { ROW, type ExecutionContext, type PhysicalOperator, type Pulled } from './operator.ts';

export interface DegreeOptions {
  readonly input: PhysicalOperator;
  readonly from: Slot;
  /** `from` holds a bare record id. */
  readonly fromBareId: boolean;
  readonly move: ResolvedMove;
  readonly as: Slot;
  readonly description: string;
}

/** The number of neighbours, read from counters. */
export class DegreeOperator implements PhysicalOperator {
  readonly name = 'Degree';
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly #options: DegreeOptions;
  readonly #neighbours: NeighbourCursor;
  #context: ExecutionContext | undefined;

  constructor(options: DegreeOptions) {
    this.inputs = [options.input];
    this.description = options.description;
    this.#options = options;
    this.#neighbours = new NeighbourCursor(options.move);
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#options.input.open(context);
  }

  next(): Pulled {
    const { input, from, fromBareId, as } = this.#options;
    const pulled = input.next();
    if (pulled !== ROW) return pulled;
    const { view, frame } = this.#context as ExecutionContext;
    if (fromBareId) this.#neighbours.startAt(view, frame[from] as Rid);
    else this.#neighbours.start(view, frame[from] as Value);
    frame[as] = this.#neighbours.remainingDegree();
    return ROW;
  }

  close(): void {
    this.#context = undefined;
    this.#options.input.close();
  }
}
