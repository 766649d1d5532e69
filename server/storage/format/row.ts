import { crc32 } from 'node:zlib';
import { DatabaseError } from '#core/errors.ts';
import type { PausingWork } from '#core/pausing-work.ts';
import { type IntegerWidths, widthsOf } from '#core/value/integer-width.ts';
import { eachInSteps } from '#core/value/many-properties.ts';
import type { LocalDate, DateTime } from '#core/temporal/temporal.ts';
import type { PropertyId, Rid, TypeId } from '#core/value/rid.ts';
import type { Link } from '#core/value/record.ts';
import { Float, type Value, type ValueMap } from '#core/value/value.ts';
import { ByteWriter } from './byte-writer.ts';
import { type Bytes, type Image, viewOf } from './bytes.ts';
import { cellKind } from './cell.ts';
import {
  type Column,
  extraMapId,
  rowFlag,
  rowFlagsOffset,
  type Shape,
  type ShapeRegistry,
} from './shape.ts';
import { decimalText, requireInt64, writeSizedValue, writeValue } from './value-codec.ts';

// Writing rows (storage.md 3.2; the whole layout is in README.md). A row is written complete, with version 0, and
// travels so in operations. Apply moves its large cells out (`splitRow`) and writes the version in. Reading: row-record.ts.

/** Cells above this many bytes are kept outside. */
export const insideCellMax = 512;
/** Rows above this many bytes give up their largest cells. */
export const insideRowMax = 2048;
/** Limits row 23; what holds is `service.maxRecordSize`. */
const recordBytesDefault = 64 * 1024 * 1024;
export const recordPropertiesMax = 65_535;

/** @throws DatabaseError `TooLarge` above the limit of one record */
export function requirePropertyCount(count: number): void {
  if (count <= recordPropertiesMax) return;
  throw new DatabaseError(
    'TooLarge',
    `a record has ${count} properties; at most ${recordPropertiesMax} are allowed`,
  );
}

/** A row whose length stays below this has u16 end offsets; their highest bit marks cells kept outside. */
export const narrowRowMax = 0x8000;
export const narrowOutside = 0x8000;
export const wideOutside = 0x8000_0000;
/** What stands in the row for a cell kept outside: u32 length, u32 CRC-32. */
export const outsideCellSize = 8;

/** Source and target of an edge. */
export interface EdgeEnds {
  readonly out: Rid;
  readonly in: Rid;
}

/** Encodes records into rows. Holds a scratch buffer, so one per engine is enough. */
export class RowEncoder {
  readonly #shapes: ShapeRegistry;
  readonly #bytesMax: () => number;
  readonly #out = new ByteWriter();
  readonly #values: Value[] = [];
  /** Number of variable cells written so far, and whether all text so far is JSON-safe. */
  #variable = 0;
  #isJsonSafe = true;

  /** @param bytesMax `service.maxRecordSize`, asked for each row */
  constructor(shapes: ShapeRegistry, bytesMax: () => number = () => recordBytesDefault) {
    this.#shapes = shapes;
    this.#bytesMax = bytesMax;
  }

  /** Bytes that a row may have at the moment. */
  get bytesMax(): number {
    return this.#bytesMax();
  }

  /**
   * The complete row of a record: all cells inside, version 0.
   * @param properties may say how wide integers are (`SizedProperties`)
   * @param ends of edges only
   * @throws DatabaseError `TooLarge` above the limits for bytes and properties of one record
   * Cost: one to two map lookups per property and one copy of the row.
   */
  encode(type: TypeId, properties: ValueMap, ends?: EdgeEnds): Bytes {
    requirePropertyCount(properties.size);
    const shape = this.#shapes.forProperties(type, ends !== undefined, properties);
    const values = this.#values;
    values.length = 0;
    for (const value of properties.values()) values.push(value);
    // A row that turns out to be long is written anew. Each value in the extra map has at least its size before it.
    const isLong = (properties.size - shape.columns.length) * 4 >= narrowRowMax;
    const extra = properties.size > shape.columns.length ? properties : undefined;
    this.#write(shape, values, extra, ends, isLong ? 4 : 2);
    values.length = 0;
    return this.#out.take();
  }

  /**
   * As `encode`, with pauses: for very many properties, of which all but the first ones are in the extra map. That is made beside the
   * row, since other rows are written meanwhile.
   */
  *encodeInSteps(type: TypeId, properties: ValueMap, ends?: EdgeEnds): PausingWork<Bytes> {
    requirePropertyCount(properties.size);
    const shape = this.#shapes.forProperties(type, ends !== undefined, properties);
    const { length } = shape.columns;
    if (properties.size === length) return this.encode(type, properties, ends);
    const values: Value[] = [];
    for (const value of properties.values()) {
      if (values.length === length) break;
      values.push(value);
    }
    const extra = new ByteWriter();
    const bytesMax = this.#bytesMax();
    extra.varint(properties.size - length);
    const writer = new ExtraWriter(extra, properties, { skip: length, bytesMax });
    yield* eachInSteps(properties, (property) => writer.add(property));
    this.#write(shape, values, extra, ends, extra.position >= narrowRowMax ? 4 : 2);
    return this.#out.take();
  }

  /**
   * Like `encode`, for the columns of `shape` in order; each value must suit its column's kind (null suits all).
   * The bytes belong to the encoder and are valid until its next call.
   */
  encodeColumns(shape: Shape, values: readonly Value[], ends?: EdgeEnds): Bytes {
    this.#write(shape, values, undefined, ends, 2);
    return this.#out.bytes.subarray(0, this.#out.position) as Bytes;
  }

  #write(
    shape: Shape,
    values: readonly Value[],
    extra: ValueMap | ByteWriter | undefined,
    ends: EdgeEnds | undefined,
    endWidth: 2 | 4,
  ): void {
    const out = this.#out;
    out.reset();
    const cells = shape.endsOffset + endWidth * shape.variableCount;
    out.zeros(cells);
    if (ends !== undefined) {
      out.view.setFloat64(shape.endpointsOffset, ends.out, true);
      out.view.setFloat64(shape.endpointsOffset + 8, ends.in, true);
    }
    this.#variable = 0;
    this.#isJsonSafe = true;
    const columns = shape.columns;
    const bytesMax = this.#bytesMax();
    // Thousands of large values are not written out to learn that they are too many.
    for (let i = 0; i < columns.length && out.position <= bytesMax; i++) {
      this.#cell(columns[i] as Column, values[i] as Value, shape.endsOffset, endWidth);
    }
    let flags = endWidth === 4 ? rowFlag.wideEnds : 0;
    if (this.#isJsonSafe) flags |= rowFlag.jsonSafe;
    if (extra !== undefined) {
      flags |= rowFlag.extraMap;
      if (extra instanceof ByteWriter) out.append(extra);
      else writeExtraMap(out, extra, { skip: columns.length, bytesMax });
    }
    if (out.hasExtendedValue) flags |= rowFlag.extendedValues;
    const length = out.position;
    if (length > bytesMax) {
      throw new DatabaseError(
        'TooLarge',
        `a record of at least ${length} bytes is above the limit of ${bytesMax} bytes (service.maxRecordSize)`,
      );
    }
    if (endWidth === 2 && length >= narrowRowMax) {
      this.#write(shape, values, extra, ends, 4);
      return;
    }
    out.view.setUint32(0, length, true);
    out.view.setUint16(4, shape.id, true);
    out.view.setUint16(rowFlagsOffset, flags, true);
  }

  #cell(column: Column, value: Value, endsOffset: number, endWidth: 2 | 4): void {
    const out = this.#out;
    if (value === null)
      out.bytes[column.nullByte] = (out.bytes[column.nullByte] as number) | column.nullMask;
    if (column.fixedOffset >= 0) {
      if (value !== null) writeFixed(out, column, value, 0);
      return;
    }
    if (value !== null && !writeVariable(out, column, value)) this.#isJsonSafe = false;
    const at = endsOffset + endWidth * this.#variable++;
    if (endWidth === 4) out.view.setUint32(at, out.position, true);
    else out.view.setUint16(at, out.position & 0x7fff, true);
  }
}

/** Where rows are written. */
interface RowTarget {
  readonly bytes: Uint8Array;
  readonly view: DataView;
}

/**
 * Writes a row without variable cells at `base`, over zeros: `shape.endsOffset` bytes, version 0.
 * @param values row-major; the row's begin at `from`
 */
export function writeFixedRow(
  out: RowTarget,
  base: number,
  shape: Shape,
  ends: EdgeEnds,
  values: readonly Value[],
  from: number,
): void {
  const { view } = out;
  view.setUint32(base, shape.endsOffset, true);
  view.setUint16(base + 4, shape.id, true);
  view.setUint16(base + rowFlagsOffset, rowFlag.jsonSafe, true);
  view.setFloat64(base + shape.endpointsOffset, ends.out, true);
  view.setFloat64(base + shape.endpointsOffset + 8, ends.in, true);
  const { columns } = shape;
  for (let i = 0; i < columns.length; i++) {
    const column = columns[i] as Column;
    const value = values[from + i] as Value;
    if (value !== null) writeFixed(out, column, value, base);
    else {
      const at = base + column.nullByte;
      out.bytes[at] = (out.bytes[at] as number) | column.nullMask;
    }
  }
}

/** @param base where the row starts in `out` */
export function writeFixed(out: RowTarget, column: Column, value: Value, base: number): void {
  const at = base + column.fixedOffset;
  const { view } = out;
  switch (column.kind) {
    case cellKind.number:
      view.setFloat64(at, value as number, true);
      return;
    case cellKind.double:
      view.setFloat64(at, value instanceof Float ? value.number : (value as number), true);
      return;
    case cellKind.boolean:
      out.bytes[at] = value === true ? 1 : 0;
      return;
    case cellKind.int64:
      view.setBigInt64(at, requireInt64(BigInt(value as number | bigint)), true);
      return;
    case cellKind.date:
      view.setFloat64(at, (value as LocalDate).epochDay, true);
      return;
    default:
      view.setFloat64(at, (value as DateTime).epochMs, true);
  }
}

/** @returns false for text that JSON must escape or that is not ASCII */
export function writeVariable(out: ByteWriter, column: Column, value: Value): boolean {
  switch (column.kind) {
    case cellKind.string:
      return out.text(value as string);
    case cellKind.bytes:
      out.raw(value as Uint8Array);
      return true;
    case cellKind.decimal:
      out.text(decimalText(value as Parameters<typeof decimalText>[0]));
      return true;
    case cellKind.link:
      writeRid(out, (value as Link).rid);
      return true;
    default:
      writeValue(out, value);
      return true;
  }
}

/** Seven bytes, big-endian: bucket u16, position u40. */
function writeRid(out: ByteWriter, rid: Rid): void {
  out.reserve(7);
  const bucket = Math.floor(rid / 2 ** 37);
  const position = rid % 2 ** 37;
  out.view.setUint16(out.position, bucket);
  out.bytes[out.position + 2] = Math.floor(position / 2 ** 32);
  out.view.setUint32(out.position + 3, position % 2 ** 32);
  out.position += 7;
}

/** Which properties are written, and behind how many bytes it ends: what is written then is not used. */
interface ExtraBounds {
  readonly skip: number;
  readonly bytesMax: number;
}

/** The properties behind the first `skip`: count, then per entry name and the value after its length in bytes (u32). */
function writeExtraMap(out: ByteWriter, properties: ValueMap, bounds: ExtraBounds): void {
  out.varint(properties.size - bounds.skip);
  const writer = new ExtraWriter(out, properties, bounds);
  for (const property of properties) writer.add(property);
}

/** Writes the entries of an extra map, one after the other. */
class ExtraWriter {
  readonly #out: ByteWriter;
  readonly #widths: IntegerWidths | undefined;
  readonly #bounds: ExtraBounds;
  #ordinal = 0;

  constructor(out: ByteWriter, properties: ValueMap, bounds: ExtraBounds) {
    this.#out = out;
    this.#widths = widthsOf(properties);
    this.#bounds = bounds;
  }

  add([name, value]: readonly [string, Value]): void {
    const out = this.#out;
    const { skip, bytesMax } = this.#bounds;
    this.#ordinal += 1;
    if (this.#ordinal <= skip || out.position > bytesMax) return;
    out.lengthAndText(name);
    const at = out.position;
    out.u32(0);
    writeSizedValue(out, value, this.#widths?.get(name));
    out.view.setUint32(at, out.position - at - 4, true);
  }
}

/** A cell that apply keeps in the sub-database of large cells. */
export interface LargeCell {
  readonly property: PropertyId;
  readonly bytes: Uint8Array;
}

export interface SplitRow {
  /** What stands in the block. */
  readonly row: Uint8Array;
  readonly large: readonly LargeCell[];
}

const noLargeCells: readonly LargeCell[] = [];

/**
 * Moves large cells out of a complete row: all above `insideCellMax`, then the largest while the row is above
 * `insideRowMax`. Cost: nothing for rows up to `insideCellMax` bytes.
 */
export function splitRow(row: Uint8Array, shape: Shape): SplitRow {
  if (row.length <= insideCellMax) return { row, large: noLargeCells };
  const layout = readLayout(row, shape);
  const outside = chooseOutside(layout);
  if (!outside.includes(true)) return { row, large: noLargeCells };
  return rebuild(row, shape, layout, outside);
}

interface RowLayout {
  readonly flags: number;
  /** Start and end of each variable cell; one more for the extra map when there is one. */
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  readonly ids: readonly PropertyId[];
}

function readLayout(row: Uint8Array, shape: Shape): RowLayout {
  const view = viewOf(row);
  const flags = view.getUint16(rowFlagsOffset, true);
  const width = (flags & rowFlag.wideEnds) !== 0 ? 4 : 2;
  const starts: number[] = [];
  const ends: number[] = [];
  const ids: PropertyId[] = [];
  let start = shape.endsOffset + width * shape.variableCount;
  for (const column of shape.columns) {
    if (column.variableIndex < 0) continue;
    const at = shape.endsOffset + width * column.variableIndex;
    const end = width === 4 ? view.getUint32(at, true) : view.getUint16(at, true);
    starts.push(start);
    ends.push(end);
    ids.push(column.id);
    start = end;
  }
  if ((flags & rowFlag.extraMap) !== 0) {
    starts.push(start);
    ends.push(row.length);
    ids.push(extraMapId);
  }
  return { flags, starts, ends, ids };
}

function chooseOutside(layout: RowLayout): boolean[] {
  const lengths = layout.starts.map((start, i) => (layout.ends[i] as number) - start);
  const outside = lengths.map((length) => length > insideCellMax);
  let inside = layout.starts[0] ?? 0;
  lengths.forEach((length, i) => {
    inside += outside[i] ? outsideCellSize : length;
  });
  const order = lengths.map((_, i) => i).sort((a, b) => (lengths[b] ?? 0) - (lengths[a] ?? 0));
  for (const i of order) {
    const length = lengths[i] ?? 0;
    if (inside <= insideRowMax || length <= 4 * outsideCellSize) break;
    if (outside[i]) continue;
    outside[i] = true;
    inside -= length - outsideCellSize;
  }
  return outside;
}

function rebuild(
  row: Uint8Array,
  shape: Shape,
  layout: RowLayout,
  outside: readonly boolean[],
): SplitRow {
  const large: LargeCell[] = [];
  const out = new ByteWriter(insideRowMax * 2);
  const count = shape.variableCount;
  // Ends stay wide where they were wide and the rest of the row does not fit narrow ones.
  const body = layout.starts.reduce(
    (sum, start, i) => sum + (outside[i] ? outsideCellSize : (layout.ends[i] as number) - start),
    shape.endsOffset + 4 * count,
  );
  const width = body < narrowRowMax ? 2 : 4;
  out.raw(row.subarray(0, shape.endsOffset));
  out.zeros(width * count);
  layout.starts.forEach((start, i) => {
    const cell = row.subarray(start, layout.ends[i] as number);
    if (outside[i]) {
      large.push({ property: layout.ids[i] as PropertyId, bytes: cell });
      out.u32(cell.length);
      out.u32(crc32(cell));
    } else out.raw(cell);
    if (i >= count) return;
    const at = shape.endsOffset + width * i;
    if (width === 4) out.view.setUint32(at, out.position + (outside[i] ? wideOutside : 0), true);
    else out.view.setUint16(at, out.position | (outside[i] ? narrowOutside : 0), true);
  });
  let flags = layout.flags & ~rowFlag.wideEnds;
  if (width === 4) flags |= rowFlag.wideEnds;
  if (outside.slice(0, count).includes(true)) flags |= rowFlag.outsideCells;
  if (outside[count] === true) flags |= rowFlag.outsideExtra;
  out.view.setUint32(0, out.position, true);
  out.view.setUint16(rowFlagsOffset, flags, true);
  return { row: out.take(), large };
}

/** Whether the row that begins at `start` needs the feature `extendedValues` of the format. */
export function hasExtendedValues(bytes: Uint8Array, start = 0): boolean {
  return ((bytes[start + rowFlagsOffset] as number) & rowFlag.extendedValues) !== 0;
}

/** Whether `outsideCellsOf` the row at `at` finds any. */
export function hasOutsideCells({ view }: Image, at: number): boolean {
  const flags = view.getUint16(at + rowFlagsOffset, true);
  return (flags & (rowFlag.outsideCells | rowFlag.outsideExtra)) !== 0;
}

/** Numbers of the cells of a stored row that are kept outside. */
export function outsideCellsOf(row: Uint8Array, shape: Shape): PropertyId[] {
  const view = viewOf(row);
  const flags = view.getUint16(rowFlagsOffset, true);
  const ids: PropertyId[] = [];
  if ((flags & rowFlag.outsideCells) !== 0) {
    const isWide = (flags & rowFlag.wideEnds) !== 0;
    for (const column of shape.columns) {
      if (column.variableIndex < 0) continue;
      const at = shape.endsOffset + (isWide ? 4 : 2) * column.variableIndex;
      const isOutside = isWide
        ? view.getUint32(at, true) >= wideOutside
        : view.getUint16(at, true) >= narrowOutside;
      if (isOutside) ids.push(column.id);
    }
  }
  if ((flags & rowFlag.outsideExtra) !== 0) ids.push(extraMapId);
  return ids;
}

/** The number of the shape that a row has. */
export function shapeIdOf(row: Uint8Array): number {
  return (row[4] as number) | ((row[5] as number) << 8);
}
