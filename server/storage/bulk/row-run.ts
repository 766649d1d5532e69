import { DatabaseError } from '#core/errors.ts';
import type { Timers } from '#core/runtime.ts';
import type { PropertyId, Rid, TypeId } from '#core/value/rid.ts';
import { ByteWriter } from '../format/byte-writer.ts';
import { viewOf } from '../format/bytes.ts';
import type { LargeCell } from '../format/row.ts';
import { encodeShape, type ShapeRegistry } from '../format/shape.ts';
import { readRidBytes, ridSize, writeRid } from '../format/sub-databases.ts';
import { forEachRow } from './blocks.ts';
import { type EdgeColumn, numbersPerEdge } from './edge-column.ts';
import type { PendingLoad } from './pending-load.ts';

// A bulk load in the log (ha.md 5.1): rows, from which each node builds blocks, lists and entries by itself. Numbers are
// little-endian, record ids seven bytes.
//
//   u32 shapes:      u16 number, u32 length, definition       those that no commit has stored yet
//   u32 large cells: rid, u16 property, u32 length, bytes
//   u32 columns of edges: u16 type, u8 at both ends, u32 count, then 3 rids an edge: its own, source, target
//   u32 rows:        rid, then the row as it stands in its block (its length comes first), version 0; ascending per bucket

/** Rows, cells or edges between two turns of the event loop: a millisecond or two. */
const itemsPerSlice = 4096;

/** Where the content of a run goes. */
export interface RunTarget {
  defineShape(id: number, definition: Uint8Array): void;
  addLargeCell(rid: Rid, cell: LargeCell): void;
  /** Where the edges of the type go. */
  edges(type: TypeId, both: boolean): EdgeColumn;
  /** Copies the row of `length` bytes that begins at `start`: a view for each of a million takes longer than its bytes. */
  addStoredRow(rid: Rid, bytes: Uint8Array, start: number, length: number): void;
}

/** The bytes of what a writer has gathered, whose blocks are ended. */
export async function encodeRun(
  load: PendingLoad,
  shapes: ShapeRegistry,
  timers: Pick<Timers, 'yield'>,
): Promise<Uint8Array> {
  const out = new ByteWriter(load.bytes + 4096);
  const unsaved = [...load.shapes].filter((id) => !shapes.isSaved(id)).sort((a, b) => a - b);
  out.u32(unsaved.length);
  for (const id of unsaved) {
    out.u16(id);
    lengthAndBytes(out, encodeShape(shapes.shape(id)));
  }
  out.u32(load.largeCells.length);
  for (const { rid, cell } of load.largeCells) {
    putRid(out, rid);
    out.u16(cell.property);
    lengthAndBytes(out, cell.bytes);
  }
  await encodeEdges(out, load, timers);
  const countAt = out.position;
  out.u32(0);
  let count = 0;
  for (const blocks of load.blocks.values()) {
    for (const { block } of blocks.finished) {
      forEachRow(block, (rid, row) => {
        putRid(out, rid);
        out.copy(block.bytes, row, block.view.getUint32(row, true));
        count += 1;
      });
      if (count % itemsPerSlice < block.slotCount) await timers.yield();
    }
  }
  out.view.setUint32(countAt, count, true);
  return out.bytes.subarray(0, out.position);
}

async function encodeEdges(
  out: ByteWriter,
  load: PendingLoad,
  timers: Pick<Timers, 'yield'>,
): Promise<void> {
  const columns = load.edges.filledColumns();
  out.u32(columns.length);
  for (const { type, both, column } of columns) {
    out.u16(type);
    out.u8(both ? 1 : 0);
    out.u32(column.count);
    let left = column.count * numbersPerEdge;
    for (const segment of column.segments) {
      for (let at = 0; at < segment.length && left > 0; ) {
        const end = Math.min(segment.length, at + itemsPerSlice * numbersPerEdge, at + left);
        left -= end - at;
        putRids(out, segment, at, end);
        at = end;
        await timers.yield();
      }
    }
  }
}

/** @throws DatabaseError `CorruptedRecord` when it is cut off */
export async function readRun(
  bytes: Uint8Array,
  target: RunTarget,
  timers: Pick<Timers, 'yield'>,
): Promise<void> {
  const run = new RunReader(bytes);
  for (let left = run.u32(); left > 0; left -= 1)
    target.defineShape(run.u16(), run.piece(run.u32()));
  for (let left = run.u32(); left > 0; left -= 1) {
    const rid = run.rid();
    const property = run.u16() as PropertyId;
    target.addLargeCell(rid, { property, bytes: run.piece(run.u32()).slice() });
  }
  for (let columns = run.u32(); columns > 0; columns -= 1) {
    const type = run.u16() as TypeId;
    const both = run.u8() === 1;
    const column = target.edges(type, both);
    for (let left = run.u32(); left > 0; ) {
      const count = Math.min(left, itemsPerSlice);
      run.edges(column, count);
      left -= count;
      await timers.yield();
    }
  }
  for (let left = run.u32(); left > 0; left -= 1) {
    const rid = run.rid();
    const length = run.peekU32();
    target.addStoredRow(rid, bytes, run.take(length), length);
    if (left % itemsPerSlice === 0) await timers.yield();
  }
  run.requireEnd();
}

function putRid(out: ByteWriter, rid: number): void {
  out.reserve(ridSize);
  writeRid(out.bytes, out.position, rid as Rid);
  out.position += ridSize;
}

function putRids(out: ByteWriter, rids: Float64Array, start: number, end: number): void {
  out.reserve((end - start) * ridSize);
  for (let at = start; at < end; at += 1) {
    writeRid(out.bytes, out.position, rids[at] as Rid);
    out.position += ridSize;
  }
}

function lengthAndBytes(out: ByteWriter, bytes: Uint8Array): void {
  out.u32(bytes.length);
  out.raw(bytes);
}

class RunReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = viewOf(bytes);
  }

  u8(): number {
    return this.piece(1)[0] as number;
  }

  u16(): number {
    return this.#view.getUint16(this.take(2), true);
  }

  u32(): number {
    return this.#view.getUint32(this.take(4), true);
  }

  peekU32(): number {
    const value = this.u32();
    this.#at -= 4;
    return value;
  }

  rid(): Rid {
    return readRidBytes(this.#bytes, this.take(ridSize));
  }

  /** Edges one behind the other: their own ids, sources, targets. */
  edges(column: EdgeColumn, count: number): void {
    const bytes = this.#bytes;
    const end = this.#at + count * numbersPerEdge * ridSize;
    for (let at = this.take(end - this.#at); at < end; at += numbersPerEdge * ridSize) {
      const from = readRidBytes(bytes, at + ridSize);
      column.add(readRidBytes(bytes, at), from, readRidBytes(bytes, at + 2 * ridSize));
    }
  }

  piece(length: number): Uint8Array {
    const start = this.take(length);
    return this.#bytes.subarray(start, start + length);
  }

  requireEnd(): void {
    if (this.#at !== this.#bytes.length) throw damaged();
  }

  /** Passes over so many bytes. @returns where they begin */
  take(length: number): number {
    const start = this.#at;
    if (length < 0 || start + length > this.#bytes.length) throw damaged();
    this.#at += length;
    return start;
  }
}

function damaged(): DatabaseError {
  return new DatabaseError('CorruptedRecord', 'a row run in the log is damaged');
}
