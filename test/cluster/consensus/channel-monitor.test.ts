import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ChannelMonitor, GrayLeader } from '#cluster/consensus/channel-monitor.ts';

// The leader's policy for followers that it cannot reach (ha.md 10.4, 10.6); time is an argument.

const policy = { unreachableMs: 10_000, resetMs: 60_000, escalates: true };

/** Silent from the start; gives "second action" for each action. */
function episode(
  monitor: ChannelMonitor,
  given: { fromS?: number; toS: number; isKnownDead?: boolean; target?: string | undefined },
): string[] {
  const told: string[] = [];
  const from = given.fromS ?? 0;
  for (let second = from; second <= given.toS; second++) {
    const follower = {
      id: 'b',
      silentMs: (second - from) * 1000,
      isKnownDead: given.isKnownDead ?? false,
    };
    for (const action of monitor.look([follower], second * 1000, () => given.target))
      told.push(
        `${second - from} ${action.kind} ${action.kind === 'reset' ? action.attempt : action.kind === 'escalate' ? action.to : action.reason}`,
      );
  }
  return told;
}

const resets = ['70 reset 1', '130 reset 2', '190 reset 3', '250 reset 4', '310 reset 5'];

test('five resets a minute apart, then the lead moves, once in 30 minutes', () => {
  const monitor = new ChannelMonitor(policy);
  assert.deepEqual(episode(monitor, { toS: 1000, target: 'c' }), [...resets, '370 escalate c']);
  monitor.look([{ id: 'b', silentMs: 0, isKnownDead: false }], 1_000_000, () => 'c');
  const again = episode(monitor, { fromS: 1001, toS: 1400, target: 'c' });
  assert.deepEqual(again, [...resets, '370 give-up cooldown']);
});

test('what is not escalated says why, once', () => {
  const end = (given: Partial<typeof policy>, more: object) =>
    episode(new ChannelMonitor({ ...policy, ...given }), { toS: 1000, ...more }).at(-1);
  assert.equal(end({ escalates: false }, { target: 'c' }), '370 give-up disabled');
  assert.equal(end({}, {}), '370 give-up no eligible peer');
  assert.equal(end({}, { isKnownDead: true, target: 'c' }), '370 give-up connection refused');
  assert.equal(end({ resetMs: 0 }, { target: 'c' }), undefined);
  assert.equal(end({ unreachableMs: 0 }, { target: 'c' }), undefined);
});

test('a failed attempt consumes no cooldown; an answer ends the episode', () => {
  const monitor = new ChannelMonitor(policy);
  assert.equal(episode(monitor, { toS: 400 }).at(-1), '370 give-up no eligible peer');
  assert.equal(monitor.gaveUp('b'), 'no eligible peer');
  monitor.look([{ id: 'b', silentMs: 5, isKnownDead: false }], 401_000, () => 'c');
  assert.equal(monitor.gaveUp('b'), undefined);
  const again = episode(monitor, { fromS: 402, toS: 800, target: 'c' });
  assert.equal(again.at(-1), '370 escalate c');
});

test('commits that wait for the main thread make a leader gray, a busy main thread does not', () => {
  const gray = new GrayLeader(5000);
  const at = (second: number, applied: number, commit: number, isLeader = true) =>
    gray.isGray({ isLeader, applied, commit }, second * 1000);
  assert.ok(!at(0, 10, 10));
  assert.ok(!at(60, 10, 10), 'nothing waits');
  assert.ok(!at(61, 10, 12));
  assert.ok(!at(65, 10, 13));
  assert.ok(at(66, 10, 13), 'the same entry waits for 5 s');
  assert.ok(!at(67, 10, 13), 'told once');
  assert.ok(!at(68, 11, 13), 'it moves');
  assert.ok(!at(80, 11, 13, false), 'followers have no lead to give');
  const heavy = (second: number) =>
    gray.isGray({ isLeader: true, applied: 20, commit: 21, isHeavy: true }, second * 1000);
  assert.ok(!heavy(100));
  assert.ok(!heavy(129), 'a large entry takes its time');
  assert.ok(heavy(130), 'but not for ever');
});
