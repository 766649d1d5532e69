import { type BucketId, makeRid } from '#core/value/rid.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import type { RecordChange } from '#transaction/transaction.ts';
import type { ChangeQueue, LostChanges } from '../events.ts';

interface Range {
  readonly bucket: BucketId;
  readonly position: number;
  readonly count: number;
}

/** The records of one chunk of a load as change events: noted by their places, read again when they are delivered. */
export class BulkChanges {
  readonly #queue: ChangeQueue | undefined;
  #ranges: Range[] = [];
  #count = 0;

  constructor(queue: ChangeQueue | undefined) {
    this.#queue = queue;
  }

  /** Records are written to consecutive positions. Costs nothing while nobody watches. */
  note(bucket: BucketId, position: number, count: number): void {
    if (this.#queue?.isWatched !== true) return;
    this.#ranges.push({ bucket, position, count });
    this.#count += count;
  }

  get rangeCount(): number {
    return this.#ranges.length;
  }

  /** Moves what came behind the first ranges to a chunk of its own. */
  split(rangeCount: number): BulkChanges {
    const rest = new BulkChanges(this.#queue);
    rest.#ranges = this.#ranges.splice(rangeCount);
    for (const { count } of rest.#ranges) rest.#count += count;
    this.#count -= rest.#count;
    return rest;
  }

  /** The chunk is committed. @param view the newest state */
  committed(view: () => ReadView): void {
    const noted = this.#ranges;
    const queue = this.#queue;
    if (noted.length === 0 || queue === undefined) return;
    this.#ranges = [];
    this.#count = 0;
    const state = view();
    const kind = 'create';
    const ranges: Range[] = [];
    const counts: LostChanges[] = [];
    for (const range of noted) {
      const { count } = range;
      const type = state.catalog.bucketWithId(range.bucket)?.type;
      const typeName = type === undefined ? undefined : state.catalog.typeWithId(type)?.name;
      if (typeName === undefined || !queue.wants(kind, typeName)) continue;
      ranges.push(range);
      counts.push({ kind, typeName, count });
    }
    if (ranges.length === 0 || !queue.hasRoomFor(counts)) {
      state[Symbol.dispose]();
      return;
    }
    let range = 0;
    let offset = 0;
    queue.offer({
      length: counts.reduce((sum, { count }) => sum + count, 0),
      next: (): RecordChange | undefined => {
        const current = ranges[range];
        if (current === undefined) return undefined;
        const record = state.record(makeRid(current.bucket, current.position + offset));
        offset += 1;
        if (offset === current.count) {
          range += 1;
          offset = 0;
        }
        return record && { kind: 'create', record };
      },
      close: () => state[Symbol.dispose](),
    });
  }
}
