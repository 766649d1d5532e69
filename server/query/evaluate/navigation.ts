import type { Catalog } from '#catalog/catalog.ts';
import { durationComponent, instantComponent } from '#core/temporal/components.ts';
import { asCypherDuration, asInstant } from '#core/temporal/sql-kinds.ts';
import { Point } from '#core/value/point.ts';
import { pointComponent } from '#core/value/point-components.ts';
import { Link, type StoredRecord } from '#core/value/record.ts';
import { bucketOf, noRid, type Rid, type TypeId } from '#core/value/rid.ts';
import { EmbeddedDocument, isRecord } from '#core/value/value.ts';
import type { Value } from '#core/value/value.ts';
import type { Attribute, Dialect, Slot } from '../algebra/expression.ts';
import type { EvaluationContext } from './context.ts';
import { kindName, notA, typeError } from './cypher-failures.ts';
import { requireDialect } from './comparison/compile-comparison.ts';
import { valuesOfElements } from './turns/element-turns.ts';
import { pausingValue } from './turns/long-calls.ts';
import type { Condition, Evaluator } from './evaluator.ts';
import { requireTurn } from './turns/value-size.ts';

/**
 * Navigation by name (sql.md 1.6, 1.7): records, maps and embedded documents give their property, links are followed (a
 * dangling one reads as null), lists are walked element by element. An unknown property is null.
 */

/** `of.name` */
export function compileProperty(of: Evaluator, name: string, dialect: Dialect): Evaluator {
  const attribute = attributeNamed(name);
  if (attribute) return compileAttribute(of, attribute);
  const isSql = requireDialect(dialect, 'navigation') === 'sql';
  const step = isSql ? propertyOf : cypherPropertyOf;
  const site = {};
  return (context) => {
    const value = of(context);
    if (typeof value !== 'object' || value === null) {
      return value === null ? null : step(value, name, context);
    }
    // The common case first: a record, or what has the shape of one.
    if ((value as { valueKind?: unknown }).valueKind === 'record')
      return propertyOfRecord(value as StoredRecord, name, context, site);
    if (isSql && Array.isArray(value))
      return valuesOfElements(value, context, step, (item) => propertyOf(item, name, context));
    return step(value, name, context);
  };
}

/**
 * What is large is read in turns where the statement can pause.
 * @throws DatabaseError `TooLarge` when the turn has made too much
 */
export function propertyOfRecord(
  record: StoredRecord,
  name: string,
  context: EvaluationContext,
  site: object,
): Value {
  if (context.mayBeSuspended === true || context.longCalls !== undefined) {
    const large = record.largeRead?.(name);
    if (large !== undefined) return pausingValue(context, site, large);
  }
  const read = record.get(name) ?? null;
  requireTurn(context);
  return read;
}

/** The property of a value in dialect sql; null when it has none. */
export function propertyOf(value: Value, name: string, context: EvaluationContext): Value {
  if (typeof value !== 'object' || value === null) return null;
  if (isRecord(value)) return value.get(name) ?? null;
  if (value instanceof Map) return value.get(name) ?? null;
  if (value instanceof EmbeddedDocument) return value.properties.get(name) ?? null;
  if (value instanceof Link) return context.view.record(value.rid)?.get(name) ?? null;
  if (!Array.isArray(value)) return null;
  const items: Value[] = new Array(value.length);
  for (let i = 0; i < value.length; i++) items[i] = propertyOf(value[i] as Value, name, context);
  return items;
}

function cypherPropertyOf(value: Value, name: string, context: EvaluationContext): Value {
  if (value === null) return null;
  if (isRecord(value) || value instanceof Map || value instanceof Link)
    return propertyOf(value, name, context);
  if (value instanceof EmbeddedDocument) return propertyOf(value, name, context);
  const component = componentOf(value, name);
  if (component !== undefined) return component;
  throw typeError(
    'InvalidArgumentType',
    `property '${name}' of ${kindName(value)}; expected a node, relationship or map`,
  );
}

/** A component of a temporal value or a point (cypher.md 8.3, 9.7), null for other names; undefined for other values. */
function componentOf(value: Value, name: string): Value | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (value instanceof Point) return pointComponent(value, name) ?? null;
  const length = asCypherDuration(value);
  if (length !== undefined) return durationComponent(length, name) ?? null;
  const instant = asInstant(value);
  return instant && (instantComponent(instant, name) ?? null);
}

const attributeNames: ReadonlyMap<string, Attribute> = new Map([
  ['@rid', 'rid'],
  ['@type', 'type'],
  ['@cat', 'cat'],
  ['@in', 'in'],
  ['@out', 'out'],
]);

/** System attribute with this name, in any letter case; undefined for plain properties. */
export function attributeNamed(name: string): Attribute | undefined {
  return name.charCodeAt(0) === 64 ? attributeNames.get(name.toLowerCase()) : undefined;
}

/** `of.@attribute` */
export function compileAttribute(of: Evaluator, attribute: Attribute): Evaluator {
  if (attribute === 'rid')
    return (context) => {
      const value = of(context);
      return isRecord(value) ? idOf(value) : attributeOf(value, attribute, context);
    };
  return (context) => attributeOf(of(context), attribute, context);
}

/** `@rid` of a slot that holds a bare record id, or null. */
export function compileBareId(slot: Slot): Evaluator {
  return (context) => {
    const id = context.frame[slot] as Rid | null | undefined;
    if (id === null || id === undefined) return null;
    return isLightweight(context.view.catalog, id) ? null : new Link(id);
  };
}

/** Whether this is what the executor tells an edge of a LIGHTWEIGHT type by. */
export function isLightweight(catalog: Catalog, id: Rid): boolean {
  const type = catalog.bucketWithId(bucketOf(id))?.type;
  return type !== undefined && catalog.typeWithId(type).lightweight;
}

/** A record that is yet to be inserted has no id, nor has an edge of a LIGHTWEIGHT type. */
export function idOf(record: StoredRecord): Link | null {
  const { rid } = record;
  return rid === noRid || (record.kind === 'edge' && record.isLightweight === true)
    ? null
    : new Link(rid);
}

/** The attribute of a record, row map or embedded document; links are followed, lists walked; null on anything else. */
export function attributeOf(value: Value, attribute: Attribute, context: EvaluationContext): Value {
  if (typeof value !== 'object' || value === null) return null;
  if (value instanceof Map) return value.get(`@${attribute}`) ?? null;
  if (value instanceof EmbeddedDocument) return embeddedAttribute(value, attribute);
  if (value instanceof Link) {
    if (attribute === 'rid') return value;
    return attributeOf(context.view.record(value.rid) ?? null, attribute, context);
  }
  if (Array.isArray(value)) {
    const items: Value[] = new Array(value.length);
    for (let i = 0; i < value.length; i++)
      items[i] = attributeOf(value[i] as Value, attribute, context);
    return items;
  }
  if (!isRecord(value)) return null;
  switch (attribute) {
    case 'rid':
      return idOf(value);
    case 'type':
      return value.typeName;
    case 'cat':
      return categories[value.kind];
    case 'in':
      return value.kind === 'edge' ? new Link(value.in) : null;
    case 'out':
      return value.kind === 'edge' ? new Link(value.out) : null;
    case 'version':
      return value.version;
  }
}

const categories = { document: 'd', vertex: 'v', edge: 'e' } as const;

function embeddedAttribute(value: EmbeddedDocument, attribute: Attribute): Value {
  if (attribute === 'type') return value.typeName;
  return attribute === 'cat' ? 'd' : null;
}

/** `of` has the property `name`, even if null; a link is followed. */
export function compileIsDefined(of: Evaluator, name: string): Condition {
  return (context) => {
    let value = of(context);
    if (value instanceof Link) value = context.view.record(value.rid) ?? null;
    if (isRecord(value)) return value.get(name) !== undefined;
    if (value instanceof Map) return value.has(name);
    return value instanceof EmbeddedDocument && value.properties.has(name);
  };
}

/** `operand` is a record, or an embedded document, of one of the types (names, subtypes included); a link is followed. */
export function compileIsOfType(operand: Evaluator, types: readonly string[]): Condition {
  const names = new Set(types);
  return (context) => {
    let value = operand(context);
    if (value instanceof Link) value = context.view.record(value.rid) ?? null;
    if (isRecord(value) || value instanceof EmbeddedDocument) return names.has(value.typeName);
    if (!(value instanceof Map)) return false;
    const typeName = value.get('@type');
    return typeof typeName === 'string' && names.has(typeName);
  };
}

/**
 * `n:L`, `r:T`: of a type that is or inherits from one of the names, by the schema of the moment; null of null.
 * @throws DatabaseError `InvalidArgumentType` for what is neither node nor relationship
 */
export function compileHasLabel(operand: Evaluator, names: readonly string[]): Condition {
  let asked: Catalog | undefined;
  let types: ReadonlySet<TypeId> = new Set();
  return (context) => {
    let value = operand(context);
    if (value instanceof Link) value = context.view.record(value.rid) ?? null;
    if (value === null) return null;
    if (!isRecord(value)) throw notA('a node or relationship', value);
    const { catalog } = context.view;
    if (catalog !== asked) {
      asked = catalog;
      types = typesNamed(names, catalog);
    }
    return types.has(value.type);
  };
}

function typesNamed(names: readonly string[], catalog: Catalog): ReadonlySet<TypeId> {
  const types = names.flatMap((name) => catalog.typeNamed(name) ?? []);
  return new Set(types.flatMap((type) => catalog.withSubtypes(type.id)));
}
