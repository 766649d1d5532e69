import type { TypeDefinition } from '#catalog/catalog.ts';
import { DatabaseError } from '#core/errors.ts';
import type { StoredRecord } from '#core/record.ts';
import type { BucketId, TypeId } from '#core/rid.ts';
import { vetoed } from '#transaction/trigger-runner.ts';
import type { Slot } from '../algebra/expression.ts';
import {
  applyDefaults,
  defaultsOf,
  runAssignments,
  type CompiledAssignment,
} from './assignments.ts';
import {
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from './operator.ts';
import { RecordDraft } from './record-draft.ts';
import { rowsPerTurn } from './work-share.ts';
import { transactionOf } from './writing.ts';

export interface InsertOptions {
  readonly input: PhysicalOperator;
  readonly type: TypeId;
  readonly bucket: BucketId | undefined;
  readonly assignments: readonly CompiledAssignment[];
  readonly as: Slot;
  readonly description: string;
}

/** Inserts one document or vertex per input row and puts it into the frame. */
export class InsertOperator implements PhysicalOperator {
  readonly name = 'Insert';
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly #options: InsertOptions;
  #context: ExecutionContext | undefined;
  #inserter: RecordInserter | undefined;

  constructor(options: InsertOptions) {
    this.inputs = [options.input];
    this.description = options.description;
    this.#options = options;
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#inserter = new RecordInserter(this.#options, context);
    this.#options.input.open(context);
  }

  next(): Pulled {
    for (let count = 0; count < rowsPerTurn; count += 1) {
      const pulled = this.#options.input.next();
      if (pulled !== ROW) return pulled;
      const record = this.#inserter?.insert(this.#context as ExecutionContext);
      if (record !== vetoed) return ROW;
    }
    return PAUSE;
  }

  close(): void {
    this.#context = undefined;
    this.#inserter = undefined;
    this.#options.input.close();
  }
}

/** Inserts records of one type during one statement. */
export class RecordInserter {
  readonly #type: TypeDefinition;
  readonly #options: Pick<InsertOptions, 'bucket' | 'assignments' | 'as'>;
  readonly #defaults: ReturnType<typeof defaultsOf>;
  #ordinal = 0;

  /** @throws DatabaseError `IllegalArgument` for an edge type: edges need their ends */
  constructor(
    options: Pick<InsertOptions, 'type' | 'bucket' | 'assignments' | 'as'>,
    context: ExecutionContext,
  ) {
    this.#options = options;
    this.#type = context.view.catalog.typeWithId(options.type);
    this.#defaults = defaultsOf(context, options.type);
    if (this.#type.kind === 'edge')
      throw new DatabaseError(
        'IllegalArgument',
        `Cannot insert into edge type '${this.#type.name}' without endpoints; use CREATE EDGE`,
      );
  }

  /** Makes the record and leaves it in the frame, unless a trigger vetoes it. */
  insert(context: ExecutionContext): StoredRecord {
    const { as, assignments, bucket } = this.#options;
    const transaction = transactionOf(context);
    const draft = RecordDraft.ofNew(this.#type);
    context.frame[as] = draft;
    runAssignments(draft, assignments, context, this.#ordinal);
    this.#ordinal += 1;
    applyDefaults(draft, this.#defaults, context);
    const { id } = this.#type;
    const record =
      this.#type.kind === 'vertex'
        ? transaction.insertVertex(id, draft.properties, bucket)
        : transaction.insertDocument(id, draft.properties, bucket);
    if (record === vetoed) return vetoed;
    context.frame[as] = record;
    context.statistics.nodesCreated += 1;
    context.statistics.propertiesSet += draft.properties.size;
    return record;
  }
}
