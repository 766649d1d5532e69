import type { PausingWork } from '#core/pausing-work.ts';
import type { RecordKind, StoredRecord } from '#core/value/record.ts';
import type { BucketId, Rid, TypeId } from '#core/value/rid.ts';
import type { ValueMap } from '#core/value/value.ts';
import type { RecordChange } from '../transaction.ts';
import type { EdgeEnds, Overlay } from './overlay.ts';
import type { RecordWriter } from './record-writer.ts';

/** Where a record is to lie, and what an edge connects. */
export interface RecordPlacement {
  readonly bucket: BucketId | undefined;
  readonly ends: EdgeEnds | undefined;
}

/** The writes of a transaction one by one, each of which is told where somebody watches. */
export class RecordedWrites {
  readonly writer: RecordWriter;
  /** Every single change, since events tell them all; undefined while nobody watches. */
  readonly recorded: RecordChange[] | undefined;
  readonly #overlay: Overlay;

  constructor(writer: RecordWriter, overlay: Overlay, recorded: RecordChange[] | undefined) {
    this.writer = writer;
    this.#overlay = overlay;
    this.recorded = recorded;
  }

  insert(
    type: TypeId,
    kind: RecordKind,
    properties: ValueMap,
    { bucket, ends }: RecordPlacement,
  ): StoredRecord {
    return this.#created(
      ends === undefined
        ? this.writer.insert(type, kind, properties, { bucket, ends })
        : this.writer.insertEdge(type, ends, properties, bucket),
    );
  }

  *insertInSteps(
    type: TypeId,
    kind: RecordKind,
    properties: ValueMap,
    place: RecordPlacement,
  ): PausingWork<StoredRecord> {
    return this.#created(yield* this.writer.insertInSteps(type, kind, properties, place));
  }

  update(rid: Rid, properties: ValueMap): StoredRecord {
    const count = this.#overlay.log.length;
    return this.#updated(this.writer.update(rid, properties), count);
  }

  *updateInSteps(rid: Rid, properties: ValueMap): PausingWork<StoredRecord> {
    const count = this.#overlay.log.length;
    return this.#updated(yield* this.writer.updateInSteps(rid, properties), count);
  }

  setType(rid: Rid, type: TypeId, properties?: ValueMap): StoredRecord {
    const count = this.#overlay.log.length;
    return this.#updated(this.writer.setType(rid, type, properties), count);
  }

  *delete(rid: Rid): PausingWork<boolean> {
    const { log } = this.#overlay;
    let at = log.length;
    const existed = yield* this.writer.connected.delete(rid);
    if (this.recorded === undefined) return existed;
    for (; at < log.length; at++) {
      const record = this.#overlay.entry(log[at] as Rid)?.record;
      if (record !== undefined) this.recorded.push({ kind: 'delete', record });
    }
    return existed;
  }

  /** @param current the vertex as it is */
  *move(
    current: StoredRecord | undefined,
    rid: Rid,
    to: { readonly type: TypeId; readonly bucket: BucketId | undefined },
    properties: ValueMap,
  ): PausingWork<StoredRecord> {
    const moved = this.#created(yield* this.writer.connected.moveVertex(rid, to, properties));
    if (current !== undefined) this.recorded?.push({ kind: 'delete', record: current });
    return moved;
  }

  restore(rid: Rid, type: TypeId, properties: ValueMap, ends: EdgeEnds | undefined): StoredRecord {
    return this.#created(this.writer.restore(rid, type, properties, ends));
  }

  #created(record: StoredRecord): StoredRecord {
    this.recorded?.push({ kind: 'create', record });
    return record;
  }

  /** @param count of the entries of the overlay's log before */
  #updated(record: StoredRecord, count: number): StoredRecord {
    if (this.#overlay.log.length > count) this.recorded?.push({ kind: 'update', record });
    return record;
  }
}
