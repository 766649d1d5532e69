import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noFaults, optionsOf } from './simulation/options.ts';
import { Simulation } from './simulation/simulation.ts';

test('a healthy group elects one leader and commits', () => {
  const simulation = new Simulation({ ...optionsOf(1), voters: 3, faults: noFaults });
  assert.ok(simulation.run());
  assert.equal(simulation.oracle.elections, 1);
});

test('groups keep every invariant under faults, make progress, and converge', () => {
  for (let seed = 1; seed <= 40; seed++) {
    try {
      new Simulation(optionsOf(seed)).run();
    } catch (error) {
      throw new Error(`seed ${seed}`, { cause: error });
    }
  }
});

test('servers that apply a long log again behind a power cut, piece by piece, go on', () => {
  // A leader that is not ready for 900 ticks: nothing new is written meanwhile, and nobody stands still.
  new Simulation(optionsOf(910_110_870)).run();
});

test('equal seeds give equal runs', () => {
  for (const seed of [2, 3, 5]) {
    const hashes = [1, 2].map(() => {
      const simulation = new Simulation(optionsOf(seed));
      simulation.run();
      return simulation.oracle.hash;
    });
    assert.equal(hashes[0], hashes[1], `seed ${seed}`);
  }
});
