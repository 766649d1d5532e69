import { coerceProperties } from '#catalog/coercion.ts';
import type { TriggerDefinition, TypeHooks } from '#catalog/definitions.ts';
import { DatabaseError } from '#core/errors.ts';
import { propertiesOf, widthsOf, withWidths } from '#core/value/integer-width.ts';
import type { PausingWork } from '#core/pausing-work.ts';
import type { RecordKind, StoredRecord } from '#core/value/record.ts';
import { type BucketId, type LogIndex, noRid, type Rid, type TypeId } from '#core/value/rid.ts';
import type { TemporalFormats } from '#core/temporal/format.ts';
import type { ValueMap } from '#core/value/value.ts';
import type { Direction } from '#storage/engine.ts';
import type { EdgeEnds } from '../write/overlay.ts';
import { PendingRecord } from '../write/pending-record.ts';
import { edgesPerStep } from '../write/connected-writes.ts';
import { hasSameProperties } from '../write/same-row.ts';
import type { StatementView } from '../read/statement-view.ts';
import type { Transaction } from '../transaction.ts';
import { type TriggerRunner, vetoed } from './trigger-runner.ts';

/** A record as it is to be. */
interface Draft {
  readonly rid: Rid;
  readonly type: TypeId;
  readonly properties: ValueMap;
  readonly ends: Place['ends'];
}

/** The writes that triggers stand around. */
export interface PlainWrites {
  insert(type: TypeId, kind: RecordKind, properties: ValueMap, place: Place): StoredRecord;
  update(rid: Rid, properties: ValueMap): StoredRecord;
  setType(rid: Rid, type: TypeId, properties?: ValueMap): StoredRecord;
  delete(rid: Rid): PausingWork<boolean>;
  /** `properties` with the defaults of absent ones. */
  withDefaults(type: TypeId, properties: ValueMap): ValueMap;
  /** Edges that lead to a vertex which does not list them, and maybe others that do. */
  oneWayEdgesInto(vertex: Rid): readonly StoredRecord[];
}

export interface Place {
  readonly bucket: BucketId | undefined;
  readonly ends: EdgeEnds | undefined;
}

export interface TriggeredWritesOptions {
  readonly transaction: Transaction;
  readonly view: () => StatementView;
  readonly writes: PlainWrites;
  readonly run: TriggerRunner;
  readonly formats: () => TemporalFormats;
  /** True for the refresh of a materialized view, which alone writes its records. */
  readonly mayWriteViews: boolean;
}

/**
 * Writes of records whose type has triggers, or is a materialized view (sql.md 14.1): defaults, triggers BEFORE, the write with
 * its checks, triggers AFTER, all in the transaction. A vetoed record is not written. Triggers run where the statement runs, never
 * where its outcome is applied. A write pauses inside of triggers; the statement does nothing else before it is over.
 */
export class TriggeredWrites {
  readonly #options: TriggeredWritesOptions;

  constructor(options: TriggeredWritesOptions) {
    this.#options = options;
  }

  *insert(
    hooks: TypeHooks,
    record: { readonly type: TypeId; readonly kind: RecordKind; readonly properties: ValueMap },
    place: Place,
  ): PausingWork<StoredRecord> {
    this.#requireWritable(hooks);
    const { writes } = this.#options;
    const { type, kind, properties } = record;
    if (hooks.beforeCreate.length > 0) {
      const complete = this.#converted(type, writes.withDefaults(type, properties));
      const draft = { rid: noRid, type, properties: complete, ends: place.ends };
      const left = yield* this.#allowDraft(hooks.beforeCreate, draft);
      if (left === undefined) return vetoed;
      return yield* this.#created(hooks, writes.insert(type, kind, left, place));
    }
    return yield* this.#created(hooks, writes.insert(type, kind, properties, place));
  }

  /** A vertex that moves is made anew under another id: created in the one type, deleted in the other. */
  *move(
    current: StoredRecord,
    to: { readonly type: TypeId; readonly properties: ValueMap },
    move: (properties: ValueMap) => PausingWork<StoredRecord>,
  ): PausingWork<StoredRecord> {
    const { definitions } = this.#options.view().catalog;
    const left = definitions.hooks(current.type);
    const entered = definitions.hooks(to.type);
    let properties: ValueMap | undefined = to.properties;
    if (entered !== undefined && entered.beforeCreate.length > 0) {
      const draft = this.#converted(to.type, properties);
      properties = yield* this.#allowDraft(entered.beforeCreate, {
        rid: noRid,
        type: to.type,
        properties: draft,
        ends: undefined,
      });
    }
    if (properties === undefined) return vetoed;
    if (left !== undefined && !(yield* this.#allow(left.beforeDelete, current))) return vetoed;
    const moved = yield* move(properties);
    if (entered !== undefined) yield* this.#tell(entered.afterCreate, moved);
    if (left !== undefined) yield* this.#tell(left.afterDelete, current);
    return moved;
  }

  /** RESTORE creates a record under the id that it had. */
  *restore(
    hooks: TypeHooks,
    record: {
      readonly rid: Rid;
      readonly type: TypeId;
      readonly properties: ValueMap;
      readonly ends: Place['ends'];
    },
    restore: (properties: ValueMap) => StoredRecord,
  ): PausingWork<StoredRecord> {
    this.#requireWritable(hooks);
    if (hooks.beforeCreate.length === 0)
      return yield* this.#created(hooks, restore(record.properties));
    const properties = this.#converted(record.type, record.properties);
    const left = yield* this.#allowDraft(hooks.beforeCreate, { ...record, properties });
    return left === undefined ? vetoed : yield* this.#created(hooks, restore(left));
  }

  *#created(hooks: TypeHooks, record: StoredRecord): PausingWork<StoredRecord> {
    yield* this.#tell(hooks.afterCreate, record);
    return record;
  }

  *update(rid: Rid, properties: ValueMap): PausingWork<StoredRecord> {
    const { writes, view } = this.#options;
    const current = view().record(rid);
    const hooks = current && view().catalog.definitions.hooks(current.type);
    if (current === undefined || hooks === undefined) return writes.update(rid, properties);
    this.#requireWritable(hooks);
    const { type } = current;
    // An equal record is not written, so nothing happens to it.
    if (hasSameProperties(current, properties)) return writes.update(rid, properties);
    let left: ValueMap | undefined = properties;
    if (hooks.beforeUpdate.length > 0) {
      const isEdge = current.kind === 'edge';
      const ends = isEdge ? { from: current.out, to: current.in } : undefined;
      const draft = { rid, type, properties: this.#converted(type, properties), ends };
      left = yield* this.#allowDraft(hooks.beforeUpdate, draft, current);
    }
    if (left === undefined) return vetoed;
    const record = writes.update(rid, left);
    yield* this.#tell(hooks.afterUpdate, record, current);
    return record;
  }

  /** A vertex that becomes one of another type is updated, for the triggers of the one and of the other. */
  *retype(rid: Rid, type: TypeId): PausingWork<StoredRecord> {
    const { writes, view } = this.#options;
    const current = view().record(rid);
    if (current === undefined || current.type === type) return writes.setType(rid, type);
    const { definitions } = view().catalog;
    const hooks = [definitions.hooks(current.type), definitions.hooks(type)];
    const before = hooks.flatMap((of) => of?.beforeUpdate ?? []);
    let properties: ValueMap | undefined;
    if (before.length > 0) {
      const draft = this.#converted(type, writes.withDefaults(type, propertiesOf(current)));
      const image = { rid, type, properties: draft, ends: undefined };
      properties = yield* this.#allowDraft(before, image, current);
      if (properties === undefined) return vetoed;
    }
    const record = writes.setType(rid, type, properties);
    for (const of of hooks) yield* this.#tell(of?.afterUpdate ?? [], record, current);
    return record;
  }

  /** The edges of a vertex go with it: one that a trigger keeps, keeps the vertex, too. */
  *delete(current: StoredRecord): PausingWork<boolean> {
    const { writes, view } = this.#options;
    const hooks = view().catalog.definitions.hooks(current.type);
    if (hooks !== undefined) {
      this.#requireWritable(hooks);
      if (!(yield* this.#allow(hooks.beforeDelete, current))) return false;
    }
    const edges = current.kind === 'vertex' ? yield* this.#watchedEdges(current.rid) : [];
    for (const edge of edges)
      if (!(yield* this.#allow(this.#hooksOf(edge).beforeDelete, edge))) return false;
    const existed = yield* writes.delete(current.rid);
    if (!existed) return false;
    for (const edge of edges) yield* this.#tell(this.#hooksOf(edge).afterDelete, edge);
    if (hooks !== undefined) yield* this.#tell(hooks.afterDelete, current);
    return true;
  }

  /** Edges of types with triggers; a loop once. */
  *#watchedEdges(vertex: Rid): PausingWork<readonly StoredRecord[]> {
    const view = this.#options.view();
    const { catalog } = view;
    const { deleteTriggerTypes } = catalog.definitions;
    const found = new Map<Rid, StoredRecord>();
    function* collect(direction: Direction, type: TypeId): PausingWork<void> {
      const { edges, count } = view.allEdges(vertex, direction, type);
      for (let at = 0; at < count; at += 1) {
        const edge = view.record(edges[at] as Rid);
        if (edge !== undefined) found.set(edge.rid, edge);
        if ((at + 1) % edgesPerStep === 0) yield;
      }
    }
    let mayBeOneWay = false;
    for (const type of deleteTriggerTypes) {
      const { kind, hasOneWayEdges } = catalog.typeWithId(type);
      if (kind !== 'edge') continue;
      yield* collect('out', type);
      yield* collect('in', type);
      if (hasOneWayEdges) mayBeOneWay = true;
    }
    if (mayBeOneWay)
      for (const edge of this.#options.writes.oneWayEdgesInto(vertex))
        if (deleteTriggerTypes.includes(edge.type)) found.set(edge.rid, edge);
    return [...found.values()];
  }

  #hooksOf(record: StoredRecord): TypeHooks {
    return this.#options.view().catalog.definitions.hooks(record.type) as TypeHooks;
  }

  #requireWritable({ view }: TypeHooks): void {
    if (view === undefined || this.#options.mayWriteViews) return;
    throw viewIsWritten(view.name);
  }

  /**
   * As `#allow` for a record that is not yet written: what a trigger changes in it, the ones after it see.
   * @returns the properties to be written, or undefined when one vetoes
   */
  *#allowDraft(
    triggers: readonly TriggerDefinition[],
    draft: Draft,
    oldRecord?: StoredRecord,
  ): PausingWork<ValueMap | undefined> {
    const { run, transaction } = this.#options;
    const { rid, type, ends } = draft;
    let { properties } = draft;
    let record = this.#image(rid, type, properties, ends);
    for (const trigger of triggers) {
      const verdict = yield* run(trigger, { record, oldRecord, rid }, transaction);
      if (verdict === false) return undefined;
      if (verdict === true) continue;
      properties = this.#converted(type, withKeptWidths(verdict, properties));
      record = this.#image(rid, type, properties, ends);
    }
    return properties;
  }

  /** @returns false when one of the triggers vetoes; those after it do not run */
  *#allow(
    triggers: readonly TriggerDefinition[],
    record: StoredRecord,
    oldRecord?: StoredRecord,
  ): PausingWork<boolean> {
    const { run, transaction } = this.#options;
    for (const trigger of triggers) {
      const verdict = yield* run(trigger, { record, oldRecord, rid: record.rid }, transaction);
      if (verdict === false) return false;
    }
    return true;
  }

  *#tell(
    triggers: readonly TriggerDefinition[],
    record: StoredRecord,
    oldRecord?: StoredRecord,
  ): PausingWork<void> {
    const { run, transaction } = this.#options;
    for (const trigger of triggers)
      yield* run(trigger, { record, oldRecord, rid: record.rid }, transaction);
  }

  #converted(type: TypeId, properties: ValueMap): ValueMap {
    const { view, formats } = this.#options;
    const context = { catalog: view().catalog, formats: formats() };
    return withWidths(coerceProperties(type, properties, context), widthsOf(properties));
  }

  #image(rid: Rid, type: TypeId, properties: ValueMap, ends: Place['ends']): StoredRecord {
    const { from, to } = ends ?? { from: noRid, to: noRid };
    const definition = this.#options.view().catalog.typeWithId(type);
    return new PendingRecord({ rid, base: 0 as LogIndex, from, to }, definition, properties);
  }
}

/** What a trigger leaves as it was stays as wide as it was. */
function withKeptWidths(properties: ValueMap, before: ValueMap): ValueMap {
  const known = widthsOf(before);
  if (known === undefined || widthsOf(properties) !== undefined) return properties;
  const kept = [...known].filter(([name]) => properties.get(name) === before.get(name));
  return withWidths(properties, new Map(kept));
}

/** Direct writes to a materialized view are refused (sql.md 14.3). */
export function viewIsWritten(name: string): DatabaseError {
  return new DatabaseError(
    'IllegalArgument',
    `'${name}' is a materialized view, which only its refresh writes; change the records that it is made from`,
  );
}
