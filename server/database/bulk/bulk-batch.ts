import type { IntegerWidths } from '#core/value/integer-width.ts';
import type { Link } from '#core/value/record.ts';
import type { Value } from '#core/value/value.ts';

/** An id that a load gives its vertices so that its edges can name them; or, in edges, a vertex that is there already. */
export type TemporaryId = string | number;

/** Rows of one type with the same properties: the unit in which a load is fed. */
interface Batch {
  readonly type: string;
  /** Names of properties. */
  readonly columns: readonly string[];
  /** Row-major, one per column; `undefined` where a record does not have the property. */
  readonly values: readonly (Value | undefined)[];
  readonly rowCount: number;
  /** Of integers in undeclared columns, where they are known to be wider or narrower than they show. */
  readonly widths?: IntegerWidths | undefined;
  /** Filled with the record ids that the rows got. */
  readonly rids?: Float64Array;
}

/** Documents or vertices. */
export interface RecordBatch extends Batch {
  /** One per row; absent when no edge names these records, or names them by the record ids given in `rids`. */
  readonly ids?: readonly TemporaryId[];
}

/** Edges between vertices that have been added before, or are stored. */
export interface EdgeBatch extends Batch {
  /** One per row. Numbers in a `Float64Array` are record ids that `rids` gave or `isVertex` found. */
  readonly from: readonly (TemporaryId | Link)[] | Float64Array;
  readonly to: readonly (TemporaryId | Link)[] | Float64Array;
  /** Listed at their sources only, whatever the load says of its edges. */
  readonly isOneWay?: boolean;
}
