import type { IndexKind } from '#catalog/catalog.ts';
import type { RecordKind } from '#core/value/record.ts';
import { closestWord } from '../../suggestion.ts';
import type {
  AlterTypeItem,
  CreateIndex,
  IndexedProperty,
  NamedValue,
  NameReference,
  PropertyAttribute,
  SchemaStatement,
} from '../statements.ts';
import { map, parameter } from './expression.ts';
import type { Parser } from './parser.ts';
import { bucketReference } from './target.ts';
import { nameReference, propertyReference } from './write.ts';

/** CREATE, ALTER and DROP of types, properties, buckets and indexes (sql.md 13.1 to 13.11). */

export function ifNotExists(parser: Parser): boolean {
  if (!parser.acceptKeyword('IF')) return false;
  parser.expectKeyword('NOT', 'EXISTS');
  return true;
}

export function ifExists(parser: Parser): boolean {
  if (!parser.acceptKeyword('IF')) return false;
  parser.expectKeyword('EXISTS');
  return true;
}

/** `name = expr, name = expr` */
export function namedValues(parser: Parser): readonly NamedValue[] {
  const values: NamedValue[] = [];
  do {
    const at = parser.start;
    // `WITH parallel = 4`: here stands a name, reserved or not.
    const name = parser.keyword === undefined ? parser.name() : parser.takeName();
    parser.expect('=');
    values.push({ name, at, value: parser.grammar.expression(parser) });
  } while (parser.accept(','));
  return values;
}

/** After CREATE DOCUMENT TYPE, CREATE VERTEX TYPE or CREATE EDGE TYPE. */
export function createType(parser: Parser, recordKind: RecordKind, at: number): SchemaStatement {
  const name = nameReference(parser, 'a type name');
  const mayExist = ifNotExists(parser);
  const supertypes: NameReference[] = [];
  if (parser.acceptKeyword('EXTENDS'))
    do supertypes.push(nameReference(parser, 'a type'));
    while (parser.accept(','));
  const isEdge = recordKind === 'edge';
  const isUnidirectional = isEdge && parser.acceptKeyword('UNIDIRECTIONAL');
  let isLightweight = false;
  let isUnique = false;
  for (;;) {
    if (isEdge && parser.acceptKeyword('LIGHTWEIGHT')) isLightweight = true;
    else if (isEdge && parser.acceptKeyword('UNIQUE')) isUnique = true;
    else break;
  }
  const buckets: string[] = [];
  if (parser.acceptKeyword('BUCKET')) {
    do buckets.push(String(bucketReference(parser)));
    while (parser.accept(','));
  }
  const bucketCount = parser.acceptKeyword('BUCKETS') ? parser.integer() : undefined;
  if (parser.acceptKeyword('PAGESIZE')) parser.integer();
  const custom = parser.acceptKeyword('CUSTOM') ? namedValues(parser) : [];
  return {
    kind: 'createType',
    recordKind,
    name,
    ifNotExists: mayExist,
    supertypes,
    buckets,
    bucketCount,
    custom,
    isUnidirectional,
    isLightweight,
    isUnique,
    at,
    end: parser.lastEnd,
  };
}

/** After ALTER TYPE. */
export function alterType(parser: Parser, at: number): SchemaStatement {
  const name = parser.name('a type');
  const items: AlterTypeItem[] = [];
  let settings: readonly NamedValue[] = [];
  if (!parser.atKeyword('WITH')) {
    do items.push(alterTypeItem(parser));
    while (parser.accept(','));
  }
  if (parser.acceptKeyword('WITH')) settings = typeSettings(parser);
  return { kind: 'alterType', name, items, settings, at, end: parser.lastEnd };
}

/** `name = expr, ...` where UNIQUE, a reserved word, is a name. */
function typeSettings(parser: Parser): readonly NamedValue[] {
  const values: NamedValue[] = [];
  do {
    const at = parser.start;
    const name = parser.acceptKeyword('UNIQUE') ? 'unique' : parser.name('a setting');
    parser.expect('=');
    values.push({ name, at, value: parser.grammar.expression(parser) });
  } while (parser.accept(','));
  return values;
}

function alterTypeItem(parser: Parser): AlterTypeItem {
  if (parser.acceptKeyword('NAME')) return { kind: 'name', name: parser.name() };
  if (parser.acceptKeyword('SUPERTYPE')) return { kind: 'supertype', ...signedNames(parser, true) };
  if (parser.acceptKeyword('BUCKETSELECTIONSTRATEGY'))
    return { kind: 'bucketStrategy', strategy: strategyName(parser) };
  if (parser.acceptKeyword('BUCKET')) return { kind: 'bucket', ...signedNames(parser, false) };
  if (parser.acceptKeyword('CUSTOM')) {
    const key = parser.name();
    parser.expect('=');
    return { kind: 'custom', key, value: parser.grammar.expression(parser) };
  }
  if (!parser.acceptKeyword('ALIASES')) return parser.unexpected();
  if (parser.acceptKeyword('NULL')) return { kind: 'aliases', aliases: [] };
  // Brackets around the names are taken, too: other lists of DDL have them.
  const isBracketed = parser.accept('(');
  const aliases = namesUntilItem(parser);
  if (isBracketed) parser.expect(')');
  return { kind: 'aliases', aliases };
}

/** `round-robin` is written without back-ticks, too. */
function strategyName(parser: Parser): string {
  let strategy = parser.name('a strategy');
  while (parser.accept('-')) strategy += `-${parser.name()}`;
  return strategy;
}

/** `+a, -b, c`: without a sign it means add, where the grammar allows that. */
function signedNames(
  parser: Parser,
  signIsOptional: boolean,
): { readonly add: readonly string[]; readonly remove: readonly string[] } {
  const add: string[] = [];
  const remove: string[] = [];
  do {
    const removes = parser.accept('-');
    if (!removes && !parser.accept('+') && !signIsOptional) parser.unexpected();
    (removes ? remove : add).push(parser.name());
  } while (continuesSigned(parser));
  return { add, remove };
}

function continuesSigned(parser: Parser): boolean {
  if (parser.at('+') || parser.at('-')) return true;
  if (!parser.at(',') || startsAlterItem(parser)) return false;
  parser.advance();
  return true;
}

/** True when the comma at hand separates items of ALTER TYPE and not names of one item. */
function startsAlterItem(parser: Parser): boolean {
  switch (parser.peek(1).keyword) {
    case 'NAME':
    case 'SUPERTYPE':
    case 'BUCKETSELECTIONSTRATEGY':
    case 'BUCKET':
    case 'CUSTOM':
    case 'ALIASES':
      return true;
    default:
      return false;
  }
}

function namesUntilItem(parser: Parser): readonly string[] {
  const names = [parser.name()];
  while (parser.at(',') && !startsAlterItem(parser)) {
    parser.advance();
    names.push(parser.name());
  }
  return names;
}

/** After DROP TYPE. */
export function dropType(parser: Parser, at: number): SchemaStatement {
  const isParameter = parser.at('?') || parser.at('positional') || parser.at(':');
  const name = isParameter ? parameter(parser) : nameReference(parser, 'a type');
  const mayBeMissing = ifExists(parser);
  const isUnsafe = parser.acceptKeyword('UNSAFE');
  return { kind: 'dropType', name, ifExists: mayBeMissing, isUnsafe, at, end: parser.lastEnd };
}

/** After CREATE PROPERTY. */
export function createProperty(parser: Parser, at: number): SchemaStatement {
  const type = nameReference(parser, 'a type');
  parser.expect('.');
  const property = propertyReference(parser);
  const mayExist = ifNotExists(parser);
  if (!parser.atName()) parser.unexpected('a data type');
  const dataType = parser.takeName();
  const ofType = parser.acceptKeyword('OF') ? parser.name('a type') : undefined;
  const attributes: PropertyAttribute[] = [];
  if (parser.accept('(')) {
    do attributes.push(propertyAttribute(parser));
    while (parser.accept(','));
    parser.expect(')');
  }
  const custom = parser.acceptKeyword('CUSTOM') ? namedValues(parser) : [];
  return {
    kind: 'createProperty',
    type,
    property,
    ifNotExists: mayExist,
    dataType,
    ofType,
    attributes,
    custom,
    at,
    end: parser.lastEnd,
  };
}

function propertyAttribute(parser: Parser): PropertyAttribute {
  const name = parser.name('an attribute');
  const isBare = parser.at(',') || parser.at(')');
  return { name, value: isBare ? undefined : parser.grammar.expression(parser) };
}

/** After ALTER PROPERTY. */
export function alterProperty(parser: Parser, at: number): SchemaStatement {
  const type = parser.name('a type');
  parser.expect('.');
  const property = parser.propertyName();
  const attributes: PropertyAttribute[] = [];
  let custom: readonly NamedValue[] = [];
  do {
    if (parser.acceptKeyword('CUSTOM')) {
      const at = parser.start;
      const name = parser.name();
      parser.expect('=');
      custom = [...custom, { name, at, value: parser.grammar.expression(parser) }];
    } else {
      const name = parser.name('an attribute');
      attributes.push({ name, value: parser.grammar.expression(parser) });
    }
  } while (parser.accept(','));
  return { kind: 'alterProperty', type, property, attributes, custom, at, end: parser.lastEnd };
}

/** After DROP PROPERTY. */
export function dropProperty(parser: Parser, at: number): SchemaStatement {
  const type = parser.name('a type');
  parser.expect('.');
  const property = parser.propertyName();
  const mayBeMissing = ifExists(parser);
  const isForced = parser.acceptKeyword('FORCE');
  return {
    kind: 'dropProperty',
    type,
    property,
    ifExists: mayBeMissing,
    isForced,
    at,
    end: parser.lastEnd,
  };
}

/** After CREATE BUCKET. */
export function createBucket(parser: Parser, at: number): SchemaStatement {
  const name = parser.name('a bucket name');
  const mayExist = ifNotExists(parser);
  return { kind: 'createBucket', name, ifNotExists: mayExist, at, end: parser.lastEnd };
}

/** After DROP BUCKET. */
export function dropBucket(parser: Parser, at: number): SchemaStatement {
  const bucket = bucketReference(parser);
  const mayBeMissing = ifExists(parser);
  return { kind: 'dropBucket', bucket, ifExists: mayBeMissing, at, end: parser.lastEnd };
}

const indexTypes = new Map<string, { readonly kind: IndexKind; readonly isUnique: boolean }>([
  ['UNIQUE', { kind: 'LSM_TREE', isUnique: true }],
  ['NOTUNIQUE', { kind: 'LSM_TREE', isUnique: false }],
  ['UNIQUE_HASH', { kind: 'HASH', isUnique: true }],
  ['NOTUNIQUE_HASH', { kind: 'HASH', isUnique: false }],
  ['FULL_TEXT', { kind: 'FULL_TEXT', isUnique: false }],
  ['LSM_VECTOR', { kind: 'LSM_VECTOR', isUnique: false }],
  ['LSM_SPARSE_VECTOR', { kind: 'LSM_SPARSE_VECTOR', isUnique: false }],
  ['GEOSPATIAL', { kind: 'GEOSPATIAL', isUnique: false }],
]);
const indexTypeNames = [...indexTypes.keys()].join(' | ');

/** After CREATE INDEX. */
export function createIndex(parser: Parser, at: number): SchemaStatement {
  const name =
    parser.atKeyword('ON') || parser.atKeyword('IF')
      ? undefined
      : nameReference(parser, 'an index name');
  const mayExist = ifNotExists(parser);
  if (
    name !== undefined &&
    !parser.atKeyword('ON') &&
    indexTypes.has(parser.source().toUpperCase())
  )
    return manualIndex(parser, name.name, at);
  parser.expectKeyword('ON');
  if (parser.atKeyword('TYPE') && parser.peek(1).kind !== '(') parser.advance();
  const type = nameReference(parser, 'a type');
  const components = indexComponents(parser);
  const { kind, isUnique } = indexType(parser);
  return {
    kind: 'createIndex',
    name,
    ifNotExists: mayExist,
    type,
    components,
    indexKind: kind,
    isUnique,
    ...indexOptions(parser),
    at,
    end: parser.lastEnd,
  };
}

/** The legacy form without a type. */
function manualIndex(parser: Parser, name: string, at: number): SchemaStatement {
  parser.advance();
  return {
    kind: 'createIndex',
    name: { name, isVariable: false, at, end: parser.lastEnd },
    ifNotExists: false,
    type: { name: '', isVariable: false, at, end: at },
    components: [],
    indexKind: 'LSM_TREE',
    isUnique: false,
    nullStrategy: 'SKIP',
    metadata: undefined,
    at,
    end: parser.lastEnd,
  };
}

function indexType(parser: Parser): { readonly kind: IndexKind; readonly isUnique: boolean } {
  if (parser.kind !== 'word')
    return parser.fail(parser.start, `Index type is required (${indexTypeNames})`);
  const found = indexTypes.get(parser.source().toUpperCase());
  if (found === undefined)
    return parser.fail(
      parser.start,
      `Index type '${parser.source()}' is not supported, expected one of ${indexTypeNames}`,
      closestWord(parser.source(), indexTypes.keys()),
    );
  parser.advance();
  return found;
}

function indexOptions(parser: Parser): Pick<CreateIndex, 'nullStrategy' | 'metadata'> {
  const nullStrategy = parser.acceptKeyword('NULL_STRATEGY') ? nullStrategyName(parser) : 'SKIP';
  const metadata = parser.acceptKeyword('METADATA') ? map(parser) : undefined;
  if (parser.acceptKeyword('ENGINE')) parser.name('an engine');
  return { nullStrategy, metadata };
}

function nullStrategyName(parser: Parser): CreateIndex['nullStrategy'] {
  const word = parser.source().toUpperCase();
  if (word !== 'SKIP' && word !== 'ERROR' && word !== 'INDEX')
    return parser.unexpected('SKIP, ERROR or INDEX');
  parser.advance();
  return word;
}

function indexComponents(parser: Parser): readonly IndexedProperty[] {
  parser.expect('(');
  const components = [indexComponent(parser)];
  while (parser.accept(',')) components.push(indexComponent(parser));
  parser.expect(')');
  return components;
}

function indexComponent(parser: Parser): IndexedProperty {
  const path = [propertyReference(parser)];
  while (parser.accept('.')) path.push(propertyReference(parser));
  let by: IndexedProperty['by'] = 'value';
  if (parser.acceptKeyword('BY')) {
    if (parser.acceptKeyword('KEY')) by = 'mapKey';
    else if (parser.acceptKeyword('VALUE')) by = 'mapValue';
    else {
      parser.expectKeyword('ITEM');
      by = 'item';
    }
  }
  const caseInsensitive = parser.acceptKeyword('COLLATE');
  if (caseInsensitive) parser.expectKeyword('CI');
  return { path, by, caseInsensitive };
}

/** After DROP INDEX. */
export function dropIndex(parser: Parser, at: number): SchemaStatement {
  const name = parser.accept('*') ? undefined : parser.name('an index');
  const mayBeMissing = ifExists(parser);
  return { kind: 'dropIndex', name, ifExists: mayBeMissing, at, end: parser.lastEnd };
}
