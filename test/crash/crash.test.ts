import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runKillLoop } from './kill-loop.ts';

// The long form, 200 kills and more, is `npm run crash`; this keeps the loop itself working.
test('what was acknowledged survives SIGKILL under mixed load', async () => {
  const outcome = await runKillLoop({
    kills: 2,
    seed: 7,
    clients: 6,
    lifetimeMsMin: 200,
    lifetimeMsMax: 400,
    report: () => {},
  });
  assert.deepEqual(outcome.violations, []);
  assert.ok(outcome.itemCount > 0 && outcome.increments > 0, 'the load wrote something');
});
