import { DatabaseError } from '#core/errors.ts';
import type { StoredRecord } from '#core/value/record.ts';
import type { Rid, TypeId } from '#core/value/rid.ts';
import type { Value } from '#core/value/value.ts';
import { vetoed } from '#transaction/trigger/trigger-runner.ts';
import type { Slot } from '../../algebra/expression.ts';
import type { Evaluator } from '../../evaluate/evaluator.ts';
import { LongCalls } from '../../evaluate/turns/long-calls.ts';
import { runAssignments, type CompiledAssignment } from './assignments.ts';
import {
  END,
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';
import { RecordDraft } from './record-draft.ts';
import { describeValue, ridOf } from '../record-identity.ts';
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
  readonly #calls = new LongCalls();
  #context: ExecutionContext | undefined;
  /** The record of the row at hand: computed and not yet written. */
  #made: Made | undefined;
  #hasRow = false;
  #written: StoredRecord = vetoed;
  readonly #compute = (): void => {
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
    this.#made = { rid, places, draft };
  };
  readonly #write = (): void => {
    const { rid, places, draft } = this.#made as Made;
    const transaction = transactionOf(this.#context as ExecutionContext);
    this.#written = transaction.restore(rid, this.#options.type, draft.content(), places);
  };

  constructor(options: RestoreRecordOptions) {
    this.inputs = [options.input];
    this.description = options.description;
    this.#options = options;
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#forget();
    this.#options.input.open(context);
  }

  next(): Pulled {
    if (!this.#hasRow) {
      const pulled = this.#options.input.next();
      if (pulled !== ROW) return pulled;
      this.#hasRow = true;
    }
    const context = this.#context as ExecutionContext;
    if (this.#made === undefined && !this.#calls.attempt(context, this.#compute)) return PAUSE;
    if (!this.#calls.attempt(context, this.#write)) return PAUSE;
    context.frame[this.#options.as] = this.#written;
    this.#made = undefined;
    this.#hasRow = false;
    return this.#written === vetoed ? END : ROW;
  }

  close(): void {
    this.#forget();
    this.#context = undefined;
    this.#options.input.close();
  }

  #forget(): void {
    this.#calls.reset();
    this.#made = undefined;
    this.#hasRow = false;
  }
}

interface Made {
  readonly rid: Rid;
  readonly places: { readonly from: Rid; readonly to: Rid } | undefined;
  readonly draft: RecordDraft;
}

function idOf(value: Value, clause: string): Rid {
  const rid = ridOf(value);
  if (rid !== undefined && rid >= 0) return rid;
  throw new DatabaseError(
    'IllegalArgument',
    `${clause} of RESTORE must be a record id, not ${describeValue(value)}`,
  );
}
