import type { Catalog, IndexDefinition } from '#catalog/catalog.ts';
import { isComposite } from '#catalog/labels.ts';
import { valueKey } from '#core/value/equality.ts';
import { LateMap } from '#core/value/late-map.ts';
import { Link, type StoredRecord } from '#core/value/record.ts';
import type { BucketId, Rid, TypeId } from '#core/value/rid.ts';
import { double, isMap, type Value, type ValueMap } from '#core/value/value.ts';
import { RidFilter } from '#index/rid-filter.ts';
import { propertyOf } from '../graph/navigation.ts';
import {
  describe,
  integerArgument,
  listArgument,
  numberArgument,
  optionsArgument,
  refusal,
  ridArgument,
  textArgument,
} from '../arguments.ts';

/** What searches for vectors have in common: options, and the rows that they give (sql-functions.md 8.1). */
export interface SearchOptions {
  readonly efSearch: number | undefined;
  readonly filter: RidFilter | undefined;
  readonly groupBy: string | undefined;
  readonly groupSize: number;
  /** `maxDistance` or `minScore`. */
  readonly limit: number | undefined;
}

/** @throws DatabaseError `IllegalArgument` for unknown and mistyped options */
export function searchOptions(
  value: Value | undefined,
  what: string,
  limitName: 'maxDistance' | 'minScore',
): SearchOptions {
  const none = {
    efSearch: undefined,
    filter: undefined,
    groupBy: undefined,
    groupSize: 1,
    limit: undefined,
  };
  if (value === undefined || value === null) return none;
  const takesBeam = limitName === 'maxDistance';
  if (!isMap(value)) {
    if (!takesBeam) throw refusal(`${what} requires options as a map, not ${describe(value)}`);
    return { ...none, efSearch: beamArgument(value, what) };
  }
  const names = ['filter', 'groupBy', 'groupSize', limitName, ...(takesBeam ? ['efSearch'] : [])];
  const options = optionsArgument(value, what, names);
  const given = (name: string): Value => options.get(name) ?? null;
  const groupSize = given('groupSize') === null ? 1 : integerArgument(given('groupSize'), what);
  if (groupSize < 1) throw refusal(`${what}: groupSize must be at least 1, not ${groupSize}`);
  return {
    efSearch: given('efSearch') === null ? undefined : beamArgument(given('efSearch'), what),
    filter: given('filter') === null ? undefined : ridsIn(given('filter'), what),
    groupBy: given('groupBy') === null ? undefined : textArgument(given('groupBy'), what),
    groupSize,
    limit: given(limitName) === null ? undefined : numberArgument(given(limitName), what),
  };
}

function beamArgument(value: Value, what: string): number {
  const beam = integerArgument(value, what);
  if (beam < 1) throw refusal(`${what}: efSearch must be at least 1, not ${beam}`);
  return Math.min(beam, beamMax);
}

/** Candidates that a search keeps. */
const beamMax = 100_000;

/** Of lists that were read: a list is given to the search of every row of a statement. */
const read = new WeakMap<object, RidFilter>();

/** Record ids, records, or rows that have one. */
function ridsIn(value: Value, what: string): RidFilter {
  const list = listArgument(value, what);
  const known = read.get(list);
  if (known?.rids.length === list.length) return known;
  const rids = new Float64Array(list.length);
  for (let i = 0; i < list.length; i += 1) rids[i] = ridIn(list[i] as Value, what);
  const filter = new RidFilter(rids);
  read.set(list, filter);
  return filter;
}

export function ridIn(item: Value, what: string): Rid {
  const of = isMap(item) ? (item.get('@rid') ?? item.get('record') ?? onlyValue(item)) : item;
  const rid = ridArgument(of);
  if (rid === undefined) throw refusal(`${what} requires record ids, not ${describe(item)}`);
  return rid as Rid;
}

function onlyValue(row: ValueMap): Value {
  const [first] = row.values();
  return row.size === 1 ? (first ?? null) : null;
}

/** With `Type[prop]` only that type's own buckets are searched; with another name of the index all of them. */
export function searchedBuckets(
  catalog: Catalog,
  name: Value | undefined,
  { index, type }: { readonly index: IndexDefinition; readonly type: TypeId | undefined },
): ReadonlySet<BucketId> | undefined {
  if (type === undefined || typeof name !== 'string' || !name.includes('[')) return undefined;
  // Rows of several types may share a bucket: then each record tells its own (`isOfSearchedType`).
  if (catalog.hasWindows) return undefined;
  const subtypes = catalog.withSubtypes(type);
  const own = subtypes.filter((id) => isOwn(catalog, type, id));
  const isAll = type === index.type && subtypes.length === own.length;
  return isAll ? undefined : new Set(own.flatMap((id) => catalog.typeWithId(id).buckets));
}

/** What `searchedBuckets` could not tell, of a record that was found. */
export function isOfSearchedType(
  catalog: Catalog,
  name: Value | undefined,
  type: TypeId | undefined,
  record: StoredRecord,
): boolean {
  if (!catalog.hasWindows || type === undefined || typeof name !== 'string') return true;
  return !name.includes('[') || isOwn(catalog, type, record.type);
}

/** A node with more labels is as much one of its type as one that has no other label. */
function isOwn(catalog: Catalog, type: TypeId, id: TypeId): boolean {
  if (id === type) return true;
  const subtype = catalog.typeWithId(id);
  return subtype.supertypes.includes(type) && isComposite(catalog, subtype);
}

/** Buckets of the type and its subtypes. */
export function bucketsOf(catalog: Catalog, type: TypeId | undefined): ReadonlySet<BucketId> {
  const types = type === undefined ? [] : catalog.withSubtypes(type);
  return new Set(types.flatMap((id) => catalog.typeWithId(id).buckets));
}

/**
 * `{record, <properties>, @rid, @type, distance | score}`
 * @param late a property that is read when it is looked at, of so many bytes
 */
export function searchRow(
  record: StoredRecord,
  name: 'distance' | 'score',
  value: number,
  late?: { readonly property: string; readonly bytes: number },
): Value {
  const columns =
    late === undefined ? new Map<string, Value>() : new LateMap(record, late.property, late.bytes);
  columns.set('record', record);
  for (const property of record.propertyNames())
    if (columns instanceof LateMap && columns.isLate(property)) columns.setLate();
    else columns.set(property, record.get(property) ?? null);
  // A property of that name does not hide the record.
  return columns
    .set('record', record)
    .set('@rid', new Link(record.rid))
    .set('@type', record.typeName)
    .set(name, double(value));
}

/** Keeps at most so many rows of each value, in order. */
export class Groups {
  readonly #options: SearchOptions;
  readonly #counts = new Map<unknown, number>();

  constructor(options: SearchOptions) {
    this.#options = options;
  }

  takes(record: StoredRecord): boolean {
    const { groupBy, groupSize } = this.#options;
    if (groupBy === undefined) return true;
    const key = valueKey(propertyOf(record, groupBy));
    const count = this.#counts.get(key) ?? 0;
    if (count >= groupSize) return false;
    this.#counts.set(key, count + 1);
    return true;
  }
}
