import { DatabaseError } from '#core/errors.ts';
import { type IntegerWidth, isBeyondInt32, isSizable } from '#core/value/integer-width.ts';
import type { ExtendedValue } from '#core/value/extended-value.ts';
import { Path, pathElements } from '#core/value/path.ts';
import { Point, type PointSystem } from '#core/value/point.ts';
import {
  CypherDuration,
  LocalDateTime,
  LocalTime,
  ZonedDateTime,
  ZonedTime,
} from '#core/temporal/instants.ts';
import { Decimal } from '#core/value/decimal.ts';
import { Link } from '#core/value/record.ts';
import type { PausingWork, WorkMeter } from '#core/pausing-work.ts';
import type { Rid } from '#core/value/rid.ts';
import { DateTime, Duration, LocalDate, type TemporalPrecision } from '#core/temporal/temporal.ts';
import {
  double,
  EmbeddedDocument,
  Float,
  int64Max,
  int64Min,
  integer,
  type Value,
  type ValueMap,
} from '#core/value/value.ts';
import type { ByteWriter } from './byte-writer.ts';
import type { Bytes, Image } from './bytes.ts';

// Any value as one tag byte and a body: what nests inside cells (lists, maps, embedded documents) and what has no cell
// kind of its own. Numbers are little-endian. Every kind of value comes back exactly, integers and doubles apart.

const tag = {
  null: 0,
  false: 1,
  true: 2,
  /** A plain number that is no small integer: f64. */
  number: 3,
  /** Zig-zag varint of an integer within 32 bits. */
  int: 4,
  bigint: 5,
  /** A wrapped integral double: f64. */
  float: 6,
  text: 7,
  bytes: 8,
  decimal: 9,
  date: 10,
  dateTime: 11,
  duration: 12,
  link: 13,
  embedded: 14,
  list: 15,
  map: 16,
  /** A list of plain numbers: count and f64 each. */
  numbers: 17,
  /** A list of doubles (vectors): count and f64 each; integral ones come back wrapped. */
  doubles: 18,
  /** As `int`, for integers that are known to be wider or narrower than their value shows. */
  long: 19,
  short: 20,
  byte: 21,
  // Feature `extendedValues` of the format (`features.ts`).
  localTime: 22,
  zonedTime: 23,
  localDateTime: 24,
  zonedDateTime: 25,
  cypherDuration: 26,
  point: 27,
  path: 28,
} as const;

const sizedTags = { LONG: tag.long, SHORT: tag.short, BYTE: tag.byte } as const;

const precisions: readonly TemporalPrecision[] = ['second', 'millis', 'micros', 'nanos'];

/** Nesting of lists, maps and embedded documents inside one property. */
export const valueDepthMax = 1000;

/** @throws DatabaseError `TooLarge` for values nested deeper than `valueDepthMax` */
export function writeValue(out: ByteWriter, value: Value, depth = 0): void {
  switch (typeof value) {
    case 'string':
      out.u8(tag.text);
      out.lengthAndText(value);
      return;
    case 'number':
      writeNumber(out, value);
      return;
    case 'boolean':
      out.u8(value ? tag.true : tag.false);
      return;
    case 'bigint':
      out.u8(tag.bigint);
      out.i64(requireInt64(value));
      return;
    default:
      break;
  }
  if (value === null) {
    out.u8(tag.null);
    return;
  }
  if (depth >= valueDepthMax) {
    throw new DatabaseError('TooLarge', `a value is nested deeper than ${valueDepthMax} levels`);
  }
  if (Array.isArray(value)) writeList(out, value, depth);
  else if (value instanceof Map) {
    out.u8(tag.map);
    writeEntries(out, value, depth);
  } else writeObject(out, value as Exclude<typeof value, readonly Value[] | ValueMap>, depth);
}

/** @throws DatabaseError `IllegalArgument` for integers that do not fit 64 bits */
export function requireInt64(value: bigint): bigint {
  if (value >= int64Min && value <= int64Max) return value;
  throw new DatabaseError('IllegalArgument', `the integer ${value} does not fit 64 bits`);
}

function writeNumber(out: ByteWriter, value: number): void {
  if ((value | 0) === value && !Object.is(value, -0)) {
    writeInt(out, tag.int, value);
    return;
  }
  out.u8(tag.number);
  out.f64(value);
}

/** As `writeValue` for a property of this width; the width of what its range tells, or of no integer, is not kept. */
export function writeSizedValue(
  out: ByteWriter,
  value: Value,
  width: IntegerWidth | undefined,
): void {
  if (width === undefined || !isSizable(value) || isBeyondInt32(value)) {
    writeValue(out, value);
    return;
  }
  writeInt(out, sizedTags[width], value as number);
}

function writeInt(out: ByteWriter, kind: number, value: number): void {
  out.u8(kind);
  out.varint(value >= 0 ? value * 2 : -value * 2 - 1);
}

function writeList(out: ByteWriter, list: readonly Value[], depth: number): void {
  const packed = packedTag(list);
  if (packed === undefined) {
    out.u8(tag.list);
    out.varint(list.length);
    for (let i = 0; i < list.length; i++) writeValue(out, list[i] as Value, depth + 1);
    return;
  }
  out.u8(packed);
  out.varint(list.length);
  out.reserve(list.length * 8);
  for (let i = 0; i < list.length; i++) {
    const item = list[i];
    out.f64(item instanceof Float ? item.number : (item as number));
  }
}

/** How a list of at least four numbers of one sort is packed; undefined for other lists. */
function packedTag(list: readonly Value[]): number | undefined {
  if (list.length < 4) return undefined;
  let canBeNumbers = true;
  let canBeDoubles = true;
  for (let i = 0; i < list.length; i++) {
    const item = list[i];
    if (typeof item === 'number') {
      if (Number.isInteger(item)) canBeDoubles = false;
    } else if (item instanceof Float) canBeNumbers = false;
    else return undefined;
    if (!canBeNumbers && !canBeDoubles) return undefined;
  }
  return canBeNumbers ? tag.numbers : tag.doubles;
}

/** Count, then name and value of each entry in order. */
export function writeEntries(out: ByteWriter, entries: ValueMap, depth: number): void {
  out.varint(entries.size);
  for (const [name, value] of entries) {
    out.lengthAndText(name);
    writeValue(out, value, depth + 1);
  }
}

function writeObject(
  out: ByteWriter,
  value: Exclude<Value, null | boolean | number | bigint | string | readonly Value[] | ValueMap>,
  depth: number,
): void {
  if (value instanceof Uint8Array) {
    out.u8(tag.bytes);
    out.varint(value.length);
    out.raw(value);
    return;
  }
  switch (value.valueKind) {
    case 'float':
      out.u8(tag.float);
      out.f64(value.number);
      return;
    case 'decimal':
      out.u8(tag.decimal);
      out.lengthAndText(decimalText(value));
      return;
    case 'date':
      out.u8(tag.date);
      out.f64(value.epochDay);
      return;
    case 'datetime':
      out.u8(tag.dateTime);
      out.u8(precisions.indexOf(value.precision));
      out.f64(value.epochMs);
      out.u32(value.nanosOfMs);
      return;
    case 'duration':
      out.u8(tag.duration);
      out.f64(value.seconds);
      out.u32(value.nanos);
      return;
    case 'embedded':
      out.u8(tag.embedded);
      out.lengthAndText(value.typeName);
      writeEntries(out, value.properties, depth);
      return;
    case 'link':
    case 'record':
      // A record as a property is stored as a link to it.
      out.u8(tag.link);
      out.f64(value.rid);
      return;
    default:
      writeExtended(out, value);
  }
}

function writeExtended(out: ByteWriter, value: ExtendedValue): void {
  out.hasExtendedValue = true;
  out.u8(tag[value.valueKind]);
  switch (value.valueKind) {
    case 'localTime':
      out.f64(value.nanosOfDay);
      return;
    case 'zonedTime':
      out.f64(value.nanosOfDay);
      out.f64(value.offsetSeconds);
      return;
    case 'localDateTime':
      out.f64(value.epochDay);
      out.f64(value.nanosOfDay);
      return;
    case 'zonedDateTime':
      out.f64(value.epochDay);
      out.f64(value.nanosOfDay);
      out.f64(value.offsetSeconds);
      out.lengthAndText(value.zone);
      return;
    case 'cypherDuration':
      out.f64(value.months);
      out.f64(value.days);
      out.i64(BigInt(value.seconds));
      out.u32(value.nanos);
      return;
    case 'point':
      out.u32(value.srid);
      out.f64(value.x);
      out.f64(value.y);
      out.f64(value.z);
      return;
    case 'path':
      // Its elements are links to them.
      out.varint(value.relationships.length);
      for (const { rid } of pathElements(value)) out.f64(rid);
  }
}

/** `<unscaled>` or `<unscaled>e<scale>`: exact, with the scale kept. */
export function decimalText(value: Decimal): string {
  return value.scale === 0 ? value.unscaled.toString() : `${value.unscaled}e${value.scale}`;
}

export function parseDecimalText(text: string): Decimal {
  const mark = text.indexOf('e');
  if (mark < 0) return new Decimal(BigInt(text), 0);
  return new Decimal(BigInt(text.slice(0, mark)), Number(text.slice(mark + 1)));
}

/** Elements of so few may be large themselves. */
const fewElements = 1_024;
const elementsPerLook = 512;
const unitsPerLook = 64;

/** Reads values one after another; `position` stands behind the last one. */
export class ValueReader {
  readonly #bytes: Bytes;
  readonly #view: DataView;
  position: number;

  constructor(image: Image, position: number) {
    this.#bytes = image.bytes;
    this.#view = image.view;
    this.position = position;
  }

  u8(): number {
    return this.#view.getUint8(this.position++);
  }

  varint(): number {
    let value = 0;
    let factor = 1;
    for (;;) {
      const byte = this.#view.getUint8(this.position++);
      if (byte < 0x80) return value + byte * factor;
      value += (byte - 0x80) * factor;
      factor *= 0x80;
    }
  }

  #f64(): number {
    const value = this.#view.getFloat64(this.position, true);
    this.position += 8;
    return value;
  }

  #u32(): number {
    const value = this.#view.getUint32(this.position, true);
    this.position += 4;
    return value;
  }

  text(): string {
    const length = this.varint();
    const start = this.position;
    this.position += length;
    return this.#bytes.utf8Slice(start, start + length);
  }

  /** Steps over a value that stands behind its length (u32). */
  skipSized(): void {
    const length = this.#u32();
    this.position += length;
  }

  /** Of the value that comes next, which is not read. */
  width(): IntegerWidth | undefined {
    switch (this.#view.getUint8(this.position)) {
      case tag.long:
        return 'LONG';
      case tag.short:
        return 'SHORT';
      case tag.byte:
        return 'BYTE';
      default:
        return undefined;
    }
  }

  /** Reads a packed list of so many numbers as float32. @returns false when there is something else */
  floatsInto(into: Float32Array, at: number, count: number): boolean {
    const kind = this.u8();
    if ((kind !== tag.numbers && kind !== tag.doubles) || this.varint() !== count) return false;
    const view = this.#view;
    for (let i = 0, from = this.position; i < count; i += 1, from += 8)
      into[at + i] = view.getFloat64(from, true);
    return true;
  }

  value(): Value {
    switch (this.u8()) {
      case tag.null:
        return null;
      case tag.false:
        return false;
      case tag.true:
        return true;
      case tag.number:
        return this.#f64();
      case tag.int:
        return unzigzag(this.varint());
      case tag.text:
        return this.text();
      default:
        this.position -= 1;
        return this.#compound();
    }
  }

  /** As `value` for a large one: lists, maps and their elements, when those are few, are read piece by piece. */
  *valueInTurns(meter: WorkMeter, depth = 0): PausingWork<Value> {
    const kind = this.u8();
    this.position -= 1;
    if (depth > 1 || kind < tag.embedded) return this.value();
    if (kind === tag.map) return yield* this.#entriesInTurns(meter, depth);
    if (kind !== tag.list && kind !== tag.numbers && kind !== tag.doubles) return this.value();
    this.position += 1;
    return yield* this.#listInTurns(kind, meter, depth);
  }

  *#listInTurns(kind: number, meter: WorkMeter, depth: number): PausingWork<Value> {
    const count = this.varint();
    const list: Value[] = [];
    const areFew = kind === tag.list && count <= fewElements;
    for (let i = 0; i < count; i += 1) {
      if (areFew) list.push(yield* this.valueInTurns(meter, depth + 1));
      else if (kind === tag.list) list.push(this.value());
      else list.push(kind === tag.numbers ? this.#f64() : double(this.#f64()));
      if (i % elementsPerLook === 0 && meter.isSpent(unitsPerLook)) yield;
    }
    return list;
  }

  *#entriesInTurns(meter: WorkMeter, depth: number): PausingWork<Value> {
    this.position += 1;
    const count = this.varint();
    const entries = new Map<string, Value>();
    for (let i = 0; i < count; i += 1) {
      const name = this.text();
      entries.set(
        name,
        count <= fewElements ? yield* this.valueInTurns(meter, depth + 1) : this.value(),
      );
      if (i % elementsPerLook === 0 && meter.isSpent(unitsPerLook)) yield;
    }
    return entries;
  }

  #compound(): Value {
    const kind = this.u8();
    switch (kind) {
      case tag.bigint:
        return integer(this.#i64());
      case tag.float:
        return double(this.#f64());
      case tag.bytes:
        return this.#byteString();
      case tag.decimal:
        return parseDecimalText(this.text());
      case tag.date:
        return new LocalDate(this.#f64());
      case tag.dateTime: {
        const precision = precisions[this.u8()] as TemporalPrecision;
        const epochMs = this.#f64();
        return new DateTime(epochMs, this.#u32(), precision);
      }
      case tag.duration: {
        const seconds = this.#f64();
        return new Duration(seconds, this.#u32());
      }
      case tag.link:
        return new Link(this.#f64() as Rid);
      case tag.embedded: {
        const typeName = this.text();
        return new EmbeddedDocument(typeName, this.entries());
      }
      case tag.map:
        return this.entries();
      case tag.long:
      case tag.short:
      case tag.byte:
        return unzigzag(this.varint());
      case tag.list:
      case tag.numbers:
      case tag.doubles:
        return this.#list(kind);
      default:
        return this.#extended(kind);
    }
  }

  #list(kind: number): readonly Value[] {
    const count = this.varint();
    const list: Value[] = [];
    if (kind === tag.list) for (let i = 0; i < count; i++) list.push(this.value());
    else if (kind === tag.numbers) for (let i = 0; i < count; i++) list.push(this.#f64());
    else for (let i = 0; i < count; i++) list.push(double(this.#f64()));
    return list;
  }

  #extended(kind: number): ExtendedValue {
    switch (kind) {
      case tag.localTime:
        return new LocalTime(this.#f64());
      case tag.zonedTime: {
        const nanosOfDay = this.#f64();
        return new ZonedTime(nanosOfDay, this.#f64());
      }
      case tag.localDateTime: {
        const epochDay = this.#f64();
        return new LocalDateTime(epochDay, this.#f64());
      }
      case tag.zonedDateTime: {
        const epochDay = this.#f64();
        const nanosOfDay = this.#f64();
        const offsetSeconds = this.#f64();
        return new ZonedDateTime(epochDay, nanosOfDay, offsetSeconds, this.text());
      }
      case tag.cypherDuration: {
        const months = this.#f64();
        const days = this.#f64();
        const seconds = integer(this.#i64());
        return new CypherDuration(months, days, seconds, this.#u32());
      }
      case tag.point: {
        const srid = this.#u32() as PointSystem;
        const x = this.#f64();
        const y = this.#f64();
        return new Point(srid, x, y, this.#f64());
      }
      case tag.path:
        return this.#path();
      default:
        throw new DatabaseError('CorruptedRecord', `a stored value has the unknown tag ${kind}`);
    }
  }

  #path(): Path {
    const length = this.varint();
    const nodes = [new Link(this.#f64() as Rid)];
    const relationships: Link[] = [];
    for (let i = 0; i < length; i++) {
      relationships.push(new Link(this.#f64() as Rid));
      nodes.push(new Link(this.#f64() as Rid));
    }
    return new Path(nodes, relationships);
  }

  #i64(): bigint {
    const value = this.#view.getBigInt64(this.position, true);
    this.position += 8;
    return value;
  }

  #byteString(): Uint8Array {
    const length = this.varint();
    const start = this.position;
    this.position += length;
    return new Uint8Array(this.#bytes.subarray(start, start + length));
  }

  entries(): Map<string, Value> {
    const count = this.varint();
    const entries = new Map<string, Value>();
    for (let i = 0; i < count; i++) {
      const name = this.text();
      entries.set(name, this.value());
    }
    return entries;
  }
}

function unzigzag(n: number): number {
  return n % 2 === 0 ? n / 2 : -(n + 1) / 2;
}
