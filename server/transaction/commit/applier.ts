import type { BulkWriter } from '#storage/bulk/writer.ts';
import type { LogEntry, StorageEngine } from '#storage/engine.ts';

/**
 * Hands log entries to storage, in log order, and makes no decision of its own (ha.md 5.7): the same entries give the same
 * state on every node.
 */
export class Applier {
  readonly #engine: StorageEngine;

  constructor(engine: StorageEngine) {
    this.#engine = engine;
  }

  /**
   * Resolves when the entries are durable and visible.
   * @param bulk the writer that holds what the only entry stands for
   * @param isAlone see `StorageEngine.apply`
   */
  apply(
    entries: readonly LogEntry[],
    bulk: BulkWriter | undefined,
    isAlone: boolean,
  ): Promise<void> {
    const first = entries[0];
    if (bulk !== undefined && first !== undefined)
      return bulk.flush(first.position, first.operations);
    return this.#engine.apply(entries, isAlone);
  }
}
