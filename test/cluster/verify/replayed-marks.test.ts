import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApplyLoop } from '#cluster/replication/apply-loop.ts';
import { DatabaseSeat } from '#cluster/replication/database-seat.ts';
import { encodeEntry, entryKind } from '#cluster/replication/entry-codec.ts';
import { silentLog } from '#core/log.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import type { Entry } from '#raft/vocabulary.ts';
import { ReplicatedServers } from '../support/replicated-servers.ts';

const body = Buffer.from(JSON.stringify({ check: 'c1', whole: false }));

/** The marks that reach who compares, of those at the indexes. */
async function marksSeen(seat: DatabaseSeat, indexes: readonly number[]): Promise<number[]> {
  const seen: number[] = [];
  const database = seat.member.uuid;
  const mark = { kind: entryKind.verifyMark, database, txId: 0, wallTimeMs: 0, body };
  let deliver: (entries: readonly Entry[]) => Promise<void> = () => assert.fail('not started');
  const loop = new ApplyLoop({
    port: {
      deliver: (_, to) => {
        deliver = async (entries) => to(entries);
      },
      compactTo() {},
    },
    server: { checkpointed: () => 0, applied: () => 0 } as never,
    seatOf: async () => seat,
    committed: () => undefined,
    marked: (_, index) => void seen.push(index),
    remotely: () => assert.fail('nobody waits'),
    flush: async () => {},
    timers: systemRuntime.timers,
    log: silentLog,
  });
  loop.start();
  await deliver(
    indexes.map((index) => ({ index, term: 1, kind: 'normal', data: encodeEntry(mark) })),
  );
  return seen;
}

test('a mark that the database has passed, as after a crash, is compared with nothing', async () => {
  const servers = await ReplicatedServers.start();
  try {
    const leader = servers.of('a');
    await leader.run('CREATE DOCUMENT TYPE Note');
    await leader.run('INSERT INTO Note SET text = 1');
    await servers.settled();
    const [seat] = servers.of('b').replication.seats();
    assert.ok(seat instanceof DatabaseSeat);
    const { index } = seat.engine.applied();
    const own = index - seat.member.offset;
    assert.deepEqual(await marksSeen(seat, [own - 1, own + 1]), [own + 1]);
  } finally {
    await servers.close();
  }
});
