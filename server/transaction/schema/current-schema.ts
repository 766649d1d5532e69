import { decodeCatalog, encodeCatalog } from '#catalog/catalog-codec.ts';
import { type CatalogValue, emptyCatalog } from '#catalog/catalog-value.ts';
import type { LogIndex } from '#core/value/rid.ts';
import type { StorageSnapshot } from '#storage/engine.ts';
import type { RowOperation } from '#storage/format/row-operations.ts';
import type { Replicator } from '../commit/replicator.ts';
import type { TypeLabelBook } from '../write/type-label-book.ts';

/** Name of the schema document in `meta` (storage.md 3). */
const documentName = 'schema';

/**
 * The schema of the newest committed state, and the one that is on its way. A snapshot always gets the schema that was
 * committed with its data, also in the moment between a commit becoming visible and its promise being resolved.
 */
export class CurrentSchema {
  #catalog: CatalogValue;
  readonly #labels: TypeLabelBook;
  #next: { readonly catalog: CatalogValue; index: LogIndex } | undefined;

  constructor(catalog: CatalogValue, labels: TypeLabelBook) {
    this.#catalog = catalog;
    this.#labels = labels;
    labels.learn(catalog);
  }

  /** The schema that a database was left with. */
  static load(snapshot: StorageSnapshot, labels: TypeLabelBook): CurrentSchema {
    const document = snapshot.meta(documentName);
    const catalog = document === undefined ? emptyCatalog() : decodeCatalog(document);
    return new CurrentSchema(catalog, labels);
  }

  /** Of the newest committed state. */
  get catalog(): CatalogValue {
    return this.#catalog;
  }

  /** The schema that belongs to a committed state. */
  at(index: LogIndex): CatalogValue {
    const next = this.#next;
    if (next !== undefined && next.index !== 0 && index >= next.index) return next.catalog;
    return this.#catalog;
  }

  /**
   * Commits a schema and what it does to stored data in one entry. Calls must not overlap.
   * @throws as `Replicator.replicate`; the schema is then as it was
   */
  async publish(
    catalog: CatalogValue,
    operations: readonly RowOperation[],
    replicator: Replicator,
  ): Promise<LogIndex> {
    const document = encodeCatalog(catalog);
    const next = { catalog, index: 0 as LogIndex };
    this.#next = next;
    // Snapshots may show records of new types before this entry's promise is resolved.
    this.#labels.learn(catalog);
    try {
      const index = await replicator.replicate({
        operations: [{ op: 'schema', document }, ...operations],
        bytes: document.length,
        placed: (place) => {
          next.index = place;
        },
      });
      // In a cluster it was `reached`, with every other one that came since.
      if (this.#next === next) this.#catalog = catalog;
      return index;
    } finally {
      if (this.#next === next) this.#next = undefined;
    }
  }

  /**
   * An entry of a log that others may have written holds this document and is about to be applied, alone: snapshots of its state
   * get the schema that comes with it.
   */
  expect(document: Uint8Array, index: LogIndex): void {
    if (this.#next?.index === index) return;
    const catalog = decodeCatalog(document);
    this.#labels.learn(catalog);
    this.#next = { catalog, index };
  }

  /** The entry that was expected is applied, or will not be. */
  reached(index: LogIndex, isApplied: boolean): void {
    if (this.#next?.index !== index) return;
    if (isApplied) this.#catalog = this.#next.catalog;
    this.#next = undefined;
  }
}
