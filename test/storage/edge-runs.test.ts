import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { DatabaseError } from '#core/errors.ts';
import { type BucketId, type LogIndex, makeRid, type Rid } from '#core/value/rid.ts';
import type { StorageSnapshot } from '#storage/engine.ts';
import { decodeEdgeRuns, edgeRunsName } from '#storage/format/edge-runs.ts';
import type { LmdbEngine } from '#storage/lmdb-engine.ts';
import { LmdbReader } from '#storage/lmdb-reader.ts';
import { smallDisk } from '#test/support/small-disk.ts';
import {
  knowsBucket,
  knowsType,
  Log,
  openEngine,
  person,
  personBucket,
  personType,
  put,
  temporaryDirectory,
  turnTimers,
} from './engine-fixture.ts';

const otherBucket = 9 as BucketId;
const personCount = 300;
const directions = ['out', 'in'] as const;

/** Vertices of two buckets. */
function vertex(number: number): Rid {
  return number < 200 ? person(number) : makeRid(otherBucket, number - 200);
}

type Listed = readonly (readonly [Rid, Rid])[];

/** What the lists are to hold: by direction and vertex, edges with their other ends in the order they came. */
class Expected {
  readonly #lists = { out: new Map<Rid, [Rid, Rid][]>(), in: new Map<Rid, [Rid, Rid][]>() };

  add(edge: Rid, from: Rid, to: Rid): void {
    this.#push('out', from, [edge, to]);
    this.#push('in', to, [edge, from]);
  }

  #push(direction: 'out' | 'in', at: Rid, entry: [Rid, Rid]): void {
    const list = this.#lists[direction].get(at);
    if (list === undefined) this.#lists[direction].set(at, [entry]);
    else list.push(entry);
  }

  list(direction: 'out' | 'in', at: Rid): Listed {
    return this.#lists[direction].get(at) ?? [];
  }

  remove(edge: Rid, from: Rid, to: Rid): void {
    const without = (direction: 'out' | 'in', at: Rid): void =>
      void this.#lists[direction].set(
        at,
        (this.#lists[direction].get(at) ?? []).filter(([rid]) => rid !== edge),
      );
    without('out', from);
    without('in', to);
  }

  drop(direction: 'out' | 'in', at: Rid): void {
    this.#lists[direction].delete(at);
  }

  requireIn(snapshot: StorageSnapshot): void {
    for (let number = 0; number < personCount; number += 1)
      for (const direction of directions) {
        const rid = vertex(number);
        const expected = this.list(direction, rid);
        assert.equal(snapshot.degree(rid, direction, knowsType), expected.length);
        const { edges, vertices, count } = snapshot.adjacency(rid, direction, knowsType);
        assert.equal(count, expected.length);
        for (let i = 0; i < count; i += 1) {
          assert.equal(edges[i], expected[i]?.[0]);
          assert.equal(vertices[i], expected[i]?.[1]);
        }
      }
  }
}

/** A database of which a load goes on, beside small commits. */
class Loaded {
  readonly directory: string;
  engine: LmdbEngine;
  readonly expected = new Expected();
  #nextEdge: number;
  #timers: typeof turnTimers;

  constructor(directory: string, { firstEdge = 0, timers = turnTimers } = {}) {
    this.directory = directory;
    this.#timers = timers;
    this.engine = openEngine(directory, { timers });
    this.#nextEdge = firstEdge;
  }

  get #position() {
    const { index, txId } = this.engine.applied();
    return { index: (index + 1) as LogIndex, term: 1, txId: txId + 1 };
  }

  async addPersons(): Promise<void> {
    const bulk = this.engine.bulk();
    for (let number = 0; number < personCount; number += 1) {
      const [bucket, position] =
        number < 200 ? [personBucket, number] : [otherBucket, number - 200];
      bulk.addRow(personType, bucket, position, new Map([['name', `p${number}`]]));
    }
    await bulk.flush(this.#position);
  }

  /** Every fourth edge begins at vertex 7, and none at vertices of which a third is left. */
  async load(count: number, { isFollowed = true, seed = 1, isSpread = false } = {}): Promise<void> {
    const bulk = this.engine.bulk();
    bulk.isFollowed = isFollowed;
    const knows = this.engine.shapes.forColumns(knowsType, true, []);
    const [from, to] = [new Float64Array(count), new Float64Array(count)];
    for (let i = 0; i < count; i += 1) {
      const mixed = (Math.imul(i + seed * 7919, 2654435761) >>> 8) % personCount;
      from[i] = vertex(i % 4 === 0 ? 7 : mixed - (mixed % 3));
      to[i] = vertex((mixed * 31 + i) % personCount);
    }
    // Too far from the others for packed entries.
    if (isSpread) to[0] = person(2 ** 25);
    const position = this.#nextEdge;
    const rows = { type: knowsType, bucket: knowsBucket, position, count, from, to, both: true };
    bulk.addEdgeRows(knows, { ...rows, values: [] });
    this.#nextEdge += count;
    await bulk.flush(this.#position);
    for (let i = 0; i < count; i += 1)
      this.expected.add(makeRid(knowsBucket, position + i), from[i] as Rid, to[i] as Rid);
  }

  /** By a transaction. */
  async addEdge(from: Rid, to: Rid): Promise<void> {
    const rid = makeRid(knowsBucket, this.#nextEdge);
    this.#nextEdge += 1;
    const edge = { rid, type: knowsType, from, to, both: true };
    await new Log(this.engine).commit(put(this.engine, rid, { since: 1 }, { out: from, in: to }), {
      op: 'add-edge',
      ...edge,
    });
    this.expected.add(rid, from, to);
  }

  async removeAll(at: Rid): Promise<void> {
    const edges = this.expected.list('out', at).map(([rid, to]) => ({ rid, from: at, to }));
    const back = this.expected.list('in', at).map(([rid, from]) => ({ rid, from, to: at }));
    const all = [...edges, ...back.filter(({ from }) => from !== at)];
    const operations = all.map((edge) => ({ ...edge, type: knowsType, both: true }));
    await new Log(this.engine).commit(
      ...operations.map((edge) => ({ op: 'remove-edge' as const, ...edge })),
    );
    for (const { rid, from, to } of all) this.expected.remove(rid, from, to);
  }

  async dropList(at: Rid, direction: 'out' | 'in'): Promise<void> {
    const list = { vertex: at, direction, type: knowsType };
    await new Log(this.engine).commit({ op: 'drop-list', ...list });
    this.expected.drop(direction, at);
  }

  async reopen(): Promise<void> {
    await this.engine.close();
    this.engine = openEngine(this.directory, { timers: this.#timers });
  }

  get waiting(): number {
    using snapshot = this.engine.snapshot();
    return decodeEdgeRuns(snapshot.meta(edgeRunsName)).waiting.length;
  }

  require(): void {
    using snapshot = this.engine.snapshot();
    this.expected.requireIn(snapshot);
  }
}

/** How long no run may have come before they are merged. */
const quietMs = 1_000;

/** Timers of which those that wait for quiet do not come by themselves. */
function heldTimers() {
  const held: (() => void)[] = [];
  const after = (delayMs: number, run: () => void) => {
    if (delayMs !== quietMs) return turnTimers.after(delayMs, run);
    held.push(run);
    return () => void (held.includes(run) && held.splice(held.indexOf(run), 1));
  };
  return { held, timers: { ...turnTimers, after } };
}

test('edges of a load that goes on are in their lists at once, and stay there when runs are merged', async (context) => {
  const { held, timers } = heldTimers();
  const loaded = new Loaded(temporaryDirectory(context), { timers });
  await loaded.addPersons();
  await loaded.addEdge(vertex(3), vertex(250));
  await loaded.load(33_000);
  using early = loaded.engine.snapshot();
  const before = early.degree(vertex(7), 'out', knowsType);
  await loaded.load(34_000, { seed: 2 });
  assert.equal(loaded.waiting, 2);
  loaded.require();
  assert.equal(early.degree(vertex(7), 'out', knowsType), before);
  assert.equal(early.adjacency(vertex(7), 'out', knowsType).count, before);
  early[Symbol.dispose]();

  await loaded.reopen();
  loaded.require();
  await loaded.engine.mergeEdgeRuns();
  assert.equal(loaded.waiting, 0);
  loaded.require();
  assert.equal(held.length, 0);
  await loaded.reopen();
  loaded.require();
  await loaded.engine.close();
});

test('transactions change lists while runs wait: what they leave stays when these are merged', async (context) => {
  const { timers } = heldTimers();
  const loaded = new Loaded(temporaryDirectory(context), { timers });
  await loaded.addPersons();
  await loaded.load(33_000);
  await loaded.load(100, { seed: 3 });
  await loaded.addEdge(vertex(7), vertex(299));
  await loaded.addEdge(vertex(1), vertex(2));
  await loaded.removeAll(vertex(12));
  await loaded.removeAll(vertex(250));
  await loaded.dropList(vertex(30), 'out');
  loaded.require();
  await loaded.reopen();
  loaded.require();
  await loaded.load(33_000, { seed: 4, isSpread: true });
  await loaded.removeAll(vertex(9));
  await loaded.removeAll(vertex(12));
  loaded.require();
  await loaded.engine.mergeEdgeRuns();
  assert.equal(loaded.waiting, 0);
  loaded.require();
  await loaded.load(33_000, { seed: 5 });
  await loaded.load(40_000, { seed: 6, isFollowed: false });
  assert.equal(loaded.waiting, 2);
  loaded.require();
  await loaded.engine.mergeEdgeRuns();
  loaded.require();
  await loaded.load(500, { seed: 7, isFollowed: false });
  await loaded.addEdge(vertex(9), vertex(12));
  loaded.require();
  await loaded.engine.close();
});

test('a merge that is stopped goes on where it was', async (context) => {
  const { timers } = heldTimers();
  const loaded = new Loaded(temporaryDirectory(context), { timers });
  await loaded.addPersons();
  for (let seed = 1; seed <= 3; seed += 1) await loaded.load(110_000, { seed });
  const { engine } = loaded;
  const before = engine.flushCount();
  const merging = engine.mergeEdgeRuns();
  while (engine.flushCount() === before) await turnTimers.yield();
  await loaded.reopen();
  await merging;
  assert.equal(loaded.waiting, 3);
  loaded.require();
  // The first lists are made, others are not.
  await loaded.addEdge(vertex(0), vertex(299));
  await loaded.addEdge(vertex(299), vertex(0));
  await loaded.load(33_000, { seed: 4 });
  loaded.require();
  const reader = new LmdbReader({
    directory: loaded.directory,
    labels: loaded.engine.labels,
    cacheBytes: 1024 * 1024,
    mapSizeBytes: 2 ** 30,
    readersMax: 1024,
  });
  const snapshot = reader.snapshot();
  loaded.expected.requireIn(snapshot);
  snapshot[Symbol.dispose]();
  await reader.close();
  await loaded.engine.mergeEdgeRuns();
  assert.equal(loaded.waiting, 0);
  loaded.require();
  await loaded.engine.close();
});

test('positions above 32 bits', async (context) => {
  const { timers } = heldTimers();
  const loaded = new Loaded(temporaryDirectory(context), { firstEdge: 2 ** 32 - 40_000, timers });
  await loaded.addPersons();
  await loaded.load(33_000);
  await loaded.load(33_000, { seed: 2, isSpread: true });
  await loaded.load(33_000, { seed: 3 });
  loaded.require();
  await loaded.engine.mergeEdgeRuns();
  loaded.require();
  await loaded.engine.close();
});

test('runs are merged when none has come for a while, and when there are many', async (context) => {
  const { held, timers } = heldTimers();
  const loaded = new Loaded(temporaryDirectory(context), { timers });
  await loaded.addPersons();
  await loaded.load(33_000);
  const check = held.shift() as () => void;
  await loaded.load(33_000, { seed: 2 });
  check();
  assert.equal(loaded.waiting, 2);
  held.shift()?.();
  await loaded.engine.settled();
  assert.equal(loaded.waiting, 0);
  for (let seed = 3; seed < 19; seed += 1) await loaded.load(32_768, { seed });
  await loaded.engine.settled();
  assert.equal(loaded.waiting, 0);
  loaded.require();
  await loaded.engine.close();
});

test('a load that is not followed, and the first of a log that is, go into lists at once', async (context) => {
  const loaded = new Loaded(temporaryDirectory(context));
  await loaded.addPersons();
  await loaded.load(40_000, { isFollowed: false });
  assert.equal(loaded.waiting, 0);
  loaded.require();
  await loaded.engine.close();
});

test('a load meets a full disk: it leaves whole commits, which are merged when there is space', async (context) => {
  const disk = smallDisk(context, 40 * 1024 * 1024);
  if (disk === undefined) return context.skip('no file system can be mounted here');
  const complaints = context.mock.method(console, 'error', () => {});
  const { timers } = heldTimers();
  const loaded = new Loaded(join(disk, 'database'), { timers });
  await loaded.addPersons();
  const ballast = join(disk, 'ballast');
  writeFileSync(ballast, Buffer.alloc(12 * 1024 * 1024));
  let refusal: unknown;
  for (let seed = 1; refusal === undefined && seed < 14; seed += 1)
    refusal = await loaded.load(33_000, { seed }).catch((error: unknown) => error);
  assert.ok(refusal instanceof DatabaseError);
  assert.equal(refusal.code, 'Internal');
  assert.match(refusal.message, /takes changes again when there is space.*ENOSPC/);
  assert.ok(loaded.waiting > 0);
  loaded.require();
  await loaded.engine.mergeEdgeRuns();
  loaded.require();
  rmSync(ballast);
  await loaded.addEdge(vertex(1), vertex(2)).catch(() => loaded.addEdge(vertex(1), vertex(2)));
  await loaded.engine.mergeEdgeRuns();
  assert.equal(loaded.waiting, 0);
  loaded.require();
  await loaded.reopen();
  loaded.require();
  await loaded.engine.close();
  complaints.mock.restore();
});
