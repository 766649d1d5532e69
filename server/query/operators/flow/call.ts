import type { Slot } from '../../algebra/expression.ts';
import type { Evaluator } from '../../evaluate/evaluator.ts';
import type { Procedure, ProcedureRows } from '../../procedures/procedure.ts';
import {
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';
import { WorkShare } from '../hold/work-share.ts';

export interface CallOptions {
  readonly input: PhysicalOperator;
  readonly procedure: Procedure;
  readonly arguments: readonly Evaluator[];
  readonly yields: readonly { readonly name: string; readonly slot: Slot }[];
  readonly description: string;
}

/** For each input row the rows of a procedure. */
export class CallOperator implements PhysicalOperator {
  readonly name = 'Call';
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly #options: CallOptions;
  #context: ExecutionContext | undefined;
  #rows: ProcedureRows | undefined;
  readonly #share = new WorkShare();

  constructor(options: CallOptions) {
    this.inputs = [options.input];
    this.description = options.description;
    this.#options = options;
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#rows = undefined;
    this.#options.input.open(context);
  }

  next(): Pulled {
    const context = this.#context as ExecutionContext;
    const { input, procedure, yields } = this.#options;
    for (;;) {
      if (this.#share.isSpent()) return PAUSE;
      if (this.#rows === undefined) {
        const pulled = input.next();
        if (pulled !== ROW) return pulled;
        const args = this.#options.arguments.map((argument) => argument(context));
        this.#rows = procedure.start(args, context);
      }
      const row = this.#rows.next();
      if (row === 'pause') return PAUSE;
      if (row === undefined) {
        this.#rows = undefined;
        continue;
      }
      for (let at = 0; at < yields.length; at += 1) {
        const column = yields[at] as (typeof yields)[number];
        context.frame[column.slot] = row.get(column.name) ?? null;
      }
      return ROW;
    }
  }

  close(): void {
    this.#context = undefined;
    this.#rows?.close?.();
    this.#rows = undefined;
    this.#options.input.close();
  }
}
