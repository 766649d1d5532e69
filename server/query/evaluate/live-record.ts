import { languageError } from '#core/errors.ts';
import {
  type IntegerWidth,
  type IntegerWidths,
  integerWidthOf,
} from '#core/value/integer-width.ts';
import { Path } from '#core/value/path.ts';
import type { RecordKind, StoredRecord } from '#core/value/record.ts';
import type { LogIndex, Rid, TypeId } from '#core/value/rid.ts';
import { isList, isMap, isRecord, type Value, type ValueMap } from '#core/value/value.ts';
import type { ReadView } from '#transaction/read/read-view.ts';

/** What a live record asks: the transaction that writes, and the view through which the statement reads it. */
export interface LiveView {
  readonly view: ReadView;
  readonly transaction: { readonly changeCount: number } | undefined;
}

/**
 * A node or relationship in a statement that writes (openCypher): it shows the state at the moment of asking, in whatever variable,
 * list, map or path it stands, so what one variable changes is changed in all of them. A deleted one keeps its identity, and the
 * type of a relationship; reading anything else of it is `DeletedEntityAccess`.
 *
 * Cost: a comparison while nothing was written since it was read last, a lookup by record id after that.
 */
export class LiveRecord implements StoredRecord {
  readonly valueKind = 'record';
  readonly rid: Rid;
  readonly #live: LiveView;
  /** As it was read last; the state before it was deleted stays. */
  #record: StoredRecord;
  #isDeleted = false;
  #changeCount: number;

  constructor(record: StoredRecord, live: LiveView) {
    this.rid = record.rid;
    this.#live = live;
    this.#record = record;
    // What a write or a scan has left may be from before other writes.
    this.#changeCount = -1;
  }

  get isDeleted(): boolean {
    this.#look();
    return this.#isDeleted;
  }

  get kind(): RecordKind {
    return this.#record.kind;
  }

  get type(): TypeId {
    this.#look();
    return this.#record.type;
  }

  get typeName(): string {
    return this.kind === 'edge' ? this.#record.typeName : this.#existing().typeName;
  }

  get isLightweight(): boolean {
    return this.#record.isLightweight === true;
  }

  get version(): LogIndex {
    this.#look();
    return this.#record.version;
  }

  get out(): Rid {
    return this.#record.out;
  }

  get in(): Rid {
    return this.#record.in;
  }

  get(property: string): Value | undefined {
    return this.#existing().get(property);
  }

  propertyNames(): readonly string[] {
    return this.#existing().propertyNames();
  }

  largeRead(property: string): ReturnType<NonNullable<StoredRecord['largeRead']>> {
    return this.#existing().largeRead?.(property);
  }

  manyRead(): ReturnType<NonNullable<StoredRecord['manyRead']>> {
    return this.#existing().manyRead?.();
  }

  get integerWidths(): IntegerWidths | undefined {
    return this.#existing().integerWidths;
  }

  integerWidthOf(property: string): IntegerWidth | undefined {
    return integerWidthOf(this.#existing(), property);
  }

  /** The record as it is now; of a deleted one its shell, which has no properties. */
  settled(): StoredRecord {
    this.#look();
    return this.#isDeleted ? shellOf(this.#record) : this.#record;
  }

  #existing(): StoredRecord {
    this.#look();
    if (this.#isDeleted) throw deletedAccess(this.kind);
    return this.#record;
  }

  #look(): void {
    const changeCount = this.#live.transaction?.changeCount ?? 0;
    if (changeCount === this.#changeCount) return;
    this.#changeCount = changeCount;
    const now = this.#live.view.record(this.rid);
    this.#isDeleted = now === undefined;
    if (now !== undefined) this.#record = now;
  }
}

function deletedAccess(kind: RecordKind): Error {
  const what = kind === 'edge' ? 'relationship' : 'node';
  return languageError(
    { type: 'EntityNotFound', phase: 'runtime', detail: 'DeletedEntityAccess' },
    `this ${what} has been deleted in this statement`,
  );
}

/** What is answered of a deleted node or relationship: its identity and kind, nothing else. */
function shellOf(record: StoredRecord): StoredRecord {
  return {
    valueKind: 'record',
    kind: record.kind,
    rid: record.rid,
    type: record.type,
    typeName: record.typeName,
    version: record.version,
    out: record.out,
    in: record.in,
    get: () => undefined,
    propertyNames: () => [],
  };
}

/** The value with every record inside live; the same value when there is none. */
export function liveValue(value: Value, live: LiveView): Value {
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof LiveRecord) return value;
  if (isRecord(value)) return new LiveRecord(value, live);
  return mapNested(value, (part) => liveValue(part, live));
}

/** The value with every live record inside as it is now; the same value when there is none. */
export function settledValue(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof LiveRecord) return value.settled();
  return mapNested(value, settledValue);
}

/** Lists, maps and paths with their parts changed; the same one when none changes. */
export function mapNested(
  value: Exclude<Value, null | boolean | number | bigint | string>,
  change: (part: Value) => Value,
): Value {
  if (isList(value)) return mapList(value, change);
  if (value instanceof Path) return mapPath(value, change);
  return isMap(value) ? mapMap(value, change) : value;
}

function mapPath(path: Path, change: (part: Value) => Value): Value {
  const nodes = mapList(path.nodes, change) as Path['nodes'];
  const relationships = mapList(path.relationships, change) as Path['relationships'];
  const isSame = nodes === path.nodes && relationships === path.relationships;
  return isSame ? path : new Path(nodes, relationships);
}

function mapList(list: readonly Value[], change: (part: Value) => Value): Value {
  let changed: Value[] | undefined;
  for (let at = 0; at < list.length; at += 1) {
    const item = list[at] as Value;
    const other = change(item);
    if (other !== item) changed ??= list.slice();
    if (changed !== undefined) changed[at] = other;
  }
  return changed ?? list;
}

function mapMap(map: ValueMap, change: (part: Value) => Value): Value {
  let changed: Map<string, Value> | undefined;
  for (const [key, item] of map) {
    const other = change(item);
    if (other === item) continue;
    changed ??= new Map(map);
    changed.set(key, other);
  }
  return changed ?? map;
}
