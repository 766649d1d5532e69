import type { Catalog } from '#catalog/catalog.ts';
import { type BucketId, bucketOf, type LogIndex, type Rid, type TypeId } from '#core/value/rid.ts';
import { shapeIdOf } from '#storage/format/row.ts';
import type { RowOperation } from '#storage/format/row-operations.ts';
import type { ShapeRegistry } from '#storage/format/shape.ts';
import type { Guards, WriteSet } from './guards.ts';
import type { Overlay, OverlayEntry } from '../write/overlay.ts';
import type { PositionAllocator } from '../write/position-allocator.ts';
import type { RecordWriter } from '../write/record-writer.ts';

/** Rough cost of an operation beside its row: header, record id, derived entries. */
const operationBytes = 32;

export interface CaptureContext {
  readonly catalog: Catalog;
  readonly shapes: ShapeRegistry;
  readonly positions: PositionAllocator;
}

/** Records between two pauses: some milliseconds. */
const recordsPerSlice = 8192;

/** Up to so many records their entries are sorted as they are. */
const fewRecords = 64;

/**
 * The overlay as a write set in canonical order (ha.md 5.2 rule 7): sorted by record id, each record once, an edge's
 * adjacency after its row. Nothing is copied: entries are operations already.
 * @returns for many records the steps, between which the overlay must not change
 */
export function captureWriteSet(
  overlay: Overlay,
  writer: RecordWriter,
  context: CaptureContext,
): WriteSet | Generator<undefined, WriteSet, undefined> {
  const { size } = overlay.entries;
  const capture = new Capture(size);
  if (size >= recordsPerSlice) return inSlices(capture, overlay, writer, context);
  if (size <= fewRecords) capture.takeFew(overlay);
  else for (const entries of overlay.entries.inOrder()) capture.take(entries);
  capture.operations(0, capture.entries.length);
  return capture.writeSet(overlay, writer, context);
}

function* inSlices(
  capture: Capture,
  overlay: Overlay,
  writer: RecordWriter,
  context: CaptureContext,
): Generator<undefined, WriteSet, undefined> {
  let count = 0;
  for (const entries of overlay.entries.inOrder()) {
    const first = capture.entries.length;
    capture.take(entries);
    capture.operations(first, capture.entries.length);
    count += entries.length;
    if (count < recordsPerSlice) continue;
    count = 0;
    yield;
  }
  return capture.writeSet(overlay, writer, context);
}

const noVertices: ReadonlySet<Rid> = new Set();
const noneEmptied: ReadonlyMap<Rid, number> = new Map();

/** A write set under construction. */
class Capture {
  /** What there is to write, sorted, without records that came and went within the transaction. */
  readonly entries: OverlayEntry[] = [];
  readonly #body: RowOperation[] = [];
  readonly #restored: OverlayEntry[] = [];
  /** One operation for each shape of a row. */
  readonly #shaped: RowOperation[] = [];
  #shapes: Set<number> | undefined;
  readonly #types: TypeId[] = [];
  /** Those with new records. */
  readonly #buckets: BucketId[] = [];
  #touchedVertices: Set<Rid> | undefined;
  #bytes = 0;
  readonly #sizeMax: number;

  /** @param sizeMax the number of entries, with those of records that came and went */
  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax;
  }

  takeFew(overlay: Overlay): void {
    const { entries } = this;
    overlay.entries.forEach((entry) => {
      if (!entry.isNew || !entry.isDeleted) entries.push(entry);
    });
    if (entries.length > 1) entries.sort((a, b) => a.rid - b.rid);
  }

  take(sorted: readonly OverlayEntry[]): void {
    for (let i = 0; i < sorted.length; i++) {
      const entry = sorted[i] as OverlayEntry;
      if (!entry.isNew || !entry.isDeleted) this.entries.push(entry);
    }
  }

  operations(from: number, to: number): void {
    this.#lookAtRows(from, to);
    for (let i = from; i < to; i++) this.#add(this.entries[i] as OverlayEntry);
  }

  /**
   * Sizes and shapes of rows, in a loop that does nothing else: rows lie in the order in which they were written, so each is a miss of
   * the processor's cache, and of a short loop several are under way at once.
   */
  #lookAtRows(from: number, to: number): void {
    let lastShape = -1;
    for (let i = from; i < to; i++) {
      const entry = this.entries[i] as OverlayEntry;
      const { row } = entry;
      this.#bytes += operationBytes + row.length;
      if (row.length === 0) continue;
      const shape = shapeIdOf(row);
      if (shape === lastShape) continue;
      this.#addShape(shape, asOperation(entry));
      lastShape = shape;
    }
  }

  writeSet(
    overlay: Overlay,
    writer: RecordWriter,
    { catalog, shapes, positions }: CaptureContext,
  ): WriteSet {
    const guards: Guards = {
      written: this.entries,
      restored: this.#restored,
      requiredVertices: overlay.requiredVertices,
      touchedVertices: this.#touchedVertices ?? noVertices,
      deletedVertices: writer.emptiedVertices ?? noneEmptied,
      claims: writer.claims.all,
      oldestRead: writer.oldestRead ?? (0 as LogIndex),
      changed: (rid, index) => writer.changed(rid, index),
      has: (rid) => overlay.entries.has(rid),
    };
    const body = this.#body;
    const types = this.#types;
    const bytes = this.#bytes;
    const operations: RowOperation[] = shapes.definitionsFor(this.#shaped);
    if (operations.length === 0 && this.#buckets.length === 0)
      return { operations: body, guards, catalog, types, bytes };
    for (let i = 0; i < body.length; i++) operations.push(body[i] as RowOperation);
    for (let i = 0; i < this.#buckets.length; i++) {
      const lease = positions.renewLease(this.#buckets[i] as BucketId);
      if (lease !== undefined) operations.push(lease);
    }
    return { operations, guards, catalog, types, bytes };
  }

  #add(entry: OverlayEntry): void {
    const { type } = entry;
    const types = this.#types;
    // In the order of ids records of one bucket, and so of one type, come in a row.
    if (types[types.length - 1] !== type && !types.includes(type)) types.push(type);
    if (entry.storedType !== type && !types.includes(entry.storedType))
      types.push(entry.storedType);
    this.#body.push(asOperation(entry));
    if (!entry.isDeleted) {
      const buckets = this.#buckets;
      const bucket = bucketOf(entry.rid);
      if (entry.isNew && buckets[buckets.length - 1] !== bucket) buckets.push(bucket);
      if (entry.isRestored) this.#restored.push(entry);
    }
    if (!entry.isEdge) return;
    this.#touchedVertices ??= new Set();
    addEdgeOperations(this.#body, entry, this.#touchedVertices);
  }

  #addShape(shape: number, operation: RowOperation): void {
    if (this.#sizeMax === 1) this.#shaped.push(operation);
    else {
      this.#shapes ??= new Set();
      if (!this.#shapes.has(shape)) this.#shaped.push(operation);
      this.#shapes.add(shape);
    }
  }
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

/** An entry has the fields of the operation that its `op` names. */
function asOperation(entry: OverlayEntry): RowOperation {
  return entry as RowOperation;
}

/**
 * The edge is known at both ends, also when its type is UNIDIRECTIONAL: a deletion of the target must find it. The read view
 * hides it there. What was loaded one-way into a bidirectional type is known at its source only.
 */
function edgeOperation(
  op: 'add-edge' | 'remove-edge',
  { rid, type, isOneWay }: OverlayEntry,
  { from, to }: { readonly from: Rid; readonly to: Rid },
): RowOperation {
  return { op, rid, type, from, to, both: !isOneWay };
}
