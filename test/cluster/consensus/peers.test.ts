import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Peers } from '#cluster/consensus/peers.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import { messageOf } from '#raft/message.ts';

test('round trips are measured with every heartbeat and told anew once a second', () => {
  let nowMs = 5000;
  const clock = { ...systemRuntime.clock, monotonicMs: () => nowMs };
  const peers = new Peers({
    options: { self: 'a_1', declared: [] } as never,
    runtime: { ...systemRuntime, clock },
    conf: () => undefined,
    names: () => ({ clusterId: '', fromStorage: '' }),
    onLost: () => {},
  });
  const answered = (afterMs: number) => {
    nowMs += afterMs;
    peers.heard('b_1', [messageOf('HeartbeatResp', 'b_1', 'a_1', { term: 1 })]);
  };
  const told = () => {
    const { last, p99 } = peers.roundTrip('b_1');
    return [last, p99];
  };
  assert.deepEqual(told(), [undefined, undefined]);
  nowMs += 1000;
  answered(10);
  const first = told();
  assert.ok((first[0] ?? 0) >= 10);
  answered(500);
  assert.deepEqual(told(), first, 'as before');
  answered(500);
  assert.notDeepEqual(told(), first);
});
