import { bytesOfMarker } from '#core/value/byte-markers.ts';
import { convertValue, outOfRange, type Conversion } from '#core/value/conversion.ts';
import { DatabaseError } from '#core/errors.ts';
import type { PausingWork } from '#core/pausing-work.ts';
import { eachInSteps } from '#core/value/many-properties.ts';
import { Link, type StoredRecord } from '#core/value/record.ts';
import { noRid, type Rid, ridBounds, type TypeId } from '#core/value/rid.ts';
import type { TemporalFormats } from '#core/temporal/format.ts';
import {
  EmbeddedDocument,
  Float,
  isList,
  isMap,
  isRecord,
  kindOf,
  type Value,
  type ValueKind,
  type ValueList,
  type ValueMap,
} from '#core/value/value.ts';
import type { Catalog, PropertyDefinition } from './catalog.ts';
import { typeHint } from './catalog-value.ts';
import { isScalarType, propertyTypeNamed } from './property-type.ts';

/** What conversion needs beside the value. */
export interface CoercionContext {
  readonly catalog: Catalog;
  readonly formats: TemporalFormats;
  /** Of a record that exists; absent: its bucket tells. */
  readonly typeOfRid?: (rid: Rid) => TypeId | undefined;
}

/**
 * The properties of a record as they are stored: declared ones converted to their types (sql.md 2.1), records replaced by
 * links, maps with an `@type` made embedded documents (house decision 45).
 *
 * @returns `properties` itself when nothing had to change
 * @throws DatabaseError `IllegalArgument` `Cannot convert type '<class>' to '<TYPE>' found in property '<name>'`, unknown
 *   embedded type, or a property name that starts with `@`
 * Cost: one lookup and one or two type tests per property in the common case.
 */
export function coerceProperties(
  type: TypeId,
  properties: ValueMap,
  context: CoercionContext,
): ValueMap {
  const declared = context.catalog.properties(type);
  let changed: Map<string, Value> | undefined;
  for (const [name, value] of properties) {
    const coerced = coerceProperty(declared.get(name), name, value, context);
    if (coerced === value) continue;
    changed ??= new Map(properties);
    changed.set(name, coerced);
  }
  return changed ?? properties;
}

/** As `coerceProperties`, with pauses. */
export function* coercePropertiesInSteps(
  type: TypeId,
  properties: ValueMap,
  context: CoercionContext,
): PausingWork<ValueMap> {
  const declared = context.catalog.properties(type);
  const coerced = new Map<string, Value>();
  let isChanged = false;
  yield* eachInSteps(properties, ([name, value]) => {
    const converted = coerceProperty(declared.get(name), name, value, context);
    isChanged ||= converted !== value;
    coerced.set(name, converted);
  });
  return isChanged ? coerced : properties;
}

function coerceProperty(
  declared: PropertyDefinition | undefined,
  name: string,
  value: Value,
  context: CoercionContext,
): Value {
  if (name.charCodeAt(0) === 64) throw systemAttribute(name);
  return declared === undefined
    ? storable(value, context)
    : coerceDeclared(declared, value, context);
}

function systemAttribute(name: string): DatabaseError {
  return new DatabaseError(
    'IllegalArgument',
    `'${name}' is a system attribute and cannot be assigned`,
  );
}

/** One value converted to its declared type, elements included. */
export function coerceDeclared(
  property: PropertyDefinition,
  value: Value,
  context: CoercionContext,
): Value {
  if (value === null) return null;
  // Values that need no conversion, the common ones first.
  if (property.type === 'STRING' && typeof value === 'string') return value;
  if (property.type === 'DOUBLE' && value instanceof Float) return value;
  const given = property.type === 'BINARY' && isMap(value) ? bytesOfMarker(value) : undefined;
  if (given !== undefined) return given;
  const plain = typeof value === 'object' ? storable(value, context) : value;
  const converted = convertValue(plain, property.type, context.formats);
  if (typeof converted === 'symbol') throw cannotConvert(plain, property, converted);
  if (property.type === 'LINK') return converted instanceof Link ? toRecord(converted) : converted;
  return property.ofType === undefined ? converted : coerceElements(property, converted, context);
}

function cannotConvert(
  value: Value,
  property: PropertyDefinition,
  failure: Conversion,
): DatabaseError {
  if (property.type === 'LINK' && Array.isArray(value) && value.length > 1)
    return new DatabaseError(
      'IllegalArgument',
      `Cannot assign a collection to a LINK property: '${property.name}' was given ${value.length} values`,
    );
  const shown = typeof value === 'object' ? '' : ` ${String(value).slice(0, 100)}`;
  const reason = failure === outOfRange ? `: value${shown} out of range` : '';
  return new DatabaseError(
    'IllegalArgument',
    `Cannot convert type '${classNames[kindOf(value)]}' to '${property.type}' found in property '${property.name}'${reason}`,
  );
}

const classNames = {
  null: 'Null',
  boolean: 'Boolean',
  integer: 'Integer',
  double: 'Double',
  decimal: 'Decimal',
  string: 'String',
  bytes: 'Binary',
  date: 'Date',
  datetime: 'DateTime',
  duration: 'Duration',
  link: 'Link',
  record: 'Record',
  embedded: 'EmbeddedDocument',
  list: 'List',
  map: 'Map',
  localTime: 'LocalTime',
  zonedTime: 'ZonedTime',
  localDateTime: 'LocalDateTime',
  zonedDateTime: 'ZonedDateTime',
  cypherDuration: 'Duration',
  point: 'Point',
  path: 'Path',
} as const satisfies Record<ValueKind, string>;

/**
 * `LIST OF X` and `MAP OF X` with a scalar X: plain scalar elements are converted; a nested document, list or map is left
 * alone and then refused by validation (sql.md 2.1 rule 4).
 */
function coerceElements(
  property: PropertyDefinition,
  value: Value,
  context: CoercionContext,
): Value {
  const scalar = propertyTypeNamed(property.ofType ?? '');
  if (scalar === undefined || !isScalarType(scalar)) return value;
  if (context.catalog.typeNamed(property.ofType ?? '') !== undefined) return value;
  const element: PropertyDefinition = { ...property, type: scalar, ofType: undefined };
  const one = (item: Value): Value => {
    if (item === null || isList(item) || isMap(item) || item instanceof EmbeddedDocument) {
      return item;
    }
    const converted = convertValue(item, scalar, context.formats);
    if (typeof converted === 'symbol') throw cannotConvert(item, element, converted);
    return converted instanceof Link ? toRecord(converted) : converted;
  };
  if (isList(value)) return mapList(value, one);
  return isMap(value) ? mapValues(value, one) : value;
}

/**
 * Any value as it can be stored: records become links, maps with an `@type` embedded documents of that type, whose own
 * properties are converted too.
 */
export function storable(value: Value, context: CoercionContext): Value {
  if (typeof value !== 'object' || value === null) return value;
  if (isList(value)) return mapList(value, (item) => storable(item, context));
  if (isMap(value)) {
    const typeName = value.get('@type');
    return typeName === undefined
      ? mapValues(value, (item) => storable(item, context))
      : embedded(typeName, value, context);
  }
  if (isRecord(value)) return linkTo(value);
  if (value instanceof EmbeddedDocument) return coercedDocument(value, context);
  return value instanceof Link ? toRecord(value) : value;
}

/** @throws DatabaseError `IllegalArgument` for an id that no record can have: the formats cannot hold it (house decision 30) */
function toRecord(link: Link): Link {
  if (link.rid !== noRid) return link;
  throw new DatabaseError(
    'IllegalArgument',
    `a negative record id stands for a record that is not written yet, and cannot be stored; ${ridBounds}`,
  );
}

/** @throws DatabaseError `IllegalArgument` for a record that is yet to be written (a trigger BEFORE CREATE): it has no id */
function linkTo({ rid, typeName }: StoredRecord): Link {
  if (rid !== noRid) return new Link(rid);
  throw new DatabaseError(
    'IllegalArgument',
    `the record of type '${typeName}' is not written yet: link to it AFTER CREATE, or store its properties`,
  );
}

/** The list with `one` applied; the same list when nothing changed. */
function mapList(list: ValueList, one: (item: Value) => Value): ValueList {
  let changed: Value[] | undefined;
  for (let i = 0; i < list.length; i++) {
    const item = list[i] as Value;
    const mapped = one(item);
    if (mapped === item) continue;
    changed ??= list.slice();
    changed[i] = mapped;
  }
  return changed ?? list;
}

function mapValues(map: ValueMap, one: (item: Value) => Value): ValueMap {
  let changed: Map<string, Value> | undefined;
  for (const [key, item] of map) {
    const mapped = one(item);
    if (mapped === item) continue;
    changed ??= new Map(map);
    changed.set(key, mapped);
  }
  return changed ?? map;
}

/** An embedded document of which a property may have been assigned anew; the same one when nothing had to change. */
function coercedDocument(document: EmbeddedDocument, context: CoercionContext): EmbeddedDocument {
  const type = context.catalog.typeNamed(document.typeName);
  if (type === undefined) return document;
  const properties = coerceProperties(type.id, document.properties, context);
  return properties === document.properties
    ? document
    : new EmbeddedDocument(document.typeName, properties);
}

function embedded(typeName: Value, map: ValueMap, context: CoercionContext): EmbeddedDocument {
  const { catalog } = context;
  const type = typeof typeName === 'string' ? catalog.typeNamed(typeName) : undefined;
  if (type === undefined) {
    const shown = typeof typeName === 'string' ? typeName : kindOf(typeName);
    throw new DatabaseError(
      'IllegalArgument',
      `Type with name '${shown}' of an embedded document was not found`,
      typeHint(catalog, shown),
    );
  }
  if (type.kind !== 'document') {
    throw new DatabaseError(
      'IllegalArgument',
      `Cannot create an embedded document of type '${type.name}' because it is a ${type.kind} type`,
    );
  }
  const own = new Map([...map].filter(([name]) => !name.startsWith('@')));
  return new EmbeddedDocument(type.name, coerceProperties(type.id, own, context));
}
