import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type IndexId, makeRid, type Rid } from '#core/value/rid.ts';
import type { StorageSnapshot } from '#storage/engine.ts';
import { encodeKey } from '#storage/format/ordered-key.ts';
import type { LmdbEngine } from '#storage/lmdb-engine.ts';
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
  turnTimers,
} from './engine-fixture.ts';
import { indexes } from './indexed-fixture.ts';

// A large commit lays its lists, and tells the caches of its blocks and lists, with pauses. In each pause somebody reads, which brings
// what is read into the caches; it must be the state before, and must not be found in the state after.

const vertexCount = 6_000;
/** Makes blocks of 16 rows, and commits too large for the log. */
const filler = 'x'.repeat(300);
const nameIndex = 1 as IndexId;

function edge(round: number, at: number): Rid {
  return makeRid(knowsBucket, round * vertexCount + at);
}

function neighbour(round: number, at: number): Rid {
  return person((at + round) % vertexCount);
}

function nameIn(round: number, at: number): Uint8Array {
  return encodeKey([`${round}/${at}`]);
}

/** All vertices change, and each gets another edge in place of the one it has. */
function operationsOf(engine: LmdbEngine, round: number): RowOperation[] {
  const operations: RowOperation[] = [];
  for (let at = 0; at < vertexCount; at += 1)
    operations.push(put(engine, person(at), { name: `${round}/${at}`, size: round, text: filler }));
  operations.push(put(engine, person(vertexCount + round), { size: round }));
  for (let at = 0; at < vertexCount; at += 1) {
    const from = person(at);
    const common = { type: knowsType, from, both: true };
    if (round > 0) {
      const [rid, to] = [edge(round - 1, at), neighbour(round - 1, at)];
      operations.push({ op: 'remove-edge', rid, to, ...common });
    }
    const [rid, to] = [edge(round, at), neighbour(round, at)];
    operations.push({ op: 'add-edge', rid, to, ...common });
  }
  return operations;
}

function requireRound(snapshot: StorageSnapshot, round: number, at: number): void {
  const what = `vertex ${at} in round ${round}`;
  assert.equal(snapshot.record(person(at))?.get('size'), round, what);
  assert.equal(snapshot.uniqueEntry(nameIndex, nameIn(round, at)), person(at), what);
  for (const other of [round - 1, round + 1])
    assert.equal(snapshot.uniqueEntry(nameIndex, nameIn(other, at)), undefined, what);
  const out = snapshot.adjacency(person(at), 'out', knowsType);
  assert.deepEqual([...out.edges.subarray(0, out.count)], [edge(round, at)], what);
  assert.deepEqual([...out.vertices.subarray(0, out.count)], [neighbour(round, at)], what);
  assert.equal(snapshot.degree(neighbour(round, at), 'in', knowsType), 1, what);
  assert.equal(snapshot.recordCount(personBucket), vertexCount + round + 1, what);
  assert.equal(snapshot.nextPosition(personBucket), vertexCount + round + 1, what);
  assert.equal(snapshot.entryCount(nameIndex), vertexCount, what);
}

for (const cacheBytes of [256 * 1024, 64 * 1024 * 1024])
  test(`nobody sees half of what a large commit tells ${cacheBytes / 1024} KiB of caches in turns`, async (context) => {
    let inPause = (): void => {};
    const timers = {
      ...turnTimers,
      yield: async () => {
        await turnTimers.yield();
        inPause();
      },
    };
    const directory = temporaryDirectory(context);
    const engine = openEngine(directory, { deriver: indexes, timers, cacheBytes });
    const log = new Log(engine);
    await log.commit(...operationsOf(engine, 0));
    let seed = 1;
    for (let round = 0; round < 4; round += 1) {
      const flushCount = engine.flushCount();
      const held: StorageSnapshot[] = [];
      let toldCount = 0;
      inPause = () => {
        const snapshot = engine.snapshot();
        for (let count = 0; count < 8; count += 1) {
          seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
          requireRound(snapshot, round, seed % vertexCount);
        }
        // It is durable, and the caches are being told.
        if (engine.flushCount() > flushCount) toldCount += 1;
        if (toldCount === 2) held.push(snapshot);
        else snapshot[Symbol.dispose]();
      };
      await log.commit(...operationsOf(engine, round + 1));
      inPause = () => {};
      assert.ok(toldCount > 4, `${toldCount} pauses`);
      using after = engine.snapshot();
      for (let at = 0; at < vertexCount; at += 1) requireRound(after, round + 1, at);
      for (const snapshot of held) {
        for (let at = 0; at < vertexCount; at += 97) requireRound(snapshot, round, at);
        snapshot[Symbol.dispose]();
      }
    }
    await engine.close();
  });
