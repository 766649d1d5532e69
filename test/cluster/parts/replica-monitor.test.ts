import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConsensusStatus, PeerProgress } from '#cluster/consensus-port.ts';
import { ReplicaMonitor } from '#cluster/status/replica-monitor.ts';
import { Settings } from '#config/effective-settings.ts';
import { silentLog } from '#core/log.ts';

// The leader's picture of its followers (ha.md 10.1); time is an argument.

const peer = (match: number, state: PeerProgress['state'] = 'replicate'): PeerProgress => ({
  id: 'b_1',
  match,
  next: match + 1,
  state,
  lastContactMs: 1,
  isReachable: true,
  roundTripMs: 1,
});

function monitor(errors: string[] = []) {
  const log = { ...silentLog, error: (message: string) => void errors.push(message) };
  const watched = new ReplicaMonitor(new Settings(new Map()), log);
  let now = 0;
  return (commitIndex: number, progress: PeerProgress, afterMs = 5000, role = 'leader') => {
    now += afterMs;
    const status = { role, term: 3, commitIndex, progress: [progress] };
    watched.sample(status as unknown as ConsensusStatus, now);
    return watched.of('b_1')?.status;
  };
}

test('a follower that keeps up is healthy, one that lags catches up or falls behind', () => {
  const sample = monitor();
  assert.equal(sample(10, peer(10)), 'HEALTHY');
  assert.equal(sample(1000, peer(10)), 'HEALTHY', 'within service.ha.replicationLagWarning');
  assert.equal(sample(5000, peer(2000)), 'FALLING_BEHIND');
  assert.equal(sample(6000, peer(4500)), 'CATCHING_UP');
  assert.equal(sample(6000, peer(6000)), 'HEALTHY');
  assert.equal(sample(6000, peer(6000), 5000, 'follower'), undefined, 'followers do not watch');
});

test('a follower that stands still for three samples while the leader goes on is stalled', () => {
  const sample = monitor();
  sample(10, peer(10));
  sample(20, peer(10));
  sample(30, peer(10));
  assert.equal(sample(40, peer(10)), 'STALLED');
  assert.equal(sample(40, peer(40)), 'HEALTHY');
  sample(50, peer(40, 'snapshot'));
  sample(60, peer(40, 'snapshot'));
  assert.notEqual(sample(70, peer(40, 'snapshot')), 'STALLED', 'a snapshot is on its way');
});

test('a follower that never got an append is stalled whatever its lag, and told of once', () => {
  const errors: string[] = [];
  const sample = monitor(errors);
  assert.equal(sample(5, peer(0)), 'UNKNOWN');
  assert.notEqual(sample(5, peer(0)), 'STALLED', 'not before service.ha.peerUnreachableThreshold');
  assert.equal(sample(5, peer(0)), 'STALLED');
  assert.equal(sample(5, peer(0)), 'STALLED');
  assert.deepEqual(errors, [
    'Follower b_1 has NEVER received a single append (matchIndex=-1) since this server became leader 10000 ms ago',
  ]);
});
