import { bucketOf, type LogIndex, positionOf, type Rid, type TypeId } from '#core/value/rid.ts';
import type { AdjacencyList, Direction } from '../engine.ts';
import { PagedTable } from '../bulk/paged-table.ts';

/** A list in the cache; valid for snapshots from `since` on. */
export interface CachedList extends AdjacencyList {
  readonly since: LogIndex;
}

interface Filed {
  readonly table: PagedTable<CachedList>;
  readonly position: number;
  readonly list: CachedList;
}

/** What a list takes beside its numbers: two typed arrays, their buffers and the objects around. */
const listOverheadBytes = 320;

/** What is kept when something has to go. */
const fullShare = 0.875;
/** Lists that were asked for lately; a power of two. */
const recentCount = 16 * 1024;

/**
 * Edges of vertices as number arrays, by edge type, direction and vertex, within a budget of bytes; the oldest are given
 * up first. A full cache lets in what is asked for twice within some thousand others: whoever goes once through all lists would drive
 * out everything for nothing, and what has stayed for a while costs a collection of the whole heap.
 */
export class AdjacencyCache {
  readonly #budgetBytes: number;
  /** By type * 2 + direction, then by bucket of the vertex. */
  readonly #tables = new Map<number, (PagedTable<CachedList> | undefined)[]>();
  /** In the order of arrival; a prefix of `#gone` entries is given up already. */
  #filed: Filed[] = [];
  #gone = 0;
  #bytes = 0;
  /** Vertices of lists that were not let in, each in its place; made when the first list is refused. */
  #recent: Float64Array | undefined;
  /** Whether it lets in at once while there is room. */
  readonly #takesFirst: boolean;

  /** @param takesFirst false: even an empty cache lets in only what is asked for twice */
  constructor(budgetBytes: number, takesFirst = true) {
    this.#budgetBytes = budgetBytes;
    this.#takesFirst = takesFirst;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** What the cache may still take. */
  get spareBytes(): number {
    return Math.max(0, this.#budgetBytes - this.#bytes);
  }

  get(vertex: Rid, direction: Direction, type: TypeId): CachedList | undefined {
    const buckets = this.#tables.get(type * 2 + (direction === 'out' ? 0 : 1));
    return buckets?.[bucketOf(vertex)]?.get(positionOf(vertex));
  }

  /** Whether a list that was asked for and is not here should come in. */
  admits(vertex: Rid, direction: Direction, type: TypeId): boolean {
    if (this.#takesFirst && this.#bytes < this.#budgetBytes * fullShare) return true;
    this.#recent ??= new Float64Array(recentCount).fill(-1);
    const code = type * 2 + (direction === 'out' ? 0 : 1);
    const place =
      (positionOf(vertex) ^ (bucketOf(vertex) * 7919) ^ (code * 104_729)) & (recentCount - 1);
    // The same vertex in another list would be let in too soon, which does no harm.
    if (this.#recent[place] === vertex) return true;
    this.#recent[place] = vertex;
    return false;
  }

  put(vertex: Rid, direction: Direction, type: TypeId, list: CachedList): void {
    const table = this.#table(vertex, direction, type);
    const position = positionOf(vertex);
    table.set(position, list);
    this.#filed.push({ table, position, list });
    this.#bytes += bytesOf(list);
    if (this.#bytes > this.#budgetBytes) this.#giveUp();
  }

  remove(vertex: Rid, direction: Direction, type: TypeId): void {
    const buckets = this.#tables.get(type * 2 + (direction === 'out' ? 0 : 1));
    buckets?.[bucketOf(vertex)]?.set(positionOf(vertex), undefined);
  }

  clear(): void {
    this.#tables.clear();
    this.#filed = [];
    this.#gone = 0;
    this.#bytes = 0;
  }

  removeType(type: TypeId): void {
    this.#tables.delete(type * 2);
    this.#tables.delete(type * 2 + 1);
  }

  #table(vertex: Rid, direction: Direction, type: TypeId): PagedTable<CachedList> {
    const key = type * 2 + (direction === 'out' ? 0 : 1);
    let buckets = this.#tables.get(key);
    if (buckets === undefined) {
      buckets = [];
      this.#tables.set(key, buckets);
    }
    const bucket = bucketOf(vertex);
    let table = buckets[bucket];
    if (table === undefined) {
      while (buckets.length <= bucket) buckets.push(undefined);
      table = new PagedTable();
      buckets[bucket] = table;
    }
    return table;
  }

  #giveUp(): void {
    // Down to seven eighths, so that the next one does not cost a round again.
    const target = this.#budgetBytes * fullShare;
    while (this.#bytes > target && this.#gone < this.#filed.length) {
      const oldest = this.#filed[this.#gone++] as Filed;
      this.#bytes -= bytesOf(oldest.list);
      if (oldest.table.get(oldest.position) === oldest.list) {
        oldest.table.set(oldest.position, undefined);
      }
    }
    if (this.#gone * 2 > this.#filed.length) {
      this.#filed = this.#filed.slice(this.#gone);
      this.#gone = 0;
    }
  }
}

function bytesOf(list: CachedList): number {
  return listOverheadBytes + list.count * 16;
}
