import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runAttack } from './attack-loop.ts';
import { Failures } from './failures.ts';

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

test('a server that fails by itself is told of, whatever the status; conflicts and stops are not', () => {
  const failures = new Failures();
  const judge = (exception: string, detail: string) =>
    failures.judge({
      request: '503 for POST /command/d',
      sent: 'S',
      answer: { exception, detail },
    });
  judge('ConcurrentModificationException', 'record #1:0 was changed');
  judge('ServerNotOnlineException', 'the server is stopping');
  assert.deepEqual(failures.take(), []);
  judge('ServerBusyException', "database 'd' takes no changes while the disk is full");
  judge('InternalException', 'it takes no more changes until it is opened again');
  judge('CommandExecutionException', 'row 7 is odd');
  assert.deepEqual(failures.take(), [
    '503 for POST /command/d "S": {"exception":"ServerBusyException","detail":"database \'d\' takes no changes while the disk is full"}, and 2 more such failures',
  ]);
  judge('TransactionException', 'assertion failed: a block has 65,535 rows at most');
  assert.match(failures.take().join(), /^503 for POST .*assertion failed/);
  failures.judge({ request: 'insert stream', answer: undefined });
  assert.equal(failures.take().length, 1);
});
