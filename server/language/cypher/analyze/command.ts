import { DatabaseError } from '#core/errors.ts';
import { isMap, type Value, type ValueMap } from '#core/value/value.ts';
import type { LogicalPlan } from '#query/algebra/plan.ts';
import { serverProcedures } from '#query/procedures/registry.ts';
import type { Clause, Command, Expression, Query, ReturnItem } from '../ast.ts';
import { notSupported } from '../failures.ts';
import type { Compiler } from './compiler.ts';
import { createConstraint, dropConstraint } from './constraint.ts';
import {
  alteration,
  type CommandOf,
  dropIndex,
  indexChange,
  nothing,
  propertyChange,
  propertyOf,
  sameIndex,
  type SpecialIndex,
  typeChanges,
} from './schema-changes.ts';

/** Schema commands (cypher.md 12.1): one change of the catalog, perhaps after others that it needs. */

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

function createIndex(compiler: Compiler, command: CommandOf<'createIndex'>): LogicalPlan {
  const { catalog } = compiler;
  const { indexType, name, type, properties } = command;
  if (indexType === 'LOOKUP') throw notSupported('CREATE LOOKUP INDEX');
  const special = specialIndex(indexType, command);
  const kind = special?.indexKind ?? 'LSM_TREE';
  const named = name === undefined ? undefined : catalog.indexNamed(name);
  const same = named ?? sameIndex(catalog, type, properties, { isUnique: false, kind });
  if (same !== undefined) {
    if (command.ifNotExists) return nothing(compiler);
    throw new DatabaseError('Schema', `Index '${same.name}' already exists`);
  }
  const first = typeChanges(catalog, command);
  if (special === undefined) {
    const isText = indexType === 'TEXT';
    const change = indexChange({ name, type, properties, isUnique: false, isText });
    return alteration(compiler, change, { first, counts: 'indexesAdded' });
  }
  // Such an index is of declared properties. They keep what they are given, but for vectors.
  const declarations = properties
    .filter((property) => propertyOf(catalog, type, property) === undefined)
    .map((property) => propertyChange(type, property, special.dataType));
  const change = indexChange({ name, type, properties, isUnique: false, special });
  return alteration(compiler, change, {
    first: [...first, ...declarations],
    counts: 'indexesAdded',
  });
}

function specialIndex(
  indexType: string,
  { options, properties }: CommandOf<'createIndex'>,
): SpecialIndex | undefined {
  const none: ValueMap = new Map();
  switch (indexType) {
    case 'FULLTEXT':
      return { indexKind: 'FULL_TEXT', dataType: 'ANY', metadata: none };
    case 'POINT':
      return { indexKind: 'GEOSPATIAL', dataType: 'ANY', metadata: none };
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
