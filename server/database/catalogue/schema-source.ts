import { hint } from '#catalog/change/definition.ts';
import { DatabaseError } from '#core/errors.ts';
import type { BucketId } from '#core/value/rid.ts';
import type { EpochMs } from '#core/runtime.ts';
import type { TemporalFormats } from '#core/temporal/format.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import type { SettingReport } from '#config/effective-settings.ts';
import { isSearchKind } from '#catalog/search-index.ts';
import { isShown } from '#catalog/change/index-definition.ts';
import type {
  BucketDefinition,
  Catalog,
  IndexDefinition,
  PropertyDefinition,
  TypeDefinition,
} from '#catalog/catalog.ts';
import type {
  FunctionDefinition,
  GraphViewDefinition,
  TriggerDefinition,
} from '#catalog/definitions.ts';
import type { ReadView } from '#transaction/read/read-view.ts';

/** What `schema:` rows tell beyond the catalog. */
export interface SchemaFacts {
  readonly databaseName: string;
  /** The database's directory. */
  readonly path: string;
  readonly sizeBytes: () => number;
  readonly formats: () => TemporalFormats;
  readonly settings: () => readonly SettingReport[];
  /** Counters since the database was opened. */
  readonly counters: () => Readonly<Record<string, number>>;
  readonly now: () => EpochMs;
  /** Names of properties that records use, declared or not, with the numbers of storage. */
  readonly propertyNames: () => ReadonlyMap<string, number>;
  readonly viewRows: (catalog: Catalog) => readonly ValueMap[];
}

type RowsOf = (view: ReadView, facts: SchemaFacts, name: string | undefined) => Iterable<ValueMap>;

/** Row sources by kind (sql.md 7.12). There are no time series. */
const rowsOfKind: Readonly<Record<string, RowsOf>> = {
  types: (view) => mapped(view.catalog.types(), (type) => typeRow(view, type)),
  indexes: (view) =>
    mapped(view.catalog.indexes().filter(isShown), (index) => indexRow(view, index)),
  buckets: (view) => mapped(view.catalog.buckets(), (bucket) => bucketRow(view, bucket)),
  database: (_view, facts) => [databaseRow(facts)],
  bucket: (view, _facts, name) => [bucketDetails(view, name ?? '')],
  index: (view, _facts, name) => [indexDetails(view, name ?? '')],
  stats: (_view, facts) => [
    row([['databaseName', facts.databaseName], ...Object.entries(facts.counters())]),
  ],
  dictionary: (view, facts) => [dictionaryRow(view, facts)],
  materializedviews: (view, facts) => facts.viewRows(view.catalog),
  continuousaggregates: () => [],
  /** Beyond the table of sql.md 7.12: how else would one see them. */
  triggers: (view) =>
    mapped(view.catalog.definitions.parts.triggers, (trigger) => triggerRow(view, trigger)),
  functions: (view) => mapped(view.catalog.definitions.parts.functions, functionRow),
  graphanalyticalviews: (view) => mapped(view.catalog.definitions.parts.graphViews, graphViewRow),
};

/**
 * Rows of `schema:<kind>[:<name>]`; kinds are case-insensitive.
 * @throws DatabaseError `IllegalArgument` for an unknown kind, `Schema` for an unknown bucket or index
 */
export function schemaRows(
  view: ReadView,
  facts: SchemaFacts,
  asked: { readonly kind: string; readonly name: string | undefined },
): Iterable<ValueMap> {
  const kind = asked.kind.toLowerCase();
  const rowsOf = Object.hasOwn(rowsOfKind, kind) ? rowsOfKind[kind] : undefined;
  const needsName = kind === 'bucket' || kind === 'index';
  if (rowsOf === undefined || needsName !== (asked.name !== undefined)) {
    const shown = asked.name === undefined ? asked.kind : `${asked.kind}:${asked.name}`;
    const known = rowsOf === undefined ? Object.keys(rowsOfKind) : [];
    throw new DatabaseError('IllegalArgument', `Invalid metadata: ${shown}`, hint(kind, known));
  }
  return rowsOf(view, facts, asked.name);
}

function triggerRow(view: ReadView, trigger: TriggerDefinition): ValueMap {
  return row([
    ['name', trigger.name],
    ['timing', trigger.timing],
    ['event', trigger.event],
    ['typeName', view.catalog.typeWithId(trigger.type).name],
    ['actionType', trigger.language ?? 'SQL'],
    ['action', trigger.action],
  ]);
}

function functionRow(defined: FunctionDefinition): ValueMap {
  return row([
    ['libraryName', defined.library],
    ['functionName', defined.name],
    ['parameters', defined.parameters],
    ['language', defined.language],
    ['body', defined.body],
  ]);
}

/** Nothing is built for them: they only remember what was asked for (sql.md 14.4). */
function graphViewRow(view: GraphViewDefinition): ValueMap {
  return row([
    ['name', view.name],
    ['vertexTypes', view.vertexTypes],
    ['edgeTypes', view.edgeTypes],
    ['propertyFilter', view.properties],
    ['edgePropertyFilter', view.edgeProperties],
    ['updateMode', view.updateMode],
    ['compactionThreshold', view.compactionThreshold],
    ['status', 'READY'],
    ['nodeCount', 0],
    ['edgeCount', 0],
    ['memoryUsageBytes', 0],
    ['buildTimestamp', null],
    ['buildDurationMs', 0],
  ]);
}

function* mapped<T>(items: readonly T[], rowOf: (item: T) => ValueMap): Iterable<ValueMap> {
  for (const item of items) yield rowOf(item);
}

function row(entries: readonly (readonly [string, Value])[]): ValueMap {
  return new Map(entries);
}

function typeRow(view: ReadView, type: TypeDefinition): ValueMap {
  const { catalog } = view;
  const bucketNames = type.buckets.map((id) => catalog.bucketWithId(id)?.name ?? String(id));
  const records = type.buckets.reduce((sum, id) => sum + shownCount(view, id), 0);
  const indexes = catalog.indexes().filter((index) => isShown(index) && index.type === type.id);
  return row([
    ['name', type.name],
    ['type', type.kind],
    ['records', records],
    ['buckets', bucketNames],
    ['bucketSelectionStrategy', type.bucketStrategy],
    ['needsRepartition', type.needsRepartition],
    ['parentTypes', type.supertypes.map((id) => catalog.typeWithId(id).name)],
    ['properties', [...type.properties.values()].map(propertyRow)],
    ['indexes', indexes.map((index) => shortIndexRow(view, index))],
    ['custom', type.custom],
  ]);
}

/** Records that a scan gives: LIGHTWEIGHT edges are none (sql.md 1.5 rule 4). */
function shownCount(view: ReadView, bucket: BucketId): number {
  const owner = view.catalog.bucketWithId(bucket)?.type;
  if (owner !== undefined && view.catalog.typeWithId(owner).lightweight) return 0;
  return view.recordCount(bucket);
}

function propertyRow(property: PropertyDefinition): ValueMap {
  const entries: [string, Value][] = [
    ['id', property.id],
    ['name', property.name],
    ['type', property.type],
  ];
  if (property.ofType !== undefined) entries.push(['ofType', property.ofType]);
  const flags = {
    mandatory: property.mandatory,
    readOnly: property.readOnly,
    notNull: property.notNull,
    hidden: property.hidden,
    external: property.external,
  };
  for (const [name, isSet] of Object.entries(flags)) if (isSet) entries.push([name, true]);
  if (property.compression !== undefined) entries.push(['compression', property.compression]);
  if (property.min !== null) entries.push(['min', property.min]);
  if (property.max !== null) entries.push(['max', property.max]);
  if (property.default !== undefined) entries.push(['default', property.default]);
  if (property.regexp !== undefined) entries.push(['regexp', property.regexp]);
  entries.push(['custom', property.custom]);
  return row(entries);
}

function shortIndexRow(view: ReadView, index: IndexDefinition): ValueMap {
  return row([
    ['name', index.name],
    ['typeName', view.catalog.typeWithId(index.type).name],
    ['type', index.kind],
    ['unique', index.unique],
    ['properties', index.components.map((component) => component.property)],
    ['automatic', true],
  ]);
}

function indexRow(view: ReadView, index: IndexDefinition): ValueMap {
  return row([
    ['name', index.name],
    ['indexType', index.kind],
    ['typeName', view.catalog.typeWithId(index.type).name],
    ['properties', index.components.map((component) => component.property)],
    ['keyTypes', index.components.map((component) => keyType(view, index, component.property))],
    ['unique', index.unique],
    ['automatic', true],
    ['compacting', view.catalog.indexes().some((other) => other.replaces === index.id)],
    ['valid', index.state === 'READY'],
    ['supportsOrderedIterations', index.kind === 'LSM_TREE'],
    ['nullStrategy', index.nullStrategy],
  ]);
}

function keyType(view: ReadView, index: IndexDefinition, property: string): Value {
  if (property.startsWith('@')) return 'LINK';
  return view.catalog.property(index.type, property)?.type ?? null;
}

function indexDetails(view: ReadView, name: string): ValueMap {
  const index = view.catalog.indexNamed(name);
  if (index === undefined) {
    const names = view.catalog.indexes().map((known) => known.name);
    throw new DatabaseError('Schema', `Index with name '${name}' was not found`, hint(name, names));
  }
  const metadata: [string, Value][] = index.metadata.size > 0 ? [['metadata', index.metadata]] : [];
  const { entryCount, entries } = view.index(index.id);
  const kept = isSearchKind(index.kind) ? (entries.memory.known?.facts ?? {}) : {};
  return row([
    ...indexRow(view, index),
    ...metadata,
    ['entries', entryCount],
    ...Object.entries(kept),
  ]);
}

function bucketRow(view: ReadView, bucket: BucketDefinition): ValueMap {
  return row([
    ['name', bucket.name],
    ['fileId', bucket.id],
    ['records', shownCount(view, bucket.id)],
    ['purpose', 'PRIMARY'],
  ]);
}

/** Blocks stand for the reference's pages; a block has no fixed size in bytes, 8 KB is what storage aims at. */
const blockBytesAimedAt = 8192;

function bucketDetails(view: ReadView, name: string): ValueMap {
  const bucket = view.catalog.bucketNamed(name);
  if (bucket === undefined) {
    const names = view.catalog.buckets().map((known) => known.name);
    throw new DatabaseError(
      'Schema',
      `Bucket with name '${name}' was not found`,
      hint(name, names),
    );
  }
  return row([
    ['name', bucket.name],
    ['fileId', bucket.id],
    ['pageSize', blockBytesAimedAt],
    ['totalPages', view.snapshot.blockCount(bucket.id)],
    ['purpose', 'PRIMARY'],
    ['records', shownCount(view, bucket.id)],
    ['rowsPerBlock', view.snapshot.rowsPerBlock(bucket.id)],
  ]);
}

function databaseRow(facts: SchemaFacts): ValueMap {
  const formats = facts.formats();
  return row([
    ['name', facts.databaseName],
    ['path', facts.path],
    ['mode', 'READ_WRITE'],
    ['size', facts.sizeBytes()],
    ['dateFormat', formats.dateFormat],
    ['dateTimeFormat', formats.dateTimeFormat],
    ['timezone', zoneDisplayName(formats.zone, facts.now())],
    ['encoding', 'UTF-8'],
    ['settings', facts.settings().map(settingRow)],
  ]);
}

function settingRow(setting: SettingReport): ValueMap {
  return row([
    ['key', setting.key],
    ['value', setting.value],
    ['description', setting.description],
    ['overridden', setting.overridden],
    ['default', setting.default],
  ]);
}

/** `Coordinated Universal Time`; the id itself for fixed offsets. */
function zoneDisplayName(zone: string, now: EpochMs): string {
  try {
    const format = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'long' });
    const part = format.formatToParts(now).find(({ type }) => type === 'timeZoneName');
    return part?.value ?? zone;
  } catch {
    return zone;
  }
}

/** Above every id of a declared property. */
const undeclaredFrom = 65_536;

/** Names of properties with their ids: declared ones, then those that only records have. */
function dictionaryRow(view: ReadView, facts: SchemaFacts): ValueMap {
  const entries = new Map<string, Value>();
  for (const type of view.catalog.types()) {
    for (const property of type.properties.values()) entries.set(property.name, property.id);
  }
  for (const [name, number] of facts.propertyNames()) {
    if (!entries.has(name)) entries.set(name, undeclaredFrom + number);
  }
  return row([
    ['totalEntries', entries.size],
    ['totalPages', 1],
    ['entries', entries],
  ]);
}
