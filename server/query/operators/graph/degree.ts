import type { Rid } from '#core/value/rid.ts';
import type { Value } from '#core/value/value.ts';
import type { Slot } from '../../algebra/expression.ts';
import type { WalkedEdge } from '../../algebra/plan.ts';
import { ridOf } from '../record-identity.ts';
import { WalkedHere } from './walked-edges.ts';
import type { EdgeTables } from './edge-tables.ts';
import { NeighbourCursor, type ResolvedMove } from './neighbour-cursor.ts';
import {
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';

export interface DegreeOptions {
  readonly input: PhysicalOperator;
  readonly from: Slot;
  /** `from` holds a bare record id. */
  readonly fromBareId: boolean;
  readonly move: ResolvedMove;
  readonly as: Slot;
  readonly tables: EdgeTables;
  /** Edges that do not count. */
  readonly unlike: readonly WalkedEdge[];
  readonly description: string;
}

/** The number of neighbours, read from counters. */
export class DegreeOperator implements PhysicalOperator {
  readonly name = 'Degree';
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly #options: DegreeOptions;
  readonly #neighbours: NeighbourCursor;
  readonly #walked: WalkedHere | undefined;
  #context: ExecutionContext | undefined;
  /** The cursor stands at the element of a row that has not been given yet. */
  #isStarted = false;

  constructor(options: DegreeOptions) {
    this.inputs = [options.input];
    this.description = options.description;
    this.#options = options;
    this.#neighbours = new NeighbourCursor(options.move, options.tables, undefined, 'degrees');
    this.#walked =
      options.unlike.length > 0 ? new WalkedHere(options.unlike, options.move) : undefined;
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#isStarted = false;
    this.#neighbours.use(context);
    this.#options.input.open(context);
  }

  next(): Pulled {
    const { input, from, fromBareId, as } = this.#options;
    const context = this.#context as ExecutionContext;
    const { view, frame } = context;
    if (!this.#isStarted) {
      const pulled = input.next();
      if (pulled !== ROW) return pulled;
      if (fromBareId) this.#neighbours.startAt(view, frame[from] as Rid);
      else this.#neighbours.start(view, frame[from] as Value);
    }
    this.#isStarted = !this.#neighbours.prepare(context);
    if (this.#isStarted) return PAUSE;
    let degree = this.#neighbours.remainingDegree();
    if (this.#walked !== undefined && degree > 0) {
      const vertex = fromBareId ? (frame[from] as Rid | null) : ridOf(frame[from] as Value);
      if (vertex !== null && vertex !== undefined) degree -= this.#walked.countAt(vertex, context);
    }
    frame[as] = degree;
    return ROW;
  }

  close(): void {
    this.#context = undefined;
    this.#options.input.close();
  }
}
