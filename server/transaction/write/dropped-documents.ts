import type { SchemaChange } from '#catalog/change/changes.ts';
import { inTurns } from '#core/pausing-work.ts';
import { type BucketId, bucketOf } from '#core/value/rid.ts';
import type { Timers } from '#core/runtime.ts';
import type { Overlay } from './overlay.ts';
import type { ReadView } from '../read/read-view.ts';
import type { RecordChange } from '../transaction.ts';
import type { UniqueClaims } from './unique-claims.ts';

/** The buckets of a type of documents that is dropped, as far as the transaction has changed records in them. */
export function droppedDocuments(
  change: SchemaChange,
  view: Pick<ReadView, 'catalog' | 'isChanged'>,
): readonly BucketId[] {
  const type = change.kind === 'drop-type' ? view.catalog.typeNamed(change.name) : undefined;
  return type?.kind === 'document' ? type.buckets.filter((bucket) => view.isChanged(bucket)) : [];
}

/** The buckets of documents that a transaction wrote to and then dropped: what it did there is gone, and no other record knows of it. */
export class DroppedDocuments {
  /** Undefined in nearly every transaction. */
  #buckets: Set<BucketId> | undefined;

  /** Also where somebody goes back to a place before the drop, it does not come up again. */
  async forget(
    buckets: readonly BucketId[],
    { overlay, claims }: { overlay: Overlay; claims: UniqueClaims | undefined },
    timers: Pick<Timers, 'yield'>,
  ): Promise<void> {
    if (buckets.length === 0) return;
    this.#buckets ??= new Set();
    for (const bucket of buckets) {
      overlay.forgetDocuments(bucket);
      this.#buckets.add(bucket);
    }
    if (claims !== undefined) await inTurns(claims.forget(new Set(buckets)), timers);
  }

  /** The changes without those to what is gone. */
  without(changes: readonly RecordChange[]): readonly RecordChange[] {
    const dropped = this.#buckets;
    if (dropped === undefined) return changes;
    return changes.filter(({ record }) => !dropped.has(bucketOf(record.rid)));
  }
}
