import type { TypeDefinition } from '#catalog/catalog.ts';
import type { IntegerWidth } from '#core/value/integer-width.ts';
import { parseTextInSlices, type Slices } from '#core/value/json-slices.ts';
import { defaultJsonLimits, parseJson } from '#core/value/json-value.ts';
import type { Rid } from '#core/value/rid.ts';
import type { Value } from '#core/value/value.ts';
import { takesShortcut } from '#platform/shortcuts.ts';
import type { Bytes } from '#storage/format/bytes.ts';
import { CsvFields } from './fields.ts';
import { type CsvForm, CsvMatcher, type FieldKind, fieldKind } from './matcher.ts';
import { IdText } from '../ends/id-text.ts';
import type { ImportReader } from '../import-reader.ts';
import type { ImportRows, PendingRows } from '../import-rows.ts';
import { requireMeta } from '../jsonl/reader.ts';
import type { LineBuffer } from '../line-buffer.ts';
import { Literal } from '../jsonl/literal.ts';

const learnsForms = takesShortcut('csv-matcher');

/** How the text of a field becomes a value. */
const reading = {
  /** Booleans and numbers are recognized. */
  detect: 0,
  /** The declared type of the property is made from the text as it stands. */
  text: 1,
  /** A list or map in JSON. */
  json: 2,
} as const;
type Reading = (typeof reading)[keyof typeof reading];

const noBytes = new Uint8Array();
const beginsJson = /^\s*[[{]/;

/** Integers that are recognized are LONG (http-api.md 10.5). */
function longsAmong(
  columns: readonly string[],
  readings: readonly Reading[],
): ReadonlyMap<string, IntegerWidth> {
  const longs = columns.filter((_, at) => readings[at] === reading.detect);
  return new Map(longs.map((name) => [name, 'LONG']));
}

/** One section: what its columns are. */
interface Section {
  readonly names: readonly string[];
  /** Places of the meta columns, -1 for none. */
  readonly type: number;
  readonly class: number;
  readonly id: number;
  readonly from: number;
  readonly to: number;
  readonly hasManyColumns: boolean;
}

/** Rows of one type that have the same fields. */
interface Target {
  readonly rows: PendingRows;
  readonly generation: number;
  readonly readings: readonly Reading[];
  /** As soon as a line has come that is read quickly. */
  form: CsvForm | undefined;
}

/** Forms of lines that may alternate without being read field by field. */
const formsMax = 6;

/**
 * Lines of comma-separated values (RFC 4180, http-api.md 10.5): a header, vertices, `---`, another
 * header, edges. Fields are read from bytes; an empty field means that the property is absent.
 */
export class CsvReader implements ImportReader {
  readonly #rows: ImportRows;
  #section: Section | undefined;
  #isEdgeSection = false;
  /** Of the line that is read field by field. */
  readonly #fields: CsvFields;
  /** By type and which fields are there. */
  readonly #targets = new Map<string, Map<string | number, Target>>();
  #lastClass: Bytes = Buffer.alloc(0) as Bytes;
  #lastTargets: Map<string | number, Target> | undefined;
  #lastClassName = '';
  readonly #matcher: CsvMatcher;
  /** What the last lines looked like; the last one that fitted comes first. */
  readonly #forms: CsvForm[] = [];
  /** Of a long line by field: what JSON in them gives. */
  readonly #longValues = new Map<number, Value>();
  skippedLineCount = 0;

  constructor(rows: ImportRows) {
    this.#rows = rows;
    this.#fields = new CsvFields((reason) => rows.refusal(reason));
    this.#matcher = new CsvMatcher(rows);
  }

  read(buffer: LineBuffer): void {
    const rows = this.#rows;
    for (;;) {
      this.#matchLines(buffer);
      if (rows.isFull || !buffer.isShortLineNext) return;
      const next = this.#readLine(buffer);
      if (next < 0) return;
      buffer.requireLength(next - 1 - buffer.start, rows.line - this.#fields.lineFeedCount);
      buffer.readTo(next);
    }
  }

  /** Reads lines as long as one of the forms fits. */
  #matchLines(buffer: LineBuffer): void {
    const forms = this.#forms;
    for (let at = 0; at < forms.length; ) {
      const { start } = buffer;
      const form = forms[at] as CsvForm;
      this.#matcher.read(form, buffer);
      if (buffer.start === start) {
        at += 1;
        continue;
      }
      forms.copyWithin(1, 0, at);
      forms[0] = form;
      // That one does not fit any longer.
      at = 1;
    }
  }

  async readLongLine(buffer: LineBuffer, slices: Slices): Promise<void> {
    const rows = this.#rows;
    const { start, lineEnd } = buffer;
    buffer.requireLength(lineEnd - start, rows.line + 1);
    rows.line += 1;
    await this.#readLongFields(buffer, slices);
    await slices.pause();
    rows.line -= 1;
    const next = this.#readLine(buffer, { isLong: true });
    this.#fields.forgetLong();
    this.#longValues.clear();
    if (next < 0) return;
    buffer.requireLength(next - 1 - start, rows.line - this.#fields.lineFeedCount);
    buffer.readTo(next);
    rows.endWaiting();
  }

  /** What takes long of a line, so that the rest is as quick as others. */
  async #readLongFields({ bytes, start, end }: LineBuffer, slices: Slices): Promise<void> {
    if (this.#fields.split(bytes, start, end) < 0) return;
    const section = this.#section;
    if (section === undefined || this.#fields.count !== section.names.length) return;
    const type = this.#rows.loader.typeNamed(this.#fields.text(section.class));
    for (let field = 0; field < this.#fields.count; field += 1) {
      if (!this.#fields.isLong(field)) continue;
      const text = await this.#fields.readLong(field, slices);
      const how = this.#readingOf(type, section.names[field] as string);
      if (how !== reading.json || this.#isMeta(section, field) || !beginsJson.test(text)) continue;
      // What is no JSON is a text, which it is without an entry, too.
      const value = await parseTextInSlices(text, defaultJsonLimits, slices).catch(() => text);
      this.#longValues.set(field, value);
    }
  }

  /**
   * One line, with those that its quoted fields go on over.
   * @returns where the next line begins; -1 when vertices must be loaded first, more of it must come, or it is to be read in slices
   */
  #readLine(buffer: LineBuffer, { isLong = false } = {}): number {
    const { bytes, start } = buffer;
    this.#rows.line += 1;
    const next = this.#fields.split(bytes, start, buffer.end);
    if (next < 0) {
      if (!buffer.waitForMore(this.#rows.line))
        throw this.#rows.refusal('a quoted field is not closed');
    } else if (isLong || !buffer.isLong(start, next)) return this.#takeLine(bytes, start, next);
    this.#rows.line -= 1;
    return -1;
  }

  #takeLine(bytes: Bytes, start: number, next: number): number {
    if (this.#fields.count === 1 && this.#isBlank(bytes, start, next)) {
      this.skippedLineCount += 1;
      return next;
    }
    if (bytes[start] === 45 && bytes[start + 1] === 45 && this.#isBorder(bytes, start, next)) {
      this.#startEdges();
      return next;
    }
    if (this.#section === undefined) this.#section = this.#readHeader();
    else if (!this.#readRow(bytes, this.#section)) {
      this.#rows.line -= 1;
      return -1;
    }
    this.#rows.line += this.#fields.lineFeedCount;
    return next;
  }

  #isBlank(bytes: Bytes, start: number, end: number): boolean {
    for (let at = start; at < end; at += 1) {
      const byte = bytes[at];
      if (byte !== 32 && byte !== 9 && byte !== 13 && byte !== 10) return false;
    }
    return true;
  }

  #isBorder(bytes: Bytes, start: number, end: number): boolean {
    return /^---[\s,]*$/.test(bytes.latin1Slice(start, Math.min(end, start + 10_000)));
  }

  #startEdges(): void {
    if (this.#isEdgeSection) throw this.#rows.refusal("a second line '---'");
    this.#isEdgeSection = true;
    this.#section = undefined;
    this.#targets.clear();
    this.#lastTargets = undefined;
    this.#forms.length = 0;
  }

  #readHeader(): Section {
    const names: string[] = [];
    const seen = new Set<string>();
    for (let field = 0; field < this.#fields.count; field += 1) {
      const name = this.#fields.text(field);
      if (seen.size === seen.add(name).size) {
        throw this.#rows.refusal(`the header has two columns '${name.slice(0, 100)}'`);
      }
      names.push(name);
    }
    const isEdge = names.includes('@from') || names.includes('@to');
    for (const name of names) {
      if (name.startsWith('@')) requireMeta(this.#rows, name, isEdge);
    }
    if (!names.includes('@class')) throw this.#rows.refusal("the header has no column '@class'");
    for (const name of ['@from', '@to']) {
      const isMissing = (isEdge || this.#isEdgeSection) && !names.includes(name);
      if (isMissing) throw this.#rows.refusal(`the header of edges has no column '${name}'`);
    }
    return {
      names,
      type: names.indexOf('@type'),
      class: names.indexOf('@class'),
      id: names.indexOf('@id'),
      from: names.indexOf('@from'),
      to: names.indexOf('@to'),
      hasManyColumns: names.length > 30,
    };
  }

  /** @returns false when vertices must be loaded first */
  #readRow(bytes: Bytes, section: Section): boolean {
    const rows = this.#rows;
    if (this.#fields.count !== section.names.length) {
      const { length } = section.names;
      throw rows.refusal(`${this.#fields.count} fields, but the header has ${length} columns`);
    }
    const isEdge = section.from >= 0;
    if (section.type >= 0) this.#requireType(bytes, section.type, isEdge);
    if (isEdge && !rows.mayAddEdges) return false;
    const target = this.#target(bytes, section, isEdge);
    this.#learn(bytes, section, target);
    const { rows: pending, readings } = target;
    // Before the row is added: rows before a refused field are loaded all the same, and must be whole.
    const values = this.#valuesOf(section, readings);
    if (isEdge) {
      const from = this.#end(section.from, '@from');
      rows.addEdge(pending, from, this.#end(section.to, '@to'));
    } else this.#addVertex(section, pending);
    for (let column = 0; column < values.length; column += 1) {
      pending.values.push(values[column] as Value);
    }
    return true;
  }

  #valuesOf(section: Section, readings: readonly Reading[]): readonly Value[] {
    const { names } = section;
    const values: Value[] = [];
    for (let field = 0; field < names.length; field += 1) {
      if (this.#isMeta(section, field) || this.#fields.isAbsent(field)) continue;
      values.push(this.#value(field, readings[values.length] as Reading));
    }
    return values;
  }

  /** Lines like this one are read quickly from now on, if they can be. */
  #learn(bytes: Bytes, section: Section, target: Target): void {
    if (!learnsForms) return;
    target.form ??= this.#formOf(bytes, section, target);
    const forms = this.#forms;
    if (target.form === undefined || forms.includes(target.form)) return;
    forms.unshift(target.form);
    if (forms.length > formsMax) forms.pop();
  }

  /** The form of lines that have the same fields; undefined when there is none, or this line does not show it. */
  #formOf(bytes: Bytes, section: Section, target: Target): CsvForm | undefined {
    const fields = this.#fields;
    const kinds: FieldKind[] = [];
    const constants: Literal[] = [];
    let column = 0;
    for (let field = 0; field < fields.count; field += 1) {
      const kind = this.#kindOf(section, field, target.readings[column]);
      if (kind === undefined) return undefined;
      kinds.push(kind);
      if (kind === fieldKind.text || kind === fieldKind.detect) column += 1;
      if (kind !== fieldKind.constant) continue;
      const first = field;
      while (metaKindOf(section, field + 1) === fieldKind.constant) field += 1;
      for (let at = first; at <= field; at += 1) if (fields.isQuoted(at)) return undefined;
      constants.push(new Literal(bytes.subarray(fields.startOf(first), fields.endOf(field))));
    }
    return { rows: target.rows, generation: target.generation, kinds, constants };
  }

  #kindOf(section: Section, field: number, how: Reading | undefined): FieldKind | undefined {
    const meta = metaKindOf(section, field);
    if (meta === fieldKind.constant) return meta;
    if (this.#fields.isAbsent(field)) return fieldKind.absent;
    if (meta !== undefined) return meta;
    if (how === reading.json) return undefined;
    return how === reading.detect ? fieldKind.detect : fieldKind.text;
  }

  #requireType(bytes: Bytes, field: number, isEdge: boolean): void {
    const start = this.#fields.startOf(field);
    const length = this.#fields.endOf(field) - start;
    if (length === 1 && bytes[start] === (isEdge ? 101 : 118)) return;
    const text = this.#fields.text(field);
    const isOfKind = isEdge ? text === 'edge' : text === 'vertex';
    if (isOfKind) return;
    const seen = text === '' ? 'is missing' : `is '${text.slice(0, 100)}'`;
    const isOther = ['v', 'vertex', 'e', 'edge'].includes(text);
    if (isOther && !isEdge) {
      throw this.#rows.refusal(
        "an edge in the section of vertices: '---' and a header go before it",
      );
    }
    if (isOther) throw this.#rows.refusal('a vertex in the section of edges');
    throw this.#rows.refusal(`'@type' ${seen}; use vertex, v, edge or e`);
  }

  #isMeta(section: Section, field: number): boolean {
    return metaKindOf(section, field) !== undefined;
  }

  #target(bytes: Bytes, section: Section, isEdge: boolean): Target {
    const targets = this.#targetsOfClass(bytes, section);
    const key = section.hasManyColumns ? this.#wideMask(section) : this.#mask(section);
    const known = targets.get(key);
    if (known !== undefined && known.generation === this.#rows.generation) return known;
    const columns: string[] = [];
    for (let field = 0; field < section.names.length; field += 1) {
      if (this.#isMeta(section, field) || this.#fields.isAbsent(field)) continue;
      columns.push(section.names[field] as string);
    }
    const rows = this.#rows.pendingFor(this.#lastClassName, isEdge, columns);
    const type = this.#rows.loader.typeNamed(this.#lastClassName);
    const readings = columns.map((name) => this.#readingOf(type, name));
    rows.widths ??= longsAmong(columns, readings);
    const { generation } = this.#rows;
    const target: Target = { rows, readings, generation, form: undefined };
    targets.set(key, target);
    return target;
  }

  #targetsOfClass(bytes: Bytes, section: Section): Map<string | number, Target> {
    const start = this.#fields.startOf(section.class);
    const end = this.#fields.endOf(section.class);
    const last = this.#lastClass;
    if (this.#lastTargets !== undefined && end - start === last.length) {
      let at = 0;
      while (at < last.length && bytes[start + at] === last[at]) at += 1;
      if (at === last.length) return this.#lastTargets;
    }
    const name = this.#fields.text(section.class);
    if (name === '') throw this.#rows.refusal("'@class' is missing; use the name of a type");
    let targets = this.#targets.get(name);
    if (targets === undefined) {
      targets = new Map();
      this.#targets.set(name, targets);
    }
    this.#lastClass = Buffer.from(bytes.subarray(start, end)) as Bytes;
    this.#lastClassName = name;
    this.#lastTargets = targets;
    return targets;
  }

  /** Whether the field is there; of `@type`, whether it is the whole word. */
  #isMarked(section: Section, field: number): boolean {
    if (field !== section.type) return !this.#fields.isAbsent(field);
    return this.#fields.endOf(field) - this.#fields.startOf(field) > 1;
  }

  #mask(section: Section): number {
    let mask = 0;
    for (let field = 0; field < section.names.length; field += 1) {
      mask = (mask << 1) | (this.#isMarked(section, field) ? 1 : 0);
    }
    return mask;
  }

  #wideMask(section: Section): string {
    let mask = '';
    for (let field = 0; field < section.names.length; field += 1) {
      mask += this.#isMarked(section, field) ? '1' : '0';
    }
    return mask;
  }

  /** Declared types win over detection: `007` of a STRING stays what it is. */
  #readingOf(type: TypeDefinition | undefined, name: string): Reading {
    const declared = type && this.#rows.loader.propertyOf(type, name)?.type;
    switch (declared) {
      case undefined:
      case 'BOOLEAN':
      case 'BYTE':
      case 'SHORT':
      case 'INTEGER':
      case 'LONG':
      case 'FLOAT':
      case 'DOUBLE':
        return reading.detect;
      case 'LIST':
      case 'MAP':
      case 'EMBEDDED':
      case 'BINARY':
        return reading.json;
      default:
        return declared.startsWith('ARRAY') ? reading.json : reading.text;
    }
  }

  #addVertex(section: Section, pending: PendingRows): void {
    const field = section.id;
    if (field < 0 || this.#fields.isAbsent(field)) {
      this.#rows.addVertex(pending, noBytes, new IdText());
      return;
    }
    const { bytes, id } = this.#fields.id(field);
    this.#rows.addVertex(pending, bytes, id);
  }

  #end(field: number, name: string): Rid {
    if (this.#fields.isAbsent(field)) throw this.#rows.refusal(`'${name}' is missing`);
    const { bytes, id } = this.#fields.id(field);
    return this.#rows.end(bytes, id);
  }

  #value(field: number, how: Reading): Value {
    if (how === reading.detect && !this.#fields.isQuoted(field))
      return this.#fields.detected(field);
    const text = this.#fields.text(field);
    if (how !== reading.json || !beginsJson.test(text)) return text;
    const known = this.#longValues.get(field);
    if (known !== undefined) return known;
    try {
      return parseJson(text);
    } catch {
      // Then it is the text itself, which the declared type takes or refuses.
      return text;
    }
  }
}

function metaKindOf(section: Section, field: number): FieldKind | undefined {
  if (field === section.class || field === section.type) return fieldKind.constant;
  if (field === section.id) return fieldKind.id;
  if (field === section.from) return fieldKind.from;
  return field === section.to ? fieldKind.to : undefined;
}
