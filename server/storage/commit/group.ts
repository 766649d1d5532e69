import { DatabaseError } from '#core/errors.ts';
import type { CommitBuilder } from './builder.ts';
import { CommitLog, logGroupBytesMax } from '../log/commit-log.ts';
import type { LogRecord } from '../log/segment.ts';
import type { LogEntry, StorageSnapshot } from '../engine.ts';
import { haveLongValues, type LongValuesOptions } from './long-values.ts';
import { decodeWriteSet, encodeWriteSet, writeSetKind } from '../format/write-set-codec.ts';

// What waits to be written, and how many of it make one commit.

/** Units of work per commit. */
const groupSizeMax = 512;

/** A piece of work of which all or nothing is committed. */
export interface Unit {
  /** Adds the unit's changes; may give up the event loop. */
  readonly prepare: (commit: CommitBuilder) => void | Promise<void>;
  /** What goes to the log: 'none' for what is written to LMDB at once, 'alone' when it is a commit of its own besides. */
  readonly records: readonly LogRecord[] | 'none' | 'alone';
  /** As in `StorageEngine.apply`. */
  readonly isAlone: boolean;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** How many units at the head of the queue are one commit. */
export function groupLength(queue: readonly Unit[]): number {
  const kind = groupKind(queue[0]);
  if (kind === 'alone') return 1;
  let bytes = 0;
  let length = 0;
  while (length < queue.length && length < groupSizeMax) {
    const unit = queue[length];
    if (groupKind(unit) !== kind) break;
    if (typeof unit?.records === 'object') bytes += CommitLog.sizeOf(unit.records);
    if (length > 0 && bytes > logGroupBytesMax) break;
    length += 1;
  }
  return length;
}

function groupKind(unit: Unit | undefined): 'log' | 'none' | 'alone' | undefined {
  return typeof unit?.records === 'object' ? 'log' : unit?.records;
}

/** Whether the operations take more than some bytes in the log; looks at no more of them than it takes to know. */
function isLarger(entries: readonly LogEntry[], bytesMax: number): boolean {
  let bytes = 0;
  for (const { operations } of entries) {
    for (const operation of operations) {
      bytes += 64;
      if (operation.op === 'put-row') bytes += operation.row.length;
      else if (operation.op === 'schema') bytes += operation.document.length;
      else if (operation.op === 'whole-block') bytes += operation.image.length;
      else if (operation.op === 'meta') bytes += operation.value?.length ?? 0;
      else if (operation.op === 'patch-cells') bytes += operation.patch.length;
      if (bytes > bytesMax) return true;
    }
  }
  return false;
}

/** What goes to the log of the entries; see `Unit`. */
export function recordsOf(
  entries: readonly LogEntry[],
  durability: 'log' | 'commit' | 'above',
  known: LongValuesOptions,
  snapshot: () => StorageSnapshot,
): Unit['records'] {
  if (isLarger(entries, logGroupBytesMax) || haveLongValues(entries, known, snapshot))
    return 'alone';
  if (durability === 'above')
    return entries.map(({ position }) => ({ ...position, payload: noPayload }));
  return durability === 'commit' ? 'none' : entries.map(recordOf);
}

const noPayload = new Uint8Array(0);

/** An entry as it stands in the log. */
function recordOf({ position, operations }: LogEntry): LogRecord {
  const header = {
    kind: writeSetKind.transaction,
    flags: 0,
    database: 0,
    txId: position.txId,
    wallTimeMs: 0,
  };
  const payload = encodeWriteSet({ header, operations, bases: [], guards: [] });
  return { index: position.index, term: position.term, payload };
}

/** The entry that `recordOf` made a record of. */
export function entryOf({ index, term, payload }: LogRecord): LogEntry {
  const { header, operations } = decodeWriteSet(payload);
  return { position: { index, term, txId: header.txId }, operations };
}

/**
 * What goes wrong here (damage found by a checksum, a limit, a mistake of ours) concerns its unit: nothing was written, and the commit
 * is built again without it.
 */
export async function prepareAll(
  group: readonly Unit[],
  commit: CommitBuilder,
): Promise<{ readonly unit: Unit; readonly error: DatabaseError } | undefined> {
  for (const unit of group) {
    try {
      const pending = unit.prepare(commit);
      if (pending !== undefined) await pending;
    } catch (error) {
      return { unit, error: refusalOf(error) };
    }
  }
  return undefined;
}

function refusalOf(error: unknown): DatabaseError {
  if (error instanceof DatabaseError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return new DatabaseError('CommandExecution', `the change could not be stored: ${reason}`, {
    cause: error,
  });
}
