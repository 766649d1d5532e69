import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeCatalog } from '#catalog/catalog-codec.ts';
import type { SchemaChange } from '#catalog/change/changes.ts';
import type { TypeId } from '#core/value/rid.ts';
import { defaultTemporalFormats } from '#core/temporal/format.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import { OrderedIndexMaintainer } from '#index/ordered/maintainer.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import { openLmdbEngine } from '#storage/lmdb-engine.ts';
import type { StorageEngine } from '#storage/engine.ts';
import { type DatabaseState, openDatabaseState } from '#transaction/database-state.ts';
import { TypeLabelBook } from '#transaction/write/type-label-book.ts';

export interface TestState extends AsyncDisposable {
  readonly engine: StorageEngine;
  readonly state: DatabaseState;
  readonly directory: string;
  alter(...changes: SchemaChange[]): Promise<readonly ValueMap[]>;
  typeId(name: string): TypeId;
  /** Closes engine and state but keeps the files. */
  close(): Promise<void>;
}

export interface TestStateOptions {
  /** Opens what an earlier state left there; made and removed when absent. */
  readonly directory?: string;
  /** Lays something between the state and its engine. */
  readonly wrap?: (engine: StorageEngine) => StorageEngine;
  readonly commitLockTimeoutMs?: number;
  readonly indexBuildRound?: number;
  readonly evaluateDefault?: (source: string) => Value | undefined;
}

/** A database over LMDB in a directory of its own. */
export async function openTestState(options: TestStateOptions = {}): Promise<TestState> {
  const directory = options.directory ?? mkdtempSync(join(tmpdir(), 'polyad-transaction-'));
  const labels = new TypeLabelBook();
  const deriver = new OrderedIndexMaintainer({ decodeCatalog });
  const lmdb = openLmdbEngine({
    directory,
    labels: labels.labels,
    deriver,
    timers: systemRuntime.timers,
  });
  const engine = options.wrap?.(lmdb) ?? lmdb;
  const state = await openDatabaseState({
    engine,
    searchMemory: deriver.searchMemory,
    labels,
    runtime: systemRuntime,
    formats: () => defaultTemporalFormats,
    evaluateDefault: options.evaluateDefault ?? ((source) => source),
    defaultBucketCount: () => 1,
    ...(options.indexBuildRound && { indexBuildRound: options.indexBuildRound }),
    commitLockTimeoutMs: () => options.commitLockTimeoutMs ?? 5_000,
  });
  const close = async () => {
    await state.close();
    await lmdb.close();
  };
  return {
    engine,
    state,
    directory,
    close,
    async alter(...changes) {
      let rows: readonly ValueMap[] = [];
      for (const change of changes) rows = await state.alter(change);
      return rows;
    },
    typeId(name) {
      const type = state.catalog.typeNamed(name);
      if (type === undefined) throw new Error(`no type ${name}`);
      return type.id;
    },
    async [Symbol.asyncDispose]() {
      await close();
      if (options.directory === undefined) rmSync(directory, { recursive: true, force: true });
    },
  };
}
