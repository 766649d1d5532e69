// Goal: a long text that makes types is compiled in turns of others both times: before its types are there and after. Method: a clock
// that goes on by three milliseconds at each look, so that each place to pause is a turn; turns are counted.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemRuntime } from '#platform/system-runtime.ts';
import { openTestDatabase } from './support/open-test-database.ts';

test('a long text is compiled in turns again when its types are there', async () => {
  let nowMs = 0;
  let turnCount = 0;
  const { clock, timers } = systemRuntime;
  const runtime = {
    ...systemRuntime,
    clock: {
      ...clock,
      monotonicMs: () => {
        nowMs += 3;
        return nowMs;
      },
    },
    timers: {
      ...timers,
      yield: () => {
        turnCount += 1;
        return timers.yield();
      },
    },
  };
  const db = await openTestDatabase({ runtime });
  try {
    const nodes = Array.from({ length: 5_000 }, (_, at) => `(:Made {k: ${at}})`).join(', ');
    const turnsOf = async (text: string): Promise<number> => {
      const before = turnCount;
      await db.run(text, {}, {}, 'cypher');
      return turnCount - before;
    };
    const twice = await turnsOf(`CREATE ${nodes}`);
    const once = await turnsOf(`CREATE ${nodes}, (:Made)`);
    // Compiled at one go, the second time would add a turn or two.
    assert.ok(once > 50 && twice > once + 20, `${twice} and ${once} turns`);
    assert.deepEqual(await db.run('SELECT count(*) AS n FROM Made'), [{ n: 10_001 }]);
  } finally {
    await db.close();
  }
});
