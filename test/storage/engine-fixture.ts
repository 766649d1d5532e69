import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type BucketId, type LogIndex, makeRid, type Rid, type TypeId } from '#core/value/rid.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import type { IndexDeriver, LogEntry } from '#storage/engine.ts';
import { type LmdbEngine, openLmdbEngine } from '#storage/lmdb-engine.ts';
import type { LmdbEngineOptions } from '#storage/lmdb-options.ts';
import type { EdgeEnds } from '#storage/format/row.ts';
import type { RowOperation } from '#storage/format/row-operations.ts';

export const personType = 1 as TypeId;
export const knowsType = 2 as TypeId;
export const personBucket = 3 as BucketId;
export const knowsBucket = 4 as BucketId;

/** The record that the kill test changes in every commit. */
export const counterPosition = 2 ** 30;

export const noIndexes: IndexDeriver = {
  schemaChanged() {},
  isIndexed: () => false,
  derive() {},
};

export const turnTimers = {
  yield: () => new Promise<void>((resolve) => setImmediate(resolve)),
  after: (delayMs: number, run: () => void) => {
    const timer = setTimeout(run, delayMs);
    timer.unref();
    return () => clearTimeout(timer);
  },
};

export function temporaryDirectory(context: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'polyad.storage-'));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

export function openEngine(
  directory: string,
  options: Partial<LmdbEngineOptions> = {},
): LmdbEngine {
  return openLmdbEngine({
    directory,
    labels: (type) =>
      type === knowsType ? { name: 'Knows', kind: 'edge' } : { name: 'Person', kind: 'vertex' },
    deriver: noIndexes,
    timers: turnTimers,
    ...options,
  });
}

/** Numbers log entries and adds the shape definitions they need, like the room above does. */
export class Log {
  readonly #engine: LmdbEngine;
  #index: number;

  constructor(engine: LmdbEngine) {
    this.#engine = engine;
    this.#index = engine.applied().index;
  }

  entry(operations: readonly RowOperation[]): LogEntry {
    this.#index += 1;
    return {
      position: { index: this.#index as LogIndex, term: 1, txId: this.#index },
      operations: [...this.#engine.shapes.definitionsFor(operations), ...operations],
    };
  }

  commit(...operations: readonly RowOperation[]): Promise<void> {
    return this.#engine.apply([this.entry(operations)]);
  }
}

export function person(position: number): Rid {
  return makeRid(personBucket, position);
}

export function put(
  engine: LmdbEngine,
  rid: Rid,
  properties: ValueMap | Record<string, Value>,
  ends?: EdgeEnds,
): RowOperation {
  const map = properties instanceof Map ? properties : new Map(Object.entries(properties));
  const type = ends === undefined ? personType : knowsType;
  return { op: 'put-row', rid, row: engine.rows.encode(type, map, ends) };
}

export function propertiesOf(engine: LmdbEngine, rid: Rid): Map<string, Value> | undefined {
  using snapshot = engine.snapshot();
  const record = snapshot.record(rid);
  if (record === undefined) return undefined;
  return new Map(record.propertyNames().map((name) => [name, record.get(name) as Value]));
}
