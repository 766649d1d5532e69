import { languageError } from '#core/errors.ts';
import type { Slot } from '../../algebra/expression.ts';
import type { Evaluator } from '../../evaluate/evaluator.ts';
import type { Value } from '#core/value/value.ts';
import {
  END,
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';
import { rowsPerLook, rowsPerTurn, WorkShare } from '../hold/work-share.ts';

interface Side {
  readonly plan: PhysicalOperator;
  readonly slots: readonly Slot[];
}

export interface MergeOptions {
  readonly input: PhysicalOperator;
  readonly match: Side;
  readonly create: Side;
  readonly as: readonly Slot[];
  readonly notNull: readonly Evaluator[];
  readonly description: string;
}

/** For each input row what is found, or else what is made; made before the next row is looked at. */
export class MergeOperator implements PhysicalOperator {
  readonly name = 'Merge';
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly #options: MergeOptions;
  readonly #share = new WorkShare(rowsPerTurn, rowsPerLook);
  #context: ExecutionContext | undefined;
  /** Giving rows for the input row at hand. */
  #side: Side | undefined;
  #hasFound = false;

  constructor(options: MergeOptions) {
    this.inputs = [options.input, options.match.plan, options.create.plan];
    this.description = options.description;
    this.#options = options;
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#side = undefined;
    this.#share.open();
    this.#options.input.open(context);
  }

  next(): Pulled {
    const context = this.#context as ExecutionContext;
    const { input, match, create } = this.#options;
    for (;;) {
      if (this.#share.isSpent()) return PAUSE;
      const side = this.#side;
      if (side === undefined) {
        const pulled = input.next();
        if (pulled !== ROW) return pulled;
        this.#requireValues(context);
        this.#hasFound = false;
        this.#begin(match, context);
        continue;
      }
      const pulled = side.plan.next();
      if (pulled === PAUSE) return PAUSE;
      if (pulled === ROW) {
        this.#hasFound = true;
        this.#copy(side, context);
        return ROW;
      }
      this.#end();
      if (side === match && !this.#hasFound) this.#begin(create, context);
    }
  }

  #begin(side: Side, context: ExecutionContext): void {
    this.#side = side;
    side.plan.open(context);
  }

  #end(): void {
    this.#side?.plan.close();
    this.#side = undefined;
  }

  #copy({ slots }: Side, { frame }: ExecutionContext): void {
    const { as } = this.#options;
    for (let at = 0; at < as.length; at += 1)
      frame[as[at] as Slot] = frame[slots[at] as Slot] as Value;
  }

  #requireValues(context: ExecutionContext): void {
    for (const value of this.#options.notNull)
      if (value(context) === null)
        throw languageError(
          { type: 'SemanticError', phase: 'runtime', detail: 'MergeReadOwnWrites' },
          'a property of MERGE is null, which nothing is equal to',
        );
  }

  close(): void {
    this.#end();
    this.#context = undefined;
    this.#options.input.close();
  }
}

/** Runs its input to the end and gives nothing. */
export class DrainOperator implements PhysicalOperator {
  readonly name = 'Drain';
  readonly description = '';
  readonly inputs: readonly PhysicalOperator[];
  readonly #input: PhysicalOperator;
  readonly #share = new WorkShare(rowsPerTurn, rowsPerLook);

  constructor(input: PhysicalOperator) {
    this.inputs = [input];
    this.#input = input;
  }

  open(context: ExecutionContext): void {
    this.#share.open();
    this.#input.open(context);
  }

  next(): Pulled {
    for (;;) {
      if (this.#share.isSpent()) return PAUSE;
      const pulled = this.#input.next();
      if (pulled !== ROW) return pulled === END ? END : PAUSE;
    }
  }

  close(): void {
    this.#input.close();
  }
}
