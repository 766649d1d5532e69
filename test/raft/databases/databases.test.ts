import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DatabaseSimulation, databaseOptionsOf } from './simulation.ts';

test('real databases keep what they acknowledged, and are equal, whatever happens to servers and links', async () => {
  // Whose leaders change often, and whose clients are told that nobody knows.
  for (const seed of [18, 23]) {
    try {
      assert.ok(await new DatabaseSimulation(databaseOptionsOf(seed), 'lmdb').runAll());
      assert.ok(await new DatabaseSimulation(databaseOptionsOf(seed), 'memory').runAll());
    } catch (error) {
      throw new Error(`seed ${seed}`, { cause: error });
    }
  }
});

test('equal seeds give equal runs of real databases', async () => {
  for (const below of ['lmdb', 'memory'] as const) {
    const hashes: number[] = [];
    for (let n = 0; n < 2; n++) {
      const simulation = new DatabaseSimulation(databaseOptionsOf(16), below);
      await simulation.runAll();
      hashes.push(simulation.oracle.hash);
    }
    assert.equal(hashes[0], hashes[1], below);
  }
});
