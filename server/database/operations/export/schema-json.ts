import type {
  Catalog,
  IndexComponent,
  IndexDefinition,
  IndexKind,
  PropertyDefinition,
  TypeDefinition,
} from '#catalog/catalog.ts';
import type { AlterTypeItem, PropertyAttribute, SchemaChange } from '#catalog/change/changes.ts';
import { ownBuckets } from '#catalog/change/window.ts';
import type { ViewDefinition } from '#catalog/definitions.ts';
import { DatabaseError } from '#core/errors.ts';
import type { RecordKind } from '#core/value/record.ts';
import { isList, isMap, type Value, type ValueMap } from '#core/value/value.ts';

// The schema line of an export, and the changes that make such a schema anew. Values are read as JSON; those of exports of the
// reference (`type` v, e or d, `parents`, `properties`, `indexes` by `properties`) are understood as well.

const letters: Readonly<Record<RecordKind, string>> = { document: 'd', vertex: 'v', edge: 'e' };

/** The schema as a value: names instead of ids, supertypes before their subtypes. */
export function schemaValue(catalog: Catalog): ValueMap {
  const types = new Map<string, Value>();
  for (const type of inOrder(catalog)) types.set(type.name, typeValue(catalog, type));
  const loose = catalog.buckets().filter(({ type }) => type === undefined);
  return new Map<string, Value>([
    ['schemaVersion', catalog.version],
    ['types', types],
    ['buckets', loose.map(({ name }) => name)],
    ...definitionValues(catalog),
  ]);
}

function inOrder(catalog: Catalog): readonly TypeDefinition[] {
  const done = new Set<TypeDefinition>();
  const visit = (type: TypeDefinition): void => {
    if (done.has(type)) return;
    for (const id of type.supertypes) visit(catalog.typeWithId(id));
    done.add(type);
  };
  for (const type of catalog.types()) visit(type);
  return [...done];
}

function typeValue(catalog: Catalog, type: TypeDefinition): ValueMap {
  const bucketNames = ownBuckets(catalog, type).map((id) => catalog.bucketWithId(id)?.name ?? '');
  const indexes = catalog.indexes().filter((index) => index.type === type.id);
  return new Map<string, Value>([
    ['type', letters[type.kind]],
    ['parents', type.supertypes.map((id) => catalog.typeWithId(id).name)],
    ['buckets', bucketNames],
    ['aliases', type.aliases],
    ['bucketStrategy', type.bucketStrategy],
    ['bidirectional', type.bidirectional],
    ['lightweight', type.lightweight],
    ['custom', type.custom],
    ['properties', new Map([...type.properties].map(([name, p]) => [name, propertyValue(p)]))],
    ['indexes', new Map(indexes.map((index) => [index.name, indexValue(index)]))],
  ]);
}

function propertyValue(property: PropertyDefinition): ValueMap {
  const { mandatory, notNull, readOnly, hidden, external, min, max } = property;
  const all: [string, Value][] = [
    ['type', property.type],
    ['of', property.ofType ?? null],
    ['mandatory', mandatory],
    ['notnull', notNull],
    ['readonly', readOnly],
    ['hidden', hidden],
    ['external', external],
    ['min', min],
    ['max', max],
    ['regexp', property.regexp ?? null],
    ['default', property.default ?? null],
    ['compression', property.compression ?? null],
    ['custom', property.custom.size === 0 ? null : property.custom],
  ];
  return new Map(all.filter(([, value]) => value !== null && value !== false));
}

function indexValue(index: IndexDefinition): ValueMap {
  const components = index.components.map(
    ({ property, by, caseInsensitive }) =>
      new Map<string, Value>([
        ['property', property],
        ['by', by],
        ['caseInsensitive', caseInsensitive],
      ]),
  );
  return new Map<string, Value>([
    ['type', index.kind],
    ['unique', index.unique],
    ['nullStrategy', index.nullStrategy],
    ['components', components],
    ['metadata', index.metadata],
    ...(index.isText === true ? [['text', true] as const] : []),
  ]);
}

function definitionValues(catalog: Catalog): readonly [string, Value][] {
  const { triggers, functions, views, graphViews } = catalog.definitions.parts;
  const values: [string, Value][] = [];
  if (triggers.length > 0)
    values.push([
      'triggers',
      triggers.map(
        ({ name, timing, event, type, action, language }) =>
          new Map([
            ['name', name],
            ['timing', timing],
            ['event', event],
            ['type', catalog.typeWithId(type).name],
            ['language', language ?? 'SQL'],
            ['action', action],
          ]),
      ),
    ]);
  if (functions.length > 0)
    values.push([
      'functions',
      functions.map(
        ({ library, name, parameters, language, body }) =>
          new Map<string, Value>([
            ['library', library],
            ['name', name],
            ['parameters', parameters],
            ['language', language],
            ['body', body],
          ]),
      ),
    ]);
  if (views.length > 0) values.push(['views', views.map(viewValue)]);
  if (graphViews.length > 0)
    values.push([
      'graphViews',
      graphViews.map((view) => new Map<string, Value>(Object.entries(view))),
    ]);
  return values;
}

/** The rows of a view travel as documents of its type. */
function viewValue({ type: _, ...view }: ViewDefinition): ValueMap {
  return new Map<string, Value>(Object.entries(view));
}

/** The changes that make a schema: those that records need, and those that would be in the way of loading them. */
export interface SchemaPlan {
  readonly before: readonly SchemaChange[];
  /** Constraints, defaults and indexes: records come as they were stored, links are mended when all of them are there. */
  readonly after: readonly SchemaChange[];
}

/**
 * Plans the changes for the schema of an export. Types, properties and indexes that are there already stay as they are.
 * @throws DatabaseError `Validation` for what is no schema
 */
export function planSchema(schema: Value, catalog: Catalog): SchemaPlan {
  const types = isMap(schema) ? schema.get('types') : undefined;
  if (!isMap(schema) || types === undefined || !isMap(types))
    throw new DatabaseError('Validation', "the schema of the import has no 'types'");
  const before: SchemaChange[] = [];
  const after: SchemaChange[] = [];
  for (const name of texts(schema.get('buckets')))
    before.push({ kind: 'create-bucket', name, ifNotExists: true });
  const planned = parentsFirst(types).map(([name, type]) => ({
    name,
    type,
    catalog,
    isNew: catalog.typeNamed(name) === undefined,
  }));
  // A property may be of a type that stands further down, even in a circle.
  for (const one of planned) if (one.isNew) before.push(...newType(one));
  // A property of a type that a supertype declares, too, was there first.
  for (const one of planned.toReversed()) planProperties(one, before);
  for (const one of planned) planParts(one, before, after);
  after.push(...definitionsOf(schema));
  return { before, after };
}

function definitionsOf(schema: ValueMap): readonly SchemaChange[] {
  const found: SchemaChange[] = [];
  for (const spec of maps(schema.get('functions')))
    found.push({
      kind: 'define-function',
      library: textOr(spec.get('library'), ''),
      name: textOr(spec.get('name'), ''),
      parameters: texts(spec.get('parameters')),
      language: textOr(spec.get('language'), 'sql'),
      body: textOr(spec.get('body'), ''),
    });
  for (const spec of maps(schema.get('triggers')))
    found.push({
      kind: 'create-trigger',
      name: textOr(spec.get('name'), ''),
      ifNotExists: true,
      timing: spec.get('timing') === 'BEFORE' ? 'BEFORE' : 'AFTER',
      event: triggerEvents.find((event) => event === spec.get('event')) ?? 'CREATE',
      type: textOr(spec.get('type'), ''),
      language: spec.get('language') === 'JAVASCRIPT' ? 'JAVASCRIPT' : 'SQL',
      action: textOr(spec.get('action'), ''),
    });
  for (const spec of maps(schema.get('views'))) found.push(viewOf(spec));
  for (const spec of maps(schema.get('graphViews'))) found.push(graphViewOf(spec));
  return found;
}

function viewOf(spec: ValueMap): SchemaChange {
  const interval = spec.get('refreshIntervalMs');
  return {
    kind: 'create-view',
    name: textOr(spec.get('name'), ''),
    ifNotExists: true,
    query: textOr(spec.get('query'), ''),
    refreshMode: refreshModes.find((mode) => mode === spec.get('refreshMode')) ?? 'MANUAL',
    refreshIntervalMs: typeof interval === 'number' ? interval : 0,
    isSimple: spec.get('isSimple') === true,
    sourceTypes: texts(spec.get('sourceTypes')),
    readsAnyType: spec.get('readsAnyType') === true,
    bucketCount: undefined,
    adoptsType: true,
  };
}

function graphViewOf(spec: ValueMap): SchemaChange {
  const threshold = spec.get('compactionThreshold');
  return {
    kind: 'create-graph-view',
    name: textOr(spec.get('name'), ''),
    ifNotExists: true,
    vertexTypes: texts(spec.get('vertexTypes')),
    edgeTypes: texts(spec.get('edgeTypes')),
    properties: texts(spec.get('properties')),
    edgeProperties: texts(spec.get('edgeProperties')),
    updateMode: graphViewModes.find((mode) => mode === spec.get('updateMode')) ?? 'OFF',
    compactionThreshold: typeof threshold === 'number' ? threshold : 10_000,
  };
}

const refreshModes = ['MANUAL', 'INCREMENTAL', 'PERIODIC'] as const;
const graphViewModes = ['OFF', 'SYNCHRONOUS', 'ASYNCHRONOUS'] as const;
const triggerEvents = ['CREATE', 'READ', 'UPDATE', 'DELETE'] as const;

/** Exports of the reference list types in any order. */
function parentsFirst(types: ValueMap): readonly (readonly [string, ValueMap])[] {
  const done = new Map<string, ValueMap>();
  const path = new Set<string>();
  const visit = (name: string): void => {
    const type = types.get(name);
    if (done.has(name) || path.has(name) || type === undefined || !isMap(type)) return;
    path.add(name);
    for (const parent of texts(type.get('parents'))) visit(parent);
    done.set(name, type);
  };
  for (const name of types.keys()) visit(name);
  return [...done];
}

interface PlannedType {
  readonly name: string;
  readonly type: ValueMap;
  readonly catalog: Catalog;
  readonly isNew: boolean;
}

function planProperties({ name, type }: PlannedType, before: SchemaChange[]): void {
  for (const [property, spec] of propertiesOf(type))
    before.push({
      kind: 'create-property',
      type: name,
      property,
      ifNotExists: true,
      dataType: textOr(spec.get('type'), 'STRING').toUpperCase(),
      ofType: text(spec.get('of') ?? spec.get('ofType')),
      attributes: [],
      custom: noValues,
    });
}

function propertiesOf(type: ValueMap): readonly (readonly [string, ValueMap])[] {
  return [...mapOr(type.get('properties'))].flatMap(([name, spec]) =>
    isMap(spec) ? [[name, spec] as const] : [],
  );
}

function planParts(planned: PlannedType, before: SchemaChange[], after: SchemaChange[]): void {
  const { name, type, isNew } = planned;
  for (const [property, spec] of propertiesOf(type)) {
    // Of several attributes one change would apply the last (sql.md 13.8).
    for (const attribute of attributesOf(spec))
      after.push({
        kind: 'alter-property',
        type: name,
        property,
        attributes: [attribute],
        custom: noValues,
      });
    for (const entry of mapOr(spec.get('custom')))
      after.push({
        kind: 'alter-property',
        type: name,
        property,
        attributes: [],
        custom: new Map([entry]),
      });
  }
  const strategy =
    text(type.get('bucketStrategy')) ?? strategyOf(type.get('bucketSelectionStrategy'));
  const isPartitioned = strategy?.startsWith('partitioned') === true;
  // Records must go to the buckets that the strategy chooses, and it needs its unique index.
  const forIndexes = isPartitioned && isNew ? before : after;
  for (const index of indexesOf(name, type))
    forIndexes.push(isOfBareEdges(type, index) ? { ...uniqueEdges, name } : index);
  const items: AlterTypeItem[] = [];
  if (strategy !== undefined && strategy !== 'round-robin' && isNew)
    items.push({ kind: 'bucket-strategy', strategy });
  if (items.length > 0) before.push({ kind: 'alter-type', name, items });
  const aliases = texts(type.get('aliases'));
  if (aliases.length > 0 && isNew)
    after.push({ kind: 'alter-type', name, items: [{ kind: 'aliases', aliases }] });
}

/** What keeps edges without records unique is no index that users see. */
const uniqueEdges = {
  kind: 'alter-type',
  items: [{ kind: 'setting', name: 'unique', value: true }],
} as const;

function isOfBareEdges(type: ValueMap, index: SchemaChange): boolean {
  if (type.get('lightweight') !== true || index.kind !== 'create-index' || !index.unique)
    return false;
  return index.components.every(({ property }) => property === '@out' || property === '@in');
}

function newType({ name, type, catalog }: PlannedType): readonly SchemaChange[] {
  const buckets = texts(type.get('buckets')).filter(
    (bucket) => catalog.bucketNamed(bucket)?.type === undefined,
  );
  return [
    ...buckets.map((bucket) => ({
      kind: 'create-bucket' as const,
      name: bucket,
      ifNotExists: true,
    })),
    {
      kind: 'create-type',
      type: kindOfLetter(text(type.get('type'))),
      name,
      ifNotExists: true,
      supertypes: texts(type.get('parents')),
      buckets,
      bucketCount: undefined,
      custom: mapOr(type.get('custom')),
      bidirectional: type.get('bidirectional') !== false,
      lightweight: type.get('lightweight') === true,
      uniqueEdges: false,
    },
  ];
}

function kindOfLetter(letter: string | undefined): RecordKind {
  switch (letter) {
    case 'v':
    case 'vertex':
      return 'vertex';
    case 'e':
    case 'edge':
      return 'edge';
    default:
      return 'document';
  }
}

const attributeNames = [
  'mandatory',
  'notnull',
  'readonly',
  'hidden',
  'external',
  'min',
  'max',
  'regexp',
  'default',
  'compression',
] as const;

function attributesOf(spec: ValueMap): readonly PropertyAttribute[] {
  const byLowerName = new Map([...spec].map(([name, value]) => [name.toLowerCase(), value]));
  const found: PropertyAttribute[] = [];
  for (const name of attributeNames) {
    const value = byLowerName.get(name);
    if (value !== undefined && value !== null && value !== false) found.push({ name, value });
  }
  return found;
}

function indexesOf(typeName: string, type: ValueMap): readonly SchemaChange[] {
  const found: SchemaChange[] = [];
  const seen = new Set<string>();
  for (const [name, spec] of mapOr(type.get('indexes'))) {
    if (!isMap(spec)) continue;
    const components = componentsOf(spec);
    const componentText = components.map(({ property }) => property).join(',');
    const kind = textOr(spec.get('type'), 'LSM_TREE');
    // The reference lists an index once for each bucket.
    const isPerBucket = spec.has('bucket');
    const key = `${componentText} ${kind}`;
    if (components.length === 0 || (isPerBucket && seen.has(key))) continue;
    seen.add(key);
    const nulls = textOr(spec.get('nullStrategy'), 'SKIP').toUpperCase();
    found.push({
      kind: 'create-index',
      name: isPerBucket ? undefined : name,
      ifNotExists: true,
      type: typeName,
      components,
      componentText,
      indexKind: kind as IndexKind,
      unique: spec.get('unique') === true,
      nullStrategy: nulls === 'ERROR' || nulls === 'INDEX' ? nulls : 'SKIP',
      metadata: mapOr(spec.get('metadata')),
      // Those of openCypher need no declaration.
      ofAnyType: true,
      ...(spec.get('text') === true && { isText: true }),
    });
  }
  return found;
}

function componentsOf(spec: ValueMap): readonly IndexComponent[] {
  const listed = spec.get('components');
  if (listed === undefined || !isList(listed))
    return texts(spec.get('properties')).map((property) => ({
      property,
      by: 'value',
      caseInsensitive: false,
    }));
  return listed.flatMap((component) => {
    if (!isMap(component)) return [];
    const by = component.get('by');
    return [
      {
        property: textOr(component.get('property'), ''),
        by: by === 'mapKey' || by === 'mapValue' || by === 'item' ? by : 'value',
        caseInsensitive: component.get('caseInsensitive') === true,
      } as const,
    ];
  });
}

const noValues: ValueMap = new Map();

function strategyOf(value: Value | undefined): string | undefined {
  return value !== undefined && isMap(value) ? text(value.get('name')) : undefined;
}

function texts(value: Value | undefined): readonly string[] {
  if (value === undefined || !isList(value)) return [];
  return value.filter((item) => typeof item === 'string');
}

function maps(value: Value | undefined): readonly ValueMap[] {
  return value !== undefined && isList(value) ? value.filter((item) => isMap(item)) : [];
}

function text(value: Value | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function textOr(value: Value | undefined, otherwise: string): string {
  return typeof value === 'string' ? value : otherwise;
}

function mapOr(value: Value | undefined): ValueMap {
  return value !== undefined && isMap(value) ? value : noValues;
}
