import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LateMap } from '#core/value/late-map.ts';
import type { StoredRecord } from '#core/value/record.ts';
import type { Value } from '#core/value/value.ts';
import { approximateBytes } from '#query/evaluate/turns/held-bytes.ts';
import { byteEstimateOf } from '#query/evaluate/turns/value-size.ts';

/** A map whose `v` is late, and how often it was read. */
function withLate() {
  let reads = 0;
  const get = (name: string): Value => {
    reads += 1;
    return `${name} of the record`;
  };
  const map = new LateMap({ get } as unknown as StoredRecord, 'v', 100);
  map.set('a', 1);
  map.setLate();
  map.set('z', 2);
  return { map, reads: () => reads };
}

const whole = [
  ['a', 1],
  ['v', 'v of the record'],
  ['z', 2],
];

test('whoever looks at the late value reads it, once, in its place', () => {
  const looks: Record<string, (map: LateMap) => unknown> = {
    entries: (map) => [...map.entries()],
    iterator: (map) => [...map],
    copy: (map) => [...new Map(map)],
    values: (map) => [...map.values()].map((value, i) => [whole[i]?.[0], value]),
    forEach: (map) => {
      const found: unknown[] = [];
      map.forEach((value, key) => void found.push([key, value]));
      return found;
    },
    get: (map) => ['a', 'v', 'z'].map((key) => [key, map.get(key)]),
  };
  for (const [name, look] of Object.entries(looks)) {
    const { map, reads } = withLate();
    assert.deepEqual(look(map), whole, name);
    assert.deepEqual(look(map), whole, name);
    assert.equal(reads(), 1, name);
    assert.equal(map.isLate('v'), false);
  }
});

test('who looks at the others does not read it', () => {
  const { map, reads } = withLate();
  assert.equal(map.get('a'), 1);
  assert.equal(map.size, 3);
  assert.ok(map.has('v'));
  assert.deepEqual([...map.keys()], ['a', 'v', 'z']);
  assert.equal(reads(), 0);
  map.set('v', 7);
  assert.equal(map.get('v'), 7);
  assert.equal(reads(), 0);
});

test('who asks what a row takes in memory does not read the late value', () => {
  for (const measure of [approximateBytes, byteEstimateOf]) {
    const { map, reads } = withLate();
    assert.ok(measure(map) > map.lateBytes);
    assert.equal(reads(), 0);
  }
});
