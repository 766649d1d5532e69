import { coerceProperties } from '#catalog/coercion.ts';
import type { Catalog, IndexDefinition, TypeDefinition } from '#catalog/catalog.ts';
import { ownBuckets, placedType } from '#catalog/change/window.ts';
import { mayLieIn, MissingTypes } from '#catalog/labels.ts';
import { requireName } from '#catalog/name-rules.ts';
import { validateRecord } from '#catalog/validation.ts';

import { DatabaseError } from '#core/errors.ts';
import { propertiesOf, widthsOf, withWidths } from '#core/value/integer-width.ts';
import type { RecordKind, StoredRecord } from '#core/value/record.ts';
import {
  type BucketId,
  bucketOf,
  formatRid,
  type IndexId,
  type LogIndex,
  noRid,
  type Rid,
  type TypeId,
} from '#core/value/rid.ts';
import type { TemporalFormats } from '#core/temporal/format.ts';
import type { PausingWork } from '#core/pausing-work.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import type { KeySource } from '#index/ordered/index-keys.ts';
import type { Direction, StorageEngine, StorageSnapshot } from '#storage/engine.ts';
import { notPatchable, type RowPatcher, sameRow } from '#storage/format/row-patch.ts';
import { RowRecord } from '#storage/format/row-record.ts';
import type { BucketSelector } from './bucket-selector.ts';
import { isSameForWrites } from '../commit/guards.ts';
import { ChangedRecord, type ValueWidths } from './changed-record.ts';
import { mayHaveOneWayEdges, OneWayEdges, type OneWaySearch } from './one-way-edges.ts';
import { type EdgeEnds, type Overlay, OverlayEntry } from './overlay.ts';
import { PendingRecord } from './pending-record.ts';
import type { PositionAllocator } from './position-allocator.ts';
import type { PropertyPatch } from './property-patch.ts';
import { claimKeys, claimRetyped, type KeyClaimer } from './record-keys.ts';
import { isSameRow } from './same-row.ts';
import { typeOfRid } from '../read/holding-bucket.ts';
import type { StatementView, ViewServices } from '../read/statement-view.ts';
import type { DefaultEvaluator } from '../transaction.ts';
import { undeclared } from './undeclared-widths.ts';
import { UniqueClaims } from './unique-claims.ts';
import type { WriteRules, WriteRuleBook } from './write-rules.ts';

/** What the writes of all transactions of a database share. */
export interface WriteServices extends ViewServices {
  readonly engine: StorageEngine;
  readonly positions: PositionAllocator;
  readonly buckets: BucketSelector;
  readonly patcher: RowPatcher;
  /** Property names that were found to be legal; bounded. */
  readonly knownNames: Set<string>;
  /** `service.maxNameLength` */
  nameLengthMax(): number;
  /** The rules of the current schema, shared as long as it lasts. */
  rulesFor(view: StatementView): WriteRuleBook;
}

const knownNamesMax = 10_000;
/** Edges of vertices that are deleted or moved before there is a place to pause: a millisecond. */
export const edgesPerStep = 256;
const bothDirections: readonly Direction[] = ['out', 'in'];

/**
 * The writing half of a transaction: turns property maps into checked, converted, encoded rows in the overlay. Each method
 * either does all of it or throws and leaves the overlay as it was, but for `delete` and `moveVertex`, after whose error, or
 * when they are given up half-way, the transaction must be rolled back or go back to a savepoint.
 */
export class RecordWriter implements KeyClaimer {
  readonly claims: UniqueClaims;
  /** Deleted stored vertices: the number of edges they had in the committed state they were deleted from. */
  emptiedVertices: Map<Rid, number> | undefined;
  /** The oldest committed state that a base version, required vertex or free key was taken from. */
  oldestRead: LogIndex | undefined;
  readonly #services: WriteServices;
  readonly #view: StatementView;
  readonly #overlay: Overlay;
  /** Made when needed: few types have such edges. */
  #oneWay: OneWayEdges | undefined;
  /** Until the next place to pause. */
  #edgesLeft = edgesPerStep;
  readonly #formats: TemporalFormats;
  readonly #evaluateDefault: DefaultEvaluator;
  readonly #typeOfRid = (rid: Rid): TypeId | undefined => typeOfRid(this.#view, rid);
  #book: WriteRuleBook;
  #madeUnder: Catalog;

  constructor(
    services: WriteServices,
    view: StatementView,
    overlay: Overlay,
    options: { readonly formats: TemporalFormats; readonly evaluateDefault: DefaultEvaluator },
  ) {
    this.#services = services;
    this.#view = view;
    this.#overlay = overlay;
    this.#formats = options.formats;
    this.#evaluateDefault = options.evaluateDefault;
    this.claims = new UniqueClaims(options.formats, overlay);
    this.#book = services.rulesFor(view);
    this.#madeUnder = view.catalog;
  }

  /** The schema by which everything in the overlay was checked. */
  get madeUnder(): Catalog {
    return this.#madeUnder;
  }

  /**
   * The transaction has changed the schema itself: what it wrote before is converted and checked once more, by the new one.
   * @throws DatabaseError as `update`
   */
  adoptSchema(): void {
    const now = this.#view.catalog;
    const before = this.#madeUnder;
    const stale = new Map<TypeId, boolean>();
    const entries: OverlayEntry[] = [];
    this.#overlay.entries.forEach((entry) => {
      entries.push(entry);
    });
    for (const entry of entries) {
      const isStale = stale.get(entry.type) ?? !isSameForWrites(before, now, entry.type);
      stale.set(entry.type, isStale);
      if (!isStale || entry.isDeleted) continue;
      // A type that is gone takes its records with it: the commit will be refused.
      if (!now.types().some((type) => type.id === entry.type)) return;
      this.#checkAgain(entry, new Set(before.indexesOn(entry.type).map((index) => index.id)));
    }
    this.#madeUnder = now;
  }

  #checkAgain(entry: OverlayEntry, claimed: ReadonlySet<IndexId>): void {
    const current = this.#view.recordOfEntry(entry);
    if (current === undefined) return;
    const rules = this.#rules(entry.type);
    const content = this.#checked(rules, propertiesOf(current), undefined);
    const ends = entry.isEdge ? { out: entry.from, in: entry.to } : undefined;
    this.#overlay.update(entry, this.#services.engine.rows.encode(entry.type, content, ends));
    const after = new PendingRecord(entry, rules.type, content);
    for (const keys of rules.refusing) keys.requireAllowed(after);
    for (const keys of rules.uniqueIndexes) {
      if (claimed.has(keys.definition.id)) continue;
      this.claims.claim(keys, entry.rid, { before: undefined, after }, this);
    }
  }

  /** As `UniqueClaims.settle`. */
  settleKeys(countMax?: number): boolean {
    return this.claims.settle(this, countMax);
  }

  settleFreeKeys(): boolean {
    return this.claims.settleFree(this);
  }

  // --- KeyHolders

  get snapshot(): StorageSnapshot {
    return this.#view.snapshot;
  }

  changed(rid: Rid, index?: IndexDefinition): KeySource | 'gone' | undefined {
    const entry = this.#overlay.entry(rid);
    if (entry === undefined) return undefined;
    const isStored = index === undefined || entry.type === entry.storedType;
    if (!isStored && !this.#view.catalog.isSubtype(entry.type, index.type)) return 'gone';
    return this.#view.recordOfEntry(entry) ?? 'gone';
  }

  // --- writes

  insert(
    typeId: TypeId,
    kind: RecordKind,
    properties: ValueMap,
    place: { readonly bucket: BucketId | undefined; readonly ends: EdgeEnds | undefined },
  ): StoredRecord {
    const rules = this.#rules(typeId);
    const { type } = rules;
    if (type.kind !== kind) {
      throw new DatabaseError(
        'CommandExecution',
        `Cannot create a ${kind} of type '${type.name}', which is a ${type.kind} type`,
      );
    }
    const complete = this.withDefaults(typeId, properties);
    const content = this.#checked(rules, complete, undefined);
    const bucket = this.#bucketFor(type, place.bucket, content);
    const ends = place.ends;
    const row = this.#services.engine.rows.encode(
      typeId,
      content,
      ends && { out: ends.from, in: ends.to },
    );
    const rid = this.#services.positions.take(bucket);
    const entry = new OverlayEntry(rid, typeId, 0 as LogIndex, ends);
    entry.row = row;
    const record = new PendingRecord(entry, type, content);
    this.#claim(rules, rid, undefined, record);
    this.#overlay.insert(entry);
    if (entry.isOneWay) this.#oneWayEdges().add(rid);
    return record;
  }

  insertEdge(
    typeId: TypeId,
    ends: EdgeEnds,
    properties: ValueMap,
    bucket: BucketId | undefined,
  ): StoredRecord {
    this.#requireVertex(ends.from);
    this.#requireVertex(ends.to);
    return this.insert(typeId, 'edge', properties, { bucket, ends });
  }

  update(rid: Rid, properties: ValueMap): StoredRecord {
    const known = this.#overlay.entry(rid);
    const current = known ? this.#view.recordOfEntry(known) : this.#view.storedRecord(rid);
    if (current === undefined) throw recordNotFound(rid);
    const rules = this.#rules(current.type);
    const content = this.#checked(rules, properties, current);
    const isEdge = current.kind === 'edge';
    const ends = isEdge ? { from: current.out, to: current.in } : undefined;
    const row = this.#services.engine.rows.encode(
      current.type,
      content,
      ends && { out: ends.from, in: ends.to },
    );
    if (isSameRow(current, row, content)) return current;
    const entry = known ?? new OverlayEntry(rid, current.type, current.version, ends);
    const record = new PendingRecord(entry, rules.type, content);
    this.#claim(rules, rid, current, record);
    if (known === undefined) this.#noteRead();
    this.#overlay.update(entry, row);
    return record;
  }

  /**
   * Makes a vertex one of another type, where it is: its id, edges and properties stay.
   * @param properties in place of those that it has
   * @throws DatabaseError `RecordNotFound`, `MissingTypes` when records of the type cannot lie in its bucket yet; and as `update`
   */
  setType(rid: Rid, typeId: TypeId, properties?: ValueMap): StoredRecord {
    const known = this.#overlay.entry(rid);
    const current = known ? this.#view.recordOfEntry(known) : this.#view.storedRecord(rid);
    if (current === undefined) throw recordNotFound(rid);
    if (current.type === typeId) return current;
    const { catalog } = this.#view;
    const rules = this.#rules(typeId);
    const { type } = rules;
    if (current.kind !== 'vertex' || type.kind !== 'vertex')
      throw new DatabaseError(
        'CommandExecution',
        `Cannot change the type of ${formatRid(rid)} from '${current.typeName}' to '${type.name}': labels are those of vertices`,
      );
    const bucket = bucketOf(rid);
    if (!mayLieIn(catalog, typeId, bucket))
      throw new MissingTypes([{ kind: 'open-window', bucket, type: type.name }]);
    const content = this.#checked(
      rules,
      this.withDefaults(typeId, properties ?? propertiesOf(current)),
      undefined,
    );
    const row = this.#services.engine.rows.encode(typeId, content);
    const entry = known ?? new OverlayEntry(rid, current.type, current.version, undefined);
    const record = new PendingRecord(entry, type, content);
    claimRetyped(this.#rules(current.type), rules, { rid, before: current, after: record }, this);
    this.#noteRead();
    if (known === undefined) this.#noteRead();
    this.#overlay.retype(entry, row, typeId);
    return record;
  }

  /**
   * As `update` with the values of some properties of a record that this view has just given, in the bytes of its row.
   * @param widths of values of undeclared properties, when there are any
   * @returns undefined when it must be written the long way; nothing was done then
   */
  patch(
    current: StoredRecord,
    patch: PropertyPatch,
    values: readonly Value[],
    widths?: ValueWidths,
  ): StoredRecord | undefined {
    if (!(current instanceof RowRecord)) return undefined;
    const known = this.#overlay.entry(current.rid);
    // By what the statement itself has called in between.
    if (known?.isDeleted === true) return undefined;
    const rules = this.#rules(current.type);
    const columns = patch.columnsIn(current, rules, values);
    if (columns === undefined) return undefined;
    const row = this.#services.patcher.patched(current, columns, values, widths);
    if (row === notPatchable) return undefined;
    if (row === sameRow) return current;
    const { rid } = current;
    let entry = known;
    if (entry === undefined) {
      const ends = current.shape.isEdge ? { from: current.out, to: current.in } : undefined;
      entry = new OverlayEntry(rid, current.type, current.version, ends);
      this.#noteRead();
    }
    this.#overlay.update(entry, row);
    return new ChangedRecord(current, patch.names, values, entry.base, widths);
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
    const moved = this.insert(to.type, 'vertex', properties, {
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
    const rules = this.#rules(type);
    const content = propertiesOf(edge);
    const row = this.#services.engine.rows.encode(type, content, { out: ends.from, in: ends.to });
    const known = this.#overlay.entry(rid);
    const entry =
      known ?? new OverlayEntry(rid, type, edge.version, { from: edge.out, to: edge.in });
    this.#readSides(entry);
    this.#overlay.repoint(entry, ends);
    if (entry.isOneWay) this.#oneWayEdges().add(rid);
    const record = new PendingRecord(entry, rules.type, content);
    this.#claim(rules, rid, edge, record);
    if (known === undefined) this.#noteRead();
    this.#overlay.update(entry, row);
  }

  /** A record at the id of a deleted one. */
  restore(
    rid: Rid,
    typeId: TypeId,
    properties: ValueMap,
    ends: EdgeEnds | undefined,
  ): StoredRecord {
    const rules = this.#rules(typeId);
    this.#requireRestorable(rid, rules.type);
    if (ends !== undefined) {
      this.#requireVertex(ends.from);
      this.#requireVertex(ends.to);
    }
    const content = this.#checked(rules, this.withDefaults(typeId, properties), undefined);
    const entry = new OverlayEntry(rid, typeId, 0 as LogIndex, ends);
    entry.isRestored = true;
    entry.row = this.#services.engine.rows.encode(
      typeId,
      content,
      ends && { out: ends.from, in: ends.to },
    );
    const record = new PendingRecord(entry, rules.type, content);
    this.#claim(rules, rid, undefined, record);
    this.#noteRead();
    this.#overlay.insert(entry);
    return record;
  }

  #requireRestorable(rid: Rid, type: TypeDefinition): void {
    const bucket = bucketOf(rid);
    const refuse = (reason: string): never => {
      throw new DatabaseError(
        'IllegalArgument',
        `Cannot restore record ${formatRid(rid)} of type '${type.name}': ${reason}`,
      );
    };
    if (!mayLieIn(this.#view.catalog, type.id, bucket))
      refuse('its bucket does not belong to the type');
    if (this.#overlay.entry(rid) !== undefined) refuse('this transaction has changed it');
    if (this.#view.record(rid) !== undefined) refuse('it exists');
    if (!this.#services.positions.wasGiven(rid)) refuse('there never was such a record');
  }

  /** `properties` with the defaults of absent ones (sql.md 13.7); the same map when there is nothing to add. */
  withDefaults(type: TypeId, properties: ValueMap): ValueMap {
    const { defaults } = this.#rules(type);
    let complete: Map<string, Value> | undefined;
    for (const { name, source } of defaults) {
      if (properties.has(name)) continue;
      const value = this.#evaluateDefault(source);
      if (value === undefined || value === null) continue;
      complete ??= new Map(properties);
      complete.set(name, value);
    }
    return complete === undefined ? properties : withWidths(complete, widthsOf(properties));
  }

  // --- details

  #rules(type: TypeId): WriteRules {
    if (this.#book.catalog !== this.#view.catalog) {
      this.#book = this.#services.rulesFor(this.#view);
    }
    return this.#book.rulesOf(type);
  }

  #bucketFor(type: TypeDefinition, wanted: BucketId | undefined, properties: ValueMap): BucketId {
    if (wanted === undefined)
      return this.#services.buckets.select(placedType(this.#view.catalog, type), properties);
    if (ownBuckets(this.#view.catalog, type).includes(wanted)) return wanted;
    const name = this.#view.catalog.bucketWithId(wanted)?.name ?? String(wanted);
    throw new DatabaseError('Schema', `Bucket '${name}' does not belong to type '${type.name}'`);
  }

  /** Converts, then validates (sql.md 2.1, 13.6). */
  #checked(rules: WriteRules, properties: ValueMap, before: StoredRecord | undefined): ValueMap {
    const { catalog } = this.#view;
    const context = { catalog, formats: this.#formats, typeOfRid: this.#typeOfRid };
    const { id } = rules.type;
    const content = coerceProperties(id, properties, context);
    this.#requireNames(content);
    validateRecord(id, content, before, context);
    const widths = widthsOf(properties);
    return widths === undefined ? content : withWidths(content, undeclared(widths, rules));
  }

  /** limits.md 22, for names that no declaration has checked. */
  #requireNames(properties: ValueMap): void {
    const { knownNames } = this.#services;
    for (const name of properties.keys()) {
      if (knownNames.has(name)) continue;
      requireName('property', name, this.#services.nameLengthMax());
      if (knownNames.size >= knownNamesMax) knownNames.clear();
      knownNames.add(name);
    }
  }

  #claim(rules: WriteRules, rid: Rid, before: StoredRecord | undefined, after: StoredRecord): void {
    if (claimKeys(rules, { rid, before, after }, this)) this.#noteRead();
  }

  hasChanged(rid: Rid): boolean {
    return this.#overlay.entry(rid) !== undefined;
  }

  #noteRead(): void {
    this.oldestRead ??= this.#view.snapshotIndex;
  }

  #requireVertex(rid: Rid): void {
    const entry = this.#overlay.entry(rid);
    if (entry !== undefined ? entry.isDeleted : this.#view.record(rid) === undefined) {
      throw recordNotFound(rid);
    }
    if (!this.#view.isVertex(rid)) {
      throw new DatabaseError(
        'CommandExecution',
        `Invalid vertex for edge creation: ${formatRid(rid)} is no vertex`,
      );
    }
    if (entry?.isNew) return;
    this.#overlay.requireVertex(rid);
    this.#noteRead();
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
    for (const keys of this.#rules(current.type).uniqueIndexes) {
      this.claims.release(keys, rid, current);
    }
    if (known === undefined) this.#noteRead();
    this.#overlay.delete(entry, current);
    if (!isEdge) return;
    this.#readSides(entry);
    this.#overlay.removeEdge(entry);
  }
}

/** http-api.md 3.2: 404. */
export function recordNotFound(rid: Rid): DatabaseError {
  const shown = rid === noRid ? '#-1:-1' : formatRid(rid);
  return new DatabaseError('RecordNotFound', `Record ${shown} not found`);
}
