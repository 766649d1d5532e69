import { noRid, type Rid } from '#core/value/rid.ts';
import { hashOf, IdTable } from './id-table.ts';
import type { IdText } from './id-text.ts';

/** A page of records by number; NaN where there is none. */
const pageBits = 15;
const pageSize = 1 << pageBits;
/** Numbers below this are always kept in pages, larger ones only up to four for each id: sparse ones would waste pages. */
const numbersAlways = 2 ** 20;
const numbersPerId = 4;
const prefixMax = 64;
/** Stands for the number 0, those below for higher ones. No record id. */
const firstDeferred = noRid - 1;
const digitsMax = 9;
const quote = 34;
const comma = 44;
const backslash = 92;

/**
 * The temporary ids of an import, in the order they came. Mostly they are numbered: one prefix, which the first id shows, and a
 * number (`p1`, `p2`, ...). Those are found by their number in an array that fits the processor's cache, all others in a hash
 * table: of a million edges the two lookups cost a third so.
 */
export class TemporaryIds {
  readonly #table: IdTable;
  #prefix: Uint8Array | undefined;
  /** As `#prefix`, when lines have it as it is. */
  #plainPrefix: Uint8Array | undefined;
  readonly #pages: (Float64Array | undefined)[] = [];
  /** How many ids are found by the table. */
  #tableCount = 0;

  /** @param seed for the hash table */
  constructor(seed: number) {
    this.#table = new IdTable(seed);
  }

  get count(): number {
    return this.#table.count;
  }

  /** What stands before the numbers of ids, when lines have it as it is; undefined until an id has come. */
  get plainPrefix(): Uint8Array | undefined {
    return this.#plainPrefix;
  }

  /** One past the last entry, for walking with `after`. */
  get end(): number {
    return this.#table.end;
  }

  /**
   * Reads a numbered id from `start` on, so that it is looked at once only.
   * @returns where its digits end, -1 when there is no such id
   */
  readNumbered(bytes: Uint8Array, start: number, into: IdText): number {
    const prefix = this.#plainPrefix;
    if (prefix === undefined) return -1;
    const { length } = prefix;
    for (let at = 0; at < length; at += 1) {
      if (bytes[start + at] !== prefix[at]) return -1;
    }
    const first = start + length;
    const last = first + digitsMax;
    let at = first;
    let n = 0;
    let byte = bytes[at] as number;
    for (; byte >= 48 && byte <= 57 && at < last; byte = bytes[++at] as number)
      n = n * 10 + byte - 48;
    if (at === first || (bytes[first] === 48 && at > first + 1)) return -1;
    into.start = start;
    into.end = at;
    into.number = n;
    return at;
  }

  /** As `find`, for an id of a line. */
  findText(bytes: Uint8Array, { start, end, number, hash }: IdText): Rid | undefined {
    if (number < 0) return this.find(bytes, start, end, hash);
    const rid = this.#pages[number >>> pageBits]?.[number & (pageSize - 1)] ?? Number.NaN;
    if (!Number.isNaN(rid)) return rid as Rid;
    return this.#tableCount === 0
      ? undefined
      : this.find(bytes, start, end, hashOf(bytes, start, end));
  }

  /** Whether ids with numbers like this one are worth `deferredNumber`. */
  defers(number: number): boolean {
    return this.#pages[number >>> pageBits] !== undefined;
  }

  /** What stands for a numbered id until `resolve`; undefined for ids that are not worth it, or not found so. */
  deferred({ number }: IdText): number | undefined {
    return number >= 0 && this.defers(number) ? deferredNumber(number) : undefined;
  }

  /**
   * Puts records in the places `[start, end)` of numbered ids. One at a time, each waits for memory; in a loop of nothing else the
   * processor fetches many at once.
   * @returns the first place whose id has no record by its number; `end` when there is none
   */
  resolve(ends: Float64Array, start: number, end: number): number {
    const pages = this.#pages;
    for (let at = start; at < end; at += 1) {
      const given = ends[at] as number;
      if (given > firstDeferred) continue;
      // Of 31 bits, which the processor is told so.
      const number = (firstDeferred - given) | 0;
      const page = pages[number >>> pageBits];
      if (page === undefined) return at;
      const rid = page[number & (pageSize - 1)] as number;
      if (Number.isNaN(rid)) return at;
      ends[at] = rid;
    }
    return end;
  }

  /** The id that `deferred` gave this for. */
  deferredText(deferred: number): string {
    return `${Buffer.from(this.#prefix ?? noPrefix).toString()}${firstDeferred - deferred}`;
  }

  /** As `add`, for an id of a line. */
  addText(bytes: Uint8Array, { start, end, number, hash }: IdText): number {
    if (number < 0) return this.add(bytes, start, end, hash);
    const isAlone = this.#tableCount === 0 && this.#mayKeep(number);
    return isAlone
      ? this.#addNumbered(number, bytes, start, end)
      : this.add(bytes, start, end, hashOf(bytes, start, end));
  }

  /** @returns the place of the new entry, -1 when the id is there already */
  add(bytes: Uint8Array, start: number, end: number, hash: number): number {
    if (this.#prefix === undefined) {
      this.#prefix = prefixOf(bytes, start, end);
      if (this.#prefix.every(isPlain)) this.#plainPrefix = this.#prefix;
    }
    const n = numberBehind(this.#prefix, bytes, start, end);
    if (n < 0 || !this.#mayKeep(n)) {
      const entry = this.#table.add(bytes, start, end, hash);
      if (entry >= 0) this.#tableCount += 1;
      return entry;
    }
    // It may have come when there were fewer.
    if (this.#tableCount > 0 && this.#table.find(bytes, start, end, hash) >= 0) return -1;
    return this.#addNumbered(n, bytes, start, end);
  }

  #addNumbered(n: number, bytes: Uint8Array, start: number, end: number): number {
    if (this.#isNumbered(n)) return -1;
    const entry = this.#table.append(bytes, start, end);
    this.#pageFor(n)[n & (pageSize - 1)] = this.#table.ridOf(entry);
    return entry;
  }

  setRid(entry: number, rid: Rid): void {
    this.#table.setRid(entry, rid);
    const key = this.#table.keyOf(entry);
    const n = numberBehind(this.#prefix ?? noPrefix, key, 0, key.length);
    if (n >= 0 && this.#isNumbered(n)) this.#pageFor(n)[n & (pageSize - 1)] = rid;
  }

  /** @returns the record that `setRid` gave to the id, `noRid` when none did, undefined when the id is not there */
  find(bytes: Uint8Array, start: number, end: number, hash: number): Rid | undefined {
    const prefix = this.#prefix;
    if (prefix === undefined) return undefined;
    const n = numberBehind(prefix, bytes, start, end);
    if (n >= 0) {
      const rid = this.#pages[n >>> pageBits]?.[n & (pageSize - 1)] ?? Number.NaN;
      if (!Number.isNaN(rid)) return rid as Rid;
    }
    if (this.#tableCount === 0) return undefined;
    const entry = this.#table.find(bytes, start, end, hash);
    return entry < 0 ? undefined : this.#table.ridOf(entry);
  }

  ridOf(entry: number): Rid {
    return this.#table.ridOf(entry);
  }

  textOf(entry: number): string {
    return this.#table.textOf(entry);
  }

  /** The entry that came next. */
  after(entry: number): number {
    return this.#table.after(entry);
  }

  /** The entry at a place that was the end once. */
  entryAt(place: number): number {
    return this.#table.entryAt(place);
  }

  #mayKeep(n: number): boolean {
    return n < numbersAlways || n < this.count * numbersPerId;
  }

  #isNumbered(n: number): boolean {
    const rid = this.#pages[n >>> pageBits]?.[n & (pageSize - 1)];
    return rid !== undefined && !Number.isNaN(rid);
  }

  #pageFor(n: number): Float64Array {
    let page = this.#pages[n >>> pageBits];
    if (page === undefined) {
      page = new Float64Array(pageSize).fill(Number.NaN);
      while (this.#pages.length <= n >>> pageBits) this.#pages.push(undefined);
      this.#pages[n >>> pageBits] = page;
    }
    return page;
  }
}

/** What stands for the id of this number until `resolve`. */
export function deferredNumber(number: number): number {
  return firstDeferred - number;
}

const noPrefix = new Uint8Array();

/** What stands before the number at the end; empty when it is too long to be worth comparing. */
function prefixOf(bytes: Uint8Array, start: number, end: number): Uint8Array {
  let at = end;
  while (at > start && isDigit(bytes[at - 1] as number)) at -= 1;
  // A copy: the memory is that of the lines, and `slice` of a buffer would share it.
  return at - start > prefixMax ? noPrefix : new Uint8Array(bytes.subarray(start, at));
}

/** The number behind the prefix, spelt as numbers are, so that it stands for one id only; -1 for any other id. */
function numberBehind(prefix: Uint8Array, bytes: Uint8Array, start: number, end: number): number {
  const { length } = prefix;
  const first = start + length;
  const digits = end - first;
  if (digits < 1 || digits > digitsMax) return -1;
  for (let at = 0; at < length; at += 1) {
    if (bytes[start + at] !== prefix[at]) return -1;
  }
  if (bytes[first] === 48 && digits > 1) return -1;
  let n = 0;
  for (let at = first; at < end; at += 1) {
    const byte = bytes[at] as number;
    if (!isDigit(byte)) return -1;
    n = n * 10 + byte - 48;
  }
  return n;
}

/** Whether lines of both formats have the byte in an id as it is. */
function isPlain(byte: number): boolean {
  return byte >= 32 && byte !== quote && byte !== backslash && byte !== comma;
}

function isDigit(byte: number): boolean {
  return byte >= 48 && byte <= 57;
}
