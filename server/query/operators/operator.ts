import type { Wait } from '#core/pausing-work.ts';
import type { Maintenance } from '../algebra/maintenance.ts';
import type { EvaluationContext } from '../evaluate/context.ts';
import type { Transaction } from '#transaction/transaction.ts';
import type { DefaultEvaluator } from '#transaction/transaction.ts';
import type { Value, ValueMap } from '#core/value/value.ts';

/** A row stands in the frame. */
export const ROW = 1;
/** No more rows. */
export const END = 0;
/** Call again: the operator worked for its share (some 1,024 rows) without having a row yet. */
export const PAUSE = 2;
export type Pulled = typeof ROW | typeof END | typeof PAUSE;

/**
 * Pull-based operator. `next()` does bounded work, writes the operator's slots into the shared frame and answers ROW, END or
 * PAUSE. Slots stay valid until the next call. An operator that keeps rows copies their slots. `open` may be called again
 * after `close` (inner side of an Apply).
 */
export interface PhysicalOperator {
  readonly name: string;
  readonly inputs: readonly PhysicalOperator[];
  /** One line for EXPLAIN: what it does with what. */
  readonly description: string;
  open(context: ExecutionContext): void;
  next(): Pulled;
  /**
   * Several rows in one call, for whoever takes the rows of the whole plan: appends the values of the columns, row after row,
   * without writing them into the frame. Answers ROW after `rowCountMax` rows, else what `next()` would have answered after the
   * rows that were appended. Only some operators have it, and not while they are measured.
   */
  readonly fill?: ((values: Value[], rowCountMax: number) => Pulled) | undefined;
  close(): void;
}

export interface ExecutionContext extends EvaluationContext {
  /** The transaction, when the program writes; `view` is then the same object. */
  readonly transaction: Transaction | undefined;
  readonly defaults: DefaultEvaluator;
  /**
   * Asked for each record that the program changes or deletes, since it may find records of types that its text does not
   * name; undefined when every type may be written. @throws DatabaseError `Forbidden`
   */
  readonly requireWrite?: ((effect: 'update' | 'delete', typeName: string) => void) | undefined;
  readonly statistics: WriteStatistics;
  /**
   * DDL cannot be done synchronously: an operator queues it here and answers PAUSE; the executor awaits it between pulls and
   * puts the rows back. Long work calls `pause` between its pieces: others have their turn, and it throws when the statement is
   * to end. `wait` is not over yet when an operator answers PAUSE because of it; pulling earlier is harmless.
   */
  readonly pending: { work: PendingWork | undefined; wait: Wait | undefined };
  /** Work on the database as a whole, done by the layer above. @returns the rows of the statement */
  readonly maintain: (
    work: Maintenance,
    pause: () => Promise<void>,
  ) => Promise<readonly ValueMap[]>;
  /** SchemaScan asks the layer above for what storage and settings know. */
  readonly schemaSource: (kind: string, name: string | undefined) => Iterable<ValueMap>;
  /** Opens a file of rows. @throws DatabaseError `Forbidden` for who may not read it, and for refused addresses, with the first row */
  readonly openRows: (order: { url: string; delimiter: string }) => RowFile;
  /** Who asks, and the users of the server. */
  readonly users: UserList;
}

/** Rows of texts; null is an empty field. */
export interface RowFile {
  /** The next row with the number of its line; undefined at the end; a wait while it is read. */
  next(): { readonly fields: readonly (string | null)[]; readonly line: number } | Wait | undefined;
  /** As it may be shown. */
  readonly name: string;
  close(): void;
}

export interface UserList {
  /** The one whose statement it is; undefined for one of the server itself. */
  readonly current: string | undefined;
  /** Names with their databases. @throws DatabaseError `Forbidden` for others than root */
  all(): Iterable<{ readonly name: string; readonly databases: readonly string[] }>;
}

export type PendingWork = (pause: () => Promise<void>) => Promise<void>;

/** Counters of the contract's `stats`. */
export interface WriteStatistics {
  nodesCreated: number;
  nodesDeleted: number;
  relationshipsCreated: number;
  relationshipsDeleted: number;
  propertiesSet: number;
  labelsAdded: number;
  labelsRemoved: number;
  indexesAdded: number;
  indexesRemoved: number;
  constraintsAdded: number;
  constraintsRemoved: number;
}

/** Field by field: each execution of a writing statement begins so, and a copied literal takes longer than some of them. */
export function clearStatistics(statistics: WriteStatistics): void {
  statistics.nodesCreated = 0;
  statistics.nodesDeleted = 0;
  statistics.relationshipsCreated = 0;
  statistics.relationshipsDeleted = 0;
  statistics.propertiesSet = 0;
  statistics.labelsAdded = 0;
  statistics.labelsRemoved = 0;
  statistics.indexesAdded = 0;
  statistics.indexesRemoved = 0;
  statistics.constraintsAdded = 0;
  statistics.constraintsRemoved = 0;
}

/** Statistics of a statement that has done nothing yet. */
export function emptyStatistics(): WriteStatistics {
  return {
    nodesCreated: 0,
    nodesDeleted: 0,
    relationshipsCreated: 0,
    relationshipsDeleted: 0,
    propertiesSet: 0,
    labelsAdded: 0,
    labelsRemoved: 0,
    indexesAdded: 0,
    indexesRemoved: 0,
    constraintsAdded: 0,
    constraintsRemoved: 0,
  };
}
