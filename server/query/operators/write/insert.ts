import type { TypeDefinition } from '#catalog/catalog.ts';
import { DatabaseError } from '#core/errors.ts';
import type { StoredRecord } from '#core/value/record.ts';
import type { BucketId, TypeId } from '#core/value/rid.ts';
import { vetoed } from '#transaction/trigger/trigger-runner.ts';
import type { Dialect, Slot } from '../../algebra/expression.ts';
import { LiveRecord } from '../../evaluate/live-record.ts';
import { runCypherAssignments } from './cypher-assignments.ts';
import { LongCalls } from '../../evaluate/turns/long-calls.ts';
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
} from '../operator.ts';
import { RecordDraft } from './record-draft.ts';
import { rowsPerTurn } from '../hold/work-share.ts';
import { transactionOf } from './writing.ts';

export interface InsertOptions {
  readonly input: PhysicalOperator;
  readonly type: TypeId;
  readonly bucket: BucketId | undefined;
  readonly assignments: readonly CompiledAssignment[];
  readonly as: Slot;
  readonly dialect?: Dialect | undefined;
  readonly labelCount?: number | undefined;
  readonly description: string;
}

/** Inserts one document or vertex per input row and puts it into the frame. */
export class InsertOperator implements PhysicalOperator {
  readonly name = 'Insert';
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly #options: InsertOptions;
  #inserter: RecordInserter | undefined;
  /** The record of the row at hand is being made. */
  #hasRow = false;

  constructor(options: InsertOptions) {
    this.inputs = [options.input];
    this.description = options.description;
    this.#options = options;
  }

  open(context: ExecutionContext): void {
    this.#inserter = new RecordInserter(this.#options, context);
    this.#hasRow = false;
    this.#options.input.open(context);
  }

  next(): Pulled {
    const inserter = this.#inserter as RecordInserter;
    if (inserter.isTurnSpent()) return PAUSE;
    for (let count = 0; count < rowsPerTurn; count += 1) {
      if (!this.#hasRow) {
        const pulled = this.#options.input.next();
        if (pulled !== ROW) return pulled;
        this.#hasRow = true;
      }
      const record = inserter.insert();
      if (record === undefined) return PAUSE;
      this.#hasRow = false;
      if (record !== vetoed) return ROW;
    }
    return PAUSE;
  }

  close(): void {
    this.#inserter?.close();
    this.#inserter = undefined;
    this.#options.input.close();
  }
}

type InserterOptions = Pick<
  InsertOptions,
  'bucket' | 'assignments' | 'as' | 'dialect' | 'labelCount'
>;

/** Inserts records of one type during one statement: computes each, then writes it, both in as many turns as they take. */
export class RecordInserter {
  readonly #type: TypeDefinition;
  readonly #options: InserterOptions;
  readonly #defaults: ReturnType<typeof defaultsOf>;
  readonly #context: ExecutionContext;
  readonly #calls = new LongCalls();
  #ordinal = 0;
  /** Computed and not yet written. */
  #draft: RecordDraft | undefined;
  #written: StoredRecord = vetoed;
  readonly #compute = (): void => {
    const { as, assignments } = this.#options;
    const draft = RecordDraft.ofNew(this.#type);
    this.#context.frame[as] = draft;
    if (this.#options.dialect === 'cypher') runCypherAssignments(draft, assignments, this.#context);
    else runAssignments(draft, assignments, this.#context, this.#ordinal);
    applyDefaults(draft, this.#defaults, this.#context);
    this.#draft = draft;
  };
  readonly #write = (): void => {
    const transaction = transactionOf(this.#context);
    const properties = (this.#draft as RecordDraft).content();
    const { id, kind } = this.#type;
    const { bucket } = this.#options;
    this.#written =
      kind === 'vertex'
        ? transaction.insertVertex(id, properties, bucket)
        : transaction.insertDocument(id, properties, bucket);
  };

  /** @throws DatabaseError `IllegalArgument` for an edge type: edges need their ends */
  constructor(options: InserterOptions & Pick<InsertOptions, 'type'>, context: ExecutionContext) {
    this.#options = options;
    this.#context = context;
    this.#type = context.view.catalog.typeWithId(options.type);
    this.#defaults = defaultsOf(context, options.type);
    if (this.#type.kind === 'edge')
      throw new DatabaseError(
        'IllegalArgument',
        `Cannot insert into edge type '${this.#type.name}' without endpoints; use CREATE EDGE`,
      );
  }

  /** To be asked before each row: the work of this turn is done. */
  isTurnSpent(): boolean {
    if (!this.#calls.isExhausted) return false;
    this.#calls.newTurn();
    return true;
  }

  /**
   * Makes the record and leaves it in the frame, unless a trigger vetoes it.
   * @returns undefined when it goes on in the next turn, with another call
   */
  insert(): StoredRecord | undefined {
    const context = this.#context;
    const calls = this.#calls;
    if (this.#draft === undefined) {
      if (!calls.attempt(context, this.#compute)) return undefined;
      this.#ordinal += 1;
    }
    if (!calls.attempt(context, this.#write)) return undefined;
    const record = this.#written;
    if (record !== vetoed) {
      const { as, dialect, labelCount = 0 } = this.#options;
      context.frame[as] = dialect === 'cypher' ? new LiveRecord(record, context) : record;
      context.statistics.nodesCreated += 1;
      context.statistics.labelsAdded += labelCount;
      context.statistics.propertiesSet += this.#draft?.properties.size ?? 0;
    }
    this.#draft = undefined;
    return record;
  }

  close(): void {
    this.#calls.reset();
  }
}
