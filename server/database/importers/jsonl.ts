import { DatabaseError } from '#core/errors.ts';
import {
  type IntegerWidth,
  type IntegerWidths,
  isIntegerWidth,
  withWidths,
} from '#core/value/integer-width.ts';
import type { RecordKind } from '#core/value/record.ts';
import { noRid, parseRid, type Rid } from '#core/value/rid.ts';
import { isMap, type Value, type ValueMap } from '#core/value/value.ts';
import { RidMap } from '#transaction/write/rid-map.ts';
import { carriedSettings } from '../operations/export/jsonl.ts';
import { storedMap } from '../operations/export/record-json.ts';
import { planSchema, type SchemaPlan } from '../operations/export/schema-json.ts';
import { fileJson } from './file-json.ts';
import { type ImportJob, textOr } from './import-job.ts';
import { type Line, linesOf } from './lines.ts';
import { LinkUpdates, withoutLinks } from './link-updates.ts';

/** What a line says of a record. */
interface ImportedRecord {
  readonly kind: RecordKind;
  readonly type: string;
  /** Record id in the export; `noRid` when the line has none. */
  readonly rid: Rid;
  readonly properties: ValueMap;
  readonly widths: IntegerWidths | undefined;
  readonly hasLinks: boolean;
  readonly from: Rid;
  readonly to: Rid;
  readonly isOneWay: boolean;
}

const linkMark = Buffer.from('"$link"');

/**
 * The export format of the server (export-jsonl.ts); lines of the reference's exports are read as well. Records get new ids.
 * Links to them are put in by a second reading, when all of them are known; constraints, defaults and indexes follow at the
 * end, so that records come as they were stored. Memory: some 50 bytes for each record.
 */
export async function importJsonl(job: ImportJob): Promise<void> {
  const reading = new JsonlImport(job);
  await reading.run();
}

class JsonlImport {
  readonly #job: ImportJob;
  readonly #rids = new RidMap<Rid>();
  #plan: SchemaPlan | undefined;
  #hasLinks = false;
  /** The first edge whose ends come later in the file. */
  #deferredFrom = Infinity;
  #edgesBegan = false;

  constructor(job: ImportJob) {
    this.#job = job;
  }

  async run(): Promise<void> {
    const { sink, reporter } = this.#job;
    await this.#eachLine((line, type, content) => this.#first(line, type, content));
    await sink.commit();
    if (this.#deferredFrom < Infinity) {
      reporter.step('edges that came before their ends', undefined);
      await this.#eachLine((line, type, content) => this.#late(line, type, content));
      await sink.commit();
    }
    if (this.#hasLinks) await this.#putLinks();
    if (this.#plan !== undefined) await this.#finishSchema(this.#plan);
  }

  async #eachLine(
    handle: (line: Line, type: string, content: ValueMap) => Promise<void> | undefined,
  ): Promise<void> {
    const { open, lineBytesMax, depthMax, sink } = this.#job;
    for await (const line of linesOf(await open(), lineBytesMax)) {
      try {
        const json = fileJson(line.bytes, depthMax);
        const type = isMap(json) ? json.get('t') : undefined;
        const content = isMap(json) ? json.get('c') : undefined;
        if (typeof type !== 'string' || content === undefined || !isMap(content))
          throw new DatabaseError('Validation', 'it is no line of an export');
        const handled = handle(line, type, content);
        if (handled !== undefined) await handled;
        const turn = sink.pace();
        if (turn !== undefined) await turn;
      } catch (error) {
        throw atLine(error, line.number);
      }
    }
  }

  #first(line: Line, type: string, content: ValueMap): Promise<void> | undefined {
    const kind = kindsByLetter.get(type);
    if (kind === undefined) return this.#head(type, content);
    const record = readRecord(kind, content, line.bytes);
    if (record.hasLinks) this.#hasLinks = true;
    return kind === 'edge' ? this.#edge(record, line.number) : this.#record(kind, record);
  }

  /** What stands before the records. */
  #head(type: string, content: ValueMap): Promise<void> | undefined {
    if (type === 'schema') return this.#startSchema(content);
    return type === 'db' && this.#job.isNew ? this.#takeSettings(content) : undefined;
  }

  async #takeSettings(content: ValueMap): Promise<void> {
    const settings = content.get('settings');
    if (settings === undefined || !isMap(settings)) return;
    for (const { key } of carriedSettings) {
      const text = settings.get(key);
      if (typeof text === 'string') await this.#job.database.setSetting(key, text);
    }
  }

  #late(line: Line, type: string, content: ValueMap): Promise<void> | undefined {
    if (type !== 'e' || line.number < this.#deferredFrom) return undefined;
    const record = readRecord('edge', content, line.bytes);
    const from = this.#rids.get(record.from);
    const to = this.#rids.get(record.to);
    if (this.#rids.has(record.rid)) return undefined;
    if (from === undefined || to === undefined) {
      this.#job.sink.counts.warnings += 1;
      return undefined;
    }
    return this.#addEdge(record, from, to);
  }

  #record(kind: 'document' | 'vertex', record: ImportedRecord): Promise<void> | undefined {
    const { sink, database } = this.#job;
    const add = (): void =>
      sink.addRecord(kind, record.type, stripped(record), { onRid: this.#named(record.rid) });
    if (database.state.catalog.typeNamed(record.type)?.kind === kind) return void add();
    return sink.requireType(kind, record.type).then(add);
  }

  async #edge(record: ImportedRecord, line: number): Promise<void> {
    if (!this.#edgesBegan) {
      this.#edgesBegan = true;
      await this.#job.sink.flush();
    }
    const from = this.#rids.get(record.from);
    const to = this.#rids.get(record.to);
    if (from === undefined || to === undefined) {
      this.#deferredFrom = Math.min(this.#deferredFrom, line);
      return;
    }
    await this.#addEdge(record, from, to);
  }

  async #addEdge(record: ImportedRecord, from: Rid, to: Rid): Promise<void> {
    const { sink, database } = this.#job;
    if (database.state.catalog.typeNamed(record.type)?.kind !== 'edge')
      await sink.requireType('edge', record.type);
    const { isOneWay } = record;
    sink.addEdge(record.type, from, to, stripped(record), {
      onRid: this.#named(record.rid),
      isOneWay,
    });
  }

  #named(old: Rid): (rid: Rid) => void {
    return (rid) => {
      if (old !== noRid) this.#rids.set(old, rid);
    };
  }

  async #startSchema(schema: Value): Promise<void> {
    const { database, sink, reporter } = this.#job;
    const plan = planSchema(schema, database.state.catalog);
    this.#plan = plan;
    await sink.commit();
    for (const change of plan.before) {
      reporter.check();
      await database.state.alter(change);
    }
  }

  async #finishSchema({ after }: SchemaPlan): Promise<void> {
    const { database, reporter, runtime } = this.#job;
    reporter.step('constraints and indexes', after.length);
    for (const change of after) {
      reporter.check();
      await database.state.alter(change, async () => {
        reporter.check();
        await runtime.timers.yield();
      });
      reporter.advance(1);
    }
  }

  /** Reads the records with links once more and stores them whole. */
  async #putLinks(): Promise<void> {
    const links = new LinkUpdates(this.#job, this.#rids);
    await this.#eachLine((line, type, content) => {
      const kind = kindsByLetter.get(type);
      if (kind === undefined || !hasMark(line.bytes)) return undefined;
      const record = readRecord(kind, content, line.bytes);
      const rid = this.#rids.get(record.rid);
      if (!record.hasLinks || rid === undefined) return undefined;
      this.#job.reporter.advance(1);
      return links.add(rid, withWidths(links.renamed(record.properties), record.widths));
    });
    await links.store();
  }
}

const kindsByLetter: ReadonlyMap<string, RecordKind> = new Map([
  ['d', 'document'],
  ['v', 'vertex'],
  ['e', 'edge'],
]);

function hasMark(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).includes(linkMark);
}

function readRecord(kind: RecordKind, content: ValueMap, bytes: Uint8Array): ImportedRecord {
  const type = textOr(content.get('t'), '');
  if (type === '') throw new DatabaseError('Validation', "the record has no type 't'");
  const p = content.get('p') ?? new Map<string, Value>();
  if (!isMap(p)) throw new DatabaseError('Validation', "'p' is no object");
  let hasLinks = false;
  const stored = storedMap(p, () => {
    hasLinks = true;
  });
  const hasSystemNames = bytes.includes(systemNameByte) && [...stored.keys()].some(isSystemName);
  const properties = hasSystemNames
    ? new Map([...stored].filter(([name]) => !isSystemName(name)))
    : stored;
  const ridOf = (name: string): Rid => parseRid(textOr(content.get(name), '')) ?? noRid;
  const ends = { from: ridOf('o'), to: ridOf('i'), isOneWay: content.get('w') === true };
  const widths = widthsIn(content.get('n'));
  return { kind, type, rid: ridOf('r'), properties, widths, hasLinks, ...ends };
}

function widthsIn(json: Value | undefined): IntegerWidths | undefined {
  if (json === undefined || !isMap(json)) return undefined;
  const widths = new Map<string, IntegerWidth>();
  for (const [name, width] of json) if (isIntegerWidth(width)) widths.set(name, width);
  return widths;
}

const systemNameByte = 64;

function isSystemName(name: string): boolean {
  return name.startsWith('@');
}

/** Without the properties that hold links: the records they name may not be there yet. */
function stripped({ properties, widths, hasLinks }: ImportedRecord): ValueMap {
  const kept = hasLinks ? withoutLinks(properties) : properties;
  return withWidths(kept, widths);
}

function atLine(error: unknown, line: number): unknown {
  if (!(error instanceof DatabaseError) || error.code === 'Cancelled') return error;
  if (/^Line \d/.test(error.message)) return error;
  return new DatabaseError(error.code, `Line ${line}: ${error.message}`, {
    arguments: error.arguments,
    cause: error,
  });
}
