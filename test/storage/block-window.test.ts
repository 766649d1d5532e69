import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Block } from '#storage/format/block.ts';
import { BlockWindow } from '#storage/read/block-window.ts';
import { ListMemory, ListWindow } from '#storage/read/list-memory.ts';
import {
  Log,
  openEngine,
  person,
  personBucket,
  put,
  temporaryDirectory,
} from './engine-fixture.ts';

const blockCountWanted = 24;

test('a scan past a full cache reads its blocks into one piece of memory', async (context) => {
  await using engine = await engineWithBlocks(temporaryDirectory(context));
  using snapshot = engine.snapshot();
  const window = new BlockWindow();
  const memory = new Set<unknown>();
  let rowCount = 0;
  for (let number = 0; number < snapshot.blockCount(personBucket); number += 1) {
    const block = snapshot.passingBlock(personBucket, number, window) as Block;
    rowCount += block.rowCount;
    if (number > 0) memory.add(block.bytes);
  }
  assert.equal(rowCount, blockCountWanted * 64);
  assert.equal(memory.size, 1);
});

test('records of blocks that a scan has left keep their values', async (context) => {
  await using engine = await engineWithBlocks(temporaryDirectory(context));
  using snapshot = engine.snapshot();
  const window = new BlockWindow();
  const records = [];
  for (let number = 0; number < snapshot.blockCount(personBucket); number += 1) {
    const block = snapshot.passingBlock(personBucket, number, window) as Block;
    records.push(snapshot.recordAt(block, number));
  }
  assert.deepEqual(
    records.map((record) => record.get('text')),
    records.map((_, number) => textOf(number * 64 + number)),
  );
});

test('records read at random past a full cache are those that were written', async (context) => {
  await using engine = await engineWithBlocks(temporaryDirectory(context));
  using snapshot = engine.snapshot();
  const positions = Array.from(
    { length: 2 * blockCountWanted * 64 },
    (_, at) => (at * 7919) % (blockCountWanted * 64),
  );
  const records = positions.map((position) => snapshot.record(person(position)));
  assert.deepEqual(
    records.map((record) => record?.get('text')),
    positions.map(textOf),
  );
  assert.equal(snapshot.record(person(blockCountWanted * 64)), undefined);
});

test('edges that several lists keep in one piece of memory stay apart', () => {
  const memory = new ListMemory();
  const lists = [3, 0, 500, 20_000, 5000, 5000, 5000, 7].map((count, number) => {
    const list = memory.take(count);
    list.edges.fill(number);
    list.vertices.fill(-number);
    return { ...list, count, number };
  });
  for (const { edges, vertices, count, number } of lists) {
    assert.deepEqual([edges.length, vertices.length], [count, count]);
    assert.ok(edges.every((edge) => edge === number));
    assert.ok(vertices.every((vertex) => vertex === -number));
  }
});

test('lists of a walk take the place of the one before, however their lengths change', () => {
  const window = new ListWindow();
  const taken = [3, 500, 20, 4096, 1].map((count) => window.take(count));
  assert.deepEqual(
    taken.map(({ edges, vertices }) => [edges.length, vertices.length]),
    [3, 500, 20, 4096, 1].map((count) => [count, count]),
  );
  const buffers = taken.map(({ edges }) => edges.buffer);
  assert.equal(buffers[2], buffers[1]);
  assert.equal(buffers[4], buffers[3]);
  const { edges, vertices } = window.take(5);
  edges.fill(1);
  vertices.fill(2);
  assert.deepEqual([...edges, ...vertices], [1, 1, 1, 1, 1, 2, 2, 2, 2, 2]);
  assert.notEqual(window.take(4097).edges.buffer, buffers[4], 'a long one has memory of its own');
});

function textOf(position: number): string {
  return `${'x'.repeat(60)} ${position}`;
}

async function engineWithBlocks(directory: string) {
  const engine = openEngine(directory, { cacheBytes: 64 * 1024 });
  const log = new Log(engine);
  for (let number = 0; number < blockCountWanted; number += 1)
    await log.commit(
      ...Array.from({ length: 64 }, (_, slot) =>
        put(engine, person(number * 64 + slot), { text: textOf(number * 64 + slot) }),
      ),
    );
  await engine.close();
  const again = openEngine(directory, { cacheBytes: 64 * 1024 });
  return Object.assign(again, { [Symbol.asyncDispose]: () => again.close() });
}
