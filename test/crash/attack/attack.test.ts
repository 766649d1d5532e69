import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runAttack } from './attack-loop.ts';

// The long form is `npm run crash:attack`; this keeps the loop and its scenarios working.
test('every kind of work survives SIGTERM with SIGKILL after it', async () => {
  const outcome = await runAttack({
    rounds: 1,
    seed: 3,
    names: ['schema', 'streams', 'scripts', 'derived', 'principals', 'repeats'],
    endings: ['stopThenKill'],
    lifetimeMsMin: 150,
    lifetimeMsMax: 300,
    report: () => {},
  });
  assert.deepEqual(outcome.violations, []);
  assert.equal(outcome.rounds, 1);
});
