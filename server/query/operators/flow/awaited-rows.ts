import type { ValueMap } from '#core/value/value.ts';
import type { Slot } from '../../algebra/expression.ts';
import type { Maintenance } from '../../algebra/maintenance.ts';
import type { PlanNode } from '../../algebra/plan.ts';
import { settleWritesInto } from '../write/drop-type.ts';
import {
  END,
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';
import { transactionOf } from '../write/writing.ts';

/** Long work: calls `pause` between its pieces, gives the result rows of the statement. */
type RowsOf = (
  context: ExecutionContext,
  pause: () => Promise<void>,
) => Promise<readonly ValueMap[]>;

/** Work that the executor awaits between two pulls; its rows come afterwards, one a pull. */
export class AwaitedRowsOperator implements PhysicalOperator {
  readonly name: string;
  readonly inputs: readonly PhysicalOperator[] = [];
  readonly description: string;
  readonly #rowsOf: RowsOf;
  readonly #as: Slot;
  #context: ExecutionContext | undefined;
  #rows: readonly ValueMap[] | undefined;
  #isQueued = false;
  #position = 0;

  constructor(name: string, description: string, rowsOf: RowsOf, as: Slot) {
    this.name = name;
    this.description = description;
    this.#rowsOf = rowsOf;
    this.#as = as;
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
        this.#rows = await this.#rowsOf(context, pause);
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

/** Changes the schema, in the transaction of the statement. */
export function makeAlterSchema({
  change,
  as,
  first = [],
  counts,
}: PlanNode<'Alter'>): PhysicalOperator {
  return new AwaitedRowsOperator(
    'Alter schema',
    change.kind,
    async (context, pause) => {
      const transaction = transactionOf(context);
      if (change.kind === 'drop-type') await settleWritesInto(change, transaction, pause);
      for (const before of first) await transaction.alter(before, pause);
      const rows = await transaction.alter(change, pause);
      if (counts !== undefined) context.statistics[counts] += 1;
      return rows;
    },
    as,
  );
}

/** Works on the database as a whole. */
export function makeMaintain(work: Maintenance, as: Slot): PhysicalOperator {
  return new AwaitedRowsOperator(
    'Maintain',
    work.kind,
    (context, pause) => context.maintain(work, pause),
    as,
  );
}
