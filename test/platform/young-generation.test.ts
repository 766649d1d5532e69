import assert from 'node:assert/strict';
import { test } from 'node:test';
import { youngGenerationOptions } from '#platform/young-generation.ts';

const both = ['--max-semi-space-size=4', '--v8-pool-size=1'];

test('where cores are few the young generation is small and one thread helps to collect it', () => {
  for (const cores of [1, 2, 3]) assert.deepEqual(youngGenerationOptions('', [], cores), both);
  for (const cores of [4, 16]) assert.deepEqual(youngGenerationOptions('', [], cores), []);
});

test('what somebody has chosen stays', () => {
  const [small, helper] = both;
  assert.deepEqual(youngGenerationOptions('--max-semi-space-size=32', [], 2), [helper]);
  assert.deepEqual(youngGenerationOptions('', ['--max_semi_space_size=1'], 2), [helper]);
  assert.deepEqual(youngGenerationOptions('--v8-pool-size=4', ['--expose-gc'], 2), [small]);
  assert.deepEqual(youngGenerationOptions('--max-old-space-size=300', [], 2), both);
});
