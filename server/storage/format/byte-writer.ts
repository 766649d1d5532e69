// The global of this name is looked up at each use.
import { Buffer } from 'node:buffer';
import { allocateBytes, type Bytes, viewOf } from './bytes.ts';

/** Up to here a loop copies faster than a call. */
const copiedMax = 256;

/** A growing buffer that is written from front to back and reused; `take` copies out what was written. */
export class ByteWriter {
  bytes: Bytes;
  view: DataView;
  /** Where the next byte goes. May be set back to fill in something left out. */
  position = 0;
  /** A value of the feature `extendedValues` was written since `reset`. */
  hasExtendedValue = false;

  constructor(capacity = 4096) {
    this.bytes = allocateBytes(capacity);
    this.view = viewOf(this.bytes);
  }

  reset(): void {
    this.position = 0;
    this.hasExtendedValue = false;
  }

  /** Makes room for `count` more bytes; the fixed-size writers below rely on it. */
  reserve(count: number): void {
    const needed = this.position + count;
    if (needed <= this.bytes.length) return;
    const grown = allocateBytes(Math.max(needed, this.bytes.length * 2));
    grown.set(this.bytes.subarray(0, this.position));
    this.bytes = grown;
    this.view = viewOf(grown);
  }

  u8(value: number): void {
    this.reserve(1);
    this.bytes[this.position++] = value;
  }

  u16(value: number): void {
    this.reserve(2);
    this.view.setUint16(this.position, value, true);
    this.position += 2;
  }

  u32(value: number): void {
    this.reserve(4);
    this.view.setUint32(this.position, value, true);
    this.position += 4;
  }

  f64(value: number): void {
    this.reserve(8);
    this.view.setFloat64(this.position, value, true);
    this.position += 8;
  }

  i64(value: bigint): void {
    this.reserve(8);
    this.view.setBigInt64(this.position, value, true);
    this.position += 8;
  }

  /** Unsigned, seven bits a byte, lowest first; for integers from 0 to 2^53 - 1. */
  varint(value: number): void {
    this.reserve(8);
    let rest = value;
    while (rest >= 0x80) {
      this.bytes[this.position++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.bytes[this.position++] = rest;
  }

  raw(bytes: Uint8Array): void {
    this.reserve(bytes.length);
    this.bytes.set(bytes, this.position);
    this.position += bytes.length;
  }

  /** What another one has written. */
  append(other: ByteWriter): void {
    this.raw(other.bytes.subarray(0, other.position));
    this.hasExtendedValue ||= other.hasExtendedValue;
  }

  /** As `raw` for bytes that lie somewhere in others: a view of a small row costs more than its copy. */
  copy(source: Uint8Array, start: number, count: number): void {
    this.reserve(count);
    const { bytes, position } = this;
    if (count > copiedMax) bytes.set(source.subarray(start, start + count), position);
    else for (let i = 0; i < count; i += 1) bytes[position + i] = source[start + i] as number;
    this.position += count;
  }

  zeros(count: number): void {
    this.reserve(count);
    const { bytes, position } = this;
    // The heads of rows, mostly: a call to `fill` takes longer than some dozen bytes.
    if (count > 64) bytes.fill(0, position, position + count);
    else for (let at = position; at < position + count; at += 1) bytes[at] = 0;
    this.position += count;
  }

  /** UTF-8 without length. @returns true when JSON may copy the bytes: printable ASCII, no quote, no backslash */
  text(text: string): boolean {
    this.reserve(text.length * 3);
    return text.length <= 32 ? this.#shortText(text) : this.#longText(text);
  }

  #shortText(text: string): boolean {
    const bytes = this.bytes;
    const start = this.position;
    let isSafe = true;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code < 0x20 || code === 0x22 || code === 0x5c || code >= 0x7f) {
        if (code >= 0x80) {
          this.position = start + bytes.utf8Write(text, start);
          return false;
        }
        isSafe = false;
      }
      bytes[start + i] = code;
    }
    this.position = start + text.length;
    return isSafe;
  }

  #longText(text: string): boolean {
    const bytes = this.bytes;
    const start = this.position;
    const end = start + bytes.utf8Write(text, start);
    this.position = end;
    if (end - start !== text.length) return false;
    for (let i = start; i < end; i++) {
      const byte = bytes[i] as number;
      if (byte < 0x20 || byte === 0x22 || byte === 0x5c || byte >= 0x7f) return false;
    }
    return true;
  }

  /** UTF-8 after its length in bytes as varint. */
  lengthAndText(text: string): void {
    if (text.length < 42) {
      // At most 126 bytes, so the length takes one byte whose place is known before the text is written.
      const at = this.position;
      this.u8(0);
      this.text(text);
      this.bytes[at] = this.position - at - 1;
      return;
    }
    this.varint(Buffer.byteLength(text));
    this.text(text);
  }

  /** A copy of what was written from `from` on. */
  take(from = 0): Bytes {
    const length = this.position - from;
    const copy = Buffer.allocUnsafe(length) as Bytes;
    const bytes = this.bytes;
    // For a key or a small row a loop is cheaper than a view and a call.
    if (length <= 64) for (let i = 0; i < length; i++) copy[i] = bytes[from + i] as number;
    else copy.set(bytes.subarray(from, this.position));
    return copy;
  }
}
