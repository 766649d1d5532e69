import type { StoredRecord } from '#core/value/record.ts';
import type { IndexDeriver, LogEntry, StorageSnapshot } from '../engine.ts';
import { imageOf } from '../format/bytes.ts';
import { hasOutsideCells, shapeIdOf } from '../format/row.ts';
import type { RowOperation } from '../format/row-operations.ts';
import { noLargeCells, RowRecord, type TypeLabels } from '../format/row-record.ts';
import type { ShapeRegistry } from '../format/shape.ts';

/** Rows from this size on may hold a value with very many index entries. */
const longRowBytes = 64 * 1024;

export interface LongValuesOptions {
  readonly deriver: IndexDeriver;
  readonly shapes: ShapeRegistry;
  readonly labels: TypeLabels;
}

/**
 * Whether an entry brings or takes a value with more index entries than one turn of the event loop may write, as the records are
 * now. The entry says so of rows that come, not of those that go: a deletion of a few bytes takes a million entries with it.
 */
export function haveLongValues(
  entries: readonly LogEntry[],
  { deriver, shapes, labels }: LongValuesOptions,
  snapshot: () => StorageSnapshot,
): boolean {
  if (deriver.derivesMuch === undefined || deriver.hasTexts?.() !== true) return false;
  try {
    using now = snapshot();
    const derivesMuch = (operation: RowOperation): boolean => {
      if (operation.op !== 'put-row' && operation.op !== 'delete-row') return false;
      const before = now.record(operation.rid) as RowRecord | undefined;
      if (!isLongRow(operation) && !isLongRecord(before)) return false;
      const after = operation.op === 'put-row' ? recordOf(operation, shapes, labels) : undefined;
      return deriver.derivesMuch?.(before, after) === true;
    };
    return entries.some(({ operations }) => operations.some(derivesMuch));
  } catch {
    // Damage, or a shape that an entry before this one defines: applying it will tell.
    return false;
  }
}

function isLongRow(operation: RowOperation): boolean {
  return operation.op === 'put-row' && operation.row.length >= longRowBytes;
}

function isLongRecord(record: RowRecord | undefined): boolean {
  if (record === undefined || !hasOutsideCells(record.image, record.row)) return false;
  return record.propertyNames().some((name) => record.largeRead(name) !== undefined);
}

function recordOf(
  { rid, row }: Extract<RowOperation, { op: 'put-row' }>,
  shapes: ShapeRegistry,
  labels: TypeLabels,
): StoredRecord {
  return new RowRecord(rid, shapes.shape(shapeIdOf(row)), imageOf(row), 0, labels, noLargeCells);
}
