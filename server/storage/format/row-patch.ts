import type { IntegerWidth } from '#core/value/integer-width.ts';
import type { Value } from '#core/value/value.ts';
import { ByteWriter } from './byte-writer.ts';
import type { Bytes } from './bytes.ts';
import { anyColumn, cellKind, cellKindFor } from './cell.ts';
import { cellEnd, cellStart, type RowRecord } from './row-record.ts';
import { narrowRowMax, writeFixed, writeVariable } from './row.ts';
import { type Column, rowFlag, rowFlagsOffset, rowVersionOffset } from './shape.ts';

/** What `RowPatcher.patched` answers for a row that would say what it says already. */
export const sameRow = Symbol('same row');
/** What it answers for a row that must be encoded anew. */
export const notPatchable = Symbol('not patchable');

/** Bytes up to which a loop is quicker than a call. */
const loopBytesMax = 64;

/** Makes the row of a changed record out of the stored one, without decoding what stays. Holds a scratch buffer. */
export class RowPatcher {
  readonly #out = new ByteWriter();
  readonly #bytesMax: () => number;

  /** @param bytesMax `service.maxRecordSize`, asked for each row */
  constructor(bytesMax: () => number) {
    this.#bytesMax = bytesMax;
  }

  /**
   * The complete row with other values in some columns of its shape: version 0, of the same shape.
   *
   * @param values null suits every column
   * @param widths of the values, when there are any
   * @returns `notPatchable` when the row has cells outside, an extra map, absent marks or wide ends, or would get them, or when
   *   a value does not suit its column
   * Cost: one copy of the row, plus a step per variable cell when one of these changes.
   */
  patched(
    record: RowRecord,
    columns: readonly Column[],
    values: readonly Value[],
    widths?: readonly (IntegerWidth | undefined)[],
  ): Bytes | typeof sameRow | typeof notPatchable {
    const { shape, image, row } = record;
    const flags = image.view.getUint16(row + rowFlagsOffset, true);
    if ((flags & ~rowFlag.jsonSafe) !== 0) return notPatchable;
    let hasVariable = false;
    for (let at = 0; at < columns.length; at += 1) {
      const column = columns[at] as Column;
      if (!suits(column, values[at] as Value, widths?.[at])) return notPatchable;
      if (column.variableIndex >= 0) hasVariable = true;
    }
    const out = this.#out;
    const length = image.view.getUint32(row, true);
    out.reset();
    const kept = hasVariable ? shape.endsOffset + 2 * shape.variableCount : length;
    copyInto(out, image.bytes, row, row + kept);
    for (let at = rowVersionOffset; at < rowVersionOffset + 8; at += 1) out.bytes[at] = 0;
    this.#writeFixed(columns, values);
    if (hasVariable && !this.#writeVariable(record, columns, values)) {
      out.view.setUint16(rowFlagsOffset, flags & ~rowFlag.jsonSafe, true);
    }
    // Rows say so, which encoding anew does.
    if (out.hasExtendedValue) return notPatchable;
    if (out.position > length && (out.position >= narrowRowMax || out.position > this.#bytesMax()))
      return notPatchable;
    out.view.setUint32(0, out.position, true);
    return this.#isSame(record, length) ? sameRow : out.take();
  }

  /** Null bits of all columns, and the fixed cells. */
  #writeFixed(columns: readonly Column[], values: readonly Value[]): void {
    const out = this.#out;
    const { bytes } = out;
    for (let at = 0; at < columns.length; at += 1) {
      const column = columns[at] as Column;
      const value = values[at] as Value;
      const nulls = bytes[column.nullByte] as number;
      bytes[column.nullByte] = value === null ? nulls | column.nullMask : nulls & ~column.nullMask;
      const { fixedOffset } = column;
      if (fixedOffset < 0) continue;
      if (value !== null) writeFixed(out, column, value, 0);
      else if (column.kind === cellKind.boolean) bytes[fixedOffset] = 0;
      else out.view.setFloat64(fixedOffset, 0, true);
    }
  }

  /** @returns false when a new text is not JSON-safe */
  #writeVariable(record: RowRecord, columns: readonly Column[], values: readonly Value[]): boolean {
    const { shape, image, row } = record;
    const out = this.#out;
    let isJsonSafe = true;
    // Behind this the row is encoded anew.
    for (let i = 0; i < shape.columns.length && out.position < narrowRowMax; i += 1) {
      const column = shape.columns[i] as Column;
      const { variableIndex } = column;
      if (variableIndex < 0) continue;
      const at = placeOf(column, columns);
      if (at < 0) {
        const start = row + cellStart(shape, variableIndex, image, row, 0);
        copyInto(out, image.bytes, start, row + cellEnd(shape, variableIndex, image, row, 0));
      } else {
        const value = values[at] as Value;
        if (value !== null && !writeVariable(out, column, value)) isJsonSafe = false;
      }
      out.view.setUint16(shape.endsOffset + 2 * variableIndex, out.position & 0x7fff, true);
    }
    return isJsonSafe;
  }

  /** Whether what was written is what the record says, its version aside. */
  #isSame({ image, row }: RowRecord, length: number): boolean {
    const { bytes, position } = this.#out;
    if (position !== length) return false;
    const start = rowVersionOffset + 8;
    for (let at = start; at < length; at += 1)
      if (image.bytes[row + at] !== bytes[at]) return false;
    return true;
  }
}

/** Whether the column keeps the value as it is; see `cellKindFor` and the numbers with a choice in shape.ts. */
function suits(
  { kind, width: kept }: Column,
  value: Value,
  width: IntegerWidth | undefined,
): boolean {
  const wanted = cellKindFor(value);
  if (wanted === anyColumn) return true;
  // What is nested may be no value of its own yet.
  if (wanted === cellKind.any || kind === cellKind.any) return false;
  if (kept !== width) return false;
  // Fractions have no width.
  if (wanted === kind) return kept === undefined || Number.isInteger(value);
  if (wanted !== cellKind.number) return false;
  const isInteger = Number.isInteger(value);
  if (kind === cellKind.double) return !isInteger;
  return kind === cellKind.int64 && isInteger && !Object.is(value, -0);
}

function placeOf(column: Column, columns: readonly Column[]): number {
  for (let at = 0; at < columns.length; at += 1) if (columns[at] === column) return at;
  return -1;
}

function copyInto(out: ByteWriter, from: Bytes, start: number, end: number): void {
  const length = end - start;
  out.reserve(length);
  const { bytes, position } = out;
  if (length > loopBytesMax) from.copy(bytes, position, start, end);
  else for (let at = 0; at < length; at += 1) bytes[position + at] = from[start + at] as number;
  out.position = position + length;
}
