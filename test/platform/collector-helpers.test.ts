import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collectWithoutHelpers } from '#platform/collector-helpers.ts';

test('helpers of the collector are left out where cores are few, and there only', () => {
  assert.equal(collectWithoutHelpers(2), true);
  assert.equal(collectWithoutHelpers(3), true);
  assert.equal(collectWithoutHelpers(4), false);
  assert.equal(collectWithoutHelpers(16), false);
});
