import {
  type IntegerWidth,
  type IntegerWidths,
  integerWidthOf,
} from '#core/value/integer-width.ts';
import type { RecordKind, StoredRecord } from '#core/value/record.ts';
import { bucketOf, noRid, type LogIndex, type Rid, type TypeId } from '#core/value/rid.ts';
import type { Value } from '#core/value/value.ts';
import { onlyTypeIn } from '#transaction/read/holding-bucket.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import { LiveRecord, mapNested } from '../evaluate/live-record.ts';

/**
 * A record that is known to exist and is read only when somebody looks into it. Walking a graph meets many vertices of which
 * nobody wants more than the identity; making this object costs some nanoseconds, loading the record costs a block.
 *
 * Unlike other records it needs its view to be open when it is first looked into, so `detach` replaces it before a row leaves
 * the statement or before a write could change what it shows.
 */
export class RecordReference implements StoredRecord {
  readonly valueKind = 'record';
  readonly rid: Rid;
  // Plain fields: these objects are made per edge walked, and private names cost a check each.
  readonly view: ReadView;
  record: StoredRecord | undefined;

  constructor(view: ReadView, rid: Rid) {
    this.rid = rid;
    this.view = view;
    this.record = undefined;
  }

  get kind(): RecordKind {
    const type = this.#bucketType();
    return type === undefined ? this.load().kind : this.view.catalog.typeWithId(type).kind;
  }

  get type(): TypeId {
    return this.#bucketType() ?? this.load().type;
  }

  get typeName(): string {
    const type = this.#bucketType();
    return type === undefined ? this.load().typeName : this.view.catalog.typeWithId(type).name;
  }

  get isLightweight(): boolean {
    return this.kind === 'edge' && this.load().isLightweight === true;
  }

  get version(): LogIndex {
    return this.load().version;
  }

  get out(): Rid {
    return this.kind === 'edge' ? this.load().out : noRid;
  }

  get in(): Rid {
    return this.kind === 'edge' ? this.load().in : noRid;
  }

  get(property: string): Value | undefined {
    return this.load().get(property);
  }

  largeRead(property: string): ReturnType<NonNullable<StoredRecord['largeRead']>> {
    return this.load().largeRead?.(property);
  }

  propertyNames(): readonly string[] {
    return this.load().propertyNames();
  }

  get integerWidths(): IntegerWidths | undefined {
    return this.load().integerWidths;
  }

  integerWidthOf(property: string): IntegerWidth | undefined {
    return integerWidthOf(this.load(), property);
  }

  /** The bucket tells the type without reading anything, unless rows of several types lie in it. */
  #bucketType(): TypeId | undefined {
    return onlyTypeIn(this.view.catalog, bucketOf(this.rid));
  }

  /** The record itself. A vanished one (its bucket was dropped meanwhile) reads as a record without properties. */
  load(): StoredRecord {
    this.record ??= this.view.record(this.rid) ?? vanished(this.rid);
    return this.record;
  }
}

function vanished(rid: Rid): StoredRecord {
  return {
    valueKind: 'record',
    kind: 'document',
    rid,
    type: 0 as TypeId,
    typeName: '',
    version: 0 as LogIndex,
    out: noRid,
    in: noRid,
    get: () => undefined,
    propertyNames: () => [],
  };
}

/** The value with every reference inside replaced by its record, and live ones as they are now; the same value when there is none. */
export function detach(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof RecordReference) return value.load();
  if (value instanceof LiveRecord) return value.settled();
  return mapNested(value, detach);
}

/** As `detach`, but live records stay live. */
export function loaded(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value;
  return value instanceof RecordReference ? value.load() : mapNested(value, loaded);
}
