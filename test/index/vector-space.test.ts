import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Value } from '#core/value/value.ts';
import { CoarseCodes } from '#index/vector/coarse-codes.ts';
import { SlotBlock } from '#index/vector/slot-block.ts';
import { newSpace, vectorForm } from '#index/vector/space.ts';
import { type VectorSettings, vectorSettings } from '#index/vector/vector-settings.ts';
import { component, definition } from './fake-catalog.ts';
import { seeded } from './seeded-work.ts';

const dimensions = 40;

function settingsOf(metadata: Readonly<Record<string, Value>>): VectorSettings {
  return vectorSettings(
    definition(1, [component('v')], {
      kind: 'LSM_VECTOR',
      metadata: new Map<string, Value>(Object.entries(metadata)),
    }),
  );
}

test('from a query a vector is as far as from a slot that holds the same', () => {
  for (const quantization of ['NONE', 'INT8', 'BINARY'])
    for (const similarity of ['EUCLIDEAN', 'COSINE', 'DOT_PRODUCT']) {
      const settings = settingsOf({ dimensions, similarity, quantization });
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

test('codes never tell of a vector that it is farther than it is, and tell it of most that are', () => {
  const random = seeded(21);
  const zero = new Float32Array(dimensions);
  const kinds: readonly (readonly [string, () => Float32Array])[] = [
    ['small', () => zero.map(() => random() - 0.5)],
    ['of many lengths', () => zero.map(() => (random() - 0.5) * 10 ** (random() * 6 - 3))],
    ['far from zero', () => zero.map(() => 1_000 + random())],
    ['with one large number', () => zero.map((_, i) => (i === 3 ? 100 : random() - 0.5))],
    ['huge', () => zero.map(() => (random() - 0.5) * 1e30)],
    ['tiny', () => zero.map(() => (random() - 0.5) * 1e-15)],
    ['zero', () => zero],
  ];
  for (const similarity of ['EUCLIDEAN', 'COSINE', 'DOT_PRODUCT'])
    for (const [name, make] of kinds) {
      const settings = settingsOf({ dimensions, similarity });
      const block = new SlotBlock({ ...vectorForm(settings), width: 3 });
      block.grow(300);
      const space = newSpace(block, settings);
      const codes = new CoarseCodes(settings);
      for (let slot = 0; slot < 300; slot += 1) {
        const vector = make();
        space.put(slot, vector);
        codes.add(vector);
      }
      let told = 0;
      for (let at = 0; at < 20; at += 1) {
        const query = at === 0 ? zero : make();
        space.setQuery(query);
        codes.setQuery(query);
        const distances = Array.from({ length: 300 }, (_, slot) => space.distance(slot));
        const limit = distances.toSorted((a, b) => a - b)[10] as number;
        codes.setLimit(limit);
        codes.weigh(Int32Array.from(distances.keys()));
        for (const [slot, distance] of distances.entries()) {
          if (!codes.isFarther(slot, slot)) continue;
          assert.ok(distance > limit, `${similarity} ${name}: ${distance} of ${limit}`);
          told += 1;
        }
      }
      if (name === 'small') assert.ok(told > 20 * 300 * 0.7, `${similarity}: ${told}`);
    }
});
