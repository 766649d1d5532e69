import { DatabaseError } from '#core/errors.ts';
import type { StoredRecord } from '#core/value/record.ts';
import { formatRid } from '#core/value/rid.ts';
import type { Value } from '#core/value/value.ts';
import type { Slot } from '../../algebra/expression.ts';
import { LongCalls } from '../../evaluate/turns/long-calls.ts';
import { NeighbourCursor, type ResolvedMove } from '../graph/neighbour-cursor.ts';
import {
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';
import { describeValue, ridOf } from '../record-identity.ts';
import { transactionOf } from './writing.ts';
import { rowsPerTurn } from '../hold/work-share.ts';

export interface DeleteOptions {
  readonly input: PhysicalOperator;
  readonly record: Slot;
  /** A vertex takes its edges with it; otherwise a vertex with edges is refused. */
  readonly detach: boolean;
  /** Move to all edges of a vertex. */
  readonly edges: ResolvedMove;
  readonly description: string;
}

/** Deletes the record of each row; a record that is gone already gives no row. The deleted record stays in the frame. */
export class DeleteOperator implements PhysicalOperator {
  readonly name = 'Delete';
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly #options: DeleteOptions;
  readonly #edges: NeighbourCursor;
  readonly #calls = new LongCalls();
  #context: ExecutionContext | undefined;
  /** Being deleted, with its edges. */
  #record: StoredRecord | undefined;
  #edgeCount = 0;
  #isDeleted = false;
  readonly #write = (): void => {
    const { rid } = this.#record as StoredRecord;
    this.#isDeleted = transactionOf(this.#context as ExecutionContext).delete(rid);
  };

  constructor(options: DeleteOptions) {
    this.inputs = [options.input];
    this.description = options.description;
    this.#options = options;
    this.#edges = new NeighbourCursor(options.edges);
  }

  open(context: ExecutionContext): void {
    this.#context = context;
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
      const isDeleted = this.#finish();
      if (isDeleted === undefined) return PAUSE;
      if (isDeleted) return ROW;
    }
    for (let count = 0; count < rowsPerTurn; count += 1) {
      const pulled = input.next();
      if (pulled !== ROW) return pulled;
      const target = frame[record] as Value;
      if (target === null) return ROW;
      const isDeleted = this.#delete(target);
      if (isDeleted === undefined) return PAUSE;
      if (isDeleted) return ROW;
    }
    return PAUSE;
  }

  /** @returns whether there is a row, or undefined when it goes on in the next turn */
  #delete(target: Value): boolean | undefined {
    const context = this.#context as ExecutionContext;
    const rid = ridOf(target);
    if (rid === undefined || rid < 0)
      throw new DatabaseError(
        'IllegalArgument',
        `Cannot delete what is not a record: ${describeValue(target)}`,
      );
    const transaction = transactionOf(context);
    const record = transaction.record(rid);
    if (record === undefined) return false;
    context.requireWrite?.('delete', record.typeName);
    this.#edgeCount = this.#requireDeletable(record);
    context.frame[this.#options.record] = record;
    this.#record = record;
    return this.#finish();
  }

  #finish(): boolean | undefined {
    const context = this.#context as ExecutionContext;
    const record = this.#record as StoredRecord;
    if (!this.#calls.attempt(context, this.#write)) return undefined;
    this.#record = undefined;
    if (!this.#isDeleted) return false;
    if (record.kind === 'edge') context.statistics.relationshipsDeleted += 1;
    else context.statistics.nodesDeleted += 1;
    context.statistics.relationshipsDeleted += this.#edgeCount;
    return true;
  }

  /** @returns how many edges a vertex takes with it */
  #requireDeletable(record: StoredRecord): number {
    if (record.kind !== 'vertex') return 0;
    // Edges go with their vertex, whether the caller may read them or not.
    this.#edges.start(transactionOf(this.#context as ExecutionContext), record);
    const edgeCount = this.#edges.remainingDegree();
    if (edgeCount > 0 && !this.#options.detach)
      throw new DatabaseError(
        'IllegalArgument',
        `Cannot delete vertex ${formatRid(record.rid)}: it still has ${edgeCount} edges`,
      );
    return edgeCount;
  }

  close(): void {
    this.#calls.reset();
    this.#record = undefined;
    this.#context = undefined;
    this.#options.input.close();
  }
}
