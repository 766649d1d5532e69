import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Transferred } from '#cluster/consensus-port.ts';
import { forceStepDown } from '#cluster/replication/forced-step-down.ts';
import { ManualRuntime, settle } from '../../database/support/manual-runtime.ts';

// A leader that cannot apply what is committed gives the lead away (contract 3, HA settings; ha.md 5.13).

function stepDown(outcomes: readonly (Transferred | Error)[]) {
  const runtime = new ManualRuntime();
  const seen = { attempts: 0, told: 0, isNeeded: true, isDone: false };
  void forceStepDown({
    transfer: async () => {
      const outcome = outcomes[Math.min(seen.attempts, outcomes.length - 1)];
      seen.attempts += 1;
      if (outcome === undefined || outcome instanceof Error) throw outcome;
      return outcome;
    },
    isNeeded: () => seen.isNeeded,
    failed: () => {
      seen.told += 1;
    },
    timers: runtime.timers,
  }).then(() => {
    seen.isDone = true;
  });
  return { runtime, seen };
}

const refused: Transferred = { kind: 'refused', reason: 'no-eligible-peer' };

test('the lead is handed over, at once or at a later attempt', async () => {
  const atOnce = stepDown([{ kind: 'transferred', leader: 'b' }]);
  await settle();
  assert.deepEqual(atOnce.seen, { attempts: 1, told: 0, isNeeded: true, isDone: true });
  const later = stepDown([refused, new Error('cut'), { kind: 'transferred', leader: 'b' }]);
  await later.runtime.advance(1000);
  assert.deepEqual(later.seen, { attempts: 3, told: 0, isNeeded: true, isDone: true });
});

test('after three attempts an operator is told once a minute, as long as it is so', async () => {
  const { runtime, seen } = stepDown([refused]);
  await runtime.advance(999);
  assert.deepEqual([seen.attempts, seen.told], [2, 0]);
  await runtime.advance(1);
  assert.deepEqual([seen.attempts, seen.told], [3, 1]);
  await runtime.advance(120_000);
  assert.deepEqual([seen.attempts, seen.told, seen.isDone], [3, 3, false]);
  seen.isNeeded = false;
  await runtime.advance(60_000);
  assert.deepEqual([seen.attempts, seen.told, seen.isDone], [3, 3, true]);
  assert.equal(runtime.timerCount, 0);
});
