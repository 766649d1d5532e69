import { double, type Value } from '#core/value/value.ts';
import { type Bytes, readAscii } from '#storage/format/bytes.ts';
import { firstHash, nextHash } from '../ends/id-table.ts';
import { IdText } from '../ends/id-text.ts';
import type { ImportRows, PendingRows } from '../import-rows.ts';
import type { LineBuffer } from '../line-buffer.ts';
import { powersOfTen } from '../jsonl/line-template.ts';
import type { Literal } from '../jsonl/literal.ts';
import { deferredNumber } from '../ends/temporary-ids.ts';

/*
 * The quick way of reading lines of comma-separated values, in one pass over their bytes. A form says what each field of a line
 * holds. Whatever is less common (quotes, other letters than ASCII, odd numbers) does not fit a form and is read by `CsvReader`
 * field by field; what fits is read exactly as it would. Start at `CsvMatcher.read`.
 */

/** What a field holds. Neighbours that are the same in all lines are one constant. */
export const fieldKind = {
  constant: 0,
  absent: 1,
  text: 2,
  detect: 3,
  id: 4,
  from: 5,
  to: 6,
} as const;
export type FieldKind = (typeof fieldKind)[keyof typeof fieldKind];

/** Lines of one type that have the same fields, of which none is quoted. */
export interface CsvForm {
  readonly rows: PendingRows;
  /** As that of `ImportRows` when the rows were given out. */
  readonly generation: number;
  readonly kinds: readonly FieldKind[];
  /** What the constant ones are, with the commas within. */
  readonly constants: readonly Literal[];
}

const comma = 44;
const lineFeed = 10;
const carriageReturn = 13;
const quote = 34;
const zero = 48;
const nine = 57;
/** No double is written with more of them, unless somebody counts beyond its precision. */
const fractionDigitsMax = 30;
/** Of ids and whole numbers that are read with the rest of the line. */
const shortDigitsMax = 9;

/** Reads the common lines of a body into their rows. */
export class CsvMatcher {
  readonly #rows: ImportRows;
  /** Of a line that is read by itself. */
  readonly #values: Value[] = [];
  readonly #id = new IdText();
  readonly #from = new IdText();
  readonly #to = new IdText();
  #value: Value = null;

  constructor(rows: ImportRows) {
    this.#rows = rows;
  }

  /** Reads lines until one does not fit, or none may be read now. @throws DatabaseError as `ImportRows` does */
  read(form: CsvForm, lines: LineBuffer): void {
    const rows = this.#rows;
    const { isEdge } = form.rows;
    if (form.generation !== rows.generation || (isEdge && !rows.mayAddEdges)) return;
    const prefix = isEdge && !rows.isOrdinal ? rows.ids.plainPrefix : undefined;
    do {
      if (prefix !== undefined) this.#readNumberedEdges(form, lines, prefix);
    } while (!rows.isFull && lines.isShortLineNext && this.#readLine(form, lines));
  }

  /**
   * Edges whose ends are numbered ids, as long as there is memory for them. A call with what it returns costs as much as a field
   * here, so numbers are read where they stand, and go straight to the rows.
   */
  #readNumberedEdges(form: CsvForm, lines: LineBuffer, prefix: Uint8Array): void {
    const rows = this.#rows;
    const { ids, line } = rows;
    const { kinds, constants, rows: pending } = form;
    const { values, from, to, lines: lineNumbers, count: first } = pending;
    const { bytes, view, lineBytesMax } = lines;
    const addedMax = Math.min(rows.room, lineNumbers.length - first);
    const last = kinds.length - 1;
    let valueCount = values.length;
    let added = 0;
    for (; added < addedMax && lines.isShortLineNext; added += 1) {
      let at = lines.start;
      let constant = 0;
      let field = 0;
      for (; field <= last; field += 1) {
        const kind = kinds[field] as FieldKind;
        if (kind === fieldKind.constant) {
          at = (constants[constant] as Literal).skip(bytes, view, at);
          constant += 1;
        } else if (kind === fieldKind.text) {
          at = this.#text(bytes, at);
          values.push(this.#value);
        } else if (kind !== fieldKind.absent) {
          const start = at;
          if (kind !== fieldKind.detect) {
            let same = 0;
            while (same < prefix.length && bytes[at + same] === prefix[same]) same += 1;
            if (same < prefix.length) break;
            at += same;
          }
          const firstDigit = at;
          const limit = at + shortDigitsMax;
          let n = 0;
          let byte = bytes[at] as number;
          for (; byte >= zero && byte <= nine && at < limit; byte = bytes[++at] as number)
            n = n * 10 + byte - zero;
          const digits = at - firstDigit;
          const isShort = digits === 1 || (digits > 1 && bytes[firstDigit] !== zero);
          if (kind === fieldKind.detect) {
            if (isShort && endsField(byte)) values.push(n);
            else {
              at = this.#detected(bytes, start);
              values.push(this.#value);
            }
          } else if (!isShort || !ids.defers(n)) break;
          else if (kind === fieldKind.from) from[first + added] = deferredNumber(n);
          else to[first + added] = deferredNumber(n);
        }
        if (at < 0) break;
        if (field === last && bytes[at] === carriageReturn) at += 1;
        if (bytes[at] !== (field === last ? lineFeed : comma)) break;
        at += 1;
      }
      if (field <= last || at - 1 - lines.start > lineBytesMax) break;
      lineNumbers[first + added] = line + added + 1;
      valueCount = values.length;
      lines.start = at;
    }
    // Those of a line that does not fit after all.
    if (values.length > valueCount) values.length = valueCount;
    rows.countEdges(pending, added);
  }

  /** @returns false when the line does not fit */
  #readLine(form: CsvForm, lines: LineBuffer): boolean {
    const rows = this.#rows;
    const { rows: pending } = form;
    const { bytes, view, start } = lines;
    const next = this.#match(form, bytes, view, start);
    if (next < 0) return false;
    rows.line += 1;
    if (pending.isEdge) rows.addNamedEdge(pending, bytes, this.#from, this.#to);
    else rows.addVertex(pending, bytes, this.#id);
    const { values } = pending;
    const own = this.#values;
    const width = pending.columns.length;
    for (let column = 0; column < width; column += 1) values.push(own[column] as Value);
    lines.requireLength(next - 1 - start, rows.line);
    lines.start = next;
    return true;
  }

  /** @returns where the next line begins, -1 when the line does not fit */
  #match({ kinds, constants }: CsvForm, bytes: Bytes, view: DataView, start: number): number {
    const last = kinds.length - 1;
    let at = start;
    let column = 0;
    let constant = 0;
    this.#id.end = -1;
    for (let field = 0; field <= last; field += 1) {
      const kind = kinds[field] as FieldKind;
      if (kind === fieldKind.constant) {
        at = (constants[constant] as Literal).skip(bytes, view, at);
        constant += 1;
      } else if (kind >= fieldKind.id) at = this.#name(this.#idFor(kind), bytes, at);
      else if (kind !== fieldKind.absent) {
        at = kind === fieldKind.detect ? this.#detected(bytes, at) : this.#text(bytes, at);
        this.#values[column] = this.#value;
        column += 1;
      }
      if (at < 0) return -1;
      if (field === last && bytes[at] === carriageReturn) at += 1;
      if (bytes[at] !== (field === last ? lineFeed : comma)) return -1;
      at += 1;
    }
    return at;
  }

  #idFor(kind: FieldKind): IdText {
    if (kind === fieldKind.from) return this.#from;
    return kind === fieldKind.to ? this.#to : this.#id;
  }

  #name(id: IdText, bytes: Bytes, start: number): number {
    const end = this.#rows.ids.readNumbered(bytes, start, id);
    return end >= 0 && endsField(bytes[end] as number) ? end : readHashed(bytes, start, id);
  }

  /** @returns where the field may end; what stands there is looked at by the caller */
  #text(bytes: Bytes, start: number): number {
    let at = start;
    let all = 0;
    let byte = bytes[at] as number;
    for (; !endsField(byte); byte = bytes[++at] as number) {
      if (byte === quote) return -1;
      all |= byte;
    }
    if (all >= 128 || at === start) return -1;
    this.#value = readAscii(bytes, start, at);
    return at;
  }

  /** Numbers, and texts that cannot be numbers or booleans. @returns as `#text` */
  #detected(bytes: Bytes, start: number): number {
    const isNegative = bytes[start] === 45;
    const first = isNegative ? start + 1 : start;
    let at = first;
    let n = 0;
    let byte = bytes[at] as number;
    for (; byte >= zero && byte <= nine; byte = bytes[++at] as number) n = n * 10 + byte - zero;
    const digits = at - first;
    if (digits === 0) return isPlainLetter(byte) && at === start ? this.#text(bytes, start) : -1;
    if (digits > 1 && bytes[first] === zero) return -1;
    if (byte === 46) {
      const point = at;
      byte = bytes[++at] as number;
      for (; byte >= zero && byte <= nine; byte = bytes[++at] as number) n = n * 10 + byte - zero;
      const fraction = at - point - 1;
      if (fraction === 0 || digits + fraction > fractionDigitsMax) return -1;
      if (n <= Number.MAX_SAFE_INTEGER && fraction < powersOfTen.length) {
        const value = n / (powersOfTen[fraction] as number);
        this.#value = double(isNegative ? -value : value);
      } else this.#value = double(Number(bytes.latin1Slice(start, at)));
    } else if (digits > 15) return -1;
    else this.#value = isNegative ? 0 - n : n;
    return at;
  }
}

/** Whether a field that is not quoted may end before the byte. A carriage return elsewhere than at the end of a line fits no form. */
function endsField(byte: number): boolean {
  return byte === comma || byte === lineFeed || byte === carriageReturn;
}

/** A letter that begins neither a boolean nor anything that is looked at twice. */
function isPlainLetter(byte: number): boolean {
  const lower = byte | 32;
  return lower >= 97 && lower <= 122 && lower !== 116 && lower !== 102;
}

/** Reads an id that its hash finds. @returns where it may end, -1 when it does not fit */
function readHashed(bytes: Bytes, start: number, into: IdText): number {
  let hash = firstHash;
  let at = start;
  let all = 0;
  let byte = bytes[at] as number;
  for (; !endsField(byte); byte = bytes[++at] as number) {
    if (byte === quote) return -1;
    all |= byte;
    hash = nextHash(hash, byte);
  }
  into.start = start;
  into.end = at;
  into.number = -1;
  into.hash = hash;
  return all < 128 && at > start ? at : -1;
}
