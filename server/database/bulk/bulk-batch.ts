import type { Link } from '#core/record.ts';
import type { Value } from '#core/value.ts';

/** An id that a load gives its vertices so that its edges can name them; or, in edges, a vertex that is there already. */
export type TemporaryId = string | number;

/** Documents or vertices of one type with the same properties: the unit in which a load is fed. */
export interface RecordBatch {
  readonly type: string;
  /** Names of properties. */
  readonly columns: readonly string[];
  /** Row-major, one per column; `undefined` where a record does not have the property. */
  readonly values: readonly (Value | undefined)[];
  readonly rowCount: number;
  /** One per row; absent when no edge names these records. */
  readonly ids?: readonly TemporaryId[];
}

/** Edges of one type with the same properties; their vertices have been added before. */
export interface EdgeBatch {
  readonly type: string;
  readonly columns: readonly string[];
  readonly values: readonly (Value | undefined)[];
  readonly rowCount: number;
  /** One per row. */
  readonly from: readonly (TemporaryId | Link)[];
  readonly to: readonly (TemporaryId | Link)[];
}
