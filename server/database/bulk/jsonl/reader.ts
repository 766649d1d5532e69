import { DatabaseError } from '#core/errors.ts';
import { parseJsonBytes } from '#core/value/json-value.ts';
import { parseJsonInSlices, type Slices } from '#core/value/json-slices.ts';
import type { Rid } from '#core/value/rid.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import { takesShortcut } from '#platform/shortcuts.ts';
import type { Bytes } from '#storage/format/bytes.ts';
import { hashedId, IdText } from '../ends/id-text.ts';
import type { ImportReader } from '../import-reader.ts';
import type { ImportRows, PendingRows } from '../import-rows.ts';
import type { LineBuffer } from '../line-buffer.ts';
import { isSameTemplate, LineMatcher, type LineTemplate, learnTemplate } from './line-template.ts';
import { Literal } from './literal.ts';

/** Kinds of lines that may alternate without being parsed as a whole. */
const templatesMax = 6;

const learnsTemplates = takesShortcut('line-templates');

/**
 * Lines of JSON (http-api.md 10.5). A line is expected to look like one of the last ones and is then read from its bytes; any
 * other is parsed as a whole, which decides what is right and what is refused.
 */
export class JsonlReader implements ImportReader {
  readonly #rows: ImportRows;
  readonly #depthMax: number;
  readonly #matcher: LineMatcher;
  /** The last one that fitted comes first. */
  readonly #templates: LineTemplate[] = [];
  skippedLineCount = 0;

  constructor(rows: ImportRows, depthMax: number) {
    this.#rows = rows;
    this.#depthMax = depthMax;
    this.#matcher = new LineMatcher(rows.ids, depthMax);
  }

  read(buffer: LineBuffer): void {
    const rows = this.#rows;
    const { bytes, end } = buffer;
    while (buffer.start < end && !rows.isFull) {
      if (buffer.isLongLineNext) return;
      const next = this.#matchLine(buffer);
      if (next < 0) return;
      if (next > 0) {
        buffer.requireLength(next - 1 - buffer.start, rows.line);
        buffer.start = next;
        continue;
      }
      const { lineEnd } = buffer;
      buffer.requireLength(lineEnd - buffer.start, rows.line + 1);
      if (!this.#parseLine(bytes.subarray(buffer.start, lineEnd) as Bytes)) return;
      buffer.start = lineEnd + 1;
    }
  }

  async readLongLine(buffer: LineBuffer, slices: Slices): Promise<void> {
    const rows = this.#rows;
    const { lineEnd } = buffer;
    buffer.requireLength(lineEnd - buffer.start, rows.line + 1);
    const line = buffer.bytes.subarray(buffer.start, lineEnd) as Bytes;
    rows.line += 1;
    if (isBlank(line)) this.skippedLineCount += 1;
    else {
      const members = await this.#parsedInSlices(line, slices);
      // A record of such values takes long enough by itself.
      await slices.pause();
      if (!this.#addRow(members)) return;
      rows.endWaiting();
    }
    buffer.start = lineEnd + 1;
  }

  /** @returns where the next line begins, 0 when no template fits, -1 when vertices must be loaded first */
  #matchLine(lines: LineBuffer): number {
    const { start } = lines;
    const templates = this.#templates;
    for (let at = 0; at < templates.length; at += 1) {
      const template = templates[at] as LineTemplate;
      const next = this.#matcher.match(template, lines, start);
      if (next < 0) continue;
      if (at > 0) {
        templates.copyWithin(1, 0, at);
        templates[0] = template;
      }
      if (template.isEdge && !this.#rows.mayAddEdges) return -1;
      this.#rows.line += 1;
      this.#addMatched(template, lines.bytes);
      return next;
    }
    return 0;
  }

  #addMatched(template: LineTemplate, bytes: Bytes): void {
    const rows = this.#rows;
    const m = this.#matcher;
    const pending = this.#pendingOf(template, bytes);
    if (template.isEdge) rows.addNamedEdge(pending, bytes, m.from, m.to);
    else rows.addVertex(pending, bytes, m.id);
    const { values } = pending;
    const width = template.columns.length;
    for (let column = 0; column < width; column += 1) values.push(m.values[column] as Value);
  }

  #pendingOf(template: LineTemplate, bytes: Bytes): PendingRows {
    const { classStart, classEnd, isSameClass } = this.#matcher;
    let { rows } = template;
    if (rows !== undefined && isSameClass && template.generation === this.#rows.generation) {
      return rows;
    }
    const name = bytes.utf8Slice(classStart, classEnd);
    rows = this.#rows.pendingFor(name, template.isEdge, template.columns);
    template.rows = rows;
    template.generation = this.#rows.generation;
    template.lastClass = new Literal(bytes.subarray(classStart, classEnd));
    return rows;
  }

  /** @returns false when vertices must be loaded first; the line is then read again */
  #parseLine(line: Bytes): boolean {
    const rows = this.#rows;
    rows.line += 1;
    if (isBlank(line)) {
      this.skippedLineCount += 1;
      return true;
    }
    const members = this.#parsed(line);
    if (!this.#addRow(members)) return false;
    this.#learn(line, this.#isEdge(members));
    return true;
  }

  /** @returns false when vertices must be loaded first; the line is then read again */
  #addRow(members: ValueMap): boolean {
    const rows = this.#rows;
    const isEdge = this.#isEdge(members);
    if (isEdge && !rows.mayAddEdges) {
      rows.line -= 1;
      return false;
    }
    const type = this.#requiredText(members, '@class');
    const columns = this.#columnsOf(members, isEdge);
    const pending = rows.pendingFor(type, isEdge, columns);
    if (isEdge) {
      const from = this.#end(members, '@from');
      const to = this.#end(members, '@to');
      rows.addEdge(pending, from, to);
    } else this.#addVertex(pending, members.get('@id'));
    for (const name of columns) pending.values.push(members.get(name));
    return true;
  }

  #learn(line: Bytes, isEdge: boolean): void {
    if (!learnsTemplates) return;
    const template = learnTemplate(line, isEdge);
    if (template === undefined || (isEdge && !hasNamedEnds(template))) return;
    const templates = this.#templates;
    // A line of a known form that had, for example, a number with an exponent.
    if (templates.some((known) => isSameTemplate(known, template))) return;
    templates.unshift(template);
    if (templates.length > templatesMax) templates.pop();
  }

  #parsed(line: Bytes): ValueMap {
    let value: Value;
    try {
      value = parseJsonBytes(line, { depthMax: this.#depthMax });
    } catch (error) {
      throw this.#refusalOf(error);
    }
    return this.#object(value);
  }

  async #parsedInSlices(line: Bytes, slices: Slices): Promise<ValueMap> {
    const limits = { depthMax: this.#depthMax };
    const refused = (error: unknown) => {
      throw this.#refusalOf(error);
    };
    return this.#object(await parseJsonInSlices(line, limits, slices).catch(refused));
  }

  #refusalOf(error: unknown): unknown {
    if (!(error instanceof DatabaseError)) return error;
    return this.#rows.refusal(error.message.replace('at line 1, column', 'at column'));
  }

  #object(value: Value): ValueMap {
    if (value instanceof Map) return value as ValueMap;
    throw this.#rows.refusal('expected a JSON object');
  }

  #isEdge(members: ValueMap): boolean {
    const kind = members.get('@type');
    if (kind === 'vertex' || kind === 'v') return false;
    if (kind === 'edge' || kind === 'e') return true;
    const seen = kind === undefined ? 'is missing' : `is ${shownValue(kind)}`;
    throw this.#rows.refusal(`'@type' ${seen}; use vertex, v, edge or e`);
  }

  #columnsOf(members: ValueMap, isEdge: boolean): readonly string[] {
    const columns: string[] = [];
    for (const name of members.keys()) {
      if (name.charCodeAt(0) !== 64) columns.push(name);
      else requireMeta(this.#rows, name, isEdge);
    }
    return columns;
  }

  #addVertex(pending: PendingRows, id: Value | undefined): void {
    if (id === undefined || id === null) {
      this.#rows.addVertex(pending, noBytes, new IdText());
      return;
    }
    const bytes = Buffer.from(this.#nameText(id, '@id'));
    this.#rows.addVertex(pending, bytes, hashedId(bytes));
  }

  #end(members: ValueMap, name: '@from' | '@to'): Rid {
    const end = members.get(name);
    if (end === undefined || end === null) throw this.#rows.refusal(`'${name}' is missing`);
    return this.#rows.endNamed(this.#nameText(end, name));
  }

  /** Ids are texts; integers stand for their digits. */
  #nameText(value: Value, name: string): string {
    if (typeof value === 'string') return value;
    if (Number.isInteger(value) || typeof value === 'bigint') return String(value);
    throw this.#rows.refusal(`'${name}' is ${shownValue(value)}; use a text`);
  }

  #requiredText(members: ValueMap, name: string): string {
    const value = members.get(name);
    if (typeof value === 'string' && value !== '') return value;
    const seen = value === undefined ? 'is missing' : `is ${shownValue(value)}`;
    throw this.#rows.refusal(`'${name}' ${seen}; use the name of a type`);
  }
}

const noBytes = new Uint8Array();

/** @throws DatabaseError 400 for names with @ that mean nothing, or nothing on this kind of line */
export function requireMeta(rows: ImportRows, name: string, isEdge: boolean): void {
  if (name === '@type' || name === '@class') return;
  const isOfEdges = name === '@from' || name === '@to';
  if (name !== '@id' && !isOfEdges) {
    const known = '@type, @class, @id, @from, @to';
    throw rows.refusal(`'${name.slice(0, 100)}' is none of the meta fields ${known}`);
  }
  if (isOfEdges === isEdge) return;
  throw rows.refusal(`'${name}' is not allowed on ${isEdge ? 'an edge' : 'a vertex'}`);
}

function hasNamedEnds(template: LineTemplate): boolean {
  return template.slots.includes(3) && template.slots.includes(4);
}

function isBlank(line: Bytes): boolean {
  for (let at = 0; at < line.length; at += 1) {
    const byte = line[at];
    if (byte !== 32 && byte !== 9 && byte !== 13) return false;
  }
  return true;
}

function shownValue(value: Value): string {
  if (typeof value === 'string') return `'${value.slice(0, 100)}'`;
  if (typeof value !== 'object' || value === null) return String(value);
  return value instanceof Map ? 'an object' : Array.isArray(value) ? 'a list' : 'a fraction';
}
