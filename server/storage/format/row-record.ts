import type { Decimal } from '#core/value/decimal.ts';
import type { IntegerWidth, IntegerWidths } from '#core/value/integer-width.ts';
import { manyProperties, propertiesPerStep } from '#core/value/many-properties.ts';
import { madeBytes } from '#core/value/made-bytes.ts';
import { Link, type RecordKind, type StoredRecord } from '#core/value/record.ts';
import {
  type LogIndex,
  makeRid,
  noRid,
  type PropertyId,
  type Rid,
  type TypeId,
} from '#core/value/rid.ts';
import type { PausingWork, WorkMeter } from '#core/pausing-work.ts';
import { DateTime, LocalDate } from '#core/temporal/temporal.ts';
import { double, integer, type ReadProperties, type Value } from '#core/value/value.ts';
import { Block } from './block.ts';
import { type Image, imageOf, readAscii } from './bytes.ts';
import { cellKind } from './cell.ts';
import { narrowOutside, wideOutside } from './row.ts';
import {
  type Column,
  extraMapId,
  rowFlag,
  rowFlagsOffset,
  rowVersionOffset,
  type Shape,
} from './shape.ts';
import { parseDecimalText, ValueReader } from './value-codec.ts';

/** Where cells kept outside their rows come from. */
export interface LargeCells {
  /**
   * The cell of which the row holds length and CRC-32, also when it was replaced or deleted since.
   * @throws DatabaseError `CorruptedRecord`; `ConcurrentModification` when the snapshot is closed and the cell is gone
   */
  largeCell(rid: Rid, property: PropertyId, length: number, hash: number): Uint8Array;
}

export interface TypeLabel {
  readonly name: string;
  readonly kind: RecordKind;
  readonly lightweight?: boolean;
}

/** Name and kind of a type; the catalog answers. */
export type TypeLabels = (type: TypeId) => TypeLabel;

/** The object itself and what it points at beside its image. */
const objectBytes = 128;

/** For rows that stand alone (of uncommitted changes): they are complete. */
export const noLargeCells: LargeCells = {
  largeCell(rid, property) {
    throw new Error(`row of ${rid} is complete, yet cell ${property} is marked as kept outside`);
  },
};

/**
 * A record as a view of its row: cells are decoded when asked for. It keeps the block image alive and stays valid after
 * its snapshot was closed. Cost of making one: one small object.
 */
export class RowRecord implements StoredRecord {
  readonly valueKind = 'record';
  readonly rid: Rid;
  readonly shape: Shape;
  readonly image: Image;
  /** Where the row starts in `image.bytes`. */
  readonly row: number;
  readonly #labels: TypeLabels;
  readonly #large: LargeCells;
  #places: ReadonlyMap<string, number> | undefined;

  constructor(
    rid: Rid,
    shape: Shape,
    image: Image,
    row: number,
    labels: TypeLabels,
    large: LargeCells,
  ) {
    this.rid = rid;
    this.shape = shape;
    this.image = image;
    this.row = row;
    this.#labels = labels;
    this.#large = large;
  }

  get heldBytes(): number {
    const { image } = this;
    const shared = image instanceof Block ? image.usedBytes / image.rowCount : image.bytes.length;
    return objectBytes + Math.ceil(shared);
  }

  get kind(): RecordKind {
    return this.#labels(this.shape.type).kind;
  }

  get type(): TypeId {
    return this.shape.type;
  }

  get typeName(): string {
    return this.#labels(this.shape.type).name;
  }

  get isLightweight(): boolean {
    return this.#labels(this.shape.type).lightweight === true;
  }

  get version(): LogIndex {
    return this.image.view.getFloat64(this.row + rowVersionOffset, true) as LogIndex;
  }

  get out(): Rid {
    const shape = this.shape;
    if (!shape.isEdge) return noRid;
    return this.image.view.getFloat64(this.row + shape.endpointsOffset, true) as Rid;
  }

  get in(): Rid {
    const shape = this.shape;
    if (!shape.isEdge) return noRid;
    return this.image.view.getFloat64(this.row + shape.endpointsOffset + 8, true) as Rid;
  }

  get(property: string): Value | undefined {
    const column = this.shape.column(property);
    if (column !== undefined) return readCell(this.shape, column, this.image, this.row, this);
    if ((readFlags(this.image, this.row) & rowFlag.extraMap) === 0) return undefined;
    return this.#extra(property);
  }

  largeRead(property: string): ((meter: WorkMeter) => PausingWork<Value>) | undefined {
    const flags = readFlags(this.image, this.row);
    if ((flags & rowFlag.outsideCells) === 0) return undefined;
    const column = this.shape.column(property);
    if (column === undefined || column.variableIndex < 0) return undefined;
    const { shape, image, row } = this;
    if (!isOutside(shape, column, image, row, flags)) return undefined;
    const start = row + cellStart(shape, column.variableIndex, image, row, flags);
    if (image.view.getUint32(start, true) < largeCellBytes) return undefined;
    return (meter) => decodeInTurns(column.kind, () => this.outsideCell(column.id, start), meter);
  }

  manyRead(): (() => PausingWork<ReadProperties>) | undefined {
    const flags = readFlags(this.image, this.row);
    if ((flags & rowFlag.extraMap) === 0) return undefined;
    const isMany = this.#extraReader(flags).varint() >= manyProperties;
    return isMany ? () => this.#readMany(flags) : undefined;
  }

  *#readMany(flags: number): PausingWork<ReadProperties> {
    const { shape, image, row } = this;
    const values = new Map<string, Value>();
    for (const column of shape.columns) {
      const value = readCell(shape, column, image, row, this);
      if (value !== undefined) values.set(column.name, value);
    }
    yield;
    const widths = new Map<string, IntegerWidth>(shape.widths);
    const reader = this.#extraReader(flags);
    for (let left = reader.varint(); left > 0; left -= 1) {
      const name = reader.text();
      reader.position += 4;
      const width = reader.width();
      if (width !== undefined) widths.set(name, width);
      values.set(name, reader.value());
      if (left % propertiesPerStep === 0) yield;
    }
    return { values, widths: widths.size === 0 ? undefined : widths };
  }

  readFloats(property: string, into: Float32Array, at: number, count: number): boolean {
    const { shape, image, row } = this;
    const column = shape.column(property);
    if (column?.kind !== cellKind.any) return false;
    const isNull = ((image.bytes[row + column.nullByte] as number) & column.nullMask) !== 0;
    const flags = readFlags(image, row);
    if (isNull || (flags & rowFlag.outsideCells) !== 0) return false;
    const start = row + cellStart(shape, column.variableIndex, image, row, flags);
    return new ValueReader(image, start).floatsInto(into, at, count);
  }

  propertyNames(): readonly string[] {
    const flags = readFlags(this.image, this.row);
    if ((flags & (rowFlag.extraMap | rowFlag.absentMarks)) === 0) return this.shape.names;
    const names = this.shape.columns
      .filter((column) => !isAbsent(this.shape, column, this.image, this.row, flags))
      .map((column) => column.name);
    if ((flags & rowFlag.extraMap) === 0) return names;
    for (const name of this.#extraPlaces(flags).keys()) names.push(name);
    return names;
  }

  get integerWidths(): IntegerWidths | undefined {
    const { widths } = this.shape;
    const flags = readFlags(this.image, this.row);
    return (flags & rowFlag.extraMap) === 0 ? widths : this.#widthsWithExtra(widths, flags);
  }

  #widthsWithExtra(ofColumns: IntegerWidths | undefined, flags: number): IntegerWidths | undefined {
    if (lastWidths?.record === this) return lastWidths.widths;
    const widths = new Map<string, IntegerWidth>(ofColumns);
    const places = this.#extraPlaces(flags);
    const reader = this.#extraReader(flags);
    for (const [name, place] of places) {
      reader.position = place;
      const width = reader.width();
      if (width !== undefined) widths.set(name, width);
    }
    lastWidths = { record: this, widths: widths.size === 0 ? undefined : widths };
    return lastWidths.widths;
  }

  /** Serves `readCell`; not for others. */
  outsideCell(property: PropertyId, at: number): Uint8Array {
    const view = this.image.view;
    const length = view.getUint32(at, true);
    return this.#large.largeCell(this.rid, property, length, view.getUint32(at + 4, true));
  }

  #extra(property: string): Value | undefined {
    const flags = readFlags(this.image, this.row);
    const place = this.#extraPlaces(flags).get(property);
    if (place === undefined) return undefined;
    const reader = this.#extraReader(flags);
    reader.position = place;
    const value = reader.value();
    madeBytes.total += reader.position - place;
    return value;
  }

  /** Names in the extra map and where their values start; found once per record. */
  #extraPlaces(flags: number): ReadonlyMap<string, number> {
    if (this.#places !== undefined) return this.#places;
    const reader = this.#extraReader(flags);
    const places = new Map<string, number>();
    for (let left = reader.varint(); left > 0; left--) {
      const name = reader.text();
      places.set(name, reader.position + 4);
      reader.skipSized();
    }
    this.#places = places;
    return places;
  }

  #extraReader(flags: number): ValueReader {
    const start = extraMapOffset(this.shape, this.image, this.row, flags);
    if ((flags & rowFlag.outsideExtra) === 0) return new ValueReader(this.image, start);
    if (lastExtra?.record === this) return new ValueReader(lastExtra.image, 0);
    const image = imageOf(this.outsideCell(extraMapId, start));
    lastExtra = image.bytes.length <= keptExtraBytesMax ? { record: this, image } : undefined;
    return new ValueReader(image, 0);
  }
}

/**
 * The extra map outside of a row that was read last: its properties are read one after the other, and to look the cell up, copy
 * and check it for each of 5,000 took 200 ms. Only one is kept, since records that are held for long hold no more than they say.
 */
let lastExtra: { readonly record: RowRecord; readonly image: Image } | undefined;
const keptExtraBytesMax = 1024 * 1024;

/** As `lastExtra`: an UPDATE asks for the widths of one record property by property. */
let lastWidths:
  | { readonly record: RowRecord; readonly widths: IntegerWidths | undefined }
  | undefined;

/** Cells of so many bytes are read in turns by who can. */
const largeCellBytes = 64 * 1024;
/** Text that is decoded between two looks at the meter, and what that counts. */
const textBytesPerLook = 256 * 1024;
const unitsPerLook = 256;

function* decodeInTurns(
  kind: number,
  read: () => Uint8Array,
  meter: WorkMeter,
): PausingWork<Value> {
  const bytes = read();
  madeBytes.total += bytes.length;
  if (meter.isSpent(Math.ceil(bytes.length / 1024))) yield;
  const image = imageOf(bytes);
  if (kind === cellKind.any) return yield* new ValueReader(image, 0).valueInTurns(meter);
  if (kind !== cellKind.string) return decodeVariable(kind, image, 0, bytes.length, 0);
  let text = '';
  for (let from = 0; from < bytes.length; ) {
    let to = Math.min(bytes.length, from + textBytesPerLook);
    while (to < bytes.length && ((bytes[to] as number) & 0xc0) === 0x80) to -= 1;
    text += image.bytes.utf8Slice(from, to);
    from = to;
    if (meter.isSpent(unitsPerLook)) yield;
  }
  return text;
}

/** What `readCell` needs when a cell is kept outside; a `RowRecord` is one. */
export interface OutsideCells {
  outsideCell(property: PropertyId, at: number): Uint8Array;
}

function readFlags(image: Image, row: number): number {
  return image.view.getUint16(row + rowFlagsOffset, true);
}

/**
 * The value of one cell: undefined when the property does not exist, null when it is null.
 * Cost: some ns for numbers, a string allocation for text. Needs no record when no cell can be outside.
 */
export function readCell(
  shape: Shape,
  column: Column,
  image: Image,
  row: number,
  outside: OutsideCells,
): Value | undefined {
  if (((image.bytes[row + column.nullByte] as number) & column.nullMask) !== 0) {
    return isAbsent(shape, column, image, row, readFlags(image, row)) ? undefined : null;
  }
  const at = row + column.fixedOffset;
  switch (column.kind) {
    case cellKind.number:
      return image.view.getFloat64(at, true);
    case cellKind.double:
      return double(image.view.getFloat64(at, true));
    case cellKind.boolean:
      return image.bytes[at] === 1;
    case cellKind.int64:
      return integer(image.view.getBigInt64(at, true));
    case cellKind.date:
      return new LocalDate(image.view.getFloat64(at, true));
    case cellKind.dateTimeMillis:
      return new DateTime(image.view.getFloat64(at, true), 0, 'millis');
    case cellKind.dateTimeSecond:
      return new DateTime(image.view.getFloat64(at, true), 0, 'second');
    default:
      return readVariable(shape, column, image, row, outside);
  }
}

/** Start and end of a variable cell in the image, packed by `cellStart` and `cellEnd` below. */
function readVariable(
  shape: Shape,
  column: Column,
  image: Image,
  row: number,
  outside: OutsideCells,
): Value {
  const flags = readFlags(image, row);
  const start = row + cellStart(shape, column.variableIndex, image, row, flags);
  const end = row + cellEnd(shape, column.variableIndex, image, row, flags);
  if ((flags & rowFlag.outsideCells) !== 0 && isOutside(shape, column, image, row, flags)) {
    const bytes = outside.outsideCell(column.id, start);
    madeBytes.total += bytes.length;
    return decodeVariable(column.kind, imageOf(bytes), 0, bytes.length, 0);
  }
  return decodeVariable(column.kind, image, start, end, flags);
}

function decodeVariable(
  kind: number,
  image: Image,
  start: number,
  end: number,
  flags: number,
): Value {
  switch (kind) {
    case cellKind.string:
      return (flags & rowFlag.jsonSafe) !== 0
        ? readAscii(image.bytes, start, end)
        : image.bytes.utf8Slice(start, end);
    case cellKind.bytes:
      return new Uint8Array(image.bytes.subarray(start, end));
    case cellKind.decimal:
      return parseDecimalText(image.bytes.latin1Slice(start, end)) satisfies Decimal;
    case cellKind.link:
      return new Link(readRid(image.view, start));
    default:
      return new ValueReader(image, start).value();
  }
}

/** Bytes from the start of the row to the cell; the first cell follows the end offsets. */
export function cellStart(
  shape: Shape,
  variableIndex: number,
  image: Image,
  row: number,
  flags: number,
): number {
  if (variableIndex > 0) return cellEnd(shape, variableIndex - 1, image, row, flags);
  return shape.endsOffset + ((flags & rowFlag.wideEnds) !== 0 ? 4 : 2) * shape.variableCount;
}

/** Bytes from the start of the row to the end of the cell. */
export function cellEnd(
  shape: Shape,
  variableIndex: number,
  image: Image,
  row: number,
  flags: number,
): number {
  const ends = row + shape.endsOffset;
  return (flags & rowFlag.wideEnds) !== 0
    ? image.view.getUint32(ends + variableIndex * 4, true) & 0x7fff_ffff
    : image.view.getUint16(ends + variableIndex * 2, true) & 0x7fff;
}

function isOutside(
  shape: Shape,
  column: Column,
  image: Image,
  row: number,
  flags: number,
): boolean {
  const ends = row + shape.endsOffset;
  return (flags & rowFlag.wideEnds) !== 0
    ? image.view.getUint32(ends + column.variableIndex * 4, true) >= wideOutside
    : image.view.getUint16(ends + column.variableIndex * 2, true) >= narrowOutside;
}

/** Bytes from the start of the image to what follows the variable cells. */
function cellsEnd(shape: Shape, image: Image, row: number, flags: number): number {
  const count = shape.variableCount;
  return row + cellStart(shape, count, image, row, flags);
}

function isAbsent(shape: Shape, column: Column, image: Image, row: number, flags: number): boolean {
  if ((flags & rowFlag.absentMarks) === 0) return false;
  const marks = cellsEnd(shape, image, row, flags);
  const byte = image.bytes[marks + (column.ordinal >>> 3)] as number;
  return (byte & column.nullMask) !== 0;
}

function extraMapOffset(shape: Shape, image: Image, row: number, flags: number): number {
  const end = cellsEnd(shape, image, row, flags);
  return (flags & rowFlag.absentMarks) === 0 ? end : end + shape.nullBytes;
}

/** Seven bytes, big-endian: bucket u16, position u40. */
export function readRid(view: DataView, at: number): Rid {
  const position = view.getUint8(at + 2) * 2 ** 32 + view.getUint32(at + 3);
  return makeRid(view.getUint16(at), position);
}

/** A `number` or `double` cell as it is stored, for loops that know the column: no check for null, no wrapping. */
export function readNumber(view: DataView, at: number): number {
  return view.getFloat64(at, true);
}
