import { DatabaseError } from '#core/errors.ts';
import type { IndexId, LogIndex, Rid, TypeId } from '#core/value/rid.ts';
import { ByteWriter } from './byte-writer.ts';
import { viewOf } from './bytes.ts';
import { readU64, writeU64 } from './counters.ts';
import type { RowOperation } from './row-operations.ts';
import { readRidBytes, ridSize, writeRid } from './sub-databases.ts';

// The bytes of a write set: the payload of a log record (storage.md 3.6). Numbers are little-endian, record ids seven
// bytes big-endian as everywhere on disk.
//
//   u8 format version   u8 kind (ha.md 5.1)   u8 flags   u8 0   u16 database   u16 0   u64 txId   u64 wall time
//   then operations and guards: u8 op, RID, f64 base version, u32 length, body
//
// op  operation           body
// 1   put row             the row, version 0                    RID: the record
// 2   patch cells         the patch (cell-patch.ts)
// 3   delete row          none
// 4/5 add / remove edge   u8 1 at both ends, u16 edge type, RID from, RID to     RID: the edge
// 6   schema              u8 0 document, 1 shape (u16 number), 2 drop index (u32), 3 drop bucket (u16); then its bytes
//                         u8 4 mend bucket: u16 bucket, f64 live change, u32 and u32 change of the hash, u32 per dropped block
//                         u8 5 drop list: u8 1 for in, u16 edge type                     RID: the vertex
// 7   positions taken     u16 bucket, u64 next
// 8   whole block         u16 bucket, u32 block, the image
// 9   named value         u16 length of the name, name in UTF-8, u8 1 when there is a value, the value
// 32  requires   33 absent   34 touches: guards that belong to no operation; the body names the unit where RID does not

const formatVersion = 1;
const headerSize = 24;
const itemHeaderSize = 1 + ridSize + 8 + 4;

export const writeSetKind = { transaction: 1, schema: 2 } as const;

export interface WriteSetHeader {
  readonly kind: number;
  readonly flags: number;
  /** The number the catalog gave to the database. */
  readonly database: number;
  readonly txId: number;
  /** Epoch milliseconds of the leader. */
  readonly wallTimeMs: number;
}

/** A condition that belongs to no operation (ha.md 5.2). */
export interface EncodedGuard {
  readonly mode: 'require' | 'absent' | 'touch';
  readonly rid: Rid;
  readonly base: LogIndex;
  /** Names units that are no records (unique keys, schema); empty for records. */
  readonly unit: Uint8Array;
}

export interface EncodedWriteSet {
  readonly header: WriteSetHeader;
  readonly operations: readonly RowOperation[];
  /** LSN that the transaction saw of the record of each operation, in their order; 0: must not exist, or not a record. */
  readonly bases: readonly LogIndex[];
  readonly guards: readonly EncodedGuard[];
}

/** Its lists are nobody else's. */
export interface DecodedWriteSet extends EncodedWriteSet {
  readonly operations: RowOperation[];
}

const op = {
  putRow: 1,
  patchCells: 2,
  deleteRow: 3,
  addEdge: 4,
  removeEdge: 5,
  schema: 6,
  positions: 7,
  wholeBlock: 8,
  namedValue: 9,
  require: 32,
  absent: 33,
  touch: 34,
} as const;

const schemaPart = {
  document: 0,
  shape: 1,
  dropIndex: 2,
  dropBucket: 3,
  mendBucket: 4,
  dropList: 5,
} as const;

const noRecord = 0 as Rid;

/** Larger write sets are rare; the memory of one must not stay. */
const keptCapacityMax = 256 * 1024;
let spare: ByteWriter | undefined;

export function encodeWriteSet(set: EncodedWriteSet): Uint8Array {
  const out = spare ?? new ByteWriter(4096);
  // Taken, so that a write set that cannot be encoded leaves nothing behind.
  spare = undefined;
  out.reset();
  const { kind, flags, database, txId, wallTimeMs } = set.header;
  out.zeros(headerSize);
  out.bytes[0] = formatVersion;
  out.bytes[1] = kind;
  out.bytes[2] = flags;
  out.view.setUint16(4, database, true);
  writeU64(out.view, 8, txId);
  writeU64(out.view, 16, wallTimeMs);
  const { operations, bases } = set;
  for (let i = 0; i < operations.length; i++) {
    writeOperation(out, operations[i] as RowOperation, bases[i] ?? 0);
  }
  for (const guard of set.guards) {
    beginItem(out, op[guard.mode], guard.rid, guard.base);
    endItem(out, guard.unit);
  }
  const bytes = out.take();
  if (out.bytes.length <= keptCapacityMax) spare = out;
  return bytes;
}

/** The header of an item; `endItem` or `setLength` completes it. */
function beginItem(out: ByteWriter, code: number, rid: Rid, base: number): void {
  out.reserve(itemHeaderSize);
  const { bytes, view, position } = out;
  bytes[position] = code;
  writeRid(bytes, position + 1, rid);
  view.setFloat64(position + 1 + ridSize, base, true);
  view.setUint32(position + 9 + ridSize, 0, true);
  out.position = position + itemHeaderSize;
}

function endItem(out: ByteWriter, body: Uint8Array): void {
  const start = out.position;
  out.raw(body);
  setLength(out, start);
}

/** @param start of the body */
function setLength(out: ByteWriter, start: number): void {
  out.view.setUint32(start - 4, out.position - start, true);
}

function writeOperation(out: ByteWriter, operation: RowOperation, base: number): void {
  switch (operation.op) {
    case 'put-row':
      beginItem(out, op.putRow, operation.rid, base);
      endItem(out, operation.row);
      return;
    case 'patch-cells':
      beginItem(out, op.patchCells, operation.rid, base);
      endItem(out, operation.patch);
      return;
    case 'delete-row':
      beginItem(out, op.deleteRow, operation.rid, base);
      return;
    case 'add-edge':
    case 'remove-edge':
      writeEdge(out, operation, base);
      return;
    default:
      writeOther(out, operation);
  }
}

function writeEdge(
  out: ByteWriter,
  operation: Extract<RowOperation, { op: 'add-edge' | 'remove-edge' }>,
  base: number,
): void {
  const code = operation.op === 'add-edge' ? op.addEdge : op.removeEdge;
  beginItem(out, code, operation.rid, base);
  const start = out.position;
  out.u8(operation.both ? 1 : 0);
  out.u16(operation.type);
  out.reserve(2 * ridSize);
  writeRid(out.bytes, out.position, operation.from);
  writeRid(out.bytes, out.position + ridSize, operation.to);
  out.position += 2 * ridSize;
  setLength(out, start);
}

function writeOther(
  out: ByteWriter,
  operation: Exclude<
    RowOperation,
    { op: 'put-row' | 'patch-cells' | 'delete-row' | 'add-edge' | 'remove-edge' }
  >,
): void {
  if (operation.op === 'positions' || operation.op === 'whole-block' || operation.op === 'meta') {
    writeData(out, operation);
    return;
  }
  beginItem(out, op.schema, operation.op === 'drop-list' ? operation.vertex : noRecord, 0);
  const start = out.position;
  switch (operation.op) {
    case 'schema':
      out.u8(schemaPart.document);
      out.raw(operation.document);
      break;
    case 'shape':
      out.u8(schemaPart.shape);
      out.u16(operation.id);
      out.raw(operation.definition);
      break;
    case 'drop-index':
      out.u8(schemaPart.dropIndex);
      out.u32(operation.index);
      break;
    case 'drop-bucket':
      out.u8(schemaPart.dropBucket);
      out.u16(operation.bucket);
      break;
    case 'drop-list':
      out.u8(schemaPart.dropList);
      out.u8(operation.direction === 'in' ? 1 : 0);
      out.u16(operation.type);
      break;
    case 'mend-bucket':
      out.u8(schemaPart.mendBucket);
      writeMend(out, operation);
  }
  setLength(out, start);
}

function writeMend(out: ByteWriter, operation: Extract<RowOperation, { op: 'mend-bucket' }>): void {
  out.u16(operation.bucket);
  out.reserve(8);
  out.view.setFloat64(out.position, operation.liveChange, true);
  out.position += 8;
  out.u32(operation.hashLowChange);
  out.u32(operation.hashHighChange);
  for (const number of operation.droppedBlocks) out.u32(number);
}

function readMend(view: DataView): RowOperation {
  const droppedBlocks: number[] = [];
  for (let at = 19; at + 4 <= view.byteLength; at += 4)
    droppedBlocks.push(view.getUint32(at, true));
  return {
    op: 'mend-bucket',
    bucket: view.getUint16(1, true),
    liveChange: view.getFloat64(3, true),
    hashLowChange: view.getUint32(11, true),
    hashHighChange: view.getUint32(15, true),
    droppedBlocks,
  };
}

const dataCode = { positions: op.positions, 'whole-block': op.wholeBlock, meta: op.namedValue };

function writeData(
  out: ByteWriter,
  operation: Extract<RowOperation, { op: 'positions' | 'whole-block' | 'meta' }>,
): void {
  beginItem(out, dataCode[operation.op], noRecord, 0);
  const start = out.position;
  switch (operation.op) {
    case 'positions':
      out.u16(operation.bucket);
      out.reserve(8);
      writeU64(out.view, out.position, operation.next);
      out.position += 8;
      break;
    case 'whole-block':
      out.u16(operation.bucket);
      out.u32(operation.block);
      out.raw(operation.image);
      break;
    case 'meta': {
      const name = Buffer.from(operation.name);
      out.u16(name.length);
      out.raw(name);
      out.u8(operation.value === undefined ? 0 : 1);
      if (operation.value !== undefined) out.raw(operation.value);
    }
  }
  setLength(out, start);
}

/**
 * Reads what `encodeWriteSet` wrote. Bodies are views of `bytes`.
 * @throws DatabaseError `CorruptedRecord` for another format version, an unknown operation or a length beyond the end
 */
export function decodeWriteSet(bytes: Uint8Array): DecodedWriteSet {
  const view = viewOf(bytes);
  if (bytes.length < headerSize || bytes[0] !== formatVersion) {
    throw damaged(`format version ${bytes[0]}`);
  }
  const header: WriteSetHeader = {
    kind: view.getUint8(1),
    flags: view.getUint8(2),
    database: view.getUint16(4, true),
    txId: readU64(view, 8),
    wallTimeMs: readU64(view, 16),
  };
  const operations: RowOperation[] = [];
  const bases: LogIndex[] = [];
  const guards: EncodedGuard[] = [];
  for (let at = headerSize; at < bytes.length; ) {
    if (at + itemHeaderSize > bytes.length) throw damaged('an incomplete item');
    const code = view.getUint8(at);
    const rid = readRidBytes(bytes, at + 1);
    const base = view.getFloat64(at + 8, true) as LogIndex;
    const start = at + itemHeaderSize;
    const end = start + view.getUint32(at + 16, true);
    if (end > bytes.length) throw damaged('an item beyond the end');
    const body = bytes.subarray(start, end);
    if (code >= op.require) guards.push({ mode: guardMode(code), rid, base, unit: body });
    else {
      operations.push(readOperation(code, rid, body));
      bases.push(base);
    }
    at = end;
  }
  return { header, operations, bases, guards };
}

function damaged(what: string): DatabaseError {
  return new DatabaseError('CorruptedRecord', `a write set is damaged or unknown: ${what}`);
}

function guardMode(code: number): EncodedGuard['mode'] {
  if (code === op.require) return 'require';
  if (code === op.absent) return 'absent';
  if (code === op.touch) return 'touch';
  throw damaged(`guard ${code}`);
}

function readOperation(code: number, rid: Rid, body: Uint8Array): RowOperation {
  // The one that is most frequent has nothing to be looked up.
  if (code === op.putRow) return { op: 'put-row', rid, row: body };
  const view = viewOf(body);
  switch (code) {
    case op.patchCells:
      return { op: 'patch-cells', rid, patch: body };
    case op.deleteRow:
      return { op: 'delete-row', rid };
    case op.addEdge:
    case op.removeEdge:
      return {
        op: code === op.addEdge ? 'add-edge' : 'remove-edge',
        rid,
        type: view.getUint16(1, true) as TypeId,
        from: readRidBytes(body, 3),
        to: readRidBytes(body, 3 + ridSize),
        both: view.getUint8(0) === 1,
      };
    case op.schema:
      return readSchemaPart(view, body, rid);
    case op.positions:
      return { op: 'positions', bucket: view.getUint16(0, true), next: readU64(view, 2) };
    case op.wholeBlock:
      return {
        op: 'whole-block',
        bucket: view.getUint16(0, true),
        block: view.getUint32(2, true),
        image: body.subarray(6),
      };
    case op.namedValue:
      return readNamedValue(view, body);
    default:
      throw damaged(`operation ${code}`);
  }
}

function readSchemaPart(view: DataView, body: Uint8Array, rid: Rid): RowOperation {
  switch (view.getUint8(0)) {
    case schemaPart.document:
      return { op: 'schema', document: body.subarray(1) };
    case schemaPart.shape:
      return { op: 'shape', id: view.getUint16(1, true), definition: body.subarray(3) };
    case schemaPart.dropIndex:
      return { op: 'drop-index', index: view.getUint32(1, true) as IndexId };
    case schemaPart.dropBucket:
      return { op: 'drop-bucket', bucket: view.getUint16(1, true) };
    case schemaPart.mendBucket:
      return readMend(view);
    case schemaPart.dropList: {
      const direction = view.getUint8(1) === 1 ? 'in' : 'out';
      return { op: 'drop-list', vertex: rid, direction, type: view.getUint16(2, true) as TypeId };
    }
    default:
      throw damaged(`part ${view.getUint8(0)} of a schema operation`);
  }
}

function readNamedValue(view: DataView, body: Uint8Array): RowOperation {
  const nameEnd = 2 + view.getUint16(0, true);
  const name = Buffer.from(body.subarray(2, nameEnd)).toString('utf8');
  const value = view.getUint8(nameEnd) === 1 ? body.subarray(nameEnd + 1) : undefined;
  return { op: 'meta', name, value };
}
