import type { Catalog, IndexDefinition, TypeDefinition } from '#catalog/catalog.ts';
import { ownBuckets, placedType } from '#catalog/change/window.ts';
import { mayLieIn, MissingTypes } from '#catalog/labels.ts';
import { DatabaseError } from '#core/errors.ts';
import type { PausingWork } from '#core/pausing-work.ts';
import { propertiesOf, widthsOf, withWidths } from '#core/value/integer-width.ts';
import type { RecordKind, StoredRecord } from '#core/value/record.ts';
import {
  type BucketId,
  bucketOf,
  formatRid,
  type IndexId,
  type LogIndex,
  type Rid,
  type TypeId,
} from '#core/value/rid.ts';
import type { TemporalFormats } from '#core/temporal/format.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import type { KeySource } from '#index/ordered/index-keys.ts';
import type { StorageEngine, StorageSnapshot } from '#storage/engine.ts';
import type { Bytes } from '#storage/format/bytes.ts';
import type { EdgeEnds as RowEnds } from '#storage/format/row.ts';
import { notPatchable, type RowPatcher, sameRow } from '#storage/format/row-patch.ts';
import { RowRecord } from '#storage/format/row-record.ts';
import type { BucketSelector } from './bucket-selector.ts';
import { isSameForWrites } from '../commit/guards.ts';
import { ConnectedWrites } from './connected-writes.ts';
import { ContentCheck, type NameServices } from './content-check.ts';
import { ChangedRecord, type ValueWidths } from './changed-record.ts';
import { type EdgeEnds, type Overlay, OverlayEntry } from './overlay.ts';
import { PendingRecord } from './pending-record.ts';
import { recordNotFound } from './record-not-found.ts';
import type { PositionAllocator } from './position-allocator.ts';
import type { PropertyPatch } from './property-patch.ts';
import { claimKeys, claimRetyped, type KeyClaimer } from './record-keys.ts';
import { isSameRow, isSameRowInSteps } from './same-row.ts';
import type { StatementView, ViewServices } from '../read/statement-view.ts';
import type { DefaultEvaluator } from '../transaction.ts';
import { UniqueClaims } from './unique-claims.ts';
import type { WriteRules, WriteRuleBook } from './write-rules.ts';

/** What the writes of all transactions of a database share. */
export interface WriteServices extends ViewServices, NameServices {
  readonly engine: StorageEngine;
  readonly positions: PositionAllocator;
  readonly buckets: BucketSelector;
  readonly patcher: RowPatcher;
  /** The rules of the current schema, shared as long as it lasts. */
  rulesFor(view: StatementView): WriteRuleBook;
}

/**
 * The writing half of a transaction: turns property maps into checked, converted, encoded rows in the overlay. Each method
 * either does all of it or throws and leaves the overlay as it was.
 */
export class RecordWriter implements KeyClaimer {
  readonly claims: UniqueClaims;
  /** The oldest committed state that a base version, required vertex or free key was taken from. */
  oldestRead: LogIndex | undefined;
  readonly #services: WriteServices;
  readonly #view: StatementView;
  readonly #overlay: Overlay;
  readonly #content: ContentCheck;
  #connected: ConnectedWrites | undefined;
  readonly #evaluateDefault: DefaultEvaluator;
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
    this.#content = new ContentCheck(services, view, options.formats);
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
    const rules = this.rulesOf(entry.type);
    const content = this.#content.checked(rules, propertiesOf(current), undefined);
    const ends = entry.isEdge ? { out: entry.from, in: entry.to } : undefined;
    this.#overlay.update(entry, this.rows.encode(entry.type, content, ends));
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

  /** What takes edges along. */
  get connected(): ConnectedWrites {
    this.#connected ??= new ConnectedWrites(this, this.#view, this.#overlay);
    return this.#connected;
  }

  /** Deleted stored vertices: the number of edges they had in the committed state they were deleted from. */
  get emptiedVertices(): ReadonlyMap<Rid, number> | undefined {
    return this.#connected?.emptiedVertices;
  }

  get rows(): StorageEngine['rows'] {
    return this.#services.engine.rows;
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
    const rules = this.#rulesFor(typeId, kind);
    const complete = this.withDefaults(typeId, properties);
    const content = this.#content.checked(rules, complete, undefined);
    const row = this.rows.encode(typeId, content, rowEnds(place.ends));
    return this.#inserted(rules, content, row, place);
  }

  /** As `insert`, with pauses: for very many properties. The record is there when all of it is. */
  *insertInSteps(
    typeId: TypeId,
    kind: RecordKind,
    properties: ValueMap,
    place: { readonly bucket: BucketId | undefined; readonly ends: EdgeEnds | undefined },
  ): PausingWork<StoredRecord> {
    const rules = this.#rulesFor(typeId, kind);
    this.#requireEnds(place.ends);
    const complete = this.withDefaults(typeId, properties);
    const content = yield* this.#content.checkedInSteps(rules, complete, undefined);
    const row = yield* this.rows.encodeInSteps(typeId, content, rowEnds(place.ends));
    return this.#inserted(rules, content, row, place);
  }

  #rulesFor(typeId: TypeId, kind: RecordKind): WriteRules {
    const rules = this.rulesOf(typeId);
    const { type } = rules;
    if (type.kind === kind) return rules;
    throw new DatabaseError(
      'CommandExecution',
      `Cannot create a ${kind} of type '${type.name}', which is a ${type.kind} type`,
    );
  }

  #inserted(
    rules: WriteRules,
    content: ValueMap,
    row: Bytes,
    place: { readonly bucket: BucketId | undefined; readonly ends: EdgeEnds | undefined },
  ): StoredRecord {
    const { type } = rules;
    const rid = this.#services.positions.take(this.#bucketFor(type, place.bucket, content));
    const entry = new OverlayEntry(rid, type.id, 0 as LogIndex, place.ends);
    entry.row = row;
    const record = new PendingRecord(entry, type, content);
    this.claim(rules, rid, undefined, record);
    this.#overlay.insert(entry);
    if (entry.isOneWay) this.connected.addOneWay(rid);
    return record;
  }

  insertEdge(
    typeId: TypeId,
    ends: EdgeEnds,
    properties: ValueMap,
    bucket: BucketId | undefined,
  ): StoredRecord {
    this.#requireEnds(ends);
    return this.insert(typeId, 'edge', properties, { bucket, ends });
  }

  update(rid: Rid, properties: ValueMap): StoredRecord {
    const known = this.#overlay.entry(rid);
    const current = this.#current(rid, known);
    const rules = this.rulesOf(current.type);
    const content = this.#content.checked(rules, properties, current);
    const row = this.rows.encode(current.type, content, endsOf(current));
    if (isSameRow(current, row, content)) return current;
    return this.#updated(rules, { current, known }, content, row);
  }

  /**
   * As `update`, with pauses: for very many properties. Until all of it is done the record is what it was. Nobody else writes in the
   * transaction meanwhile, as one statement of it runs at a time.
   */
  *updateInSteps(rid: Rid, properties: ValueMap): PausingWork<StoredRecord> {
    const known = this.#overlay.entry(rid);
    const current = this.#current(rid, known);
    const rules = this.rulesOf(current.type);
    const content = yield* this.#content.checkedInSteps(rules, properties, current);
    const row = yield* this.rows.encodeInSteps(current.type, content, endsOf(current));
    const isSame = yield* isSameRowInSteps(current, row, content);
    return isSame ? current : this.#updated(rules, { current, known }, content, row);
  }

  /** @throws DatabaseError `RecordNotFound` */
  #current(rid: Rid, known: OverlayEntry | undefined): StoredRecord {
    const current = known ? this.#view.recordOfEntry(known) : this.#view.storedRecord(rid);
    if (current === undefined) throw recordNotFound(rid);
    return current;
  }

  #updated(
    rules: WriteRules,
    {
      current,
      known,
    }: { readonly current: StoredRecord; readonly known: OverlayEntry | undefined },
    content: ValueMap,
    row: Bytes,
  ): StoredRecord {
    const { rid } = current;
    const isEdge = current.kind === 'edge';
    const ends = isEdge ? { from: current.out, to: current.in } : undefined;
    const entry = known ?? new OverlayEntry(rid, current.type, current.version, ends);
    const record = new PendingRecord(entry, rules.type, content);
    this.claim(rules, rid, current, record);
    if (known === undefined) this.noteRead();
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
    const current = this.#current(rid, known);
    if (current.type === typeId) return current;
    const { catalog } = this.#view;
    const rules = this.rulesOf(typeId);
    const { type } = rules;
    if (current.kind !== 'vertex' || type.kind !== 'vertex')
      throw new DatabaseError(
        'CommandExecution',
        `Cannot change the type of ${formatRid(rid)} from '${current.typeName}' to '${type.name}': labels are those of vertices`,
      );
    const bucket = bucketOf(rid);
    if (!mayLieIn(catalog, typeId, bucket))
      throw new MissingTypes([{ kind: 'open-window', bucket, type: type.name }]);
    const content = this.#content.checked(
      rules,
      this.withDefaults(typeId, properties ?? propertiesOf(current)),
      undefined,
    );
    const row = this.rows.encode(typeId, content);
    const entry = known ?? new OverlayEntry(rid, current.type, current.version, undefined);
    const record = new PendingRecord(entry, type, content);
    claimRetyped(this.rulesOf(current.type), rules, { rid, before: current, after: record }, this);
    this.noteRead();
    if (known === undefined) this.noteRead();
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
    const rules = this.rulesOf(current.type);
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
      this.noteRead();
    }
    this.#overlay.update(entry, row);
    return new ChangedRecord(current, patch.names, values, entry.base, widths);
  }

  /** A record at the id of a deleted one. */
  restore(
    rid: Rid,
    typeId: TypeId,
    properties: ValueMap,
    ends: EdgeEnds | undefined,
  ): StoredRecord {
    const rules = this.rulesOf(typeId);
    this.#requireRestorable(rid, rules.type);
    this.#requireEnds(ends);
    const content = this.#content.checked(rules, this.withDefaults(typeId, properties), undefined);
    const entry = new OverlayEntry(rid, typeId, 0 as LogIndex, ends);
    entry.isRestored = true;
    entry.row = this.rows.encode(typeId, content, ends && { out: ends.from, in: ends.to });
    const record = new PendingRecord(entry, rules.type, content);
    this.claim(rules, rid, undefined, record);
    this.noteRead();
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
    const { defaults } = this.rulesOf(type);
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

  rulesOf(type: TypeId): WriteRules {
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

  claim(rules: WriteRules, rid: Rid, before: StoredRecord | undefined, after: StoredRecord): void {
    if (claimKeys(rules, { rid, before, after }, this)) this.noteRead();
  }

  hasChanged(rid: Rid): boolean {
    return this.#overlay.entry(rid) !== undefined;
  }

  noteRead(): void {
    this.oldestRead ??= this.#view.snapshotIndex;
  }

  #requireEnds(ends: EdgeEnds | undefined): void {
    if (ends === undefined) return;
    this.#requireVertex(ends.from);
    this.#requireVertex(ends.to);
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
    this.noteRead();
  }
}

function endsOf(record: StoredRecord): RowEnds | undefined {
  return record.kind === 'edge' ? { out: record.out, in: record.in } : undefined;
}

function rowEnds(ends: EdgeEnds | undefined): RowEnds | undefined {
  return ends && { out: ends.from, in: ends.to };
}
