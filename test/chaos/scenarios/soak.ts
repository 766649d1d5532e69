import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCell } from '../cell.ts';

// All kinds of faults for long (ha-testing.md 10 X1): eight hours with `MINUTES=480`. A short one shows that it would be seen.

const seed = Number(process.env['SEED'] ?? 1);
const minutes = Number(process.env['MINUTES'] ?? 4);

test(`X1: ${minutes} minutes of kills, pauses and cuts: servers become equal, give back descriptors and memory (seed ${seed})`, async (context) => {
  const found = await runCell({
    nemesis: 'combined',
    workload: 'bank',
    seconds: minutes * 60,
    seed,
    clients: 4,
    say: () => {},
  });
  assert.deepEqual(found.problems, []);
  const { grownMegabytes, leaderChanges, counts } = found;
  context.diagnostic(`${JSON.stringify({ leaderChanges, grownMegabytes, ...counts })}`);
});
