import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { open, scenarios } from './scenarios.ts';

/** The ids of ha-testing.md 10: letters and how many. */
const counts: Readonly<Record<string, number>> = {
  F: 9,
  R: 2,
  U: 1,
  M: 7,
  S: 7,
  B: 5,
  D: 3,
  C: 3,
  H: 6,
  T: 3,
  K: 2,
  V: 2,
  Q: 1,
  P: 1,
  L: 1,
  X: 1,
};

test('each scenario is shown by tests that are there, or is said to be open', () => {
  const ids = Object.entries(counts).flatMap(([letter, count]) =>
    Array.from({ length: count }, (_, at) => `${letter}${at + 1}`),
  );
  assert.deepEqual([...Object.keys(scenarios), ...Object.keys(open)].sort(), ids.sort());
  for (const [id, tests] of Object.entries(scenarios))
    for (const { file, title } of tests) {
      const text = readFileSync(join(import.meta.dirname, '..', file), 'utf8');
      const isThere = ["test('", 'test(`'].some((begin) => text.includes(begin + title));
      assert.ok(isThere, `${id}: '${title}' is no test of ${file}`);
    }
});
