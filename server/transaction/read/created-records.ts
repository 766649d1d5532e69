import type { Catalog } from '#catalog/catalog.ts';
import type { StoredRecord } from '#core/value/record.ts';
import {
  type BucketId,
  bucketCountMax,
  bucketOf,
  makeRid,
  positionOf,
  type Rid,
} from '#core/value/rid.ts';
import type { Overlay, OverlayEntry } from '../write/overlay.ts';
import type { CreatedRecords, RecordCursor } from './read-view.ts';
import { bucketUnder, holdingBucketOf, isShared } from './holding-bucket.ts';
import { vetoed } from '../trigger/trigger-runner.ts';

/** No records are in the last bucket (catalog/README.md), so its ids are places behind those of all stored records. */
const createdPlaces = (bucketCountMax - 1) as BucketId;

/** The view over an overlay, as far as it matters here. */
interface OverlayRecords {
  readonly catalog: Catalog;
  recordOfEntry(entry: OverlayEntry): StoredRecord | undefined;
}

/** What a transaction created, by the order in which it did. */
export class CreatedInOverlay implements CreatedRecords {
  readonly places: BucketId = createdPlaces;
  readonly #overlay: Overlay;
  readonly #view: OverlayRecords;

  constructor(overlay: Overlay, view: OverlayRecords) {
    this.#overlay = overlay;
    this.#view = view;
  }

  scan(buckets: readonly BucketId[]): RecordCursor {
    const view = this.#view;
    const recordOf = (entry: OverlayEntry): StoredRecord | undefined => view.recordOfEntry(entry);
    if (!buckets.some((bucket) => isShared(view.catalog, bucket)))
      return new CreationScan(this.#overlay, buckets, recordOf);
    const wanted = new Set(buckets);
    const under = new Set(buckets.map((bucket) => bucketUnder(view.catalog, bucket)));
    const isWanted = ({ rid, type }: OverlayEntry): boolean =>
      wanted.has(holdingBucketOf(view.catalog, bucketOf(rid), type));
    return new CreationScan(this.#overlay, [...under], (entry) =>
      isWanted(entry) ? recordOf(entry) : undefined,
    );
  }

  placeOf(rid: Rid): Rid {
    const entry = this.#overlay.entry(rid);
    return entry?.isNew === true ? makeRid(createdPlaces, entry.creation) : rid;
  }

  ridAt(place: Rid): Rid {
    return this.#overlay.log[positionOf(place)] as Rid;
  }
}

/** The new records of a bucket that a scan has not come to. */
interface CreationList {
  readonly entries: readonly OverlayEntry[];
  at: number;
  next: OverlayEntry;
}

/** Merges the lists of some buckets. Cost: log(buckets) comparisons per record. */
class CreationScan implements RecordCursor {
  readonly #recordOf: (entry: OverlayEntry) => StoredRecord | undefined;
  /** What is created from here on is not given. */
  readonly #end: number;
  /** A heap: none comes before the one at half its place. */
  readonly #lists: CreationList[] = [];

  constructor(
    overlay: Overlay,
    buckets: readonly BucketId[],
    recordOf: (entry: OverlayEntry) => StoredRecord | undefined,
  ) {
    this.#recordOf = recordOf;
    this.#end = overlay.log.length;
    for (const bucket of buckets) {
      const entries = overlay.created(bucket);
      const next = this.#entryAt(entries, 0);
      if (next !== undefined) this.#lists.push({ entries, at: 0, next });
    }
    this.#lists.sort((a, b) => a.next.creation - b.next.creation);
  }

  /** A deleted one is `vetoed`: there may be many in a row, and others should have their turn. */
  next(): StoredRecord | undefined {
    const first = this.#lists[0];
    if (first === undefined) return undefined;
    const entry = first.next;
    first.at += 1;
    const next = this.#entryAt(first.entries, first.at);
    if (next !== undefined) first.next = next;
    else this.#dropFirst();
    this.#sink();
    return this.#recordOf(entry) ?? vetoed;
  }

  /** Undefined behind the last one, also when the rest was taken back since the scan began. */
  #entryAt(entries: readonly OverlayEntry[], at: number): OverlayEntry | undefined {
    const entry = entries[at];
    return entry !== undefined && entry.creation < this.#end ? entry : undefined;
  }

  #dropFirst(): void {
    const last = this.#lists.pop();
    if (last !== undefined && this.#lists.length > 0) this.#lists[0] = last;
  }

  /** Puts the first list where it belongs. */
  #sink(): void {
    const lists = this.#lists;
    const list = lists[0];
    if (list === undefined) return;
    const { creation } = list.next;
    let at = 0;
    for (;;) {
      let child = at * 2 + 1;
      const left = lists[child];
      if (left === undefined) break;
      const right = lists[child + 1];
      if (right !== undefined && right.next.creation < left.next.creation) child += 1;
      const least = lists[child] as CreationList;
      if (least.next.creation >= creation) break;
      lists[at] = least;
      at = child;
    }
    lists[at] = list;
  }
}
