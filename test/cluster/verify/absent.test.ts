import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeEntry, entryKind } from '#cluster/replication/entry-codec.ts';
import { ApplyLoop } from '#cluster/replication/apply-loop.ts';
import { DatabaseVerifier } from '#cluster/verify/database-verifier.ts';
import { silentLog } from '#core/log.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import type { Entry } from '#raft/vocabulary.ts';

function verifierWithoutCopies(): DatabaseVerifier {
  return new DatabaseVerifier({
    member: () => undefined,
    proposer: () => assert.fail('nothing is proposed'),
    view: () => assert.fail('nothing is looked at'),
    runtime: systemRuntime,
    log: silentLog,
  });
}

test('a mark of a database that is being fetched is answered as such at once, not waited for', async () => {
  const verifier = verifierWithoutCopies();
  const uuid = '0f9c1d2e-3a4b-4c5d-8e6f-708192a3b4c5';
  const mark = Buffer.from(JSON.stringify({ verifyId: 'v1' }));
  const data = encodeEntry({
    kind: entryKind.verifyMark,
    database: uuid,
    txId: 0,
    wallTimeMs: 0,
    body: mark,
  });
  const entry: Entry = { index: 1, term: 1, kind: 'normal', data };
  let deliver: (entries: readonly Entry[]) => Promise<void> = () => assert.fail('not started');
  const loop = new ApplyLoop({
    port: {
      deliver: (_, to) => {
        deliver = async (entries) => to(entries);
      },
      compactTo() {},
    },
    server: { checkpointed: () => 0, applied: () => 0 } as never,
    seatOf: async () => undefined,
    committed: () => undefined,
    marked: (seat, _, body) => {
      assert.equal(seat, undefined);
      verifier.absent(body);
    },
    remotely: () => assert.fail('nobody waits'),
    flush: async () => {},
    timers: systemRuntime.timers,
    log: silentLog,
  });
  loop.start();
  await deliver([entry]);
  assert.throws(() => verifier.result('v1'), { code: 'DatabaseInstalling' });
});

test('marks of the comparisons that nobody asked for need no answer', () => {
  const verifier = verifierWithoutCopies();
  verifier.absent(Buffer.from(JSON.stringify({ check: 'c1', whole: true })));
  assert.equal(verifier.result('c1'), undefined);
});
