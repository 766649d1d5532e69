import type { StoredRecord } from '#core/value/record.ts';
import {
  type BucketId,
  bucketOf,
  type LogIndex,
  noRid,
  type Rid,
  type TypeId,
} from '#core/value/rid.ts';
import type { Direction } from '#storage/engine.ts';
import { EdgeDelta } from '../read/edge-delta.ts';
import { RidMap } from './rid-map.ts';
import type { UndoLog } from './undo-log.ts';

/** Objects of one changed record, measured: entry, row, places in maps and lists, and their share of garbage. */
const entryBytes = 400;

/** An edge with its ends. */
export interface EdgeEnds {
  readonly from: Rid;
  readonly to: Rid;
  /** True for one that only its source lists (`POST /batch?bidirectional=false`). */
  readonly isOneWay?: boolean;
}

/**
 * One transaction's uncommitted records and edges, laid over a snapshot. It decides nothing: callers have checked what they
 * write. Kept lean, because a statement may change hundreds of thousands of records.
 *
 * `log` lists the changed record ids in order (a record once per change), so that derived structures (`index-overlay.ts`) can
 * catch up with what happened since they last looked.
 */
export class Overlay {
  readonly entries = new RidMap<OverlayEntry>();
  readonly log: Rid[] = [];
  // Most transactions change one record: what they have no need of is not made.
  #buckets: Map<BucketId, ChangedBucket> | undefined;
  #edges: Map<number, RidMap<EdgeDelta>> | undefined;
  #requiredVertices: Set<Rid> | undefined;
  /** Records that were created, deleted again ones too. */
  createdCount = 0;
  /** What it holds, roughly: rows and some objects for each record. */
  heldBytes = 0;
  /** Set while its changes may have to be taken back; `log` and `heldBytes` are set back by whoever does that. */
  undo: UndoLog | undefined;

  get isEmpty(): boolean {
    return this.log.length === 0;
  }

  /** Buckets of which records were changed. */
  changedBuckets(): Iterable<BucketId> {
    return this.#buckets?.keys() ?? none;
  }

  /** Vertices that must still exist at commit: the ends of new edges. */
  get requiredVertices(): ReadonlySet<Rid> {
    return this.#requiredVertices ?? noVertices;
  }

  requireVertex(rid: Rid): void {
    this.#requiredVertices ??= new Set();
    const vertices = this.#requiredVertices;
    if (this.undo !== undefined && !vertices.has(rid)) this.undo.add(() => vertices.delete(rid));
    vertices.add(rid);
  }

  /** Nothing was changed. */
  clear(): void {
    this.entries.clear();
    this.log.length = 0;
    this.#buckets = undefined;
    this.#edges = undefined;
    this.#requiredVertices = undefined;
    this.createdCount = 0;
    this.heldBytes = 0;
    this.undo?.forget();
  }

  /**
   * Forgets what was done to the documents of a bucket that is dropped: neither a commit nor going back brings it up again. The log
   * keeps their ids, and the counts of what is held stay.
   */
  forgetDocuments(bucket: BucketId): void {
    this.entries.deleteBucket(bucket);
    this.#buckets?.delete(bucket);
  }

  entry(rid: Rid): OverlayEntry | undefined {
    return this.entries.get(rid);
  }

  isChanged(bucket: BucketId): boolean {
    return this.#buckets?.has(bucket) === true;
  }

  countDelta(bucket: BucketId): number {
    return this.#buckets?.get(bucket)?.count ?? 0;
  }

  /** Stored records of the bucket were changed or deleted. */
  hasChangedRows(bucket: BucketId): boolean {
    return this.#buckets?.get(bucket)?.hasChangedRows === true;
  }

  /** The new records of a bucket in the order of their creation; deleted again ones stay listed. */
  created(bucket: BucketId): readonly OverlayEntry[] {
    return this.#buckets?.get(bucket)?.created ?? none;
  }

  /** The same in the order of positions. */
  createdByPosition(bucket: BucketId): readonly OverlayEntry[] {
    const changed = this.#buckets?.get(bucket);
    if (changed === undefined) return none;
    return changed.isInOrder ? changed.created : changed.created.toSorted((a, b) => a.rid - b.rid);
  }

  insert(entry: OverlayEntry): void {
    this.heldBytes += entryBytes + entry.row.length;
    const bucket = bucketOf(entry.rid);
    this.entries.set(entry.rid, entry);
    entry.creation = this.log.length;
    this.log.push(entry.rid);
    const changed = this.#changed(bucket);
    // One that is restored has an old position, where another transaction may have restored it, too.
    if (entry.isRestored) {
      changed.isInOrder = false;
      changed.hasChangedRows = true;
    }
    changed.created.push(entry);
    changed.count += 1;
    this.createdCount += 1;
    this.undo?.add(() => {
      this.entries.delete(entry.rid);
      changed.created.pop();
      changed.count -= 1;
      this.createdCount -= 1;
    });
    if (entry.isEdge) this.addEdge(entry);
  }

  /** An edge in the overlay has other ends now. */
  repoint(entry: OverlayEntry, ends: { readonly from: Rid; readonly to: Rid }): void {
    this.removeEdge(entry);
    if (this.undo !== undefined) this.#noteChange(this.undo, entry);
    if (!entry.isNew) entry.movedFrom ??= { from: entry.from, to: entry.to };
    entry.from = ends.from;
    entry.to = ends.to;
    this.addEdge(entry);
  }

  /** Replaces the row of a record that is in the overlay, or takes in `entry`, the first change of a stored one. */
  update(entry: OverlayEntry, row: Uint8Array): void {
    if (this.undo !== undefined) this.#noteChange(this.undo, entry);
    entry.row = row;
    entry.record = undefined;
    if (this.entries.set(entry.rid, entry)) this.heldBytes += entryBytes + row.length;
    this.log.push(entry.rid);
    const changed = this.#changed(bucketOf(entry.rid));
    if (!entry.isNew) changed.hasChangedRows = true;
  }

  /** As `update`, with a row of another type. */
  retype(entry: OverlayEntry, row: Uint8Array, type: TypeId): void {
    this.update(entry, row);
    entry.type = type;
  }

  /** @param record as it was last */
  delete(entry: OverlayEntry, record: StoredRecord): void {
    if (this.undo !== undefined) this.#noteChange(this.undo, entry);
    entry.op = 'delete-row';
    entry.row = noRow;
    entry.record = record;
    if (this.entries.set(entry.rid, entry)) this.heldBytes += entryBytes;
    this.log.push(entry.rid);
    const changed = this.#changed(bucketOf(entry.rid));
    if (!entry.isNew) changed.hasChangedRows = true;
    changed.count -= 1;
    this.undo?.add(() => {
      changed.count += 1;
    });
  }

  #noteChange(undo: UndoLog, entry: OverlayEntry): void {
    const { rid } = entry;
    if (this.entries.get(rid) === undefined) {
      undo.add(() => this.entries.delete(rid));
      return;
    }
    const before = entry.copy();
    undo.add(() => {
      entry.become(before);
    });
  }

  #changed(bucket: BucketId): ChangedBucket {
    this.#buckets ??= new Map();
    let changed = this.#buckets.get(bucket);
    if (changed === undefined) {
      changed = { created: [], isInOrder: true, hasChangedRows: false, count: 0 };
      this.#buckets.set(bucket, changed);
    }
    return changed;
  }

  /** The changes of one vertex's edges; undefined when it has none. */
  edgeDelta(vertex: Rid, direction: Direction, type: TypeId): EdgeDelta | undefined {
    return this.#edges?.get(edgeKey(type, direction))?.get(vertex);
  }

  addEdge({ rid, type, from, to, isOneWay }: OverlayEntry): void {
    this.#addTo(this.#delta(from, 'out', type), rid, to);
    if (!isOneWay) this.#addTo(this.#delta(to, 'in', type), rid, from);
  }

  #addTo(delta: EdgeDelta, edge: Rid, neighbour: Rid): void {
    delta.add(edge, neighbour);
    this.undo?.add(() => {
      delta.remove(edge);
    });
  }

  removeEdge({ rid, type, from, to, isOneWay }: OverlayEntry): void {
    this.#removeFrom(this.#delta(from, 'out', type), rid, to);
    if (!isOneWay) this.#removeFrom(this.#delta(to, 'in', type), rid, from);
  }

  #removeFrom(delta: EdgeDelta, edge: Rid, neighbour: Rid): void {
    const at = delta.remove(edge);
    this.undo?.add(() => {
      delta.putBack(edge, neighbour, at);
    });
  }

  #delta(vertex: Rid, direction: Direction, type: TypeId): EdgeDelta {
    const key = edgeKey(type, direction);
    this.#edges ??= new Map();
    let byVertex = this.#edges.get(key);
    if (byVertex === undefined) {
      byVertex = new RidMap();
      this.#edges.set(key, byVertex);
    }
    let delta = byVertex.get(vertex);
    if (delta === undefined) {
      delta = new EdgeDelta();
      byVertex.set(vertex, delta);
    }
    return delta;
  }
}

const none: readonly never[] = [];
const noVertices: ReadonlySet<Rid> = new Set();

interface ChangedBucket {
  /** New records in the order of their creation; deleted again ones stay listed. */
  readonly created: OverlayEntry[];
  /** ... which is that of their positions. */
  isInOrder: boolean;
  hasChangedRows: boolean;
  /** Change of the number of records. */
  count: number;
}

function edgeKey(type: TypeId, direction: Direction): number {
  return type * 2 + (direction === 'in' ? 1 : 0);
}

/**
 * What a transaction did to one record. It has the shape of a `RowOperation`, so that capturing a transaction makes no second
 * object per record.
 */
export class OverlayEntry {
  op: 'put-row' | 'delete-row';
  readonly rid: Rid;
  type: TypeId;
  /** Of a stored record: the type that it is stored with. */
  readonly storedType: TypeId;
  /** Version of the row that the first change was made from; 0 for a new record. */
  readonly base: LogIndex;
  /** The complete row; empty for a deleted record. */
  row: Uint8Array;
  /** The record as this transaction sees it; undefined when deleted. Made on first read. */
  record: StoredRecord | undefined;
  /** Ends of an edge; `noRid` on other records. */
  from: Rid;
  to: Rid;
  /** The stored ends of an edge that was re-pointed. */
  movedFrom: { readonly from: Rid; readonly to: Rid } | undefined;
  /** Made again at the id of a deleted record. */
  isRestored: boolean;
  /** Of a new record: its place in the log. */
  creation: number;
  /** An edge that only its source lists; of a stored one known when it is deleted or re-pointed. */
  isOneWay: boolean;

  constructor(rid: Rid, type: TypeId, base: LogIndex, ends: EdgeEnds | undefined) {
    this.op = 'put-row';
    this.rid = rid;
    this.type = type;
    this.storedType = type;
    this.base = base;
    this.row = noRow;
    this.record = undefined;
    this.from = ends?.from ?? noRid;
    this.to = ends?.to ?? noRid;
    this.movedFrom = undefined;
    this.isRestored = false;
    this.creation = 0;
    this.isOneWay = ends?.isOneWay === true;
  }

  copy(): OverlayEntry {
    const copy = new OverlayEntry(this.rid, this.storedType, this.base, undefined);
    copy.become(this);
    return copy;
  }

  /** Takes over what another state of the same record holds. */
  become(other: OverlayEntry): void {
    this.op = other.op;
    this.type = other.type;
    this.row = other.row;
    this.record = other.record;
    this.from = other.from;
    this.to = other.to;
    this.movedFrom = other.movedFrom;
    this.isRestored = other.isRestored;
    this.isOneWay = other.isOneWay;
  }

  get isNew(): boolean {
    return this.base === 0;
  }

  get isDeleted(): boolean {
    return this.op === 'delete-row';
  }

  get isEdge(): boolean {
    return this.from !== noRid;
  }
}

const noRow = new Uint8Array(0);
