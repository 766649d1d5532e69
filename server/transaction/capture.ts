import type { Catalog } from '#catalog/catalog.ts';
import { type BucketId, bucketOf, type LogIndex, type Rid, type TypeId } from '#core/rid.ts';
import type { RowOperation } from '#storage/row-operations.ts';
import type { ShapeRegistry } from '#storage/shape.ts';
import type { Guards, WriteSet } from './guards.ts';
import type { Overlay, OverlayEntry } from './overlay.ts';
import type { PositionAllocator } from './position-allocator.ts';
import type { RecordWriter } from './record-writer.ts';

/** Rough cost of an operation beside its row: header, record id, derived entries. */
const operationBytes = 32;

/**
 * The overlay as a write set in canonical order (ha.md 5.2 rule 7): sorted by record id, each record once, an edge's
 * adjacency after its row. Nothing is copied: entries are operations already.
 */
export function captureWriteSet(
  overlay: Overlay,
  writer: RecordWriter,
  context: {
    readonly catalog: Catalog;
    readonly shapes: ShapeRegistry;
    readonly positions: PositionAllocator;
  },
): WriteSet {
  const entries = sortedEntries(overlay);
  const body: RowOperation[] = [];
  const types = new Set<TypeId>();
  const buckets = new Set<BucketId>();
  const touchedVertices = new Set<Rid>();
  let bytes = 0;
  for (let i = 0; i < entries.length; i++) {
    const entry = entries[i] as OverlayEntry;
    types.add(entry.type);
    if (entry.isNew && !entry.isDeleted) buckets.add(bucketOf(entry.rid));
    body.push(asOperation(entry));
    bytes += operationBytes + entry.row.length;
    if (!entry.isEdge) continue;
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
  const operations: RowOperation[] = context.shapes.definitionsFor(body);
  if (operations.length === 0 && buckets.size === 0) {
    return {
      operations: body,
      guards: guardsOf(),
      catalog: context.catalog,
      types,
      buckets,
      bytes,
    };
  }
  for (let i = 0; i < body.length; i++) operations.push(body[i] as RowOperation);
  for (const bucket of buckets) {
    const lease = context.positions.renewLease(bucket);
    if (lease !== undefined) operations.push(lease);
  }
  return { operations, guards: guardsOf(), catalog: context.catalog, types, buckets, bytes };

  function guardsOf(): Guards {
    return {
      written: entries,
      restored: entries.filter((entry) => entry.isRestored && !entry.isDeleted),
      requiredVertices: overlay.requiredVertices,
      touchedVertices,
      deletedVertices: writer.emptiedVertices,
      claims: writer.claims.all,
      oldestRead: writer.oldestRead ?? (0 as LogIndex),
      changed: (rid) => writer.changed(rid),
      has: (rid) => overlay.entries.has(rid),
    };
  }
}

/** What there is to write, without records that came and went within the transaction. */
function sortedEntries(overlay: Overlay): readonly OverlayEntry[] {
  const entries: OverlayEntry[] = [];
  let isSorted = true;
  let last = -1;
  overlay.entries.forEach((entry) => {
    if (entry.isNew && entry.isDeleted) return;
    entries.push(entry);
    if (entry.rid < last) isSorted = false;
    last = entry.rid;
  });
  return isSorted ? entries : sortedById(entries, overlay);
}

/** Numbers alone are sorted a tenth as long as objects by a number in them. */
function sortedById(entries: OverlayEntry[], overlay: Overlay): readonly OverlayEntry[] {
  const rids = new Float64Array(entries.length);
  for (let i = 0; i < entries.length; i++) rids[i] = (entries[i] as OverlayEntry).rid;
  rids.sort();
  for (let i = 0; i < rids.length; i++)
    entries[i] = overlay.entries.get(rids[i] as Rid) as OverlayEntry;
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
