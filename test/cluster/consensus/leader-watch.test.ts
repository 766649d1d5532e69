import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LeaderWatch, type LeaderWatchPort } from '#cluster/consensus/leader-watch.ts';
import type { Transferred } from '#cluster/consensus-port.ts';
import { VirtualRuntime } from '../../raft/databases/virtual-runtime.ts';
import { seeded } from '../../raft/support/random.ts';

// What a leader does about a follower that it cannot reach, and the stable texts by which it tells (contract 3, Events; ha.md 10.4).

const timeline = {
  unreachableMs: 10_000,
  channelResetMs: 60_000,
  escalates: true,
  lagEntriesMax: 1000,
};

function watchOf(change: Partial<typeof timeline> & { target?: string | undefined } = {}) {
  const { target = 'c_1', ...settings } = {
    ...timeline,
    target: 'c_1' as string | undefined,
    ...change,
  };
  const runtime = new VirtualRuntime(seeded(1));
  const told: string[] = [];
  const resets: string[] = [];
  const transfers: (string | undefined)[] = [];
  const declared = [
    { id: 'a_1', name: 'a_1' },
    { id: 'b_1', name: 'Second' },
    { id: 'c_1', name: 'Third' },
  ];
  const port = {
    options: {
      ...settings,
      self: 'a_1',
      declared,
      tickMs: 50,
      limits: { electionTicksMax: 100 },
    },
    runtime,
    peers: {
      silentMs: (id: string) => (id === 'b_1' ? runtime.clock.monotonicMs() - 1000 : 0),
      wasRefused: () => false,
      reset: (id: string) => void resets.push(id),
    },
    status: () => ({
      role: 'leader',
      term: 2,
      applied: 5,
      commit: 5,
      progress: [{ id: 'b_1' }, { id: 'c_1' }],
      conf: { voters: [], learners: [], votersOutgoing: [], learnersNext: [], autoLeave: false },
    }),
    isReachable: () => true,
    isApplyingMuch: () => false,
    bestTarget: (except: string | undefined) => {
      assert.equal(except, 'b_1', 'never to the wedged one');
      return change.target === undefined && 'target' in change ? undefined : target;
    },
    promoteReady: () => {},
    transfer: async (to: string | undefined): Promise<Transferred> => {
      transfers.push(to);
      return { kind: 'timeout' } as Transferred;
    },
    log: (level: string, text: string) => void told.push(`${level} ${text}`),
  } as unknown as LeaderWatchPort;
  const watch = new LeaderWatch(port);
  watch.start();
  const pass = (seconds: number) => {
    for (let at = 0; at < seconds * 2; at += 1) runtime.advance(500);
  };
  return { watch, told, resets, transfers, pass };
}

const shapes = (told: readonly string[]) => told.map((text) => text.replace(/\d+ ms/, 'N ms'));
const reset = (attempt: number) =>
  `warn Resetting replication channel to follower Second (b_1): unreachable for N ms, attempt ${attempt}/5`;

test('five resets, an escalation to another one, each with its text', () => {
  const { watch, told, resets, transfers, pass } = watchOf();
  pass(400);
  assert.deepEqual(shapes(told), [
    ...[1, 2, 3, 4, 5].map(reset),
    'error Follower Second (b_1) still unreachable after 5 channel resets: escalating',
    'warn Transferring leadership to Third (c_1) because of wedged follower Second (b_1)',
  ]);
  assert.deepEqual([resets.length, transfers], [5, ['c_1']]);
  assert.equal(watch.gaveUp('b_1'), undefined);
  const [first] = told;
  assert.match(first ?? '', /unreachable for 7\d{4} ms/, 'a minute after it was unreachable');
});

test('what ends the recovery is told with its reason, once', () => {
  const cases = [
    [{ escalates: false }, 'disabled'],
    [{ target: undefined }, 'no eligible peer'],
  ] as const;
  for (const [change, reason] of cases) {
    const { watch, told, transfers, pass } = watchOf(change);
    pass(900);
    const text = `error Follower Second (b_1) still unreachable: giving up automatic recovery (${reason}), operator intervention required`;
    assert.deepEqual(shapes(told), [...[1, 2, 3, 4, 5].map(reset), text]);
    assert.deepEqual(transfers, []);
    assert.equal(watch.gaveUp('b_1'), reason);
  }
});

test('settings that are 0 switch resets, or all of it, off', () => {
  for (const change of [{ unreachableMs: 0 }, { channelResetMs: 0 }]) {
    const { told, resets, pass } = watchOf(change);
    pass(900);
    assert.deepEqual([told, resets], [[], []]);
  }
});
