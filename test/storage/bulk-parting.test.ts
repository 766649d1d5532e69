import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import fc from 'fast-check';
import { type LogIndex, makeRid, type Rid } from '#core/value/rid.ts';
import type { Value } from '#core/value/value.ts';
import type { BulkWriter } from '#storage/bulk/writer.ts';
import { cellKind } from '#storage/format/cell.ts';
import { EdgeColumn, numbersPerEdge, segmentBits, segmentMask } from '#storage/bulk/edge-column.ts';
import type { LmdbEngine } from '#storage/lmdb-engine.ts';
import {
  knowsBucket,
  knowsType,
  openEngine,
  person,
  personBucket,
  personType,
  temporaryDirectory,
} from './engine-fixture.ts';

// What a bulk writer holds behind a mark is forgotten, or committed later: that must leave what a writer leaves that was never
// given it, or two writers one after the other.

type Step =
  | { readonly kind: 'row'; readonly size: number }
  | { readonly kind: 'edge'; readonly from: number; readonly to: number; readonly both: boolean }
  | { readonly kind: 'run'; readonly count: number; readonly both: boolean };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('row' as const),
      size: fc.oneof(fc.nat({ max: 20 }), fc.constantFrom(150, 900, 20_000)),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('edge' as const),
      from: fc.nat({ max: 4 }),
      to: fc.nat({ max: 30 }),
      both: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('run' as const),
      count: fc.nat({ max: 200 }),
      both: fc.boolean(),
    }),
  },
);
const steps = fc.array(step, { maxLength: 150, size: 'max' });

/** Adds steps to writers, at places that follow each other. */
class Feeder {
  readonly #engine: LmdbEngine;
  #rows = 0;
  #edges = 0;

  constructor(engine: LmdbEngine) {
    this.#engine = engine;
  }

  feed(writer: BulkWriter, added: readonly Step[]): void {
    for (const each of added) {
      if (each.kind === 'row') {
        const row = new Map<string, Value>([['text', 'x'.repeat(each.size)]]);
        writer.addRow(personType, personBucket, this.#rows++, row);
      } else if (each.kind === 'edge') {
        const { both } = each;
        const [from, to] = [person(each.from), person(each.to)];
        const position = this.#edges++;
        const edge = { type: knowsType, bucket: knowsBucket, position, from, to, both };
        writer.addEdge(edge, new Map([['since', position]]));
      } else this.#run(writer, each);
    }
  }

  #run(writer: BulkWriter, { count, both }: { readonly count: number; readonly both: boolean }) {
    const shape = this.#engine.shapes.forColumns(knowsType, true, [
      { name: 'weight', kind: cellKind.number },
    ]);
    const from = Float64Array.from({ length: count }, (_, at) => person(at % 7));
    const to = Float64Array.from({ length: count }, (_, at) => person(at % 31));
    const values = Array.from(from.keys());
    const ends = { from, to, both, values };
    const place = { type: knowsType, bucket: knowsBucket, position: this.#edges, count };
    writer.addEdgeRows(shape, { ...place, ...ends });
    this.#edges += count;
  }

  get counts(): readonly [number, number] {
    return [this.#rows, this.#edges];
  }
}

function commitNumber(index: number) {
  return { index: index as LogIndex, term: 1, txId: index };
}

/** What readers see after the steps that `load` gives to writers, also after a restart. */
async function contentsAfter(
  context: TestContext,
  load: (engine: LmdbEngine, feeder: Feeder) => Promise<void>,
): Promise<unknown> {
  const directory = temporaryDirectory(context);
  const engine = openEngine(directory);
  const feeder = new Feeder(engine);
  await load(engine, feeder);
  await engine.close();
  const again = openEngine(directory);
  const seen: unknown[] = [];
  {
    using snapshot = again.snapshot();
    const [rows, edges] = feeder.counts;
    for (const [bucket, count] of [
      [personBucket, rows],
      [knowsBucket, edges],
    ] as const) {
      seen.push(snapshot.recordCount(bucket), snapshot.nextPosition(bucket));
      for (let at = 0; at < count; at += 1) {
        const record = snapshot.record(makeRid(bucket, at));
        seen.push(record && [record.version, record.out, record.in]);
        seen.push(record?.propertyNames().map((name) => [name, record.get(name)]));
      }
    }
    for (let at = 0; at < 31; at += 1)
      for (const direction of ['out', 'in'] as const) {
        const list = snapshot.adjacency(person(at), direction, knowsType);
        seen.push([[...list.edges], [...list.vertices]]);
      }
  }
  await again.close();
  return seen;
}

test('what came behind a mark is forgotten', async (context) => {
  await fc.assert(
    fc.asyncProperty(steps, steps, async (kept, forgotten) => {
      const cut = await contentsAfter(context, async (engine, feeder) => {
        const writer = engine.bulk();
        feeder.feed(writer, kept);
        const mark = writer.mark();
        const before = writer.pendingBytes;
        feeder.feed(writer, forgotten);
        writer.cutAt(mark);
        assert.equal(writer.pendingBytes, before);
        await writer.flush(commitNumber(1));
      });
      const never = await contentsAfter(context, async (engine, feeder) => {
        const writer = engine.bulk();
        feeder.feed(writer, kept);
        await writer.flush(commitNumber(1));
        feeder.feed(engine.bulk(), forgotten);
      });
      assert.deepEqual(cut, never);
    }),
    { numRuns: 30 },
  );
});

test('what came behind a mark is committed later, with what is added then', async (context) => {
  await fc.assert(
    fc.asyncProperty(steps, steps, steps, async (first, second, third) => {
      const parted = await contentsAfter(context, async (engine, feeder) => {
        const writer = engine.bulk();
        feeder.feed(writer, first);
        const mark = writer.mark();
        const before = writer.pendingBytes;
        feeder.feed(writer, second);
        const all = writer.pendingBytes;
        const rest = await writer.split(mark);
        assert.deepEqual([writer.pendingBytes, rest.pendingBytes], [before, all - before]);
        await writer.flush(commitNumber(1));
        feeder.feed(rest, third);
        await rest.flush(commitNumber(2));
      });
      const apart = await contentsAfter(context, async (engine, feeder) => {
        for (const [index, added] of [first, [...second, ...third]].entries()) {
          const writer = engine.bulk();
          feeder.feed(writer, added);
          await writer.flush(commitNumber(index + 1));
        }
      });
      assert.deepEqual(parted, apart);
    }),
    { numRuns: 30 },
  );
});

test('edges are copied across segments', () => {
  const all = new EdgeColumn();
  const count = 100_000;
  for (let n = 0; n < count; n += 1) all.add(n as Rid, (n + 0.25) as Rid, (n + 0.5) as Rid);
  for (const [held, start] of [
    [0, 0],
    [0, 32_768],
    [5, 40_001],
    [33_000, 7],
  ] as const) {
    const copy = new EdgeColumn();
    for (let n = 0; n < held; n += 1) copy.add(n as Rid, (n + 0.25) as Rid, (n + 0.5) as Rid);
    copy.addFrom(all, start);
    assert.equal(copy.count, held + count - start);
    for (let at = 0; at < copy.count; at += 1) {
      const n = at < held ? at : at - held + start;
      const segment = copy.segments[at >>> segmentBits];
      const first = (at & segmentMask) * numbersPerEdge;
      const edge = segment && [segment[first], segment[first + 1], segment[first + 2]];
      if (edge?.[0] !== n || edge[1] !== n + 0.25 || edge[2] !== n + 0.5)
        assert.deepEqual(edge, [n, n + 0.25, n + 0.5], `edge ${at}`);
    }
  }
});
