import type { LogIndex, Rid, TypeId } from './rid.ts';
import type { IntegerWidth, IntegerWidths } from './integer-width.ts';
import type { PausingWork, WorkMeter } from '../pausing-work.ts';
import type { Value } from './value.ts';

export type RecordKind = 'document' | 'vertex' | 'edge';

/** A record id as a value: a stored link, or `@rid`. */
export class Link {
  readonly valueKind = 'link';
  readonly rid: Rid;
  constructor(rid: Rid) {
    this.rid = rid;
  }
}

/**
 * A persistent record as everyone above storage sees it. Properties are decoded one by one, on demand.
 * It shows the state at the moment it was read, and stays valid after its snapshot was closed.
 */
export interface StoredRecord {
  readonly valueKind: 'record';
  readonly kind: RecordKind;
  readonly rid: Rid;
  readonly type: TypeId;
  readonly typeName: string;
  /** LSN of the commit that wrote the row; 0 for a record that this transaction inserted. */
  readonly version: LogIndex;
  /** Source and target vertex of an edge; `noRid` on other records. */
  readonly out: Rid;
  readonly in: Rid;
  /** `undefined` when the property does not exist; `null` when it exists and is null. */
  get(property: string): Value | undefined;
  /** Names of the existing properties, in stored order, without system attributes. */
  propertyNames(): readonly string[];
  /** Widths of integers that their values do not show; undefined when there are none, which is the rule. */
  readonly integerWidths?: IntegerWidths | undefined;
  /** Of one of them, where it costs to gather all; ask `integerWidthOf` (integer-width.ts). */
  integerWidthOf?(property: string): IntegerWidth | undefined;
  /** How to read a property that takes long (megabytes kept outside of the row); undefined for others, which `get` reads. */
  largeRead?(property: string): ((meter: WorkMeter) => PausingWork<Value>) | undefined;
  /** Bytes of memory that keeping the record costs, its share of a larger image included; some 100 when it is not known. */
  readonly heldBytes?: number;
}
