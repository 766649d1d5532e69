import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { bucketOf, makeRid, type Rid } from '#core/value/rid.ts';
import type { Value } from '#core/value/value.ts';
import type { StorageSnapshot } from '#storage/engine.ts';
import type { LmdbEngine } from '#storage/lmdb-engine.ts';
import type { LmdbEngineOptions } from '#storage/lmdb-options.ts';
import type { RowOperation } from '#storage/format/row-operations.ts';
import {
  knowsBucket,
  knowsType,
  Log,
  openEngine,
  person,
  personBucket,
  put,
  temporaryDirectory,
} from './engine-fixture.ts';

// The engine against a model of plain maps: random commits, several per group, with snapshots held over them, small caches
// and reopening in between. What a snapshot shows must equal the model as it was when the snapshot was taken.

interface Edge {
  readonly from: Rid;
  readonly to: Rid;
}

interface Model {
  readonly rows: Map<Rid, Map<string, Value>>;
  readonly edges: Map<Rid, Edge>;
}

type Command =
  | { readonly kind: 'put'; readonly at: number; readonly size: number; readonly value: number }
  | { readonly kind: 'delete'; readonly at: number }
  | { readonly kind: 'connect'; readonly from: number; readonly to: number }
  | { readonly kind: 'disconnect'; readonly at: number }
  | { readonly kind: 'commit' }
  | { readonly kind: 'wait' }
  | { readonly kind: 'snapshot' }
  | { readonly kind: 'checkpoint' }
  | { readonly kind: 'reopen' };

const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('put' as const),
      at: fc.nat({ max: 150 }),
      size: fc.oneof(fc.nat({ max: 30 }), fc.nat({ max: 400 }), fc.nat({ max: 3000 })),
      value: fc.integer(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('delete' as const), at: fc.nat({ max: 150 }) }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('connect' as const),
      from: fc.nat({ max: 5 }),
      to: fc.nat({ max: 150 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('disconnect' as const), at: fc.nat({ max: 60 }) }),
  },
  { weight: 6, arbitrary: fc.constant({ kind: 'commit' as const }) },
  { weight: 2, arbitrary: fc.constant({ kind: 'wait' as const }) },
  { weight: 2, arbitrary: fc.constant({ kind: 'snapshot' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'checkpoint' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'reopen' as const }) },
);

/** Runs commands on an engine and a model side by side. */
class Run {
  readonly #directory: string;
  readonly #options: Partial<LmdbEngineOptions>;
  #engine: LmdbEngine;
  #log: Log;
  readonly #model: Model = { rows: new Map(), edges: new Map() };
  #pending: RowOperation[] = [];
  #inFlight: Promise<void>[] = [];
  #nextEdge = 0;
  #held: { readonly snapshot: StorageSnapshot; readonly model: Model }[] = [];

  constructor(directory: string, durability: 'log' | 'commit') {
    this.#directory = directory;
    this.#options = { cacheBytes: 40_000, durability };
    this.#engine = openEngine(directory, this.#options);
    this.#log = new Log(this.#engine);
  }

  async step(command: Command): Promise<void> {
    switch (command.kind) {
      case 'put':
        this.#put(person(command.at), command.size, command.value);
        return;
      case 'delete':
        this.#delete(person(command.at));
        return;
      case 'connect':
        this.#connect(person(command.from), person(command.to));
        return;
      case 'disconnect':
        this.#disconnect([...this.#model.edges.keys()][command.at]);
        return;
      case 'commit':
        this.#commit();
        return;
      case 'wait':
        await this.#settle();
        return;
      case 'snapshot':
        await this.#settle();
        this.#hold();
        return;
      case 'checkpoint':
        await this.#engine.settled();
        return;
      case 'reopen':
        await this.#reopen();
    }
  }

  async end(): Promise<void> {
    await this.#settle();
    this.#hold();
    this.#checkHeld();
    this.#releaseHeld();
    await this.#engine.close();
  }

  #put(rid: Rid, size: number, value: number): void {
    const properties = new Map<string, Value>([
      ['value', value],
      ['text', 'x'.repeat(size)],
      ['more', size % 7 === 0 ? 'y'.repeat(size) : null],
    ]);
    this.#model.rows.set(rid, properties);
    this.#pending.push(put(this.#engine, rid, properties));
  }

  #delete(rid: Rid): void {
    if (!this.#model.rows.delete(rid)) return;
    this.#pending.push({ op: 'delete-row', rid });
  }

  #connect(from: Rid, to: Rid): void {
    const rid = makeRid(knowsBucket, this.#nextEdge++);
    this.#model.edges.set(rid, { from, to });
    this.#model.rows.set(rid, new Map());
    this.#pending.push(put(this.#engine, rid, {}, { out: from, in: to }), {
      op: 'add-edge',
      rid,
      type: knowsType,
      from,
      to,
      both: true,
    });
  }

  #disconnect(rid: Rid | undefined): void {
    const edge = rid === undefined ? undefined : this.#model.edges.get(rid);
    if (rid === undefined || edge === undefined) return;
    this.#model.edges.delete(rid);
    this.#model.rows.delete(rid);
    this.#pending.push(
      { op: 'delete-row', rid },
      { op: 'remove-edge', rid, type: knowsType, ...edge, both: true },
    );
  }

  #commit(): void {
    if (this.#pending.length === 0) return;
    this.#inFlight.push(this.#log.commit(...this.#pending));
    this.#pending = [];
  }

  async #settle(): Promise<void> {
    this.#commit();
    await Promise.all(this.#inFlight);
    this.#inFlight = [];
  }

  #hold(): void {
    const model = { rows: new Map(this.#model.rows), edges: new Map(this.#model.edges) };
    this.#held.push({ snapshot: this.#engine.snapshot(), model });
    if (this.#held.length <= 3) return;
    const oldest = this.#held.shift();
    if (oldest === undefined) return;
    checkSnapshot(oldest.snapshot, oldest.model);
    oldest.snapshot[Symbol.dispose]();
  }

  async #reopen(): Promise<void> {
    await this.#settle();
    this.#checkHeld();
    this.#releaseHeld();
    await this.#engine.close();
    this.#engine = openEngine(this.#directory, this.#options);
    this.#log = new Log(this.#engine);
  }

  #checkHeld(): void {
    for (const { snapshot, model } of this.#held) checkSnapshot(snapshot, model);
  }

  #releaseHeld(): void {
    for (const { snapshot } of this.#held) snapshot[Symbol.dispose]();
    this.#held = [];
  }
}

function checkSnapshot(snapshot: StorageSnapshot, model: Model): void {
  for (const bucket of [personBucket, knowsBucket]) {
    const expected = [...model.rows.keys()].filter((rid) => bucketOf(rid) === bucket);
    assert.equal(snapshot.recordCount(bucket), expected.length);
    const scanned: Rid[] = [];
    for (let number = 0; number < snapshot.blockCount(bucket); number++) {
      const block = snapshot.block(bucket, number);
      if (block === undefined) continue;
      for (let slot = block.nextSlot(0); slot >= 0; slot = block.nextSlot(slot + 1)) {
        const record = snapshot.recordAt(block, slot);
        const properties = new Map(record.propertyNames().map((n) => [n, record.get(n)]));
        assert.deepEqual(properties, model.rows.get(record.rid));
        scanned.push(record.rid);
      }
    }
    assert.deepEqual(
      scanned,
      expected.sort((a, b) => a - b),
    );
  }
  for (let position = 0; position < 151; position += 10) {
    const rid = person(position);
    assert.equal(snapshot.record(rid)?.get('value'), model.rows.get(rid)?.get('value'));
  }
  for (let position = 0; position <= 6; position++) {
    const vertex = person(position);
    const out = [...model.edges].filter(([, edge]) => edge.from === vertex);
    const list = snapshot.adjacency(vertex, 'out', knowsType);
    assert.deepEqual(
      [...list.edges],
      out.map(([rid]) => rid),
    );
    assert.deepEqual(
      [...list.vertices],
      out.map(([, edge]) => edge.to),
    );
    assert.equal(snapshot.degree(vertex, 'out', knowsType), out.length);
    const incoming = [...model.edges].filter(([, edge]) => edge.to === vertex);
    assert.deepEqual(
      [...snapshot.adjacency(vertex, 'in', knowsType).edges],
      incoming.map(([rid]) => rid),
    );
  }
}

for (const durability of ['log', 'commit'] as const) {
  test(`snapshots show what was committed when they were taken, durable by ${durability}`, async (context) => {
    const commands = fc.array(command, { minLength: 5, maxLength: 60, size: 'max' });
    await fc.assert(
      fc.asyncProperty(commands, async (history) => {
        const run = new Run(temporaryDirectory(context), durability);
        for (const step of history) await run.step(step);
        await run.end();
      }),
      { numRuns: Number(process.env['RUNS'] ?? 20) },
    );
  });
}

test('the edges of a vertex fill many chunks and stay in order when some go', async (context) => {
  const engine = openEngine(temporaryDirectory(context));
  const log = new Log(engine);
  const edges: Rid[] = [];
  const add: RowOperation[] = [];
  for (let i = 0; i < 1500; i++) {
    // Some positions need five bytes, so that chunks of both widths follow each other.
    const rid = makeRid(knowsBucket, i % 400 < 390 ? i : 2 ** 33 + i);
    edges.push(rid);
    add.push({ op: 'add-edge', rid, type: knowsType, from: person(0), to: person(i), both: true });
  }
  await log.commit(...add);
  const list = () => {
    using snapshot = engine.snapshot();
    return [...snapshot.adjacency(person(0), 'out', knowsType).edges];
  };
  assert.deepEqual(list(), edges);
  const gone = new Set(edges.filter((_, i) => i % 3 === 0 || (i > 300 && i < 900) || i > 1400));
  const remove = edges.flatMap((rid, i): RowOperation[] =>
    gone.has(rid)
      ? [{ op: 'remove-edge', rid, type: knowsType, from: person(0), to: person(i), both: true }]
      : [],
  );
  await log.commit(...remove);
  const left = edges.filter((rid) => !gone.has(rid));
  assert.deepEqual(list(), left);
  await engine.close();
});
