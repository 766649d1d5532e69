import { DatabaseError } from '#core/errors.ts';
import type { StoredRecord } from '#core/value/record.ts';
import { formatRid } from '#core/value/rid.ts';
import type { Slot } from '../../algebra/expression.ts';
import type { LongCalls } from '../../evaluate/turns/long-calls.ts';
import { NeighbourCursor, type ResolvedMove } from '../graph/neighbour-cursor.ts';
import type { ExecutionContext } from '../operator.ts';
import type { RecordChange } from './change-records.ts';
import { transactionOf } from './writing.ts';

export interface DeletionOptions {
  readonly record: Slot;
  /** A vertex takes its edges with it; otherwise a vertex with edges is refused. */
  readonly detach: boolean;
  /** Move to all edges of a vertex. */
  readonly edges: ResolvedMove;
}

/** Deletes a record, which stays in the frame. */
export class Deletion implements RecordChange {
  readonly verb = 'delete';
  readonly object = 'record';
  readonly passesNull = true;
  readonly #options: DeletionOptions;
  readonly #edges: NeighbourCursor;
  #context: ExecutionContext | undefined;
  /** Being deleted, with its edges. */
  #record: StoredRecord | undefined;
  #edgeCount = 0;
  #isDeleted = false;
  readonly #write = (): void => {
    const { rid } = this.#record as StoredRecord;
    this.#isDeleted = transactionOf(this.#context as ExecutionContext).delete(rid);
  };

  constructor(options: DeletionOptions) {
    this.#options = options;
    this.#edges = new NeighbourCursor(options.edges);
  }

  open(context: ExecutionContext): void {
    this.#context = context;
  }

  begin(record: StoredRecord): void {
    const { frame } = this.#context as ExecutionContext;
    this.#edgeCount = this.#requireDeletable(record);
    frame[this.#options.record] = record;
    this.#record = record;
  }

  finish(record: StoredRecord, calls: LongCalls): boolean | undefined {
    const context = this.#context as ExecutionContext;
    if (!calls.attempt(context, this.#write)) return undefined;
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
    this.#record = undefined;
    this.#context = undefined;
  }
}
