import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { makeRid, type Rid } from '#core/value/rid.ts';
import type { LmdbEngine } from '#storage/lmdb-engine.ts';
import type { RowOperation } from '#storage/format/row-operations.ts';
import {
  knowsBucket,
  knowsType,
  Log,
  openEngine,
  person,
  temporaryDirectory,
} from './engine-fixture.ts';

// The edges of one vertex over several chunks, changed many at a time: what stays keeps its order, what comes stands behind.

const hub = person(0);

function edge(at: number): Rid {
  return makeRid(knowsBucket, at);
}

function change(op: 'add-edge' | 'remove-edge', at: number, to: number): RowOperation {
  return { op, rid: edge(at), type: knowsType, from: hub, to: person(to), both: true };
}

/** Edge by edge, with the other end, from both sides. */
function listed(engine: LmdbEngine): [number, number][] {
  using snapshot = engine.snapshot();
  const { count, edges, vertices } = snapshot.adjacency(hub, 'out', knowsType);
  assert.equal(snapshot.degree(hub, 'out', knowsType), count);
  const found: [number, number][] = [];
  for (let at = 0; at < count; at += 1) {
    const [rid, other] = [edges[at] as Rid, vertices[at] as Rid];
    const back = snapshot.adjacency(other, 'in', knowsType);
    const place = back.edges.subarray(0, back.count).indexOf(rid);
    assert.equal(back.vertices[place], hub);
    found.push([rid - edge(0), other - person(0)]);
  }
  return found;
}

const step = fc.record({
  what: fc.constantFrom('remove', 'repoint', 'add', 'add and remove', 'remove what is not there'),
  seed: fc.nat(),
});

test('edges of a vertex with many are removed, re-pointed and added by one commit', async (context) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(step, { maxLength: 600 }), { maxLength: 3 }),
      async (commits) => {
        const directory = temporaryDirectory(context);
        let engine = openEngine(directory);
        let log = new Log(engine);
        const model = new Map<number, number>();
        const first = Array.from({ length: 1000 }, (_, at) => at);
        for (const at of first) model.set(at, 1 + (at % 50));
        await log.commit(...first.map((at) => change('add-edge', at, 1 + (at % 50))));
        let fresh = 1000;
        for (const steps of commits) {
          const operations: RowOperation[] = [];
          for (const { what, seed } of steps) {
            const known = [...model.keys()];
            const at = known[seed % Math.max(1, known.length)];
            const to = 1 + (seed % 70);
            if (what === 'add' || what === 'add and remove') {
              operations.push(change('add-edge', fresh, to));
              if (what === 'add') model.set(fresh, to);
              else operations.push(change('remove-edge', fresh, to));
              fresh += 1;
            } else if (what === 'remove what is not there')
              operations.push(change('remove-edge', 50_000 + (seed % 1000), to));
            else if (at !== undefined) {
              operations.push(change('remove-edge', at, model.get(at) as number));
              model.delete(at);
              if (what === 'remove') continue;
              operations.push(change('add-edge', at, to));
              model.set(at, to);
            }
          }
          await log.commit(...operations);
          assert.deepEqual(listed(engine), [...model]);
        }
        await engine.close();
        engine = openEngine(directory);
        log = new Log(engine);
        assert.deepEqual(listed(engine), [...model]);
        await log.commit(...[...model].map(([at, to]) => change('remove-edge', at, to)));
        assert.deepEqual(listed(engine), []);
        await engine.close();
      },
    ),
    { numRuns: 8 },
  );
});
