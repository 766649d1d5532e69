import { double, type Value } from '#core/value.ts';
import { type Bytes, readAscii } from '#storage/bytes.ts';
import { firstHash, nextHash } from './id-table.ts';
import { powersOfTen } from './line-template.ts';

/** What a column holds, for a line whose type has been seen. */
export const columnKind = { type: 0, class: 1, id: 2, from: 3, to: 4, detect: 5, text: 6 } as const;
export type ColumnKind = (typeof columnKind)[keyof typeof columnKind];

/** Lines of one type in which every field is there and nothing is quoted. */
export interface CsvForm {
  readonly isEdge: boolean;
  readonly kinds: readonly ColumnKind[];
  /** The type's name as it stands in the lines. */
  readonly className: Uint8Array;
}

const comma = 44;
const lineFeed = 10;

/**
 * Reads the common lines of a CSV body in one pass over their bytes. Whatever is less common (quotes, empty fields, other
 * letters than ASCII, long numbers, carriage returns) does not fit and is read by `CsvReader` field by field; what fits is read
 * exactly as it would.
 */
export class CsvMatcher {
  /** After a match: the values of the row, and where the texts of the other columns are. */
  readonly values: Value[] = [];
  idStart = 0;
  idEnd = -1;
  idHash = 0;
  fromStart = 0;
  fromEnd = 0;
  fromHash = 0;
  toStart = 0;
  toEnd = 0;
  toHash = 0;
  #hash = 0;
  #value: Value = null;

  /** @returns where the next line begins, -1 when the line does not fit */
  match(form: CsvForm, bytes: Bytes, start: number): number {
    const { kinds } = form;
    const last = kinds.length - 1;
    let at = start;
    let column = 0;
    this.idEnd = -1;
    for (let field = 0; field <= last; field += 1) {
      const kind = kinds[field] as ColumnKind;
      if (kind >= columnKind.detect) {
        at = kind === columnKind.detect ? this.#detected(bytes, at) : this.#text(bytes, at);
        this.values[column] = this.#value;
        column += 1;
      } else if (kind === columnKind.type) {
        at = bytes[at] === (form.isEdge ? 101 : 118) ? at + 1 : -1;
      } else if (kind === columnKind.class) at = skip(form.className, bytes, at);
      else at = this.#name(kind, bytes, at);
      if (at < 0 || bytes[at] !== (field === last ? lineFeed : comma)) return -1;
      at += 1;
    }
    return at;
  }

  #name(kind: ColumnKind, bytes: Bytes, start: number): number {
    let hash = firstHash;
    let at = start;
    let all = 0;
    for (;;) {
      const byte = bytes[at] as number;
      if (byte === comma || byte === lineFeed) break;
      if (byte === 34 || byte === 13) return -1;
      all |= byte;
      hash = nextHash(hash, byte);
      at += 1;
    }
    if (all >= 128 || at === start) return -1;
    this.#hash = hash;
    if (kind === columnKind.from) {
      this.fromStart = start;
      this.fromEnd = at;
      this.fromHash = this.#hash;
    } else if (kind === columnKind.to) {
      this.toStart = start;
      this.toEnd = at;
      this.toHash = this.#hash;
    } else {
      this.idStart = start;
      this.idEnd = at;
      this.idHash = this.#hash;
    }
    return at;
  }

  #text(bytes: Bytes, start: number): number {
    let at = start;
    let all = 0;
    for (;;) {
      const byte = bytes[at] as number;
      if (byte === comma || byte === lineFeed) break;
      if (byte === 34 || byte === 13) return -1;
      all |= byte;
      at += 1;
    }
    if (all >= 128 || at === start) return -1;
    this.#value = readAscii(bytes, start, at);
    return at;
  }

  /** Short numbers, and texts that cannot be numbers or booleans. */
  #detected(bytes: Bytes, start: number): number {
    const sign = bytes[start];
    const first = sign === 45 ? start + 1 : start;
    let at = first;
    let n = 0;
    let byte = bytes[at] as number;
    for (; byte >= 48 && byte <= 57; byte = bytes[++at] as number) n = n * 10 + byte - 48;
    const digits = at - first;
    if (digits === 0) return isPlainLetter(byte) && at === start ? this.#text(bytes, start) : -1;
    if (digits > 15 || (digits > 1 && bytes[first] === 48)) return -1;
    if (byte === 46) {
      const point = at;
      byte = bytes[++at] as number;
      for (; byte >= 48 && byte <= 57; byte = bytes[++at] as number) n = n * 10 + byte - 48;
      const fraction = at - point - 1;
      if (fraction === 0 || digits + fraction > 15) return -1;
      const value = n / (powersOfTen[fraction] as number);
      this.#value = double(sign === 45 ? -value : value);
    } else this.#value = sign === 45 ? 0 - n : n;
    return byte === comma || byte === lineFeed ? at : -1;
  }
}

/** A letter that begins neither a boolean nor anything that is looked at twice. */
function isPlainLetter(byte: number): boolean {
  const lower = byte | 32;
  return lower >= 97 && lower <= 122 && lower !== 116 && lower !== 102;
}

function skip(text: Uint8Array, bytes: Bytes, at: number): number {
  const { length } = text;
  for (let i = 0; i < length; i += 1) {
    if (bytes[at + i] !== text[i]) return -1;
  }
  return at + length;
}
