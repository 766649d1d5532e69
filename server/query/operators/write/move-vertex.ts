import { DatabaseError } from '#core/errors.ts';
import { valuesOf } from '#core/value/integer-width.ts';
import type { StoredRecord } from '#core/value/record.ts';
import type { BucketId, TypeId } from '#core/value/rid.ts';
import { vetoed } from '#transaction/trigger/trigger-runner.ts';
import type { Slot } from '../../algebra/expression.ts';
import type { LongCalls } from '../../evaluate/turns/long-calls.ts';
import type { ExecutionContext } from '../operator.ts';
import { describeValue } from '../record-identity.ts';
import { type CompiledAssignment, runAssignments } from './assignments.ts';
import type { RecordChange } from './change-records.ts';
import { RecordDraft } from './record-draft.ts';
import { transactionOf } from './writing.ts';

export interface VertexMoveOptions {
  readonly type: TypeId;
  readonly bucket: BucketId | undefined;
  readonly assignments: readonly CompiledAssignment[];
  readonly as: Slot;
}

/** Moves a vertex to another type or bucket (sql.md 10.3). */
export class VertexMove implements RecordChange {
  readonly verb = 'move';
  readonly object = 'vertex';
  readonly passesNull = false;
  readonly #options: VertexMoveOptions;
  #context: ExecutionContext | undefined;
  #ordinal = 0;
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

  constructor(options: VertexMoveOptions) {
    this.#options = options;
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#ordinal = 0;
    this.#draft = undefined;
  }

  begin(record: StoredRecord): void {
    if (record.kind !== 'vertex')
      throw new DatabaseError(
        'IllegalArgument',
        `Cannot move ${describeValue(record)}: it is no vertex`,
      );
    this.#record = record;
  }

  finish(_record: StoredRecord, calls: LongCalls): boolean | undefined {
    const context = this.#context as ExecutionContext;
    if (this.#draft === undefined) {
      if (!calls.attempt(context, this.#compute)) return undefined;
      this.#ordinal += 1;
    }
    if (!calls.attempt(context, this.#write)) return undefined;
    context.frame[this.#options.as] = this.#moved;
    this.#draft = undefined;
    return this.#moved !== vetoed;
  }

  close(): void {
    this.#record = undefined;
    this.#draft = undefined;
    this.#context = undefined;
  }
}
