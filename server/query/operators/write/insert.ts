import type { TypeDefinition } from '#catalog/catalog.ts';
import { DatabaseError } from '#core/errors.ts';
import type { StoredRecord } from '#core/value/record.ts';
import type { BucketId, TypeId } from '#core/value/rid.ts';
import type { ValueMap } from '#core/value/value.ts';
import { vetoed } from '#transaction/trigger/trigger-runner.ts';
import type { Dialect, Slot } from '../../algebra/expression.ts';
import type { CompiledAssignment } from './assignments.ts';
import {
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';
import { RecordDraft } from './record-draft.ts';
import { RecordMaker, type RecordPlace } from './record-maker.ts';
import { doneWork, unitsAtOnce } from '../../evaluate/turns/done-work.ts';
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
    const unitsMax = doneWork.units + unitsAtOnce;
    for (let count = 0; count < rowsPerTurn && doneWork.units < unitsMax; count += 1) {
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

/** Inserts documents or vertices of one type during one statement. */
export class RecordInserter implements RecordPlace {
  readonly #options: InserterOptions;
  readonly #context: ExecutionContext;
  readonly #type: TypeDefinition;
  readonly #maker: RecordMaker;

  /** @throws DatabaseError `IllegalArgument` for an edge type: edges need their ends */
  constructor(options: InserterOptions & Pick<InsertOptions, 'type'>, context: ExecutionContext) {
    this.#options = options;
    this.#context = context;
    const type = context.view.catalog.typeWithId(options.type);
    if (type.kind === 'edge')
      throw new DatabaseError(
        'IllegalArgument',
        `Cannot insert into edge type '${type.name}' without endpoints; use CREATE EDGE`,
      );
    this.#type = type;
    this.#maker = new RecordMaker(options, context, type, this);
  }

  begin(): RecordDraft {
    return RecordDraft.ofNew(this.#type);
  }

  write(properties: ValueMap): StoredRecord {
    const transaction = transactionOf(this.#context);
    const { id, kind } = this.#type;
    return kind === 'vertex'
      ? transaction.insertVertex(id, properties, this.#options.bucket)
      : transaction.insertDocument(id, properties, this.#options.bucket);
  }

  /** To be asked before each row: the work of this turn is done. */
  isTurnSpent(): boolean {
    return this.#maker.isTurnSpent();
  }

  /**
   * Makes the record and leaves it in the frame, unless a trigger vetoes it.
   * @returns undefined when it goes on in the next turn, with another call
   */
  insert(): StoredRecord | undefined {
    const maker = this.#maker;
    if (!maker.isComputed && !maker.compute()) return undefined;
    const record = maker.write();
    if (record === undefined || record === vetoed) return record;
    const { statistics } = this.#context;
    statistics.nodesCreated += 1;
    statistics.labelsAdded += this.#options.labelCount ?? 0;
    return record;
  }

  close(): void {
    this.#maker.close();
  }
}
