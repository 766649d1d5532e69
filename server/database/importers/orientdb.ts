import type { Catalog } from '#catalog/catalog.ts';
import type { SchemaChange } from '#catalog/change/changes.ts';
import { schemaTypeNamed } from '#core/value/conversion.ts';
import { DatabaseError } from '#core/errors.ts';
import { Link, type RecordKind } from '#core/value/record.ts';
import { noRid, parseRid, type Rid } from '#core/value/rid.ts';
import { EmbeddedDocument, isList, isMap, type Value, type ValueMap } from '#core/value/value.ts';
import { RidMap } from '#transaction/write/rid-map.ts';
import { fileJson } from './file-json.ts';
import { type ImportJob, textOr } from './import-job.ts';
import { constraintsOf, linkedOf } from './orientdb-properties.ts';
import { JsonSections } from './json-sections.ts';
import { textOf } from './lines.ts';
import { LinkUpdates, withoutLinks } from './link-updates.ts';

// An export of OrientDB (http-api.md 18.5): one object with `schema.classes` and `records`. Classes below V become vertex types,
// below E edge types, the rest document types; what the other server kept for itself is left out. The records are read three
// times: vertices and documents, then edges between them, then the links.

/** Classes of the other server's own. */
const ownClasses: ReadonlySet<string> = new Set([
  'OUser',
  'ORole',
  'OIdentity',
  'OSchedule',
  'OSequence',
  'OTriggered',
  'OSecurityPolicy',
  'ORestricted',
  'OFunction',
  '_studio',
]);
/** The record that lists the indexes. */
const indexRecord = '#0:2';

interface OrientClass {
  readonly name: string;
  readonly parents: readonly string[];
  readonly properties: readonly ValueMap[];
}

export async function importOrientdb(job: ImportJob): Promise<void> {
  await new OrientImport(job).run();
}

class OrientImport {
  readonly #job: ImportJob;
  readonly #classes = new Map<string, OrientClass>();
  readonly #rids = new RidMap<Rid>();
  #indexes: readonly Value[] = [];
  #hasLinks = false;

  constructor(job: ImportJob) {
    this.#job = job;
  }

  async run(): Promise<void> {
    const { sink, reporter } = this.#job;
    await this.#eachSection(['schema'], async (_name, value) => this.#schema(value));
    await this.#eachRecord((record, kind) => this.#addRecord(record, kind));
    await sink.flush();
    reporter.step('edges', undefined);
    await this.#eachRecord((record, kind) => this.#addEdge(record, kind));
    await sink.commit();
    if (this.#hasLinks) await this.#putLinks();
    await this.#makeIndexes();
    await this.#constrain();
  }

  async #eachSection(
    names: readonly string[],
    handle: (name: string, value: Value) => Promise<void>,
  ): Promise<void> {
    const { open, sink, lineBytesMax, depthMax } = this.#job;
    const reader = new JsonSections({ split: ['records'], bytesMax: lineBytesMax });
    for await (const piece of textOf(await open())) {
      for (const { name, text } of reader.write(piece)) {
        if (!names.includes(name)) continue;
        await handle(name, fileJson(text, depthMax));
        await sink.pace();
      }
      await sink.pace();
    }
    reader.end();
  }

  #eachRecord(handle: (record: ValueMap, kind: RecordKind) => Promise<void>): Promise<void> {
    return this.#eachSection(['records'], async (_name, record) => {
      if (!isMap(record)) return;
      if (textOr(record.get('@rid'), '') === indexRecord) {
        const listed = record.get('indexes');
        if (listed !== undefined && isList(listed)) this.#indexes = listed;
        return;
      }
      const type = record.get('@class');
      if (typeof type !== 'string' || ownClasses.has(type) || !this.#classes.has(type)) return;
      await handle(record, this.#kindOf(type));
    });
  }

  async #schema(schema: Value): Promise<void> {
    const listed = isMap(schema) ? schema.get('classes') : undefined;
    if (listed === undefined || !isList(listed))
      throw new DatabaseError('Validation', "the export has no 'schema.classes'");
    for (const one of listed) {
      const name = isMap(one) ? textOr(one.get('name'), '') : '';
      if (!isMap(one) || name === '' || ownClasses.has(name)) continue;
      this.#classes.set(name, {
        name,
        parents: parentsOf(one),
        properties: mapsIn(one, 'properties'),
      });
    }
    const made = new Set<string>();
    for (const name of this.#classes.keys()) await this.#makeType(name, made);
    for (const { name, properties } of this.#classes.values())
      for (const property of properties) await this.#makeProperty(name, property);
  }

  /** Behind the types, since it may be of one of them. */
  async #makeProperty(type: string, property: ValueMap): Promise<void> {
    const { state } = this.#job.database;
    const change = propertyChange(type, property, state.catalog);
    if (change !== undefined && state.catalog.typeNamed(type) !== undefined)
      await state.alter(change);
  }

  /** What the values must be like holds from now on: links were missing in the records for a while. */
  async #constrain(): Promise<void> {
    const { database, sink } = this.#job;
    const { state } = database;
    for (const { name, properties } of this.#classes.values()) {
      const type = state.catalog.typeNamed(name);
      for (const property of properties) {
        if (type?.properties.has(textOr(property.get('name'), '')) !== true) continue;
        for (const change of constraintsOf(name, property))
          try {
            await state.alter(change);
          } catch (error) {
            if (!(error instanceof DatabaseError)) throw error;
            sink.counts.warnings += 1;
          }
      }
    }
  }

  /** V and E themselves are made only when records are of them. */
  async #makeType(name: string, made: Set<string>): Promise<void> {
    const found = this.#classes.get(name);
    if (found === undefined || made.has(name)) return;
    made.add(name);
    for (const parent of found.parents) await this.#makeType(parent, made);
    if (name === 'V' || name === 'E') return;
    const { state } = this.#job.database;
    const kind = this.#kindOf(name);
    const known = found.parents.filter((parent) => state.catalog.typeNamed(parent)?.kind === kind);
    if (state.catalog.typeNamed(name) === undefined)
      await state.alter({
        kind: 'create-type',
        type: kind,
        name,
        ifNotExists: true,
        supertypes: known,
        buckets: [],
        bucketCount: undefined,
        custom: new Map(),
        bidirectional: true,
        lightweight: false,
        uniqueEdges: false,
      });
  }

  #kindOf(name: string): RecordKind {
    const seen = new Set<string>();
    const reaches = (from: string, target: string): boolean => {
      if (from === target) return true;
      if (seen.has(from)) return false;
      seen.add(from);
      return (this.#classes.get(from)?.parents ?? []).some((parent) => reaches(parent, target));
    };
    if (reaches(name, 'V')) return 'vertex';
    seen.clear();
    return reaches(name, 'E') ? 'edge' : 'document';
  }

  async #addRecord(record: ValueMap, kind: RecordKind): Promise<void> {
    if (kind === 'edge' || record.get('@type') === 'b') return;
    const { sink } = this.#job;
    const type = textOr(record.get('@class'), '');
    await sink.requireType(kind, type);
    const properties = this.#properties(record, kind);
    const old = ridOf(record.get('@rid'));
    sink.addRecord(kind, type, withoutLinks(properties), { onRid: (rid) => this.#name(old, rid) });
  }

  async #addEdge(record: ValueMap, kind: RecordKind): Promise<void> {
    if (kind !== 'edge') return;
    const { sink } = this.#job;
    const from = this.#rids.get(ridOf(record.get('out')));
    const to = this.#rids.get(ridOf(record.get('in')));
    if (from === undefined || to === undefined) {
      sink.counts.warnings += 1;
      return;
    }
    const type = textOr(record.get('@class'), '');
    await sink.requireType('edge', type);
    const properties = this.#properties(record, kind);
    const old = ridOf(record.get('@rid'));
    sink.addEdge(type, from, to, withoutLinks(properties), {
      onRid: (rid) => this.#name(old, rid),
    });
  }

  #name(old: Rid, rid: Rid): void {
    if (old !== noRid) this.#rids.set(old, rid);
  }

  /** Without the bags in which the other server keeps edges. */
  #properties(record: ValueMap, kind: RecordKind): ValueMap {
    const properties = new Map<string, Value>();
    for (const [name, value] of record) {
      const isBag = kind === 'vertex' && /^(out|in)_/.test(name);
      const isEnd = kind === 'edge' && (name === 'out' || name === 'in');
      if (name.startsWith('@') || isBag || isEnd) continue;
      properties.set(name, this.#value(value));
    }
    return properties;
  }

  #value(json: Value): Value {
    if (typeof json === 'string') {
      const rid = /^#-?\d+:-?\d+$/.test(json) ? parseRid(json) : undefined;
      if (rid === undefined) return json;
      this.#hasLinks = true;
      return rid === noRid ? null : new Link(rid);
    }
    if (isList(json)) return json.map((item) => this.#value(item));
    if (!isMap(json)) return json;
    const type = json.get('@class');
    const own = [...json].filter(([name]) => !name.startsWith('@'));
    const map = new Map(own.map(([name, value]) => [name, this.#value(value)]));
    const isEmbedded = typeof type === 'string' && this.#classes.has(type) && !json.has('@rid');
    return isEmbedded && this.#kindOf(type) === 'document' ? new EmbeddedDocument(type, map) : map;
  }

  async #putLinks(): Promise<void> {
    const links = new LinkUpdates(this.#job, this.#rids);
    await this.#eachRecord(async (record, kind) => {
      const rid = this.#rids.get(ridOf(record.get('@rid')));
      const properties = this.#properties(record, kind);
      if (rid === undefined || withoutLinks(properties).size === properties.size) return;
      await links.add(rid, links.renamed(properties));
    });
    await links.store();
  }

  async #makeIndexes(): Promise<void> {
    const { database, sink, reporter } = this.#job;
    if (this.#indexes.length > 0) reporter.step('indexes', this.#indexes.length);
    for (const index of this.#indexes) {
      reporter.check();
      const change = isMap(index) ? indexChange(index) : undefined;
      const { catalog } = database.state;
      const type = change?.kind === 'create-index' ? catalog.typeNamed(change.type) : undefined;
      if (change?.kind !== 'create-index' || type === undefined) continue;
      const isServed = change.components.every(
        ({ property }) => catalog.property(type.id, property) !== undefined,
      );
      if (isServed) await database.state.alter(change);
      else sink.counts.warnings += 1;
      reporter.advance(1);
    }
  }
}

function parentsOf(one: ValueMap): readonly string[] {
  const several = one.get('super-classes');
  if (several !== undefined && isList(several))
    return several.filter((name) => typeof name === 'string');
  const single = one.get('super-class');
  return typeof single === 'string' ? [single] : [];
}

function mapsIn(map: ValueMap, name: string): readonly ValueMap[] {
  const listed = map.get(name);
  return listed !== undefined && isList(listed) ? listed.filter((item) => isMap(item)) : [];
}

const listTypes = new Map([
  ['EMBEDDEDLIST', 'LIST'],
  ['EMBEDDEDSET', 'LIST'],
  ['LINKLIST', 'LIST'],
  ['LINKSET', 'LIST'],
  ['LINKBAG', 'LIST'],
  ['EMBEDDEDMAP', 'MAP'],
  ['LINKMAP', 'MAP'],
]);

/** Undefined for a type that the server does not have: such values stay as they are. */
function propertyChange(
  type: string,
  property: ValueMap,
  catalog: Catalog,
): SchemaChange | undefined {
  const name = textOr(property.get('name'), '');
  const given = textOr(property.get('type'), '').toUpperCase();
  const dataType = listTypes.get(given) ?? schemaTypeNamed(given);
  if (name === '' || dataType === undefined || name.startsWith('@')) return undefined;
  const isBag = /^(out|in)_/.test(name) || name === 'out' || name === 'in';
  if (isBag) return undefined;
  const linked = linkedOf(property);
  const isKnown =
    linked !== undefined &&
    (catalog.typeNamed(linked) !== undefined || schemaTypeNamed(linked) !== undefined);
  return {
    kind: 'create-property',
    type,
    property: name,
    ifNotExists: true,
    dataType,
    ofType: isKnown ? linked : undefined,
    attributes: [],
    custom: new Map(),
  };
}

function indexChange(index: ValueMap): SchemaChange | undefined {
  const definition = index.get('definition') ?? index.get('indexDefinition');
  const spec = definition !== undefined && isMap(definition) ? definition : undefined;
  const type = spec && textOr(spec.get('className'), '');
  const fields = spec?.has('field')
    ? [textOr(spec.get('field'), '')]
    : mapsIn(spec ?? new Map(), 'indexDefinitions').map((one) => textOr(one.get('field'), ''));
  if (type === undefined || type === '' || ownClasses.has(type)) return undefined;
  if (fields.length === 0 || fields.includes('')) return undefined;
  return {
    kind: 'create-index',
    name: undefined,
    ifNotExists: true,
    type,
    components: fields.map((property) => ({ property, by: 'value', caseInsensitive: false })),
    componentText: fields.join(','),
    indexKind: 'LSM_TREE',
    unique: textOr(index.get('type'), '').toUpperCase().startsWith('UNIQUE'),
    nullStrategy: 'SKIP',
    metadata: new Map(),
  };
}

function ridOf(json: Value | undefined): Rid {
  return typeof json === 'string' ? (parseRid(json) ?? noRid) : noRid;
}
