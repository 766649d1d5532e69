import { test } from 'node:test';
import { noFaults, SimulatedCluster, someFaults } from './support/simulated-cluster.ts';

test('a healthy group elects one leader and commits', () => {
  const cluster = new SimulatedCluster(1, 3, noFaults);
  cluster.run(200);
  cluster.settle();
});

test('groups of three and five keep every invariant under faults', () => {
  for (let seed = 1; seed <= 40; seed++) {
    const cluster = new SimulatedCluster(seed, seed % 2 === 0 ? 3 : 5, someFaults);
    try {
      cluster.run(1500);
      cluster.settle();
    } catch (error) {
      throw new Error(`seed ${seed}`, { cause: error });
    }
  }
});
