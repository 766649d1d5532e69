import type { Catalog } from '#catalog/catalog.ts';
import { type BucketId, bucketOf, type LogIndex, type Rid, type TypeId } from '#core/rid.ts';
import { shapeIdOf } from '#storage/row.ts';
import type { RowOperation } from '#storage/row-operations.ts';
import type { ShapeRegistry } from '#storage/shape.ts';
import type { Guards, WriteSet } from './guards.ts';
import type { Overlay, OverlayEntry } from './overlay.ts';
import type { PositionAllocator } from './position-allocator.ts';
import type { RecordWriter } from './record-writer.ts';

/** Rough cost of an operation beside its row: header, record id, derived entries. */
const operationBytes = 32;

export interface CaptureContext {
  readonly catalog: Catalog;
  readonly shapes: ShapeRegistry;
  readonly positions: PositionAllocator;
}

/** Records between two pauses: some milliseconds. */
const recordsPerSlice = 8192;

/**
 * The overlay as a write set in canonical order (ha.md 5.2 rule 7): sorted by record id, each record once, an edge's
 * adjacency after its row. Nothing is copied: entries are operations already. The overlay must not change between the steps,
 * of which a small one takes none.
 */
export function* captureWriteSet(
  overlay: Overlay,
  writer: RecordWriter,
  { catalog, shapes, positions }: CaptureContext,
): Generator<undefined, WriteSet, undefined> {
  const entries = yield* sortedEntries(overlay);
  const touchedVertices = new Set<Rid>();
  const captured = yield* operationsOf(entries, touchedVertices);
  const guards: Guards = {
    written: entries,
    restored: captured.restored,
    requiredVertices: overlay.requiredVertices,
    touchedVertices,
    deletedVertices: writer.emptiedVertices,
    claims: writer.claims.all,
    oldestRead: writer.oldestRead ?? (0 as LogIndex),
    changed: (rid) => writer.changed(rid),
    has: (rid) => overlay.entries.has(rid),
  };
  const { body, types, buckets, bytes } = captured;
  const operations: RowOperation[] = shapes.definitionsFor(captured.shaped);
  if (operations.length === 0 && buckets.size === 0)
    return { operations: body, guards, catalog, types, buckets, bytes };
  for (let i = 0; i < body.length; i++) operations.push(body[i] as RowOperation);
  for (const bucket of buckets) {
    const lease = positions.renewLease(bucket);
    if (lease !== undefined) operations.push(lease);
  }
  return { operations, guards, catalog, types, buckets, bytes };
}

interface Captured {
  readonly body: readonly RowOperation[];
  readonly restored: readonly OverlayEntry[];
  /** One operation for each shape of a row. */
  readonly shaped: readonly RowOperation[];
  readonly types: ReadonlySet<TypeId>;
  /** Those with new records. */
  readonly buckets: ReadonlySet<BucketId>;
  readonly bytes: number;
}

function* operationsOf(
  entries: readonly OverlayEntry[],
  touchedVertices: Set<Rid>,
): Generator<undefined, Captured, undefined> {
  const body: RowOperation[] = [];
  const restored: OverlayEntry[] = [];
  const shaped: RowOperation[] = [];
  const shapes = new Set<number>();
  const types = new Set<TypeId>();
  const buckets = new Set<BucketId>();
  let bytes = 0;
  for (let i = 0; i < entries.length; i++) {
    if (i % recordsPerSlice === recordsPerSlice - 1) yield;
    const entry = entries[i] as OverlayEntry;
    types.add(entry.type);
    if (entry.isNew && !entry.isDeleted) buckets.add(bucketOf(entry.rid));
    if (entry.isRestored && !entry.isDeleted) restored.push(entry);
    const operation = asOperation(entry);
    body.push(operation);
    bytes += operationBytes + entry.row.length;
    if (!entry.isDeleted) {
      const shape = shapeIdOf(entry.row);
      if (!shapes.has(shape)) shaped.push(operation);
      shapes.add(shape);
    }
    if (entry.isEdge) addEdgeOperations(body, entry, touchedVertices);
  }
  return { body, restored, shaped, types, buckets, bytes };
}

function addEdgeOperations(
  body: RowOperation[],
  entry: OverlayEntry,
  touchedVertices: Set<Rid>,
): void {
  const { movedFrom } = entry;
  if (entry.isDeleted || movedFrom !== undefined) {
    const stored = movedFrom ?? entry;
    body.push(edgeOperation('remove-edge', entry, stored));
    touchedVertices.add(stored.from).add(stored.to);
  }
  if (!entry.isDeleted && (entry.isNew || movedFrom !== undefined)) {
    body.push(edgeOperation('add-edge', entry, entry));
    touchedVertices.add(entry.from).add(entry.to);
  }
}

/**
 * What there is to write, without records that came and went within the transaction. Entries lie anywhere in memory, so
 * each is looked at once: their numbers alone are sorted, in a tenth of the time of objects by a number in them.
 */
function* sortedEntries(
  overlay: Overlay,
): Generator<undefined, readonly OverlayEntry[], undefined> {
  const rids = overlay.entries.rids();
  if (rids.length >= recordsPerSlice) yield;
  rids.sort();
  const entries: OverlayEntry[] = [];
  for (let i = 0; i < rids.length; i++) {
    if (i % recordsPerSlice === recordsPerSlice - 1) yield;
    const entry = overlay.entries.get(rids[i] as Rid) as OverlayEntry;
    if (!entry.isNew || !entry.isDeleted) entries.push(entry);
  }
  return entries;
}

/** An entry has the fields of the operation that its `op` names. */
function asOperation(entry: OverlayEntry): RowOperation {
  return entry as RowOperation;
}

/**
 * The edge is known at both ends, also when its type is UNIDIRECTIONAL: a deletion of the target must find it. The read view
 * hides it there.
 */
function edgeOperation(
  op: 'add-edge' | 'remove-edge',
  { rid, type }: OverlayEntry,
  { from, to }: { readonly from: Rid; readonly to: Rid },
): RowOperation {
  return { op, rid, type, from, to, both: true };
}
