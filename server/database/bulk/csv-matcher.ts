import { double, type Value } from '#core/value.ts';
import { type Bytes, type Image, readAscii } from '#storage/bytes.ts';
import { firstHash, nextHash } from './id-table.ts';
import { IdText } from './id-text.ts';
import { powersOfTen } from './line-template.ts';
import type { Literal } from './literal.ts';
import type { TemporaryIds } from './temporary-ids.ts';

/** What a column holds, for a line whose type has been seen. */
export const columnKind = { type: 0, class: 1, id: 2, from: 3, to: 4, detect: 5, text: 6 } as const;
export type ColumnKind = (typeof columnKind)[keyof typeof columnKind];

/** Lines of one type in which every field is there and nothing is quoted. */
export interface CsvForm {
  readonly isEdge: boolean;
  readonly kinds: readonly ColumnKind[];
  /** The type's name as it stands in the lines. */
  readonly className: Literal;
}

const comma = 44;
const lineFeed = 10;
/** No double is written with more of them, unless somebody counts beyond its precision. */
const fractionDigitsMax = 30;

/**
 * Reads the common lines of a CSV body in one pass over their bytes. Whatever is less common (quotes, empty fields, other
 * letters than ASCII, long numbers, carriage returns) does not fit and is read by `CsvReader` field by field; what fits is read
 * exactly as it would.
 */
export class CsvMatcher {
  /** After a match: the values of the row, and where the texts of the other columns are. */
  readonly values: Value[] = [];
  readonly id = new IdText();
  readonly from = new IdText();
  readonly to = new IdText();
  readonly #ids: TemporaryIds;
  #value: Value = null;

  /** @param ids where ids of lines are looked for */
  constructor(ids: TemporaryIds) {
    this.#ids = ids;
  }

  /** @returns where the next line begins, -1 when the line does not fit */
  match(form: CsvForm, { bytes, view }: Image, start: number): number {
    const { kinds } = form;
    const last = kinds.length - 1;
    let at = start;
    let column = 0;
    this.id.end = -1;
    for (let field = 0; field <= last; field += 1) {
      const kind = kinds[field] as ColumnKind;
      if (kind >= columnKind.detect) {
        at = kind === columnKind.detect ? this.#detected(bytes, at) : this.#text(bytes, at);
        this.values[column] = this.#value;
        column += 1;
      } else if (kind === columnKind.type) {
        at = bytes[at] === (form.isEdge ? 101 : 118) ? at + 1 : -1;
      } else if (kind === columnKind.class) at = form.className.skip(bytes, view, at);
      else at = this.#name(this.#idFor(kind), bytes, at);
      if (at < 0 || bytes[at] !== (field === last ? lineFeed : comma)) return -1;
      at += 1;
    }
    return at;
  }

  #idFor(kind: ColumnKind): IdText {
    if (kind === columnKind.from) return this.from;
    return kind === columnKind.to ? this.to : this.id;
  }

  #name(id: IdText, bytes: Bytes, start: number): number {
    const end = this.#ids.readNumbered(bytes, start, id);
    if (end < 0) return readHashed(bytes, start, id);
    const byte = bytes[end];
    return byte === comma || byte === lineFeed ? end : readHashed(bytes, start, id);
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
    if (digits > 1 && bytes[first] === 48) return -1;
    if (byte === 46) {
      const point = at;
      byte = bytes[++at] as number;
      for (; byte >= 48 && byte <= 57; byte = bytes[++at] as number) n = n * 10 + byte - 48;
      const fraction = at - point - 1;
      if (fraction === 0 || digits + fraction > fractionDigitsMax) return -1;
      if (n <= Number.MAX_SAFE_INTEGER && fraction < powersOfTen.length) {
        const value = n / (powersOfTen[fraction] as number);
        this.#value = double(sign === 45 ? -value : value);
      } else this.#value = double(Number(bytes.latin1Slice(start, at)));
    } else if (digits > 15) return -1;
    else this.#value = sign === 45 ? 0 - n : n;
    return byte === comma || byte === lineFeed ? at : -1;
  }
}

/** A letter that begins neither a boolean nor anything that is looked at twice. */
function isPlainLetter(byte: number): boolean {
  const lower = byte | 32;
  return lower >= 97 && lower <= 122 && lower !== 116 && lower !== 102;
}

/** Reads an id that its hash finds. @returns where it ends, -1 when it does not fit */
function readHashed(bytes: Bytes, start: number, into: IdText): number {
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
  into.start = start;
  into.end = at;
  into.number = -1;
  into.hash = hash;
  return all < 128 && at > start ? at : -1;
}
