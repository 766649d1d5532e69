import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BucketId, LogIndex, TypeId } from '#core/value/rid.ts';
import { makeRid } from '#core/value/rid.ts';
import { AdjacencyCache } from '#storage/read/adjacency-cache.ts';

const knows = 1 as TypeId;
const vertex = (position: number) => makeRid(3 as BucketId, position);
const list = {
  count: 10,
  edges: new Float64Array(10),
  vertices: new Float64Array(10),
  since: 0 as LogIndex,
};
const listBytes = 480;

/** A list that was not there is asked for. @returns whether it was let in */
function ask(cache: AdjacencyCache, position: number): boolean {
  const isLetIn = cache.admits(vertex(position), 'out', knows);
  if (isLetIn) cache.put(vertex(position), 'out', knows, list);
  return isLetIn;
}

test('whoever goes once through all lists leaves a full cache as it was', () => {
  const cache = new AdjacencyCache(100 * listBytes);
  for (let at = 0; at < 50; at += 1) assert.ok(ask(cache, at));
  for (let at = 50; at < 50_000; at += 1) ask(cache, at);
  assert.ok(cache.bytes <= 100 * listBytes);
  for (let at = 0; at < 50; at += 1)
    assert.equal(cache.get(vertex(at), 'out', knows), list, `list ${at}`);
  assert.equal(cache.get(vertex(49_999), 'out', knows), undefined);
});

test('a full cache lets in what is asked for twice, and gives up the oldest for it', () => {
  const cache = new AdjacencyCache(100 * listBytes);
  for (let at = 0; at < 100; at += 1) ask(cache, at);
  for (let at = 1_000; at < 1_200; at += 1) assert.ok(!ask(cache, at));
  for (let at = 1_000; at < 1_200; at += 1) assert.ok(ask(cache, at));
  assert.equal(cache.get(vertex(0), 'out', knows), undefined);
  assert.equal(cache.get(vertex(1_199), 'out', knows), list);
  assert.ok(cache.bytes <= 100 * listBytes);
});

test('a cache may ask for the second time even while it has room', () => {
  const cache = new AdjacencyCache(100 * listBytes, false);
  assert.ok(!ask(cache, 1));
  assert.equal(cache.bytes, 0);
  assert.ok(ask(cache, 1));
  assert.equal(cache.get(vertex(1), 'out', knows), list);
});
