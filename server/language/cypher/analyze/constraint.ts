import type { Catalog, IndexDefinition, PropertyDefinition } from '#catalog/catalog.ts';
import type { SchemaChange } from '#catalog/change/changes.ts';
import { constraintKeys, constraintName } from '#catalog/constraint-names.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Value } from '#core/value/value.ts';
import type { LogicalPlan } from '#query/algebra/plan.ts';
import type { TypeName } from '../ast.ts';
import { notSupported } from '../failures.ts';
import type { Compiler } from './compiler.ts';
import {
  alteration,
  type CommandOf,
  dropIndex,
  indexChange,
  nothing,
  propertyChange,
  propertyOf,
  sameIndex,
  typeChanges,
} from './schema-changes.ts';

/**
 * CREATE and DROP CONSTRAINT (cypher.md 12.1). A unique one is an index; one on a property is kept with it, as is its name.
 */

type Create = CommandOf<'createConstraint'>;

/** @throws DatabaseError `NotSupported`, `Schema` */
export function createConstraint(compiler: Compiler, command: Create): LogicalPlan {
  const { rule } = command;
  if (rule === 'unique' || rule === 'key') return uniqueConstraint(compiler, command);
  const [property = ''] = command.properties;
  if (command.properties.length > 1) throw notSupported('NOT NULL or a type of several properties');
  return rule === 'notNull'
    ? notNullConstraint(compiler, command, property)
    : typeConstraint(compiler, command, property, rule);
}

/** A plain index on the same properties makes way. */
function uniqueConstraint(compiler: Compiler, command: Create): LogicalPlan {
  const { catalog } = compiler;
  const { name, type, properties, rule } = command;
  const known = sameIndex(catalog, type, properties, { isUnique: true });
  const isThere = known !== undefined || (name !== undefined && catalog.indexNamed(name)?.unique);
  if (isThere === true && command.ifNotExists) return nothing(compiler);
  if (known !== undefined) throw exists(known.name);
  const plain = sameIndex(catalog, type, properties, { isUnique: false });
  const first: SchemaChange[] = [...typeChanges(catalog, command)];
  if (rule === 'key') {
    const key = name ?? `${type}[${properties.join(',')}]`;
    for (const property of properties)
      if (propertyOf(catalog, type, property)?.mandatory !== true)
        first.push(...mandatory(catalog, type, property, [constraintKeys.key, key]));
  }
  if (plain !== undefined) first.push({ kind: 'drop-index', name: plain.name, ifExists: true });
  const change = indexChange({ name, type, properties, isUnique: true });
  return alteration(compiler, change, { first, counts: 'constraintsAdded' });
}

/** A property that has no type yet is declared to hold any. */
function mandatory(
  catalog: Catalog,
  typeName: string,
  property: string,
  custom: readonly [string, string],
): readonly [...SchemaChange[], SchemaChange] {
  const known = propertyOf(catalog, typeName, property);
  const attributes = presence(true);
  if (known === undefined)
    return [propertyChange(typeName, property, 'ANY', { attributes, custom: new Map([custom]) })];
  return [
    ...attributes.map((attribute) => altered(catalog, known, { attribute })),
    altered(catalog, known, { custom }),
  ];
}

function presence(value: boolean) {
  return [
    { name: 'mandatory', value },
    { name: 'notnull', value },
  ] as const;
}

function altered(
  catalog: Catalog,
  { name, declaredBy }: PropertyDefinition,
  {
    attribute,
    custom,
  }: {
    readonly attribute?: { readonly name: string; readonly value: Value };
    readonly custom?: readonly [string, Value];
  },
): SchemaChange {
  return {
    kind: 'alter-property',
    type: catalog.typeWithId(declaredBy).name,
    property: name,
    attributes: attribute === undefined ? [] : [attribute],
    custom: new Map(custom === undefined ? [] : [custom]),
  };
}

function notNullConstraint(compiler: Compiler, command: Create, property: string): LogicalPlan {
  const { catalog } = compiler;
  const { name, type, ifNotExists } = command;
  const known = propertyOf(catalog, type, property);
  if (known?.mandatory === true) {
    if (ifNotExists) return nothing(compiler);
    throw exists(constraintName(catalog, known, 'existence'));
  }
  const written = name ?? `${type}.${property} NOT NULL`;
  requireFree(catalog, name);
  const changes = mandatory(catalog, type, property, [constraintKeys.existence, written]);
  return alteration(compiler, changes.at(-1) as SchemaChange, {
    first: [...typeChanges(catalog, command), ...changes.slice(0, -1)],
    counts: 'constraintsAdded',
  });
}

const propertyTypes: Readonly<Record<string, string>> = {
  BOOLEAN: 'BOOLEAN',
  BOOL: 'BOOLEAN',
  STRING: 'STRING',
  VARCHAR: 'STRING',
  INT8: 'BYTE',
  INT16: 'SHORT',
  INT: 'INTEGER',
  INT32: 'INTEGER',
  INTEGER: 'LONG',
  INT64: 'LONG',
  FLOAT32: 'FLOAT',
  FLOAT: 'DOUBLE',
  FLOAT64: 'DOUBLE',
  DATE: 'DATE',
  'LOCAL DATETIME': 'DATETIME',
  'ZONED DATETIME': 'DATETIME',
  LIST: 'LIST',
  MAP: 'MAP',
};

function typeConstraint(
  compiler: Compiler,
  command: Create,
  property: string,
  { name: written }: TypeName,
): LogicalPlan {
  const dataType = propertyTypes[written];
  if (dataType === undefined) throw notSupported(`a property of type ${written}`);
  const { catalog } = compiler;
  const { type, name } = command;
  const known = propertyOf(catalog, type, property);
  const first: SchemaChange[] = [...typeChanges(catalog, command)];
  if (known !== undefined && known.type !== 'ANY') {
    if (command.ifNotExists) return nothing(compiler);
    throw exists(constraintName(catalog, known, 'type'));
  }
  requireFree(catalog, name);
  const custom = new Map(known?.custom);
  custom.set(constraintKeys.type, name ?? `${type}.${property} IS TYPED ${written}`);
  // One that must exist, and may hold anything up to now.
  if (known !== undefined) first.push(dropped(catalog, known));
  const attributes = known?.mandatory === true ? presence(true) : [];
  const change = propertyChange(type, property, dataType, {
    attributes,
    custom,
    ifNotExists: false,
  });
  return alteration(compiler, change, { first, counts: 'constraintsAdded' });
}

function dropped(catalog: Catalog, { name, declaredBy }: PropertyDefinition): SchemaChange {
  return {
    kind: 'drop-property',
    type: catalog.typeWithId(declaredBy).name,
    property: name,
    ifExists: true,
    force: false,
  };
}

function exists(name: string): DatabaseError {
  return new DatabaseError('Schema', `Constraint '${name}' already exists`);
}

function requireFree(catalog: Catalog, name: string | undefined): void {
  if (name === undefined) return;
  if (catalog.indexNamed(name) !== undefined || propertyConstraint(catalog, name) !== undefined)
    throw exists(name);
}

interface PropertyConstraint {
  readonly property: PropertyDefinition;
  readonly kind: 'existence' | 'type';
}

/** The constraint of this name on a property. */
function propertyConstraint(catalog: Catalog, name: string): PropertyConstraint | undefined {
  for (const type of catalog.types())
    for (const property of type.properties.values())
      for (const kind of ['existence', 'type'] as const)
        if (constraintName(catalog, property, kind) === name) return { property, kind };
  return undefined;
}

/** A unique index by its name, or a constraint on a property. */
export function dropConstraint(
  compiler: Compiler,
  command: CommandOf<'dropConstraint'>,
): LogicalPlan {
  const { name, ifExists } = command;
  const { catalog } = compiler;
  const index = catalog.indexNamed(name);
  if (index?.unique === true) return dropUnique(compiler, command, index);
  const known = propertyConstraint(catalog, name);
  if (known !== undefined) return dropOnProperty(compiler, known);
  if (ifExists) return nothing(compiler);
  throw new DatabaseError('Schema', `Constraint '${name}' does not exist`);
}

/** What a key made mandatory need not be there any more. */
function dropUnique(
  compiler: Compiler,
  command: CommandOf<'dropConstraint'>,
  index: IndexDefinition,
): LogicalPlan {
  const { catalog } = compiler;
  const plan = dropIndex(compiler, command, 'constraintsRemoved');
  if (plan.op !== 'Alter') return plan;
  const first = index.components.flatMap(({ property }): readonly SchemaChange[] => {
    const known = catalog.property(index.type, property);
    return known?.custom.get(constraintKeys.key) === index.name
      ? freed(catalog, known, constraintKeys.key)
      : [];
  });
  return { ...plan, first: [...(plan.first ?? []), ...first] };
}

function freed(catalog: Catalog, known: PropertyDefinition, key: string): readonly SchemaChange[] {
  return [
    ...presence(false).map((attribute) => altered(catalog, known, { attribute })),
    altered(catalog, known, { custom: [key, null] }),
  ];
}

function dropOnProperty(compiler: Compiler, { property, kind }: PropertyConstraint): LogicalPlan {
  const { catalog } = compiler;
  const counts = 'constraintsRemoved';
  if (kind === 'existence') {
    const changes = freed(catalog, property, constraintKeys.existence);
    const first = changes.slice(0, -1);
    return alteration(compiler, changes.at(-1) as SchemaChange, { first, counts });
  }
  const drop = dropped(catalog, property);
  if (!property.mandatory) return alteration(compiler, drop, { counts });
  const custom = new Map(property.custom);
  custom.delete(constraintKeys.type);
  const type = catalog.typeWithId(property.declaredBy).name;
  const change = propertyChange(type, property.name, 'ANY', {
    attributes: presence(true),
    custom,
  });
  return alteration(compiler, change, { first: [drop], counts });
}
