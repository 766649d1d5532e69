import type { PausingWork } from '#core/pausing-work.ts';
import { propertiesOf } from '#core/value/integer-width.ts';
import type { RecordKind, StoredRecord } from '#core/value/record.ts';
import type { BucketId, Rid, TypeId } from '#core/value/rid.ts';
import type { ValueMap } from '#core/value/value.ts';
import type { Direction, StorageEngine } from '#storage/engine.ts';
import type { StatementView } from '../read/statement-view.ts';
import { mayHaveOneWayEdges, OneWayEdges, type OneWaySearch } from './one-way-edges.ts';
import { type EdgeEnds, type Overlay, OverlayEntry } from './overlay.ts';
import { PendingRecord } from './pending-record.ts';
import { recordNotFound } from './record-not-found.ts';
import type { UniqueClaims } from './unique-claims.ts';
import type { WriteRules } from './write-rules.ts';

/** Edges of vertices that are deleted or moved before there is a place to pause: a millisecond. */
export const edgesPerStep = 256;
const bothDirections: readonly Direction[] = ['out', 'in'];

/** The writes of single records, on which these stand. */
export interface SingleWrites {
  readonly claims: UniqueClaims;
  readonly rows: StorageEngine['rows'];
  rulesOf(type: TypeId): WriteRules;
  claim(rules: WriteRules, rid: Rid, before: StoredRecord | undefined, after: StoredRecord): void;
  /** The state that is read now is one that the commit builds on. */
  noteRead(): void;
  insert(
    type: TypeId,
    kind: RecordKind,
    properties: ValueMap,
    place: { readonly bucket: BucketId | undefined; readonly ends: undefined },
  ): StoredRecord;
}

/**
 * The writes of a transaction that take edges along: records that are deleted, vertices that move. After an error, or when one is given up
 * half-way, the transaction must be rolled back or go back to a savepoint.
 */
export class ConnectedWrites {
  /** Deleted stored vertices: the number of edges they had in the committed state they were deleted from. */
  emptiedVertices: Map<Rid, number> | undefined;
  readonly #writer: SingleWrites;
  readonly #view: StatementView;
  readonly #overlay: Overlay;
  /** Made when needed: few types have such edges. */
  #oneWay: OneWayEdges | undefined;
  /** Until the next place to pause. */
  #edgesLeft = edgesPerStep;

  constructor(writer: SingleWrites, view: StatementView, overlay: Overlay) {
    this.#writer = writer;
    this.#view = view;
    this.#overlay = overlay;
  }

  /** A vertex goes with its edges, some hundred of them at a time. @returns false when there is no such record */
  *delete(rid: Rid): PausingWork<boolean> {
    const current = this.#view.record(rid);
    if (current === undefined) return false;
    if (current.kind === 'vertex') yield* this.#deleteEdges(current);
    this.#deleteRecord(current);
    return true;
  }

  /** Its edges move with it, some hundred of them at a time. */
  *moveVertex(
    rid: Rid,
    to: { readonly type: TypeId; readonly bucket: BucketId | undefined },
    properties: ValueMap,
  ): PausingWork<StoredRecord> {
    const current = this.#view.record(rid);
    if (current === undefined) throw recordNotFound(rid);
    const { edges, storedCount } = yield* this.#edgesOf(rid);
    this.#deleteRecord(current);
    if (!this.#overlay.entry(rid)?.isNew) this.#noteEmptied(rid, storedCount);
    const moved = this.#writer.insert(to.type, 'vertex', properties, {
      bucket: to.bucket,
      ends: undefined,
    });
    for (const edge of edges) {
      this.#repoint(edge, {
        from: edge.out === rid ? moved.rid : edge.out,
        to: edge.in === rid ? moved.rid : edge.in,
      });
      if (this.#isStepOver()) yield;
    }
    return moved;
  }

  /** The edges at a vertex, a loop once, and how many entries of them are stored. */
  *#edgesOf(
    vertex: Rid,
  ): PausingWork<{ readonly edges: Iterable<StoredRecord>; readonly storedCount: number }> {
    const view = this.#view;
    const edges = new Map<Rid, StoredRecord>();
    let storedCount = 0;
    for (const { id, kind } of view.catalog.types()) {
      if (kind !== 'edge') continue;
      for (const direction of bothDirections) {
        const list = view.allEdges(vertex, direction, id);
        for (let at = 0; at < list.count; at += 1) {
          const edge = view.record(list.edges[at] as Rid);
          if (edge !== undefined) edges.set(edge.rid, edge);
          if (this.#isStepOver()) yield;
        }
        storedCount += view.snapshot.degree(vertex, direction, id);
      }
    }
    for (const edge of this.oneWayEdgesInto(vertex)) edges.set(edge.rid, edge);
    return { edges: edges.values(), storedCount };
  }

  /** One more edge of a vertex. Counted on from one vertex to the next: many with some edges each are as much work as one. */
  #isStepOver(): boolean {
    this.#edgesLeft -= 1;
    if (this.#edgesLeft > 0) return false;
    this.#edgesLeft = edgesPerStep;
    return true;
  }

  #repoint(edge: StoredRecord, ends: EdgeEnds): void {
    const { rid, type } = edge;
    const rules = this.#writer.rulesOf(type);
    const content = propertiesOf(edge);
    const row = this.#writer.rows.encode(type, content, { out: ends.from, in: ends.to });
    const known = this.#overlay.entry(rid);
    const entry =
      known ?? new OverlayEntry(rid, type, edge.version, { from: edge.out, to: edge.in });
    this.#readSides(entry);
    this.#overlay.repoint(entry, ends);
    if (entry.isOneWay) this.#oneWayEdges().add(rid);
    const record = new PendingRecord(entry, rules.type, content);
    this.#writer.claim(rules, rid, edge, record);
    if (known === undefined) this.#writer.noteRead();
    this.#overlay.update(entry, row);
  }

  /** All edges of a vertex, on both sides (sql.md 1.5 rule 6), and how many of them are stored. */
  *#deleteEdges(vertex: StoredRecord): PausingWork<void> {
    const view = this.#view;
    let storedCount = 0;
    for (const type of view.catalog.types()) {
      if (type.kind !== 'edge') continue;
      storedCount += yield* this.#deleteEdgesOf(vertex.rid, 'out', type.id);
      storedCount += yield* this.#deleteEdgesOf(vertex.rid, 'in', type.id);
    }
    for (const edge of this.oneWayEdgesInto(vertex.rid)) this.#deleteRecord(edge);
    if (this.#overlay.entry(vertex.rid)?.isNew) return;
    this.#noteEmptied(vertex.rid, storedCount);
  }

  #noteEmptied(vertex: Rid, edgeCount: number): void {
    this.emptiedVertices ??= new Map();
    const emptied = this.emptiedVertices;
    const before = emptied.get(vertex);
    emptied.set(vertex, edgeCount);
    this.#overlay.undo?.add(() => {
      if (before === undefined) emptied.delete(vertex);
      else emptied.set(vertex, before);
    });
  }

  *#deleteEdgesOf(vertex: Rid, direction: Direction, type: TypeId): PausingWork<number> {
    const view = this.#view;
    const { edges, count } = view.allEdges(vertex, direction, type);
    for (let i = 0; i < count; i++) {
      // A loop is listed in both directions, so it may be gone already.
      const edge = view.record(edges[i] as Rid);
      if (edge !== undefined) this.#deleteRecord(edge);
      if (this.#isStepOver()) yield;
    }
    return view.snapshot.degree(vertex, direction, type);
  }

  /** Edges that lead to a vertex which does not list them, and maybe others that do. */
  oneWayEdgesInto(vertex: Rid): readonly StoredRecord[] {
    if (this.#oneWay === undefined && !mayHaveOneWayEdges(this.#view.catalog)) return [];
    return this.#oneWayEdges().into(vertex);
  }

  /** What `oneWayEdgesInto` would read at once, in steps; undefined when that is nothing, or the record no vertex. */
  oneWaySearch(rid: Rid): OneWaySearch {
    if (this.#view.record(rid)?.kind !== 'vertex') return undefined;
    const edges = this.#oneWayEdges();
    return edges.isSearchDue(rid) ? edges.search(rid) : undefined;
  }

  /** One that is listed at its source only has been written. */
  addOneWay(edge: Rid): void {
    this.#oneWayEdges().add(edge);
  }

  #oneWayEdges(): OneWayEdges {
    this.#oneWay ??= new OneWayEdges(this.#view);
    return this.#oneWay;
  }

  /** Before a stored edge leaves its lists: whether it is in both. */
  #readSides(entry: OverlayEntry): void {
    if (entry.isNew || !this.#view.catalog.typeWithId(entry.type).hasOneWayEdges) return;
    const { to } = entry.movedFrom ?? entry;
    entry.isOneWay = this.#oneWayEdges().isOneWay(entry.rid, to, entry.type);
  }

  #deleteRecord(current: StoredRecord): void {
    const { rid } = current;
    const known = this.#overlay.entry(rid);
    const isEdge = current.kind === 'edge';
    const ends = isEdge ? { from: current.out, to: current.in } : undefined;
    const entry = known ?? new OverlayEntry(rid, current.type, current.version, ends);
    for (const keys of this.#writer.rulesOf(current.type).uniqueIndexes) {
      this.#writer.claims.release(keys, rid, current);
    }
    if (known === undefined) this.#writer.noteRead();
    this.#overlay.delete(entry, current);
    if (!isEdge) return;
    this.#readSides(entry);
    this.#overlay.removeEdge(entry);
  }
}
