import type { Catalog, IndexDefinition, IndexKind, TypeDefinition } from '#catalog/catalog.ts';
import type { SchemaChange } from '#catalog/change/changes.ts';
import { isShown } from '#catalog/change/index-definition.ts';
import { DatabaseError } from '#core/errors.ts';
import { isMap, type Value, type ValueMap } from '#core/value/value.ts';
import type { LogicalPlan } from '#query/algebra/plan.ts';
import { serverProcedures } from '#query/procedures/registry.ts';
import type {
  Clause,
  Command,
  EntityKind,
  Expression,
  Query,
  ReturnItem,
  TypeName,
} from '../ast.ts';
import { notSupported } from '../failures.ts';
import type { Compiler } from './compiler.ts';

/** Schema commands (cypher.md 12.1): one change of the catalog, perhaps after others that it needs. */

type CommandOf<Kind extends Command['kind']> = Extract<Command, { readonly kind: Kind }>;
type AlterPlan = Extract<LogicalPlan, { readonly op: 'Alter' }>;

const nothing: LogicalPlan = { op: 'Argument' };

/** @throws DatabaseError `NotSupported`, `Schema` */
export function compileCommand(compiler: Compiler, command: Command): LogicalPlan {
  switch (command.kind) {
    case 'createIndex':
      return createIndex(compiler, command);
    case 'createConstraint':
      return createConstraint(compiler, command);
    case 'dropIndex':
      return dropIndex(compiler, command, 'indexesRemoved');
    case 'dropConstraint':
      return dropConstraint(compiler, command);
    case 'createUser':
    case 'alterUser':
    case 'dropUser':
      return userChange(compiler, command);
    case 'session':
      throw notSupported(`SESSION ${command.operation.toUpperCase()}`);
    default:
      throw notSupported(command.kind);
  }
}

function userChange(
  compiler: Compiler,
  command: CommandOf<'createUser' | 'alterUser' | 'dropUser'>,
): LogicalPlan {
  const { name } = command;
  const as = compiler.newSlot();
  if (command.kind === 'dropUser') {
    const work = {
      change: 'drop',
      name,
      password: undefined,
      isLenient: command.ifExists,
    } as const;
    return { op: 'Maintain', work: { kind: 'change-user', ...work }, as };
  }
  const { password, ifNotExists: isLenient } = command;
  if (password.kind !== 'literal' || typeof password.value !== 'string')
    throw notSupported('a password that is not written out');
  const change = command.kind === 'createUser' ? 'create' : 'alter';
  const work = { change, name, password: password.value, isLenient } as const;
  return { op: 'Maintain', work: { kind: 'change-user', ...work }, as };
}

function alteration(
  compiler: Compiler,
  change: SchemaChange,
  parts: Pick<AlterPlan, 'first' | 'counts'>,
): LogicalPlan {
  return { op: 'Alter', change, as: compiler.newSlot(), ...parts };
}

/** Makes the type when there is none. */
function typeChanges(
  catalog: Catalog,
  { entity, type }: { entity: EntityKind; type: string },
): readonly SchemaChange[] {
  const kind = entity === 'node' ? 'vertex' : 'edge';
  const known = catalog.typeNamed(type);
  if (known !== undefined) {
    if (known.kind === kind) return [];
    throw new DatabaseError('Schema', `'${type}' is no ${entity} type`);
  }
  return [
    {
      kind: 'create-type',
      type: kind,
      name: type,
      ifNotExists: true,
      supertypes: [],
      buckets: [],
      bucketCount: undefined,
      custom: new Map(),
      bidirectional: true,
      lightweight: false,
      uniqueEdges: false,
    },
  ];
}

function createIndex(compiler: Compiler, command: CommandOf<'createIndex'>): LogicalPlan {
  const { catalog } = compiler;
  const { indexType, name, type, properties } = command;
  if (indexType === 'LOOKUP') throw notSupported('CREATE LOOKUP INDEX');
  const isThere =
    name === undefined
      ? sameIndex(catalog, type, properties, false) !== undefined
      : catalog.indexNamed(name) !== undefined;
  if (isThere && command.ifNotExists) return nothing;
  const first = typeChanges(catalog, command);
  const special = specialIndex(indexType, command);
  if (special === undefined) {
    const change = indexChange({ name, type, properties, isUnique: false });
    return alteration(compiler, change, { first, counts: 'indexesAdded' });
  }
  // Such an index needs to know what is in its properties.
  const declarations = properties
    .filter((property) => declared(catalog.typeNamed(type), property, catalog) === undefined)
    .map((property) => propertyChange(type, property, special.dataType));
  const change = indexChange({ name, type, properties, isUnique: false, special });
  return alteration(compiler, change, {
    first: [...first, ...declarations],
    counts: 'indexesAdded',
  });
}

interface SpecialIndex {
  readonly indexKind: IndexKind;
  readonly dataType: string;
  readonly metadata: ValueMap;
}

function specialIndex(
  indexType: string,
  { options, properties }: CommandOf<'createIndex'>,
): SpecialIndex | undefined {
  const none: ValueMap = new Map();
  switch (indexType) {
    case 'FULLTEXT':
      return { indexKind: 'FULL_TEXT', dataType: 'STRING', metadata: none };
    case 'POINT':
      return { indexKind: 'GEOSPATIAL', dataType: 'STRING', metadata: none };
    case 'VECTOR':
      if (properties.length !== 1) throw notSupported('a vector index on several properties');
      return {
        indexKind: 'LSM_VECTOR',
        dataType: 'ARRAY_OF_FLOATS',
        metadata: vectorMetadata(options),
      };
    default:
      return undefined;
  }
}

/** `OPTIONS {indexConfig: {`vector.dimensions`: 4, `vector.similarity_function`: 'cosine'}}` */
function vectorMetadata(options: Expression | undefined): ValueMap {
  const given = literalMap(options);
  const config = given.get('indexConfig') ?? new Map();
  const metadata = new Map<string, Value>();
  for (const [key, value] of config !== null && isMap(config) ? config : []) {
    const name = key.replace(/^vector\./, '');
    if (name === 'dimensions') metadata.set('dimensions', value);
    else if (name === 'similarity_function')
      metadata.set('similarity', String(value).toUpperCase());
    else throw notSupported(`the option '${key}' of a vector index`);
  }
  if (!metadata.has('dimensions'))
    throw new DatabaseError(
      'Schema',
      'a vector index needs OPTIONS {indexConfig: {`vector.dimensions`: n}}',
    );
  return metadata;
}

function literalMap(options: Expression | undefined): ValueMap {
  if (options === undefined) return new Map();
  if (options.kind === 'literal' && isMap(options.value)) return options.value;
  throw notSupported('OPTIONS that are not written out');
}

function propertyChange(type: string, property: string, dataType: string): SchemaChange {
  return {
    kind: 'create-property',
    type,
    property,
    ifNotExists: true,
    dataType,
    ofType: undefined,
    attributes: [],
    custom: new Map(),
  };
}

function indexChange(index: {
  readonly name: string | undefined;
  readonly type: string;
  readonly properties: readonly string[];
  readonly isUnique: boolean;
  readonly special?: SpecialIndex;
}): SchemaChange {
  const { name, type, properties, isUnique, special } = index;
  return {
    kind: 'create-index',
    name,
    ifNotExists: false,
    type,
    components: properties.map((property) => ({
      property,
      by: 'value',
      caseInsensitive: false,
    })),
    componentText: properties.join(','),
    indexKind: special?.indexKind ?? 'LSM_TREE',
    ...(special === undefined && { ofAnyType: true as const }),
    unique: isUnique,
    nullStrategy: 'SKIP',
    metadata: special?.metadata ?? new Map(),
  };
}

/** An index on exactly these properties of the type itself. */
function sameIndex(
  catalog: Catalog,
  typeName: string,
  properties: readonly string[],
  isUnique: boolean,
): IndexDefinition | undefined {
  const type = catalog.typeNamed(typeName);
  return catalog
    .indexes()
    .find(
      (index) =>
        isShown(index) &&
        index.type === type?.id &&
        index.unique === isUnique &&
        index.components.length === properties.length &&
        index.components.every(({ property }, at) => property === properties[at]),
    );
}

function createConstraint(compiler: Compiler, command: CommandOf<'createConstraint'>): LogicalPlan {
  const { rule } = command;
  if (rule === 'unique' || rule === 'key') return uniqueConstraint(compiler, command);
  const [property = ''] = command.properties;
  if (command.properties.length > 1) throw notSupported('NOT NULL or a type of several properties');
  return rule === 'notNull'
    ? notNullConstraint(compiler, command, property)
    : typeConstraint(compiler, command, property, rule);
}

/** A plain index on the same properties makes way. */
function uniqueConstraint(compiler: Compiler, command: CommandOf<'createConstraint'>): LogicalPlan {
  const { catalog } = compiler;
  const { name, type, properties, rule } = command;
  const known = sameIndex(catalog, type, properties, true);
  const isThere = known !== undefined || (name !== undefined && catalog.indexNamed(name)?.unique);
  if (isThere === true && command.ifNotExists) return nothing;
  if (known !== undefined)
    throw new DatabaseError('Schema', `Constraint '${known.name}' already exists`);
  const plain = sameIndex(catalog, type, properties, false);
  const first: SchemaChange[] = [...typeChanges(catalog, command)];
  if (rule === 'key')
    for (const property of properties) first.push(mandatory(catalog, type, property));
  if (plain !== undefined) first.push({ kind: 'drop-index', name: plain.name, ifExists: true });
  const change = indexChange({ name, type, properties, isUnique: true });
  return alteration(compiler, change, { first, counts: 'constraintsAdded' });
}

function mandatory(catalog: Catalog, typeName: string, property: string): SchemaChange {
  const type = catalog.typeNamed(typeName);
  if (type === undefined || catalog.property(type.id, property) === undefined)
    throw notSupported(
      `NOT NULL of '${typeName}.${property}', which has no type yet; give it one with IS TYPED first`,
    );
  return {
    kind: 'alter-property',
    type: typeName,
    property,
    attributes: [
      { name: 'mandatory', value: true },
      { name: 'notnull', value: true },
    ],
    custom: new Map(),
  };
}

function notNullConstraint(
  compiler: Compiler,
  { type, ifNotExists }: CommandOf<'createConstraint'>,
  property: string,
): LogicalPlan {
  const { catalog } = compiler;
  const change = mandatory(catalog, type, property);
  if (declared(catalog.typeNamed(type), property, catalog)?.mandatory !== true)
    return alteration(compiler, change, { counts: 'constraintsAdded' });
  if (ifNotExists) return nothing;
  throw new DatabaseError('Schema', `Constraint '${type}.${property} NOT NULL' already exists`);
}

function declared(type: TypeDefinition | undefined, property: string, catalog: Catalog) {
  return type === undefined ? undefined : catalog.property(type.id, property);
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
  command: CommandOf<'createConstraint'>,
  property: string,
  { name }: TypeName,
): LogicalPlan {
  const dataType = propertyTypes[name];
  if (dataType === undefined) throw notSupported(`a property of type ${name}`);
  const { catalog } = compiler;
  const known = declared(catalog.typeNamed(command.type), property, catalog);
  if (known !== undefined && command.ifNotExists) return nothing;
  const change: SchemaChange = {
    kind: 'create-property',
    type: command.type,
    property,
    ifNotExists: false,
    dataType,
    ofType: undefined,
    attributes: [],
    custom: new Map(),
  };
  const first = typeChanges(catalog, command);
  return alteration(compiler, change, { first, counts: 'constraintsAdded' });
}

function dropIndex(
  compiler: Compiler,
  { name, ifExists }: { readonly name: string; readonly ifExists: boolean },
  counts: 'indexesRemoved' | 'constraintsRemoved',
): LogicalPlan {
  const known = compiler.catalog.indexNamed(name);
  if (ifExists && (known === undefined || !isShown(known))) return nothing;
  return alteration(compiler, { kind: 'drop-index', name, ifExists: false }, { counts });
}

/** A unique index by its name, or what SHOW CONSTRAINTS calls `Type.property NOT NULL`. */
function dropConstraint(compiler: Compiler, command: CommandOf<'dropConstraint'>): LogicalPlan {
  const { name, ifExists } = command;
  const { catalog } = compiler;
  const known = catalog.indexNamed(name);
  if (known?.unique === true) return dropIndex(compiler, command, 'constraintsRemoved');
  const required = /^(.+)\.([^.]+) NOT NULL$/.exec(name);
  const type = required === null ? undefined : catalog.typeNamed(required[1] as string);
  const property = required?.[2] ?? '';
  if (type?.properties.get(property)?.mandatory === true) {
    const change: SchemaChange = {
      kind: 'alter-property',
      type: type.name,
      property,
      attributes: [
        { name: 'mandatory', value: false },
        { name: 'notnull', value: false },
      ],
      custom: new Map(),
    };
    return alteration(compiler, change, { counts: 'constraintsRemoved' });
  }
  if (ifExists) return nothing;
  throw new DatabaseError('Schema', `Constraint '${name}' does not exist`);
}

/** `SHOW VECTOR INDEXES` */
function shownOnly({ what, filter, at, end }: CommandOf<'show'>): readonly Expression[] {
  if (filter === undefined || filter === 'ALL') return [];
  if (what !== 'indexes') throw notSupported(`SHOW ${filter} ${what.toUpperCase()}`);
  return [{ kind: 'literal', value: filter, at, end }];
}

/** SHOW as the query that it stands for: a call, then what follows it, then its columns. */
export function queryOfShow(command: CommandOf<'show'>): Query {
  const { what, yields, tail, at, end } = command;
  const procedure = serverProcedures.procedure(`#show.${what}`);
  if (procedure === undefined) throw notSupported(`SHOW ${what.toUpperCase()}`);
  const span = { at, end };
  const columns = (procedure.signature?.columns ?? []).map(({ name }) => name);
  const items =
    yields === undefined || yields === 'all'
      ? columns.map((name) => ({ column: name, alias: name, ...span }))
      : yields;
  const call: Clause = {
    kind: 'callProcedure',
    name: procedure.name,
    args: shownOnly(command),
    yields: items,
    where: undefined,
    isOptional: false,
    ...span,
  };
  const returned: Clause = {
    kind: 'return',
    projection: {
      isDistinct: false,
      isAll: false,
      items: items.map(
        ({ alias }): ReturnItem => ({
          value: { kind: 'variable', name: alias, ...span },
          alias,
          ...span,
        }),
      ),
      orderBy: [],
      skip: undefined,
      limit: undefined,
      ...span,
    },
    ...span,
  };
  const hasReturn = tail.some(({ kind }) => kind === 'return');
  const clauses = [call, ...tail, ...(hasReturn ? [] : [returned])];
  return { parts: [{ clauses, ...span }], union: undefined, ...span };
}
