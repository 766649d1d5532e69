import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Value } from '#core/value/value.ts';
import { SlotBlock } from '#index/vector/slot-block.ts';
import { newSpace, vectorForm } from '#index/vector/space.ts';
import { vectorSettings } from '#index/vector/vector-settings.ts';
import { component, definition } from './fake-catalog.ts';

const dimensions = 40;

test('from a query a vector is as far as from a slot that holds the same', () => {
  for (const quantization of ['NONE', 'INT8', 'BINARY'])
    for (const similarity of ['EUCLIDEAN', 'COSINE', 'DOT_PRODUCT']) {
      const metadata = { dimensions, similarity, quantization };
      const settings = vectorSettings(
        definition(1, [component('v')], {
          kind: 'LSM_VECTOR',
          metadata: new Map<string, Value>(Object.entries(metadata)),
        }),
      );
      const block = new SlotBlock({ ...vectorForm(settings), width: 3 });
      block.grow(20);
      const space = newSpace(block, settings);
      const vectors = Array.from({ length: 20 }, (_, slot) =>
        Float32Array.from(
          { length: dimensions },
          (_, i) => Math.sin(slot * 7 + i * i) * (slot + 1),
        ),
      );
      for (const [slot, vector] of vectors.entries()) space.put(slot, vector);
      for (const [a, vector] of vectors.entries())
        for (let b = 0; b < vectors.length; b += 1) {
          const expected = space.between(a, b);
          const name = `${quantization} ${similarity} ${a} ${b}`;
          space.setQuery(vector);
          // A vector that is put meanwhile leaves the query as it is.
          space.put(b, vectors[b] as Float32Array);
          assert.equal(space.distance(b), expected, name);
          space.setQueryOf(a);
          assert.equal(space.distance(b), expected, name);
        }
    }
});
