import type { Catalog } from '#catalog/catalog.ts';
import type { TypeId } from '#core/value/rid.ts';
import type { Direction } from '#storage/engine.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import type { EdgeTable, TableContent } from './edge-table.ts';

/** What a table is made of. */
export interface TableSource {
  readonly type: TypeId;
  readonly direction: Direction;
  readonly content: TableContent;
}

interface Shared {
  readonly table: EdgeTable;
  userCount: number;
}

interface Place {
  readonly catalog: Catalog;
  readonly key: string;
}

/**
 * Tables of edges that executions have made, for those that run at the same time and want the same: of one database and edge type, whose
 * records have the same content hash. Each user counts the table as its own memory.
 */
class SharedEdgeTables {
  /** By catalog, which belongs to one database. */
  readonly #tables = new WeakMap<Catalog, Map<string, Shared>>();
  readonly #places = new WeakMap<EdgeTable, Place>();
  #count = 0;

  /** Tables that somebody uses. */
  get count(): number {
    return this.#count;
  }

  has(view: ReadView, source: TableSource): boolean {
    const tables = this.#tables.get(view.catalog);
    return tables !== undefined && tables.size > 0 && tables.has(keyOf(view, source));
  }

  /** One more uses it until `leave`. */
  join(view: ReadView, source: TableSource): EdgeTable | undefined {
    const tables = this.#tables.get(view.catalog);
    if (tables === undefined || tables.size === 0) return undefined;
    const shared = tables.get(keyOf(view, source));
    if (shared === undefined) return undefined;
    shared.userCount += 1;
    return shared.table;
  }

  /** Whoever made it is its first user. There was none, which nobody else has made since. */
  publish(view: ReadView, source: TableSource, table: EdgeTable): void {
    const { catalog } = view;
    let tables = this.#tables.get(catalog);
    if (tables === undefined) {
      tables = new Map();
      this.#tables.set(catalog, tables);
    }
    const key = keyOf(view, source);
    tables.set(key, { table, userCount: 1 });
    this.#count += 1;
    this.#places.set(table, { catalog, key });
  }

  /** Once for each `join` and `publish`. The last user gives its memory to others. */
  leave(table: EdgeTable): void {
    const { catalog, key } = this.#places.get(table) as Place;
    const tables = this.#tables.get(catalog) as Map<string, Shared>;
    const shared = tables.get(key) as Shared;
    shared.userCount -= 1;
    if (shared.userCount > 0) return;
    tables.delete(key);
    this.#count -= 1;
    table.giveUp();
  }
}

function keyOf({ catalog, snapshot }: ReadView, { type, direction, content }: TableSource): string {
  let key = `${type} ${direction} ${content}`;
  for (const bucket of catalog.typeWithId(type).buckets) {
    const { low, high } = snapshot.contentHash(bucket);
    key += ` ${bucket} ${snapshot.recordCount(bucket)} ${snapshot.blockCount(bucket)} ${low} ${high}`;
  }
  return key;
}

/** Of the thread. */
export const sharedEdgeTables: SharedEdgeTables = new SharedEdgeTables();
