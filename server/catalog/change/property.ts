import { DatabaseError } from '#core/errors.ts';
import type { PropertyId } from '#core/value/rid.ts';
import type { Value } from '#core/value/value.ts';
import type { PropertyDefinition, PropertyTypeName, TypeDefinition } from '../catalog.ts';
import { type CatalogValue, requireType, typeHint } from '../catalog-value.ts';
import type { SchemaChange } from './changes.ts';
import {
  type AppliedChange,
  type ChangeContext,
  nextCatalog,
  replaceType,
  row,
  type SchemaEffect,
  unchanged,
} from './applied-change.ts';
import { indexesUsing } from './index-definition.ts';
import { didYouMean, requireName } from '../name-rules.ts';
import { attributeColumn, withAttribute } from '../property-attributes.ts';
import { isScalarType, propertyTypeNamed, propertyTypeNames } from '../property-type.ts';

/** Property ids are stored in two bytes (storage.md 3). */
export const propertyCountMax = 65_535;

type Change<K extends SchemaChange['kind']> = Extract<SchemaChange, { kind: K }>;

/** sql.md 13.5. */
export function createProperty(
  catalog: CatalogValue,
  change: Change<'create-property'>,
  context: ChangeContext,
): AppliedChange {
  const type = catalog.typeNamed(change.type);
  if (type === undefined) {
    throw new DatabaseError(
      'Schema',
      `Type '${change.type}' not found`,
      typeHint(catalog, change.type),
    );
  }
  const columns: Record<string, Value> = {
    operation: 'create property',
    typeName: type.name,
    propertyName: change.property,
  };
  const existing = catalog.property(type.id, change.property);
  if (existing !== undefined) {
    if (change.ifNotExists) return unchanged(catalog, [row(columns)]);
    throw alreadyExists(catalog, type, existing);
  }
  if (type.lightweight) {
    throw new DatabaseError(
      'Schema',
      `Edge type '${type.name}' is declared LIGHTWEIGHT, so its edges cannot have properties`,
    );
  }
  requireName('property', change.property);
  if (change.property.startsWith('@')) {
    throw new DatabaseError(
      'Schema',
      `Property '${type.name}.${change.property}': names starting with '@' are system attributes`,
    );
  }
  const named = propertyIdFor(catalog, change.property);
  let property: PropertyDefinition = {
    id: named.id,
    name: change.property,
    declaredBy: type.id,
    ...dataTypeOf(catalog, change),
    ...noAttributes,
    custom: new Map([...change.custom].filter(([, value]) => value !== null)),
  };
  if (property.ofType !== undefined) columns['of'] = property.ofType;
  for (const attribute of change.attributes) {
    property = withAttribute(property, attribute, { ...context, catalog });
    const [name, value] = attributeColumn(property, attribute.name);
    columns[name] = value;
  }
  requireNoConflictBelow(catalog, type, property);
  return {
    catalog: nextCatalog(catalog, {
      propertyNames: named.names,
      types: replaceType(catalog.parts.types, withProperty(type, property)),
    }),
    rows: [row(columns)],
    effects: checks(catalog, type, property, context),
  };
}

const noAttributes = {
  mandatory: false,
  notNull: false,
  readOnly: false,
  hidden: false,
  external: false,
  compression: undefined,
  min: null,
  max: null,
  regexp: undefined,
  default: undefined,
} as const satisfies Partial<PropertyDefinition>;

function withProperty(type: TypeDefinition, property: PropertyDefinition): TypeDefinition {
  return { ...type, properties: new Map([...type.properties, [property.name, property]]) };
}

function alreadyExists(
  catalog: CatalogValue,
  type: TypeDefinition,
  existing: PropertyDefinition,
): DatabaseError {
  const declaredBy = catalog.typeWithId(existing.declaredBy).name;
  return existing.declaredBy === type.id
    ? new DatabaseError('Schema', `Property '${type.name}.${existing.name}' already exists`)
    : new DatabaseError(
        'Schema',
        `Property '${type.name}.${existing.name}' already exists: it is defined in supertype '${declaredBy}'`,
      );
}

/** A subtype that declares the property already must declare it alike; its own declaration wins there. */
function requireNoConflictBelow(
  catalog: CatalogValue,
  type: TypeDefinition,
  property: PropertyDefinition,
): void {
  for (const id of catalog.withSubtypes(type.id)) {
    const subtype = catalog.typeWithId(id);
    const own = subtype.properties.get(property.name);
    if (own === undefined || (own.type === property.type && own.ofType === property.ofType)) {
      continue;
    }
    throw new DatabaseError(
      'Schema',
      `Property '${type.name}.${property.name}' cannot be ${property.type}: ` +
        `it is defined in subtype '${subtype.name}' as ${own.type}`,
    );
  }
}

/** Existing records are looked at only when there are any. */
function checks(
  catalog: CatalogValue,
  type: TypeDefinition,
  property: PropertyDefinition,
  context: ChangeContext,
): readonly SchemaEffect[] {
  const hasRecords = catalog
    .withSubtypes(type.id)
    .flatMap((id) => catalog.typeWithId(id).buckets)
    .some((bucket) => context.recordCount(bucket) > 0);
  return hasRecords ? [{ kind: 'check-property', type, property }] : [];
}

/** Names keep their id for ever, also after every declaration of it was dropped: rows hold ids. */
function propertyIdFor(
  catalog: CatalogValue,
  name: string,
): { readonly id: PropertyId; readonly names: readonly string[] } {
  const known = catalog.propertyId(name);
  const names = catalog.parts.propertyNames;
  if (known !== undefined) return { id: known, names };
  if (names.length >= propertyCountMax) {
    throw new DatabaseError(
      'SchemaLimit',
      `a database has at most ${propertyCountMax} property names`,
    );
  }
  return { id: names.length as PropertyId, names: [...names, name] };
}

function dataTypeOf(
  catalog: CatalogValue,
  change: Change<'create-property'>,
): { readonly type: PropertyTypeName; readonly ofType: string | undefined } {
  const type = propertyTypeNamed(change.dataType);
  if (type === undefined) {
    const help = didYouMean(change.dataType, propertyTypeNames);
    throw new DatabaseError(
      'IllegalArgument',
      `Unknown data type '${change.dataType}' of property '${change.type}.${change.property}'`,
      help === undefined ? {} : { help },
    );
  }
  if (change.ofType === undefined) return { type, ofType: undefined };
  return { type, ofType: elementType(catalog, change, type, change.ofType) };
}

/** `OF X`: an element type for LIST and MAP, a target type for LINK and EMBEDDED (sql.md 2.1 rule 4). */
function elementType(
  catalog: CatalogValue,
  change: Change<'create-property'>,
  type: PropertyTypeName,
  of: string,
): string {
  const where = `of property '${change.type}.${change.property}'`;
  const takesScalar = type === 'LIST' || type === 'MAP';
  if (!takesScalar && type !== 'LINK' && type !== 'EMBEDDED') {
    throw new DatabaseError('IllegalArgument', `OF '${of}' ${where} is not allowed on ${type}`);
  }
  const named = catalog.typeNamed(of);
  if (named !== undefined) return named.name;
  const scalar = propertyTypeNamed(of);
  if (takesScalar && scalar !== undefined && isScalarType(scalar)) return scalar;
  throw new DatabaseError('Schema', `Type '${of}' in OF ${where} not found`, typeHint(catalog, of));
}

/** sql.md 13.8. Of several items only the last is applied. */
export function alterProperty(
  catalog: CatalogValue,
  change: Change<'alter-property'>,
  context: ChangeContext,
): AppliedChange {
  const type = requireType(catalog, change.type);
  const property = requireOwnProperty(catalog, type, change.property);
  const attribute = change.attributes.at(-1);
  if (attribute !== undefined) {
    const name = attribute.name.toLowerCase();
    if (name === 'name' || name === 'type') {
      throw new DatabaseError('CommandExecution', `Setting '${name}' not supported`);
    }
    const altered = withAttribute(property, attribute, { ...context, catalog });
    const [column, newValue] = attributeColumn(altered, attribute.name);
    const result = row({
      operation: 'alter property',
      type: type.name,
      property: property.name,
      attribute: column,
      oldValue: attributeColumn(property, attribute.name)[1],
      newValue,
    });
    return replaceProperty(catalog, type, altered, result);
  }
  const last = [...change.custom].at(-1);
  if (last === undefined) return unchanged(catalog);
  const [key, newValue] = last;
  const custom = new Map(property.custom);
  if (newValue === null) custom.delete(key);
  else custom.set(key, newValue);
  const result = row({
    operation: 'alter property custom',
    type: type.name,
    property: property.name,
    customAttribute: key,
    oldValue: property.custom.get(key) ?? null,
    newValue,
  });
  return replaceProperty(catalog, type, { ...property, custom }, result);
}

function replaceProperty(
  catalog: CatalogValue,
  type: TypeDefinition,
  property: PropertyDefinition,
  result: AppliedChange['rows'][number],
): AppliedChange {
  const types = replaceType(catalog.parts.types, withProperty(type, property));
  return { catalog: nextCatalog(catalog, { types }), rows: [result], effects: [] };
}

function requireOwnProperty(
  catalog: CatalogValue,
  type: TypeDefinition,
  name: string,
): PropertyDefinition {
  const own = type.properties.get(name);
  if (own !== undefined) return own;
  const inherited = catalog.property(type.id, name);
  if (inherited !== undefined) {
    const declaredBy = catalog.typeWithId(inherited.declaredBy).name;
    throw new DatabaseError(
      'Schema',
      `Property '${name}' of type '${type.name}' is defined in supertype '${declaredBy}'; change it there`,
    );
  }
  const help = didYouMean(name, catalog.properties(type.id).keys());
  throw new DatabaseError(
    'Schema',
    `Property '${name}' not found in type '${type.name}'`,
    help === undefined ? {} : { help },
  );
}

/** sql.md 13.8. Stored values stay; with FORCE the indexes that use the property go first. */
export function dropProperty(
  catalog: CatalogValue,
  change: Change<'drop-property'>,
): AppliedChange {
  if (change.ifExists && catalog.typeNamed(change.type) === undefined) return unchanged(catalog);
  const type = requireType(catalog, change.type);
  if (change.ifExists && catalog.property(type.id, change.property) === undefined) {
    return unchanged(catalog);
  }
  const property = requireOwnProperty(catalog, type, change.property);
  const used = indexesUsing(catalog, type.id, property.name);
  if (used.length > 0 && !change.force) {
    const names = used.map((index) => index.name).join(', ');
    throw new DatabaseError(
      'Schema',
      `Property used in indexes (${names}). ` +
        'Please drop these indexes before removing property or use FORCE parameter.',
    );
  }
  const properties = new Map(type.properties);
  properties.delete(property.name);
  return {
    catalog: nextCatalog(catalog, {
      types: replaceType(catalog.parts.types, { ...type, properties }),
      indexes: catalog.parts.indexes.filter((index) => !used.includes(index)),
    }),
    rows: [
      ...used.map((index) => row({ operation: 'cascade drop index', indexName: index.name })),
      row({ operation: 'drop property', typeName: type.name, propertyName: property.name }),
    ],
    effects: used.map((index) => ({ kind: 'drop-index', index })),
  };
}
