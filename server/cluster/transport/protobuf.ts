/*
 * The encoding of protocol buffers as far as the messages between members need it (ha.md 4.1): varints, bytes, texts, messages.
 * Fields that are 0, empty or false are left out, as proto3 does.
 */

export class ProtoWriter {
  #bytes: Buffer;
  #length = 0;

  constructor(expectedBytes = 256) {
    this.#bytes = Buffer.allocUnsafe(expectedBytes);
  }

  /** @param value a whole number from 0 to 2^53 - 1 */
  integer(field: number, value: number): this {
    if (value === 0) return this;
    this.#varint(field * 8);
    this.#varint(value);
    return this;
  }

  flag(field: number, value: boolean): this {
    return this.integer(field, value ? 1 : 0);
  }

  text(field: number, value: string): this {
    return value === '' ? this : this.bytes(field, Buffer.from(value));
  }

  bytes(field: number, value: Uint8Array): this {
    if (value.length === 0) return this;
    return this.message(field, value);
  }

  /** Also when it is empty: a repeated field has one element more. */
  message(field: number, value: Uint8Array): this {
    return this.begin(field, value.length).raw(value);
  }

  /** What follows, up to so many bytes, is a message in this one. */
  begin(field: number, length: number): this {
    this.#varint(field * 8 + 2);
    this.#varint(length);
    this.#reserve(length);
    return this;
  }

  /** As they are: fields that were written before. */
  raw(bytes: Uint8Array): this {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
    return this;
  }

  finish(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  #varint(value: number): void {
    this.#reserve(10);
    let left = value;
    while (left >= 0x80) {
      this.#bytes[this.#length++] = (left % 0x80) | 0x80;
      left = Math.floor(left / 0x80);
    }
    this.#bytes[this.#length++] = left;
  }

  #reserve(count: number): void {
    if (this.#length + count <= this.#bytes.length) return;
    const wider = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#length + count));
    wider.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = wider;
  }
}

/** Bytes that a number takes with its field; both as `integer` writes them. */
export function integerBytes(field: number, value: number): number {
  return value === 0 ? 0 : varintBytes(field * 8) + varintBytes(value);
}

/** Bytes that a field of so many bytes takes. */
export function fieldBytes(field: number, length: number): number {
  return length === 0 ? 0 : varintBytes(field * 8) + varintBytes(length) + length;
}

function varintBytes(value: number): number {
  let count = 1;
  for (let left = value; left >= 0x80; left = Math.floor(left / 0x80)) count += 1;
  return count;
}

/** A message that is none: the stream it came on is closed. */
export class ProtoError extends Error {}

/** Walks the fields of one message. Unknown ones are passed over; the caller asks `field` first. */
export class ProtoReader {
  readonly #bytes: Uint8Array;
  #at = 0;
  /** Of the message that is read. */
  #end: number;
  field = 0;
  #wireType = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#end = bytes.length;
  }

  /** @throws ProtoError for what is no protocol buffer */
  next(): boolean {
    if (this.#at >= this.#end) return false;
    const key = this.#varint();
    this.field = Math.floor(key / 8);
    this.#wireType = key % 8;
    if (this.field === 0) throw new ProtoError('a field has number 0');
    return true;
  }

  /** Where the field that `next` is to find begins. */
  get at(): number {
    return this.#at;
  }

  /**
   * The field is a message, and `next` walks its fields until there are none: without a view of its bytes, which costs more than a
   * small message. @returns what `leave` takes then
   */
  enter(): number {
    const length = this.#lengthOfField();
    const outerEnd = this.#end;
    this.#end = this.#at + length;
    return outerEnd;
  }

  leave(outerEnd: number): void {
    this.#end = outerEnd;
  }

  integer(): number {
    if (this.#wireType !== 0) throw new ProtoError(`field ${this.field} is no number`);
    return this.#varint();
  }

  flag(): boolean {
    return this.integer() !== 0;
  }

  text(): string {
    const { buffer, byteOffset, length } = this.bytes();
    return Buffer.from(buffer, byteOffset, length).toString('utf8');
  }

  bytes(): Uint8Array {
    const length = this.#lengthOfField();
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  skip(): void {
    if (this.#wireType === 0) this.#varint();
    else if (this.#wireType === 2) this.bytes();
    else if (this.#wireType === 1) this.#at += 8;
    else if (this.#wireType === 5) this.#at += 4;
    else throw new ProtoError(`field ${this.field} has wire type ${this.#wireType}`);
    if (this.#at > this.#end) throw new ProtoError('the message is cut');
  }

  #lengthOfField(): number {
    if (this.#wireType !== 2) throw new ProtoError(`field ${this.field} has no length`);
    const length = this.#varint();
    if (length > this.#end - this.#at)
      throw new ProtoError(`field ${this.field} is longer than its message`);
    return length;
  }

  #varint(): number {
    let value = 0;
    let factor = 1;
    for (let i = 0; i < 8; i++) {
      const byte = this.#at < this.#end ? this.#bytes[this.#at++] : undefined;
      if (byte === undefined) throw new ProtoError('the message is cut');
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) {
        if (value > Number.MAX_SAFE_INTEGER) break;
        return value;
      }
      factor *= 0x80;
    }
    throw new ProtoError('a number is above 2^53');
  }
}
