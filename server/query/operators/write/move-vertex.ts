import { DatabaseError } from '#core/errors.ts';
import { valuesOf } from '#core/value/integer-width.ts';
import type { StoredRecord } from '#core/value/record.ts';
import type { BucketId, TypeId } from '#core/value/rid.ts';
import type { Value } from '#core/value/value.ts';
import { vetoed } from '#transaction/trigger/trigger-runner.ts';
import type { Slot } from '../../algebra/expression.ts';
import { LongCalls } from '../../evaluate/turns/long-calls.ts';
import { runAssignments, type CompiledAssignment } from './assignments.ts';
import {
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';
import { RecordDraft } from './record-draft.ts';
import { describeValue, ridOf } from '../record-identity.ts';
import { rowsPerTurn } from '../hold/work-share.ts';
import { transactionOf } from './writing.ts';

export interface MoveVertexOptions {
  readonly input: PhysicalOperator;
  readonly record: Slot;
  readonly type: TypeId;
  readonly bucket: BucketId | undefined;
  readonly assignments: readonly CompiledAssignment[];
  readonly as: Slot;
  readonly description: string;
}

/** Moves the vertex of each row to another type or bucket (sql.md 10.3); one that is gone by then gives no row. */
export class MoveVertexOperator implements PhysicalOperator {
  readonly name = 'Move vertex';
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly #options: MoveVertexOptions;
  readonly #calls = new LongCalls();
  #context: ExecutionContext | undefined;
  #ordinal = 0;
  /** As it was read; being moved. */
  #record: StoredRecord | undefined;
  /** Computed and not yet written. */
  #draft: RecordDraft | undefined;
  #moved: StoredRecord = vetoed;
  readonly #compute = (): void => {
    const context = this.#context as ExecutionContext;
    const { type, assignments, as } = this.#options;
    const draft = RecordDraft.ofNew(context.view.catalog.typeWithId(type));
    const record = this.#record as StoredRecord;
    const widths = record.integerWidths;
    for (const [name, value] of valuesOf(record)) draft.assign(name, value, widths?.get(name));
    context.frame[as] = draft;
    runAssignments(draft, assignments, context, this.#ordinal);
    this.#draft = draft;
  };
  readonly #write = (): void => {
    const { type, bucket } = this.#options;
    const { rid } = this.#record as StoredRecord;
    const properties = (this.#draft as RecordDraft).content();
    const transaction = transactionOf(this.#context as ExecutionContext);
    this.#moved = transaction.moveVertex(rid, { type, bucket }, properties);
  };

  constructor(options: MoveVertexOptions) {
    this.inputs = [options.input];
    this.description = options.description;
    this.#options = options;
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#ordinal = 0;
    this.#forget();
    this.#options.input.open(context);
  }

  next(): Pulled {
    const { frame } = this.#context as ExecutionContext;
    const { input, record } = this.#options;
    if (this.#calls.isExhausted) {
      this.#calls.newTurn();
      return PAUSE;
    }
    if (this.#record !== undefined) {
      const isMoved = this.#finish();
      if (isMoved === undefined) return PAUSE;
      if (isMoved) return ROW;
    }
    for (let count = 0; count < rowsPerTurn; count += 1) {
      const pulled = input.next();
      if (pulled !== ROW) return pulled;
      const isMoved = this.#move(frame[record] as Value);
      if (isMoved === undefined) return PAUSE;
      if (isMoved) return ROW;
    }
    return PAUSE;
  }

  /** @returns whether there is a row, or undefined when it goes on in the next turn */
  #move(target: Value): boolean | undefined {
    const context = this.#context as ExecutionContext;
    const transaction = transactionOf(context);
    const rid = ridOf(target);
    if (rid === undefined || rid < 0)
      throw new DatabaseError(
        'IllegalArgument',
        `Cannot move what is not a vertex: ${describeValue(target)}`,
      );
    const record = transaction.record(rid);
    if (record === undefined) return false;
    context.requireWrite?.('delete', record.typeName);
    if (record.kind !== 'vertex')
      throw new DatabaseError(
        'IllegalArgument',
        `Cannot move ${describeValue(record)}: it is no vertex`,
      );
    this.#record = record;
    return this.#finish();
  }

  #finish(): boolean | undefined {
    const context = this.#context as ExecutionContext;
    if (this.#draft === undefined) {
      if (!this.#calls.attempt(context, this.#compute)) return undefined;
      this.#ordinal += 1;
    }
    if (!this.#calls.attempt(context, this.#write)) return undefined;
    context.frame[this.#options.as] = this.#moved;
    this.#record = undefined;
    this.#draft = undefined;
    return this.#moved !== vetoed;
  }

  #forget(): void {
    this.#calls.reset();
    this.#record = undefined;
    this.#draft = undefined;
  }

  close(): void {
    this.#forget();
    this.#context = undefined;
    this.#options.input.close();
  }
}
