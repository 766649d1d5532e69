import Table from 'cli-table3';
import { elementText } from './element-text.ts';
import { printable } from './terminal.ts';

export const formats = ['table', 'json', 'csv'] as const;
export type Format = (typeof formats)[number];

/** One row of an answer: values by column; numbers are `RawNumber`. */
export type Row = Readonly<Record<string, unknown>>;

/** A number as the server wrote it: JavaScript would round it. */
interface RawNumber {
  readonly rawJSON: string;
}

// Of V8 since Node 22, not in the types yet.
const json = JSON as typeof JSON & {
  rawJSON(text: string): RawNumber;
  isRawJSON(value: unknown): value is RawNumber;
};

/** Parses an answer; every digit of its numbers is kept. */
export function parseAnswer(text: string): Record<string, unknown> {
  const keep = (_key: string, value: unknown, context?: { readonly source?: string }) =>
    typeof value === 'number' && context?.source !== undefined
      ? json.rawJSON(context.source)
      : value;
  return JSON.parse(text, keep) as Record<string, unknown>;
}

export interface OutputStyle {
  readonly format: Format;
  /** Lines around the cells; without them cells are separated by tabulators. */
  readonly hasFrame: boolean;
  readonly hasColour: boolean;
  /** Characters of a line, for tables. */
  readonly width: number;
}

/** The rows as text that ends with a line feed; empty for no rows in form `json`. */
export function rowsText(rows: readonly Row[], style: OutputStyle): string {
  if (style.format === 'json') return rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  const columns = columnsOf(rows);
  if (columns.length === 0) return '';
  if (style.format === 'table' && style.hasFrame) return tableText(columns, rows, style);
  return headText(columns, style) + rows.map((row) => lineText(columns, row, style)).join('');
}

/** The first line of csv, and of tables without a frame. */
export function headText(columns: readonly string[], { format }: OutputStyle): string {
  if (columns.length === 0) return '';
  return format === 'csv' ? csvLine(columns.map(csvField)) : plainLine(columns);
}

/** As `headText`, one row. */
export function lineText(columns: readonly string[], row: Row, { format }: OutputStyle): string {
  if (columns.length === 0) return '';
  return format === 'csv'
    ? csvLine(columns.map((name) => csvValue(row[name])))
    : plainLine(columns.map((name) => shownText(row[name])));
}

/** Names of all columns, in the order in which rows bring them up. */
function columnsOf(rows: readonly Row[]): readonly string[] {
  const names = new Set<string>();
  for (const row of rows) for (const name of Object.keys(row)) names.add(name);
  return [...names];
}

/** RFC 4180; null is an empty field, an empty text is quoted. */
function csvLine(cells: readonly string[]): string {
  return `${cells.join(',')}\r\n`;
}

function csvValue(value: unknown): string {
  if (value === null || value === undefined) return '';
  return value === '' ? '""' : csvField(cellText(value));
}

function csvField(text: string): string {
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function plainLine(cells: readonly string[]): string {
  return `${cells.map(flat).join('\t')}\n`;
}

/** One line, without tabulators. */
function flat(text: string): string {
  return printable(text).replaceAll(/[\t\n]/g, ' ');
}

function tableText(columns: readonly string[], rows: readonly Row[], style: OutputStyle): string {
  const widthMin = columns.length * (cellWidthMin + 1) + 1;
  if (widthMin > style.width) return blocksText(columns, rows);
  const table = new Table({
    head: columns.map(printable),
    style: {
      head: style.hasColour ? ['cyan'] : [],
      border: style.hasColour ? ['gray'] : [],
      compact: true,
    },
    wordWrap: true,
    colWidths: [...widthsOf(columns, rows, style.width)],
  });
  for (const row of rows)
    table.push(
      columns.map((name) => ({
        content: printable(shownText(row[name])),
        hAlign: isNumber(row[name]) ? ('right' as const) : ('left' as const),
      })),
    );
  return `${table.toString()}\n`;
}

/** Where not even narrow columns fit into a line: each row as lines of name and value. */
function blocksText(columns: readonly string[], rows: readonly Row[]): string {
  const names = columns.map(printable);
  const wide = Math.max(...names.map(columnsWide));
  const blocks = rows.map((row, at) => {
    const lines = columns.flatMap((column, of) => {
      const name = names[of] as string;
      const text = printable(shownText(row[column])).replaceAll('\n', `\n${' '.repeat(wide + 3)}`);
      const gap = ' '.repeat(wide - columnsWide(name));
      return row[column] === undefined ? [] : [`${name}${gap} │ ${text}`];
    });
    return `── row ${at + 1}\n${lines.join('\n')}\n`;
  });
  return blocks.join('');
}

const cellPadding = 2;
const cellWidthMin = 6;

/** As wide as the content wants; where that is wider than the line, the widest columns give way. */
function widthsOf(
  columns: readonly string[],
  rows: readonly Row[],
  lineWidth: number,
): readonly number[] {
  const widths = columns.map((name) => {
    let width = columnsWide(printable(name));
    for (const row of rows)
      for (const line of printable(shownText(row[name])).split('\n'))
        width = Math.max(width, columnsWide(line));
    return width + cellPadding;
  });
  let excess = widths.reduce((sum, width) => sum + width + 1, 1) - lineWidth;
  while (excess > 0) {
    const widest = widths.indexOf(Math.max(...widths));
    const width = widths[widest] as number;
    if (width <= cellWidthMin) break;
    const cut = Math.min(excess, Math.max(1, Math.ceil((width - cellWidthMin) / 4)));
    widths[widest] = width - cut;
    excess -= cut;
  }
  return widths;
}

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
/** East Asian wide and full width, and all that lies beyond the basic plane. */
const wide =
  /[\u1100-\u115f\u2e80-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6]|[^\u0000-\uffff]/u;

/** Columns of a terminal that a line takes; never fewer than the table counts, which would cut it. */
function columnsWide(line: string): number {
  if (/^[\u0020-\u02ff]*$/.test(line)) return line.length;
  let width = 0;
  for (const { segment } of graphemes.segment(line))
    if (/\p{Emoji_Presentation}|\ufe0f/u.test(segment)) width += 2;
    else for (const char of segment) width += wide.test(char) ? 2 : 1;
  return width;
}

function isNumber(value: unknown): boolean {
  return json.isRawJSON(value);
}

/** In a table, where people read: parts of the graph as Cypher writes them. */
function shownText(value: unknown): string {
  return elementText(value) ?? cellText(value);
}

function cellText(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'string') return value;
  return JSON.stringify(value);
}
