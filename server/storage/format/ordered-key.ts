import { hash } from 'node:crypto';
import {
  type Decimal,
  decimalOfInteger,
  decimalText,
  exactDecimalOfDouble,
  normalizeDecimal,
} from '#core/value/decimal.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Rid } from '#core/value/rid.ts';
import { type DateTime, type Duration, type LocalDate, msPerDay } from '#core/temporal/temporal.ts';
import type { EmbeddedDocument, Value, ValueMap } from '#core/value/value.ts';
import { averageSeconds, utcNanosOf, utcOf } from '#core/temporal/instants.ts';
import { type ExtendedValue, placeOfExtended } from '#core/value/extended-value.ts';
import { pathElements } from '#core/value/path.ts';
import { compareNumbers } from '#core/value/value-order.ts';
import { ByteWriter } from './byte-writer.ts';
import type { Bytes } from './bytes.ts';

// Keys of ordered indexes (storage.md 3.4): byte order of keys is `compareValues` order of values. Each component is a
// tag byte and a payload that no other payload is a prefix of, so components follow each other without separators.
//
// tag  value         payload
// 05   null          none
// 10   false         none          11  true   none
// 20   number        double rounded down, 8 bytes big-endian, all bits inverted when negative, else sign bit flipped;
//                    then u16 = twice the whole distance of the value above that double, plus 1 when a fraction is left.
//                    So 64-bit integers and decimals that are whole are exact, other decimals share a key with what lies
//                    between the same two doubles and are checked on their rows
// 30   date          epoch ms as a number without distance, then u32 nanoseconds of the millisecond
// 40   string        UTF-8, 00 becomes 00 FF, ends 00 01
// 50   bytes         same escape
// 60   link          bucket u16, position u40
// 68   duration      seconds as a number without distance, u32 nanoseconds
// 70   list          its elements as components, ends 00
// 78   map           as a list of names and values in order of names      7C  embedded   type name, then as map
// 80   kinds of `extended-value.ts`, a tag each in their order: numbers as doubles without distance, the instant before offset and
//      zone; of durations their average length in seconds before months, days, seconds (64 bits) and nanoseconds
//
// A key of a unique index that holds such decimals ends with 16 bytes of the SHA-256 of their digits (`tellApart`), so that
// two of them do not count as one; indexes made before that have no such ends (`IndexDefinition.tellsDecimals`).
//
// A component above 512 bytes is cut at 480, followed by FF and 16 bytes of its SHA-256; it is not exact either.

const tag = {
  null: 0x05,
  false: 0x10,
  true: 0x11,
  number: 0x20,
  date: 0x30,
  text: 0x40,
  bytes: 0x50,
  link: 0x60,
  duration: 0x68,
  list: 0x70,
  map: 0x78,
  embedded: 0x7c,
  /** Of the first kind of `extended-value.ts`; the others follow in their order. */
  extended: 0x80,
} as const;

/** Tags of the two booleans, which are one type of values. */
export const falseTag = tag.false;
export const trueTag = tag.true;

/** Bytes of a whole key (limits.md 23). */
export const keyBytesMax = 1900;
const componentBytesMax = 512;
/** Components longer than this agree with their values' order only up to here. */
export const componentCut = 480;

/** Writes keys into a scratch buffer. One per place of use; not shared across calls that interleave. */
export class OrderedKeyWriter {
  readonly #out = new ByteWriter(512);
  #isExact = true;
  /** Decimals that share their key with others. */
  #rounded: Decimal[] = [];

  reset(): void {
    this.#out.reset();
    this.#isExact = true;
    if (this.#rounded.length > 0) this.#rounded = [];
  }

  /** False when some component shares its key with other values: hits must be checked on their rows. */
  get isExact(): boolean {
    return this.#isExact;
  }

  get length(): number {
    return this.#out.position;
  }

  /** What was written, in its first `length` bytes; valid until the next component. */
  get bytes(): Bytes {
    return this.#out.bytes;
  }

  /** Appends one component. `descending` inverts all of its bytes. */
  component(value: Value, descending = false): void {
    const out = this.#out;
    const start = out.position;
    this.#write(value);
    if (out.position - start > componentBytesMax) this.#cut(start);
    if (descending) invert(out, start);
  }

  /** Appends what the components of all texts that start with `text` start with; nothing may follow. */
  textPrefix(text: string): void {
    const out = this.#out;
    const start = out.position;
    out.u8(tag.text);
    this.#escaped(text);
    if (out.position - start > componentCut) {
      out.position = start + componentCut;
      this.#isExact = false;
    }
  }

  /** At the end of a whole key: makes it another one for other decimals. */
  tellApart(): void {
    if (this.#rounded.length === 0) return;
    const digits = this.#rounded.map((decimal) => decimalText(normalizeDecimal(decimal)));
    this.#out.raw(hash('sha256', digits.join(), 'buffer').subarray(0, 16));
  }

  /** Shortens the component that starts at `start` to where its order is that of its value; for bounds of ranges. */
  trimBound(start: number): void {
    if (this.#out.position - start <= componentCut) return;
    this.#out.position = start + componentCut;
    this.#isExact = false;
  }

  /** @throws DatabaseError `SchemaLimit` above `keyBytesMax` bytes */
  take(): Bytes {
    const length = this.#out.position;
    if (length > keyBytesMax) {
      throw new DatabaseError(
        'SchemaLimit',
        `an index key of ${length} bytes is above the limit of ${keyBytesMax} bytes`,
      );
    }
    return this.#out.take();
  }

  #write(value: Value): void {
    const out = this.#out;
    switch (typeof value) {
      case 'string':
        out.u8(tag.text);
        this.#escaped(value);
        out.u8(0);
        out.u8(1);
        return;
      case 'number':
        this.#plainNumber(value);
        return;
      case 'boolean':
        out.u8(value ? tag.true : tag.false);
        return;
      case 'bigint':
        this.#exactNumber(value);
        return;
      default:
        break;
    }
    if (value === null) out.u8(tag.null);
    else this.#object(value as Exclude<typeof value, boolean | number | bigint | string>);
  }

  #plainNumber(value: number): void {
    const out = this.#out;
    out.u8(tag.number);
    orderedDouble(out, value);
    out.reserve(2);
    out.view.setUint16(out.position, 0);
    out.position += 2;
  }

  #exactNumber(value: bigint | Decimal): void {
    const out = this.#out;
    const below = doubleAtMost(value);
    const { whole, hasFraction } = distanceAbove(value, below);
    if (hasFraction) {
      this.#isExact = false;
      // An integer never has one.
      if (typeof value !== 'bigint') this.#rounded.push(value);
    }
    out.u8(tag.number);
    orderedDouble(out, below);
    out.reserve(2);
    out.view.setUint16(out.position, Math.min(whole * 2 + (hasFraction ? 1 : 0), 0xffff));
    out.position += 2;
  }

  #object(value: Exclude<Value, null | boolean | number | bigint | string>): void {
    const out = this.#out;
    if (Array.isArray(value)) {
      out.u8(tag.list);
      for (const item of value as readonly Value[]) this.#write(item);
      out.u8(0);
      return;
    }
    if (value instanceof Map) {
      out.u8(tag.map);
      this.#entries(value);
      return;
    }
    if (value instanceof Uint8Array) {
      out.u8(tag.bytes);
      escapeBytes(out, value);
      out.u8(0);
      out.u8(1);
      return;
    }
    this.#tagged(value as Exclude<typeof value, readonly Value[] | ValueMap | Uint8Array>);
  }

  #tagged(
    value: Exclude<
      Value,
      null | boolean | number | bigint | string | readonly Value[] | ValueMap | Uint8Array
    >,
  ): void {
    const out = this.#out;
    switch (value.valueKind) {
      case 'float':
        this.#plainNumber(value.number);
        return;
      case 'decimal':
        this.#exactNumber(value);
        return;
      case 'date':
      case 'datetime':
        this.#moment(value);
        return;
      case 'duration':
        this.#duration(value);
        return;
      case 'embedded':
        out.u8(tag.embedded);
        this.#escaped(value.typeName);
        out.u8(0);
        out.u8(1);
        this.#entries((value satisfies EmbeddedDocument).properties);
        return;
      case 'link':
      case 'record':
        out.u8(tag.link);
        writeOrderedRid(out, value.rid);
        return;
      default:
        this.#extended(value);
    }
  }

  #extended(value: ExtendedValue): void {
    const out = this.#out;
    out.u8(tag.extended + placeOfExtended(value));
    switch (value.valueKind) {
      case 'localTime':
        orderedDouble(out, value.nanosOfDay);
        return;
      case 'zonedTime':
        orderedDouble(out, utcNanosOf(value));
        orderedDouble(out, value.offsetSeconds);
        return;
      case 'localDateTime':
        orderedDouble(out, value.epochDay);
        orderedDouble(out, value.nanosOfDay);
        return;
      case 'zonedDateTime': {
        const { epochDay, nanosOfDay } = utcOf(value);
        orderedDouble(out, epochDay);
        orderedDouble(out, nanosOfDay);
        orderedDouble(out, value.offsetSeconds);
        this.#escaped(value.zone);
        out.u8(0);
        out.u8(1);
        return;
      }
      case 'cypherDuration':
        orderedDouble(out, averageSeconds(value));
        orderedDouble(out, value.months);
        orderedDouble(out, value.days);
        orderedInt64(out, BigInt(value.seconds));
        orderedDouble(out, value.nanos);
        return;
      case 'point':
        orderedDouble(out, value.srid);
        orderedDouble(out, value.x);
        orderedDouble(out, value.y);
        orderedDouble(out, value.z);
        return;
      case 'path':
        for (const { rid } of pathElements(value)) {
          out.u8(1);
          writeOrderedRid(out, rid);
        }
        out.u8(0);
    }
  }

  #moment(value: LocalDate | DateTime): void {
    const out = this.#out;
    out.u8(tag.date);
    if (value.valueKind === 'date') this.#scaled(value.epochDay * msPerDay, 0);
    else this.#scaled(value.epochMs, value.nanosOfMs);
  }

  #duration(value: Duration): void {
    this.#out.u8(tag.duration);
    this.#scaled(value.seconds, value.nanos);
  }

  #scaled(units: number, nanos: number): void {
    const out = this.#out;
    orderedDouble(out, units);
    out.reserve(4);
    out.view.setUint32(out.position, nanos);
    out.position += 4;
  }

  #entries(map: ValueMap): void {
    const names = [...map.keys()].sort((a, b) => (a < b ? -1 : 1));
    for (const name of names) {
      this.#write(name);
      this.#write(map.get(name) as Value);
    }
    this.#out.u8(0);
  }

  #escaped(text: string): void {
    const out = this.#out;
    const start = out.position;
    out.text(text);
    if (out.bytes.subarray(start, out.position).indexOf(0) < 0) return;
    const raw = out.take(start);
    out.position = start;
    escapeBytes(out, raw);
  }

  #cut(start: number): void {
    const out = this.#out;
    const digest = hash('sha256', out.bytes.subarray(start, out.position), 'buffer');
    out.position = start + componentCut;
    out.u8(0xff);
    out.raw(digest.subarray(0, 16));
    this.#isExact = false;
  }
}

function invert(out: ByteWriter, start: number): void {
  for (let i = start; i < out.position; i++) out.bytes[i] = ~(out.bytes[i] as number);
}

function escapeBytes(out: ByteWriter, bytes: Uint8Array): void {
  out.reserve(bytes.length * 2);
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] as number;
    out.bytes[out.position++] = byte;
    if (byte === 0) out.bytes[out.position++] = 0xff;
  }
}

/** Eight bytes whose order is that of doubles; -0 is 0, NaN is above infinity. */
function orderedDouble(out: ByteWriter, value: number): void {
  out.reserve(8);
  const at = out.position;
  out.view.setFloat64(at, value === 0 ? 0 : value);
  // The sign of a NaN is whatever the processor made it.
  if (Number.isNaN(value)) out.view.setUint32(at, 0x7ff8_0000);
  const high = out.view.getUint32(at);
  if (high >= 0x8000_0000) {
    out.view.setUint32(at, ~high);
    out.view.setUint32(at + 4, ~out.view.getUint32(at + 4));
  } else out.view.setUint32(at, high | 0x8000_0000);
  out.position += 8;
}

function orderedInt64(out: ByteWriter, value: bigint): void {
  out.reserve(8);
  out.view.setBigUint64(out.position, BigInt.asUintN(64, value) ^ (1n << 63n));
  out.position += 8;
}

/** Seven bytes: bucket u16, position u40. */
export function writeOrderedRid(out: ByteWriter, rid: Rid): void {
  out.reserve(7);
  const at = out.position;
  const position = rid % 2 ** 37;
  out.view.setUint16(at, Math.floor(rid / 2 ** 37));
  out.bytes[at + 2] = Math.floor(position / 2 ** 32);
  out.view.setUint32(at + 3, position % 2 ** 32);
  out.position += 7;
}

/** The largest double that is not above the value; finite unless the value is below all doubles. */
function doubleAtMost(value: bigint | Decimal): number {
  const nearest =
    typeof value === 'bigint' ? Number(value) : Number(`${value.unscaled}e${-value.scale}`);
  if (compareNumbers(nearest, value) <= 0) return nearest;
  return nextBelow(nearest);
}

function nextBelow(value: number): number {
  const view = new DataView(new ArrayBuffer(8));
  if (value === 0) return -Number.MIN_VALUE;
  view.setFloat64(0, value);
  const bits = view.getBigInt64(0);
  view.setBigInt64(0, value > 0 ? bits - 1n : bits + 1n);
  return view.getFloat64(0);
}

/** How far the value is above the double: whole units (at most 32,767) and whether something is left. */
function distanceAbove(
  value: bigint | Decimal,
  below: number,
): { readonly whole: number; readonly hasFraction: boolean } {
  if (!Number.isFinite(below)) return { whole: 0, hasFraction: true };
  const base = exactDecimalOfDouble(below);
  const exact = typeof value === 'bigint' ? decimalOfInteger(value) : value;
  if (base === undefined) return { whole: 0, hasFraction: true };
  const scale = Math.max(base.scale, exact.scale);
  const difference =
    exact.unscaled * 10n ** BigInt(scale - exact.scale) -
    base.unscaled * 10n ** BigInt(scale - base.scale);
  const unit = 10n ** BigInt(scale);
  const whole = difference / unit;
  if (whole > 32_767n) return { whole: 32_767, hasFraction: true };
  return { whole: Number(whole), hasFraction: difference % unit !== 0n };
}

/** The key of `values`, ascending; a convenience over `OrderedKeyWriter` for single keys. */
export function encodeKey(values: readonly Value[]): Bytes {
  const writer = new OrderedKeyWriter();
  for (const value of values) writer.component(value);
  return writer.take();
}

/** The first key after all keys that start with `prefix`; a run of FF when there is none. */
export function keyAfterPrefix(prefix: Uint8Array): Uint8Array {
  let end = prefix.length;
  while (end > 0 && prefix[end - 1] === 0xff) end -= 1;
  if (end === 0) return new Uint8Array(16).fill(0xff);
  const after = new Uint8Array(prefix.subarray(0, end));
  after[end - 1] = (after[end - 1] as number) + 1;
  return after;
}
