import assert from 'node:assert/strict';
import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import type { StorageSnapshot } from '#storage/engine.ts';
import {
  BytesKey,
  openSubDatabases,
  type RangeOptions,
  type ReadTransaction,
  type SubDatabases,
} from '#storage/format/sub-databases.ts';
import type { LmdbEngine } from '#storage/lmdb-engine.ts';
import { Log, openEngine, turnTimers } from '../engine-fixture.ts';
import { type Change, change, contents, indexes, operationsFor } from '../indexed-fixture.ts';
import { MemoryEnvironments } from './memory-environment.ts';

// Random scripts that run on LMDB and on what stands in its place, and must read the same. A power cut leaves of LMDB the file as it
// is, while nothing is written; what is on its way then, the double decides by itself, and is tested alone.

/** One of the two, in a directory of its own. */
interface Place {
  directory: string;
  readonly memory: MemoryEnvironments | undefined;
}

/** The folder is empty. */
function places(directory: string): readonly Place[] {
  return [undefined, new MemoryEnvironments(turn)].map((memory, n) => {
    const own = join(directory, String(n));
    mkdirSync(own);
    return { directory: own, memory };
  });
}

let copyCount = 0;

/** What a power cut leaves; it may still be open. */
function cutPower(place: Place): void {
  place.memory?.cut(() => true);
  if (place.memory !== undefined) return;
  copyCount += 1;
  const left = `${place.directory}-${copyCount}`;
  mkdirSync(left);
  cpSync(join(place.directory, 'data.mdb'), join(left, 'data.mdb'));
  place.directory = left;
}

// --- the stores

interface StoredWrite {
  readonly store: 'meta' | 'ix' | 'adj';
  readonly key: Uint8Array;
  /** Undefined: removed. */
  readonly size: number | undefined;
}

type StoreStep =
  | { readonly kind: 'batch' | 'sync'; readonly writes: readonly StoredWrite[] }
  | { readonly kind: 'range'; readonly store: 'meta' | 'ix' | 'adj'; readonly options: StoredRange }
  | { readonly kind: 'pin' | 'reopen' | 'cut' };

interface StoredRange extends Omit<RangeOptions, 'start' | 'end' | 'transaction'> {
  readonly from: Uint8Array;
  readonly to: Uint8Array;
}

const store = fc.constantFrom('meta' as const, 'ix' as const, 'adj' as const);
/** Few bytes, so that keys meet and begin one another. */
const key = fc.oneof(
  {
    weight: 20,
    arbitrary: fc.uint8Array({ minLength: 1, maxLength: 3, max: 255 }).map((bytes) => {
      const few = bytes.map((byte) => [0, 1, 127, 128, 254, 255][byte % 6] as number);
      return new Uint8Array(few);
    }),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(500, 1978).map((length) => new Uint8Array(length).fill(128)),
  },
);
const size = fc.option(fc.constantFrom(0, 1, 7, 8, 100, 3000, 20_000), { nil: undefined, freq: 3 });
const writes = fc.array(fc.record({ store, key, size }), { minLength: 1, maxLength: 12 });
const storeStep: fc.Arbitrary<StoreStep> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('batch' as const), writes }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('sync' as const), writes }) },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('range' as const),
      store,
      options: fc.record({
        from: key,
        to: key,
        reverse: fc.boolean(),
        exclusiveStart: fc.boolean(),
        inclusiveEnd: fc.boolean(),
        limit: fc.constantFrom(1, 3, 1000),
      }),
    }),
  },
  { weight: 2, arbitrary: fc.constant({ kind: 'pin' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'reopen' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'cut' as const }) },
);

export const storeSteps = fc.array(storeStep, { minLength: 6, maxLength: 20, size: 'max' });

class StoreSide {
  readonly place: Place;
  subs: SubDatabases;
  pinned: ReadTransaction[] = [];

  constructor(place: Place) {
    this.place = place;
    this.subs = this.#open();
  }

  #open(): SubDatabases {
    const { directory, memory } = this.place;
    const settings = { directory, mapSizeBytes: 2 ** 24, readersMax: 64 };
    return openSubDatabases({ ...settings, openEnvironment: memory?.open });
  }

  async close(): Promise<void> {
    for (const transaction of this.pinned.splice(0)) transaction.done();
    await this.subs.root.close();
  }

  /** @returns what is read, now and in all states that are pinned */
  async run(step: StoreStep, mark: number): Promise<unknown> {
    const { root } = this.subs;
    switch (step.kind) {
      case 'batch':
        await root.batch(() => this.#write(step.writes, mark));
        return this.#everything();
      case 'sync':
        root.transactionSync(() => this.#write(step.writes, mark));
        return this.#everything();
      case 'range':
        return this.#inStates((transaction) => this.#range(step.store, step.options, transaction));
      case 'pin':
        root.resetReadTxn();
        this.pinned.push(root.useReadTransaction());
        return undefined;
      default: {
        if (step.kind === 'cut') cutPower(this.place);
        const before = this.subs;
        for (const transaction of this.pinned.splice(0)) transaction.done();
        if (step.kind === 'reopen') await before.root.close();
        this.subs = this.#open();
        const found = this.#everything();
        if (step.kind === 'cut') await before.root.close();
        return found;
      }
    }
  }

  #write(all: readonly StoredWrite[], mark: number): void {
    all.forEach(({ store: name, key: bytes, size: length }, n) => {
      const target = this.subs[name];
      if (length === undefined) target.remove(new BytesKey(bytes));
      else target.put(new BytesKey(bytes), Buffer.alloc(length, mark * 16 + n));
    });
  }

  #inStates<T>(read: (transaction: ReadTransaction) => T): readonly T[] {
    const { root } = this.subs;
    root.resetReadTxn();
    const newest = root.useReadTransaction();
    try {
      return [newest, ...this.pinned].map(read);
    } finally {
      newest.done();
    }
  }

  #everything(): unknown {
    const all = { from: new Uint8Array(1), to: new Uint8Array(9).fill(255), limit: 1000 };
    return this.#inStates((transaction) =>
      (['meta', 'ix', 'adj'] as const).map((name) => this.#range(name, all, transaction)),
    );
  }

  #range(name: 'meta' | 'ix' | 'adj', range: StoredRange, transaction: ReadTransaction): unknown {
    const { sink } = this.subs;
    const target = this.subs[name];
    const { from, to, ...rest } = range;
    // The binding keeps notes in what it is given.
    const asked = () => ({
      ...rest,
      start: new BytesKey(from),
      end: new BytesKey(to),
      transaction,
    });
    const texts = (ends: readonly number[]) =>
      ends.map((end, i) => sink.bytes.toString('hex', i === 0 ? 0 : ends[i - 1], end));
    sink.length = 0;
    const keys = texts([...target.getKeys(asked())]);
    sink.length = 0;
    const entries = [...target.getRange(asked())];
    assert.deepEqual(texts(entries.map((entry) => entry.key)), keys);
    const values = keys.map((text) => {
      const bytes = target.getBinaryFast(new BytesKey(Buffer.from(text, 'hex')), { transaction });
      assert.ok(bytes, 'what a range gives can be got');
      return Buffer.from(bytes.subarray(0, target.lastSize)).toString('base64');
    });
    const missing = target.getBinaryFast(new BytesKey(Uint8Array.of(3)), { transaction });
    assert.equal(missing, undefined);
    return { keys, values, decoded: entries.map(({ value }) => value) };
  }
}

/** @throws AssertionError when the two read something else */
export async function runOnStores(directory: string, steps: readonly StoreStep[]): Promise<void> {
  const sides = places(directory).map((place) => new StoreSide(place));
  let mark = 0;
  for (const step of steps) {
    mark += 1;
    const [real, double] = [await sides[0]?.run(step, mark), await sides[1]?.run(step, mark)];
    assert.deepEqual(double, real, `step ${mark}`);
  }
  for (const side of sides) await side.close();
}

// --- the engine above them

type EngineStep =
  | { readonly kind: 'commit'; readonly groups: readonly (readonly Change[])[] }
  | { readonly kind: 'large'; readonly changes: readonly Change[] }
  | { readonly kind: 'checkpoint' | 'hold' | 'copy' | 'reopen' | 'cut' };

const changes = fc.array(change, { minLength: 1, maxLength: 8 });
const groups = fc.array(changes, { minLength: 1, maxLength: 3 });
const engineStep: fc.Arbitrary<EngineStep> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('commit' as const), groups }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('large' as const), changes }) },
  { weight: 3, arbitrary: fc.constant({ kind: 'checkpoint' as const }) },
  { weight: 2, arbitrary: fc.constant({ kind: 'hold' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'copy' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'reopen' as const }) },
  { weight: 2, arbitrary: fc.constant({ kind: 'cut' as const }) },
);

export const engineSteps = fc.array(engineStep, { minLength: 4, maxLength: 14, size: 'max' });

/** Checkpoints happen only when a script asks for them. */
const timers = { ...turnTimers, after: () => () => {} };

class EngineSide {
  readonly place: Place;
  engine: LmdbEngine;
  log: Log;
  held: StorageSnapshot[] = [];

  constructor(place: Place) {
    this.place = place;
    this.engine = this.#open(place.directory);
    this.log = new Log(this.engine);
  }

  /** As in a cluster, whose log has what no checkpoint has. */
  #open(directory: string): LmdbEngine {
    const openEnvironment = this.place.memory?.open;
    const settings = { timers, deriver: indexes, cacheBytes: 60_000, openEnvironment };
    return openEngine(directory, { ...settings, durability: 'above' });
  }

  async run(step: EngineStep): Promise<unknown> {
    switch (step.kind) {
      case 'commit':
        await Promise.all(step.groups.map((group) => this.#commit(group)));
        break;
      case 'large':
        await this.#commit([{ kind: 'put', at: 7, size: 600_000, mark: 2 }, ...step.changes]);
        break;
      case 'checkpoint':
        await this.engine.checkpoint();
        break;
      case 'hold':
        this.held.push(this.engine.snapshot());
        break;
      case 'copy':
        return this.#copied();
      case 'reopen':
        await this.close();
        this.#begin();
        break;
      case 'cut': {
        cutPower(this.place);
        const before = this.engine;
        this.#letGo();
        this.#begin();
        const found = contentsOf(this.engine);
        // The file that LMDB had is not the one that is open now.
        await before.close();
        assert.deepEqual(contentsOf(this.engine), found, 'who is gone changes nothing');
      }
    }
    return [contentsOf(this.engine), this.engine.applied(), ...this.held.map(contents)];
  }

  #begin(): void {
    this.engine = this.#open(this.place.directory);
    this.log = new Log(this.engine);
  }

  #commit(group: readonly Change[]): Promise<void> {
    return this.log.commit(...operationsFor(this.engine, group));
  }

  async #copied(): Promise<unknown> {
    copyCount += 1;
    const directory = `${this.place.directory}-${copyCount}`;
    await this.engine.copyTo(directory);
    const copy = this.#open(directory);
    try {
      return [contentsOf(copy), copy.applied()];
    } finally {
      await copy.close();
    }
  }

  #letGo(): void {
    for (const snapshot of this.held.splice(0)) snapshot[Symbol.dispose]();
  }

  async close(): Promise<void> {
    this.#letGo();
    await this.engine.close();
  }
}

function contentsOf(engine: LmdbEngine): unknown {
  using snapshot = engine.snapshot();
  return contents(snapshot);
}

/** @throws AssertionError when the two read something else */
export async function runOnEngines(directory: string, steps: readonly EngineStep[]): Promise<void> {
  const sides = places(directory).map((place) => new EngineSide(place));
  for (const [at, step] of steps.entries()) {
    const [real, double] = [await sides[0]?.run(step), await sides[1]?.run(step)];
    assert.deepEqual(double, real, `step ${at}`);
  }
  for (const side of sides) await side.close();
}
