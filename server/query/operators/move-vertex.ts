import { DatabaseError } from '#core/errors.ts';
import type { BucketId, TypeId } from '#core/rid.ts';
import type { Value } from '#core/value.ts';
import { vetoed } from '#transaction/trigger-runner.ts';
import type { Slot } from '../algebra/expression.ts';
import { runAssignments, type CompiledAssignment } from './assignments.ts';
import {
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from './operator.ts';
import { propertiesOf, RecordDraft } from './record-draft.ts';
import { describeValue, ridOf } from './record-identity.ts';
import { rowsPerTurn } from './work-share.ts';
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
  #context: ExecutionContext | undefined;
  #ordinal = 0;

  constructor(options: MoveVertexOptions) {
    this.inputs = [options.input];
    this.description = options.description;
    this.#options = options;
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#ordinal = 0;
    this.#options.input.open(context);
  }

  next(): Pulled {
    const { frame } = this.#context as ExecutionContext;
    const { input, record } = this.#options;
    for (let count = 0; count < rowsPerTurn; count += 1) {
      const pulled = input.next();
      if (pulled !== ROW) return pulled;
      if (this.#move(frame[record] as Value)) return ROW;
    }
    return PAUSE;
  }

  #move(target: Value): boolean {
    const context = this.#context as ExecutionContext;
    const { type, bucket, assignments, as } = this.#options;
    const transaction = transactionOf(context);
    const rid = ridOf(target);
    if (rid === undefined || rid < 0)
      throw new DatabaseError(
        'IllegalArgument',
        `Cannot move what is not a vertex: ${describeValue(target)}`,
      );
    const record = transaction.record(rid);
    if (record === undefined) return false;
    if (record.kind !== 'vertex')
      throw new DatabaseError(
        'IllegalArgument',
        `Cannot move ${describeValue(record)}: it is no vertex`,
      );
    const draft = RecordDraft.ofNew(context.view.catalog.typeWithId(type));
    for (const [name, value] of propertiesOf(record)) draft.properties.set(name, value);
    context.frame[as] = draft;
    runAssignments(draft, assignments, context, this.#ordinal);
    this.#ordinal += 1;
    const moved = transaction.moveVertex(rid, { type, bucket }, draft.properties);
    context.frame[as] = moved;
    return moved !== vetoed;
  }

  close(): void {
    this.#context = undefined;
    this.#options.input.close();
  }
}
