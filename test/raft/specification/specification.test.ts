import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Comparison } from './comparison.ts';
import { explore, scenes } from './explore.ts';

// A few states and walks; `npm run raft` visits a million.
const bounds = { size: 3, logMax: 3, crashMax: 1, messageMax: 4, twiceMax: 1 };

test('the specification keeps its invariants', () => {
  for (const scene of Object.values(scenes)) {
    const found = explore({ ...bounds, termMax: 3, stateMax: 4000 }, scene);
    assert.equal(found.states, 4000);
  }
});

test('the core does what the specification says', () => {
  for (let seed = 1; seed <= 60; seed++) {
    const walk = new Comparison(seed);
    walk.run(4000);
    assert.ok(walk.counts.commits > 10, `seed ${seed} commits`);
  }
});
