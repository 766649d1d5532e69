import type { LogIndex, Rid } from '#core/value/rid.ts';
import type { LogEntry } from '#storage/engine.ts';
import type { RowOperation } from '#storage/format/row-operations.ts';
import {
  decodeWriteSet,
  encodeWriteSet,
  type EncodedGuard,
  writeSetKind,
} from '#storage/format/write-set-codec.ts';
import type { Guards } from '#transaction/commit/guards.ts';
import { DatabaseError } from '#core/errors.ts';

// Bodies of `transaction` entries: a write set with the versions it was made from, and the guards that belong to no operation.
// Bodies of `rows` entries: u32 length of the run (storage/bulk/row-run.ts), the run, a write set of named values.

const unchecked = -1 as LogIndex;
const noUnit = new Uint8Array(0);
const nothing = { kind: writeSetKind.transaction, flags: 0, database: 0, txId: 0, wallTimeMs: 0 };

export function encodeTransaction(
  operations: readonly RowOperation[],
  guards: Guards | undefined,
): Uint8Array {
  return encodeWriteSet({
    header: nothing,
    operations,
    bases: operations.map(baseOf),
    guards: guards === undefined ? [] : encodedGuards(guards),
  });
}

/** Operations that a transaction captured are its overlay's entries and know what they were made from. */
function baseOf(operation: RowOperation): LogIndex {
  const { base } = operation as { readonly base?: LogIndex };
  return base ?? unchecked;
}

/** The ends of edges it adds, and unique keys that must be free; touched vertices are seen from its edges. */
function encodedGuards(guards: Guards): EncodedGuard[] {
  const encoded: EncodedGuard[] = [];
  for (const rid of guards.requiredVertices)
    if (!guards.has(rid))
      encoded.push({ mode: 'require', rid, base: guards.oldestRead, unit: noUnit });
  for (const { rid, key, keys } of guards.claims.values())
    encoded.push({ mode: 'absent', rid, base: unchecked, unit: unitOf(keys.definition.id, key) });
  return encoded;
}

function unitOf(index: number, key: Uint8Array): Uint8Array {
  const unit = new Uint8Array(4 + key.length);
  new DataView(unit.buffer).setUint32(0, index, true);
  unit.set(key, 4);
  return unit;
}

/** @param last an operation behind those of the body */
export function decodeTransaction(
  body: Uint8Array,
  position: LogEntry['position'],
  last?: RowOperation,
): LogEntry {
  const { operations, bases } = decodeWriteSet(body);
  if (last !== undefined) operations.push(last);
  return { position, operations, bases };
}

/** The body in pieces: a run has tens of megabytes. */
export function encodeRows(
  run: Uint8Array,
  values: readonly RowOperation[],
): readonly [Uint8Array, ...Uint8Array[]] {
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, run.length, true);
  return [length, run, encodeTransaction(values, undefined)];
}

export function decodeRows(body: Uint8Array): {
  readonly run: Uint8Array;
  readonly operations: readonly RowOperation[];
} {
  const length = new DataView(body.buffer, body.byteOffset, body.byteLength).getUint32(0, true);
  if (4 + length > body.length)
    throw new DatabaseError('CorruptedRecord', 'a row run in the log is cut off');
  const { operations } = decodeWriteSet(body.subarray(4 + length));
  return { run: body.subarray(4, 4 + length), operations };
}

/** Records that an entry writes, for who follows changes. */
export function writtenRecords(operations: readonly RowOperation[]): Rid[] {
  return operations.flatMap((operation) =>
    operation.op === 'put-row' || operation.op === 'patch-cells' || operation.op === 'delete-row'
      ? [operation.rid]
      : [],
  );
}
