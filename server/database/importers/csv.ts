import { DatabaseError } from '#core/errors.ts';
import { parseInteger } from '#core/value/number-text.ts';
import { noRid } from '#core/value/rid.ts';
import { double, type Value } from '#core/value/value.ts';
import { CsvRows, guessDelimiter, type CsvField } from './csv-rows.ts';
import type { ImportJob } from './import-job.ts';
import type { ImportPart } from './import-settings.ts';
import { textOf } from './lines.ts';
import { propertyName } from './property-names.ts';
import { declareVertexId, knowStoredVertices } from './vertex-ids.ts';

/** What the values of a column are when all of them are of one kind. */
type ColumnKind = 'integer' | 'double' | 'boolean' | 'text';

interface Column {
  readonly name: string;
  readonly at: number;
  readonly kind: ColumnKind;
}

const sampleCharacters = 64 * 1024;

/**
 * A CSV file of documents, vertices or edges. The file is read twice: a column whose values are all numbers, or all booleans,
 * gives such values, any other one texts. An empty field that is not in quotes is no value.
 */
export async function importCsv(job: ImportJob, part: ImportPart): Promise<void> {
  const delimiter = job.settings.delimiter ?? guessDelimiter(await headOf(job)) ?? ',';
  const reading = new CsvImport(job, part, delimiter);
  await reading.run();
}

async function headOf({ open }: ImportJob): Promise<string> {
  for await (const text of textOf(await open())) return text.slice(0, sampleCharacters);
  return '';
}

class CsvImport {
  readonly #job: ImportJob;
  readonly #part: ImportPart;
  readonly #delimiter: string;
  #header: readonly string[] = [];

  constructor(job: ImportJob, part: ImportPart, delimiter: string) {
    this.#job = job;
    this.#part = part;
    this.#delimiter = delimiter;
  }

  async run(): Promise<void> {
    const kinds: (ColumnKind | undefined)[] = [];
    await this.#eachRow((row) => {
      for (let at = 0; at < row.length; at += 1) kinds[at] = joined(kinds[at], row[at]);
      return undefined;
    }, false);
    const columns = this.#columns(kinds);
    const { content } = this.#part;
    const { settings, sink } = this.#job;
    if (content === 'edges') {
      await sink.requireType('edge', settings.edgeType);
      await knowStoredVertices(this.#job);
      await this.#edges(columns);
      return;
    }
    const kind = content === 'vertices' ? 'vertex' : 'document';
    const type = kind === 'vertex' ? settings.vertexType : settings.documentType;
    await sink.requireType(kind, type);
    if (kind === 'vertex') await declareVertexId(this.#job);
    const idAt = kind === 'vertex' ? this.#columnNamed(settings.typeIdProperty) : -1;
    await this.#eachRow((row) => {
      const id = idAt < 0 ? undefined : row[idAt];
      sink.addRecord(kind, type, propertiesOf(row, columns), { id });
      return sink.pace();
    });
    await sink.flush();
  }

  async #edges(columns: readonly Column[]): Promise<void> {
    const { settings, sink } = this.#job;
    const fromAt = this.#columnNamed(settings.edgeFromField ?? 'from');
    const toAt = this.#columnNamed(settings.edgeToField ?? 'to');
    const own = columns.filter(({ at }) => at !== fromAt && at !== toAt);
    await this.#eachRow((row) => {
      const from = sink.ridOf(row[fromAt] ?? '');
      const to = sink.ridOf(row[toAt] ?? '');
      if (from === noRid || to === noRid) {
        sink.counts.warnings += 1;
        return undefined;
      }
      sink.addEdge(settings.edgeType, from, to, propertiesOf(row, own));
      return sink.pace();
    });
    await sink.flush();
  }

  /** Whether the row has values behind the last column. */
  #hasSurplus(row: readonly CsvField[]): boolean {
    for (let at = this.#header.length; at < row.length; at += 1)
      if (row[at] !== undefined) return true;
    return false;
  }

  /** @throws DatabaseError `IllegalArgument` for a column that is not there; -1 when none is asked for */
  #columnNamed(name: string | undefined): number {
    if (name === undefined) return -1;
    const at = this.#header.indexOf(name);
    if (at >= 0) return at;
    throw new DatabaseError(
      'IllegalArgument',
      `the file has no column '${name}'; it has ${this.#header.slice(0, 20).join(', ')}`,
    );
  }

  #columns(kinds: readonly (ColumnKind | undefined)[]): readonly Column[] {
    const { include } = this.#part;
    return this.#header.flatMap((name, at) => {
      const isWanted = name !== '' && (include === undefined || include.has(name));
      return isWanted ? [{ name, at, kind: kinds[at] ?? 'text' }] : [];
    });
  }

  /**
   * The rows behind the header and those to be skipped.
   * @param isCounting rows with values behind the last column are warned of
   */
  async #eachRow(
    handle: (row: CsvField[]) => Promise<void> | undefined,
    isCounting = true,
  ): Promise<void> {
    const { open, settings, lineBytesMax, sink } = this.#job;
    const { header, skipEntries } = this.#part;
    const reader = new CsvRows({
      delimiter: this.#delimiter,
      trims: settings.trimText,
      fieldMax: lineBytesMax,
    });
    if (header !== undefined) this.#header = header;
    let isHeader = header === undefined;
    let index = 0;
    const limit = settings.parsingLimitEntries ?? Infinity;
    const take = async (rows: readonly CsvField[][]): Promise<void> => {
      for (const row of rows) {
        if (isHeader) {
          this.#header = uniqueNames(row);
          isHeader = false;
          continue;
        }
        index += 1;
        if (index <= skipEntries || index > limit + skipEntries) continue;
        if (isCounting && this.#hasSurplus(row)) sink.counts.warnings += 1;
        const handled = handle(row);
        if (handled !== undefined) await handled;
      }
      await sink.pace();
    };
    for await (const piece of textOf(await open())) {
      await take(reader.write(piece));
      if (index > limit + skipEntries) break;
    }
    await take(reader.end());
  }
}

/** @throws DatabaseError `Validation` for a header in which a name stands twice */
function uniqueNames(row: readonly CsvField[]): readonly string[] {
  const names = row.map((field) => (field ?? '').replace(/^\ufeff/, '').trim());
  const seen = new Set<string>();
  for (const name of names) {
    if (name !== '' && seen.has(name))
      throw new DatabaseError('Validation', `the header names the column '${name}' twice`);
    seen.add(name);
  }
  return names.map(propertyName);
}

const integerShape = /^-?(0|[1-9]\d{0,17})$/;
const doubleShape = /^-?(0|[1-9]\d{0,17})(\.\d+)?([eE][+-]?\d{1,3})?$/;

function joined(known: ColumnKind | undefined, field: CsvField): ColumnKind | undefined {
  if (field === undefined || known === 'text') return known;
  const kind = kindOfField(field);
  if (known === undefined || known === kind) return kind;
  const areNumbers = known !== 'boolean' && kind !== 'boolean' && kind !== 'text';
  return areNumbers ? 'double' : 'text';
}

function kindOfField(field: string): ColumnKind {
  if (integerShape.test(field)) return 'integer';
  if (doubleShape.test(field) && Number.isFinite(Number(field))) return 'double';
  return /^(true|false)$/i.test(field) ? 'boolean' : 'text';
}

function propertiesOf(row: readonly CsvField[], columns: readonly Column[]): Map<string, Value> {
  const properties = new Map<string, Value>();
  for (const { name, at, kind } of columns) {
    const field = row[at];
    if (field !== undefined) properties.set(name, fieldValue(field, kind));
  }
  return properties;
}

function fieldValue(field: string, kind: ColumnKind): Value {
  switch (kind) {
    case 'integer':
      return parseInteger(field) ?? field;
    case 'double':
      return double(Number(field));
    case 'boolean':
      return field.toLowerCase() === 'true';
    case 'text':
      return field;
  }
}
