import { DatabaseError } from '#core/errors.ts';
import { allocateBytes, type Bytes, type Image, viewOf } from '#storage/format/bytes.ts';

/** A line beyond takes longer than a slice. */
const longLineBytes = 128 * 1024;
/** A line that goes on is looked at again with each piece, as long as it is no longer; then whenever it is twice as long. */
const lookedAtBytes = 1024 * 1024;

/**
 * Pieces of a body put together to whole lines. Bytes from `start` to `end` are lines that end with a line feed, so whoever
 * reads them needs no other bound. Holds one piece and one incomplete line.
 */
export class LineBuffer implements Image {
  readonly lineBytesMax: number;
  bytes: Bytes = allocateBytes(256 * 1024);
  /** The same memory. */
  view: DataView = viewOf(this.bytes);
  /** The first byte that was not read yet; moved by the reader. */
  start = 0;
  /** Behind the last line feed. */
  end = 0;
  /** Behind the last byte. */
  #filled = 0;
  #isFirst = true;
  #isComplete = false;
  /** Bytes from `start` on that must be there before the next line is looked at. */
  #wanted = 0;
  /** The next line is long, and goes on over several. */
  #isLongNext = false;

  constructor(lineBytesMax: number) {
    this.lineBytesMax = lineBytesMax;
  }

  append(piece: Uint8Array): void {
    this.#makeRoom(piece.length + 1);
    this.bytes.set(piece, this.#filled);
    const from = this.#filled;
    this.#filled += piece.length;
    if (this.#isFirst) this.#skipMark();
    const last = piece.lastIndexOf(10);
    if (last >= 0) this.end = from + last + 1;
  }

  /** Whether the next line is one to be parsed in slices. Asked for each line, so it looks only where there may be one. */
  get isLongLineNext(): boolean {
    if (this.end - this.start <= longLineBytes || this.#isWaiting) return false;
    return this.#isLongNext || this.lineEnd - this.start > longLineBytes;
  }

  /** Whether there is a next line, to be read in one turn. */
  get isShortLineNext(): boolean {
    return this.start < this.end && !this.#isWaiting && !this.isLongLineNext;
  }

  get #isWaiting(): boolean {
    return this.end - this.start < this.#wanted;
  }

  /**
   * The next line goes on behind what is there.
   * @returns false when nothing comes any more
   * @throws DatabaseError `TooLarge`
   */
  waitForMore(line: number): boolean {
    const length = this.end - this.start;
    this.requireLength(length, line);
    this.#wanted = this.#isComplete ? 0 : length < lookedAtBytes ? length + 1 : 2 * length;
    return !this.#isComplete;
  }

  /** Whether a line that was taken for a short one by its first line feed is to be parsed in slices; it is told of from now on. */
  isLong(start: number, end: number): boolean {
    this.#isLongNext = end - start > longLineBytes;
    return this.#isLongNext;
  }

  /** A line was read. */
  readTo(next: number): void {
    this.start = next;
    this.#wanted = 0;
    this.#isLongNext = false;
  }

  /** The line feed of the next line. */
  get lineEnd(): number {
    return this.bytes.indexOf(10, this.start);
  }

  /** Bytes of the line that is not complete yet. */
  get restLength(): number {
    return this.#filled - this.end;
  }

  /** @throws DatabaseError `TooLarge` for the length of a line, or of a part of one, beyond the limit */
  requireLength(length: number, line: number): void {
    const max = this.lineBytesMax;
    if (length <= max) return;
    const limit = `${max} bytes (service.server.httpBatchLineMaxSize)`;
    throw new DatabaseError('TooLarge', `Line ${line}: the line is longer than ${limit}`);
  }

  /** The body is complete: gives its last line a line feed. @returns false when there is nothing left */
  complete(): boolean {
    this.#isComplete = true;
    this.#wanted = 0;
    if (this.#filled > this.end) {
      this.#makeRoom(1);
      this.bytes[this.#filled] = 10;
      this.#filled += 1;
      this.end = this.#filled;
    }
    return this.start < this.end;
  }

  #makeRoom(count: number): void {
    if (this.#filled + count <= this.bytes.length) return;
    const left = this.#filled - this.start;
    let target = this.bytes;
    if (left + count > target.length) {
      target = allocateBytes((left + count) * 2);
      this.view = viewOf(target);
    }
    target.set(this.bytes.subarray(this.start, this.#filled));
    this.bytes = target;
    this.end -= this.start;
    this.#filled = left;
    this.start = 0;
  }

  /** A byte order mark may stand before the first line. */
  #skipMark(): void {
    const { bytes } = this;
    if (this.#filled < 3 && this.start === 0) return;
    this.#isFirst = false;
    if (this.start !== 0) return;
    if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) this.start = 3;
  }
}
