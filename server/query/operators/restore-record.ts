import { DatabaseError } from '#core/errors.ts';
import type { Rid, TypeId } from '#core/rid.ts';
import type { Value } from '#core/value.ts';
import { vetoed } from '#transaction/trigger-runner.ts';
import type { Slot } from '../algebra/expression.ts';
import type { Evaluator } from '../evaluate/evaluator.ts';
import { runAssignments, type CompiledAssignment } from './assignments.ts';
import { END, ROW, type ExecutionContext, type PhysicalOperator, type Pulled } from './operator.ts';
import { RecordDraft } from './record-draft.ts';
import { describeValue, ridOf } from './record-identity.ts';
import { transactionOf } from './writing.ts';

export interface RestoreRecordOptions {
  readonly input: PhysicalOperator;
  readonly type: TypeId;
  readonly rid: Evaluator;
  readonly ends: { readonly from: Evaluator; readonly to: Evaluator } | undefined;
  readonly assignments: readonly CompiledAssignment[];
  readonly as: Slot;
  readonly description: string;
}

/** Makes a deleted record again at its old id (sql.md 16.7), once per input row. */
export class RestoreRecordOperator implements PhysicalOperator {
  readonly name = 'Restore record';
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly #options: RestoreRecordOptions;
  #context: ExecutionContext | undefined;

  constructor(options: RestoreRecordOptions) {
    this.inputs = [options.input];
    this.description = options.description;
    this.#options = options;
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#options.input.open(context);
  }

  next(): Pulled {
    const pulled = this.#options.input.next();
    if (pulled !== ROW) return pulled;
    const context = this.#context as ExecutionContext;
    const { type, ends, assignments, as } = this.#options;
    const rid = idOf(this.#options.rid(context), 'RID');
    const places = ends && {
      from: idOf(ends.from(context), 'FROM'),
      to: idOf(ends.to(context), 'TO'),
    };
    const draft = RecordDraft.ofNew(
      context.view.catalog.typeWithId(type),
      places && { out: places.from, in: places.to },
    );
    context.frame[as] = draft;
    runAssignments(draft, assignments, context, 0);
    const restored = transactionOf(context).restore(rid, type, draft.properties, places);
    context.frame[as] = restored;
    return restored === vetoed ? END : ROW;
  }

  close(): void {
    this.#context = undefined;
    this.#options.input.close();
  }
}

function idOf(value: Value, clause: string): Rid {
  const rid = ridOf(value);
  if (rid !== undefined && rid >= 0) return rid;
  throw new DatabaseError(
    'IllegalArgument',
    `${clause} of RESTORE must be a record id, not ${describeValue(value)}`,
  );
}
