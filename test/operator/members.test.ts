import assert from 'node:assert/strict';
import { test } from 'node:test';
import { conditionOf } from '../../operator/api/conditions.ts';
import { SimulatedWorld } from './sim/simulated-world.ts';
import { settlePromises } from './sim/virtual-runtime.ts';

/*
 * Clusters of several members, from the first to the last one: formed once, grown and shrunk with nobody restarted, rolled one at
 * a time, and left alone when a majority is missing.
 */

const ready = 'True AllMembersReady';

async function worldOf(replicas: number, spec: object = {}): Promise<SimulatedWorld> {
  const world = new SimulatedWorld();
  world.create('orders', { replicas, ...spec });
  await world.settle();
  assert.equal(world.condition('Ready'), ready);
  return world;
}

async function change(world: SimulatedWorld, spec: object): Promise<void> {
  world.api.change('Cluster', 'orders', { spec });
  await world.settle();
}

const pods = (world: SimulatedWorld) =>
  world
    .memberPods()
    .map(({ metadata }) => metadata)
    .sort((a, b) => a.name.localeCompare(b.name));
const uids = (world: SimulatedWorld) => pods(world).map(({ uid }) => uid);
const roles = (world: SimulatedWorld) =>
  pods(world).map(({ labels }) => labels?.['polyad.io/role'] ?? '-');

test('three members form one group, without two voters on the way', async () => {
  const world = await worldOf(3);
  const { group } = world.members;
  assert.equal(group.formed, 1);
  assert.deepEqual(group.voters.length, 3);
  assert.ok(!group.history.includes(2), `voters: ${group.history.join(' ')}`);
  assert.deepEqual(roles(world), ['leader', 'follower', 'follower']);
  const { status } = world.cluster();
  assert.equal(status?.faultTolerance, 1);
  assert.equal(status?.leader, 'orders-0');
  assert.equal(status?.replicas, 3);
  assert.notEqual(world.api.find('PodDisruptionBudget', 'orders', 'shop'), undefined);
});

test('1, 3, 5 and 3 members again: nobody is restarted', async () => {
  const world = await worldOf(1);
  const [first] = uids(world);
  await change(world, { replicas: 3 });
  assert.equal(world.condition('Ready'), ready);
  const three = uids(world);
  assert.equal(three[0], first);
  await change(world, { replicas: 5 });
  assert.equal(world.members.group.voters.length, 5);
  assert.deepEqual(uids(world).slice(0, 3), three);
  await change(world, { replicas: 3 });
  assert.equal(world.condition('Ready'), ready);
  assert.deepEqual(uids(world), three);
  assert.equal(world.members.group.formed, 1);
  assert.ok(!world.members.group.history.includes(2));
  const retired = world.api
    .all('PersistentVolumeClaim')
    .filter(({ metadata }) => metadata.labels?.['polyad.io/retired'] !== undefined);
  assert.deepEqual(retired.map(({ metadata }) => metadata.name).sort(), [
    'data-orders-3',
    'data-orders-4',
  ]);
});

test('volumes of members that left are deleted where the spec says so', async () => {
  const world = await worldOf(3, { storage: { whenScaled: 'Delete' } });
  await change(world, { replicas: 1 });
  assert.equal(world.condition('Ready'), ready);
  assert.deepEqual(
    world.api.all('PersistentVolumeClaim').map(({ metadata }) => metadata.name),
    ['data-orders-0'],
  );
  await change(world, { replicas: 3 });
  assert.equal(world.members.group.voters.length, 3);
});

test('a change restarts followers first and the leader last, after a transfer', async () => {
  const world = await worldOf(3);
  const before = new Map(pods(world).map(({ name, uid }) => [name, uid]));
  const order: string[] = [];
  world.api.change('Cluster', 'orders', { spec: { image: 'polyad:26.10.2' } });
  for (let turn = 0; turn < 150; turn++) {
    await world.turn();
    const now = new Map(pods(world).map(({ name, uid }) => [name, uid]));
    assert.ok(now.size >= 2, 'two members are away at once');
    for (const [name, uid] of now)
      if (before.get(name) !== uid && !order.includes(name)) order.push(name);
  }
  await world.settle();
  assert.equal(world.condition('Ready'), ready);
  assert.deepEqual(order, ['orders-2', 'orders-1', 'orders-0']);
  assert.equal(world.members.group.transfers, 1);
  assert.equal(world.members.group.term, 2);
});

test('the first member with another image runs it alone for a while, and what all hold is compared at the end', async () => {
  const world = await worldOf(3, { update: { canarySoakSeconds: 40, minReadySeconds: 0 } });
  const before = uids(world);
  world.api.change('Cluster', 'orders', { spec: { image: 'polyad:26.10.2' } });
  let alone = 0;
  const phases = new Set<string>();
  for (let turn = 0; turn < 120; turn++) {
    await world.turn();
    const upgrade = world.cluster().status?.upgrade;
    if (upgrade !== undefined) phases.add(upgrade.phase);
    if (upgrade?.phase !== 'Soaking') continue;
    alone++;
    assert.equal(upgrade.canary, 'orders-2');
    assert.deepEqual(uids(world).slice(0, 2), before.slice(0, 2));
    assert.match(world.condition('Ready'), /^False/);
  }
  await world.settle();
  assert.ok(alone >= 35 && alone <= 45, `${alone} s`);
  assert.deepEqual([...phases], ['Prechecking', 'Rolling', 'Soaking', 'Verifying']);
  assert.deepEqual(world.members.verified, ['orders']);
  assert.equal(world.condition('Ready'), ready);
  assert.equal(world.cluster().status?.upgrade, undefined);
});

test('copies that differ after an upgrade keep it open until they are equal; what is too large is left out', async () => {
  const world = await worldOf(3, { update: { canarySoakSeconds: 0, minReadySeconds: 0 } });
  world.members.comparison = 'INCONSISTENCY_DETECTED';
  world.api.change('Cluster', 'orders', { spec: { image: 'polyad:26.10.2' } });
  for (let turn = 0; turn < 60; turn++) await world.turn();
  assert.equal(world.condition('Stalled'), 'True UpgradeFailed');
  assert.equal(world.condition('Available'), 'True LeaderReady');
  world.members.comparison = 'ALL_CONSISTENT';
  for (let turn = 0; turn < 70; turn++) await world.turn();
  assert.equal(world.condition('Ready'), ready);
  const count = world.members.verified.length;
  world.members.databaseBytes = 20 * 2 ** 30;
  await change(world, { image: 'polyad:26.10.3' });
  assert.equal(world.condition('Ready'), ready);
  assert.equal(world.members.verified.length, count);
  world.members.databaseBytes = 1;
  world.members.comparison = 'VERIFICATION_INCOMPLETE';
  await change(world, { image: 'polyad:26.10.4' });
  assert.equal(world.condition('Ready'), ready);
  const notes = world.api.all('Event').map((event) => (event as { reason?: string }).reason);
  assert.ok(notes.includes('VerificationIncomplete'));
});

test('Recreate restarts all members at once; so does another choice of TLS, where downtime is allowed', async () => {
  const world = await worldOf(3, { update: { strategy: 'Recreate', allowDowntime: true } });
  let fewest = 3;
  const changeAll = async (spec: object): Promise<void> => {
    const before = uids(world);
    fewest = 3;
    world.api.change('Cluster', 'orders', { spec });
    for (let turn = 0; turn < 40; turn++) {
      await world.look();
      const there = world.api
        .all('Pod')
        .filter(({ metadata }) => metadata.deletionTimestamp === undefined);
      fewest = Math.min(fewest, there.length);
      if (turn % 4 === 3) world.controllers.step();
      world.runtime.skip(500);
    }
    await world.settle();
    assert.equal(world.condition('Ready'), ready);
    assert.equal(new Set([...before, ...uids(world)]).size, 6);
  };
  await changeAll({ settings: { 'service.server.logLevel': 'debug' } });
  assert.equal(fewest, 0);
  await changeAll({ update: { strategy: 'LeaderLast' }, tls: { raft: { enabled: true } } });
  assert.equal(fewest, 0);
  assert.equal(world.members.group.formed, 1);
  await changeAll({ settings: { 'service.server.logLevel': 'info' } });
  assert.equal(fewest, 2);
});

test('another lead and a lost majority are told, and the term that was seen stays', async () => {
  const world = await worldOf(3);
  const reasons = () =>
    world.api.all('Event').map((event) => (event as { reason?: string }).reason ?? '');
  assert.ok(!reasons().includes('LeaderChanged'));
  world.controllers.stopped.add('orders-0');
  for (let turn = 0; turn < 5; turn++) await world.turn();
  assert.ok(reasons().includes('LeaderChanged'));
  world.controllers.stopped.add('orders-1');
  for (let turn = 0; turn < 5; turn++) await world.turn();
  assert.ok(reasons().includes('QuorumLost'));
  assert.equal(world.cluster().status?.term, 2);
  world.controllers.stopped.clear();
  await world.settle();
  assert.ok(reasons().includes('QuorumRestored'));
  assert.ok(world.cluster().status?.members?.every(({ storageId }) => storageId !== undefined));
});

test('an image that does not start touches one member and is taken back', async () => {
  const world = await worldOf(3, { update: { progressDeadlineSeconds: 30 } });
  world.controllers.crashingImages.add('polyad:bad');
  const before = uids(world);
  world.api.change('Cluster', 'orders', { spec: { image: 'polyad:bad' } });
  for (let turn = 0; turn < 120; turn++) await world.turn();
  assert.equal(world.condition('Stalled'), 'True UpgradeFailed');
  assert.equal(world.members.group.voters.length, 3);
  assert.deepEqual(uids(world).slice(0, 2), before.slice(0, 2));
  assert.deepEqual(roles(world).sort(), ['follower', 'follower', 'leader']);
});

test('a member whose volume was lost joins again as a new one', async () => {
  const world = await worldOf(3);
  const claim = world.api.find('PersistentVolumeClaim', 'data-orders-1', 'shop');
  assert.ok(claim);
  world.api.remove(claim);
  const pod = world.api.find('Pod', 'orders-1', 'shop');
  assert.ok(pod);
  world.api.delete(pod, true);
  await world.settle();
  assert.equal(world.condition('Ready'), ready);
  assert.equal(world.members.group.formed, 1);
  assert.equal(world.members.group.voters.length, 3);
});

/** A member whose node is gone for good, with the volume on it. */
function strand(world: SimulatedWorld, ordinal: number): void {
  const claim = world.api.find('PersistentVolumeClaim', `data-orders-${ordinal}`, 'shop');
  const pod = world.api.find('Pod', `orders-${ordinal}`, 'shop');
  assert.ok(claim && pod);
  world.controllers.strandedClaims.add(claim.metadata.uid ?? '');
  world.api.delete(pod, true);
}

const claimUid = (world: SimulatedWorld, ordinal: number) =>
  world.api.find('PersistentVolumeClaim', `data-orders-${ordinal}`, 'shop')?.metadata.uid;

test('a volume on a node that is gone is given up when a person says so, and never by itself', async () => {
  const world = await worldOf(3);
  const before = claimUid(world, 1);
  strand(world, 1);
  world.turnMs = 20_000;
  for (let turn = 0; turn < 40; turn++) await world.turn();
  world.turnMs = 1000;
  assert.equal(world.condition('Stalled'), 'True VolumeLost');
  assert.equal(claimUid(world, 1), before);
  const token = world.cluster().status?.recovery?.incidentToken ?? '';
  assert.match(token, /^stranded-/);
  world.api.change('Cluster', 'orders', {
    metadata: { annotations: { 'polyad.io/adopt': token } },
  });
  await world.settle();
  assert.equal(world.condition('Ready'), ready);
  assert.ok(claimUid(world, 1) !== undefined && claimUid(world, 1) !== before);
  assert.equal(world.members.group.voters.length, 3);
  // The word was for that claim: another one that is lost waits anew.
  strand(world, 1);
  for (let turn = 0; turn < 30; turn++) await world.turn();
  assert.equal(world.condition('Stalled'), 'True VolumeLost');
});

test('Automatic gives it up after its time, and never while another member is not whole', async () => {
  const recovery = { lostVolume: 'Automatic', lostVolumeAfterSeconds: 60 };
  const world = await worldOf(3, { recovery });
  const before = [claimUid(world, 1), claimUid(world, 2)];
  strand(world, 1);
  strand(world, 2);
  for (let turn = 0; turn < 200; turn++) await world.turn();
  assert.deepEqual([claimUid(world, 1), claimUid(world, 2)], before);
  assert.equal(world.condition('Available'), 'False NoQuorum');
  world.controllers.strandedClaims.delete(before[1] ?? '');
  for (let turn = 0; turn < 30; turn++) await world.turn();
  assert.equal(claimUid(world, 1), before[0]);
  for (let turn = 0; turn < 60; turn++) await world.turn();
  await world.settle();
  assert.equal(world.condition('Ready'), ready);
  assert.notEqual(claimUid(world, 1), before[0]);
  assert.equal(claimUid(world, 2), before[1]);
  assert.equal(world.members.group.formed, 1);
});

test('without a majority nothing is changed and the cause is named', async () => {
  const world = await worldOf(3);
  const claims = world.api.all('PersistentVolumeClaim').length;
  world.controllers.stopped.add('orders-1').add('orders-2');
  const index = world.members.group.index;
  for (let turn = 0; turn < 30; turn++) await world.turn();
  assert.equal(world.condition('Available'), 'False NoQuorum');
  assert.equal(world.cluster().status?.phase, 'NoQuorum');
  world.api.change('Cluster', 'orders', { spec: { replicas: 5 } });
  for (let turn = 0; turn < 10; turn++) await world.turn();
  assert.equal(world.members.group.index, index);
  assert.equal(world.api.all('PersistentVolumeClaim').length, claims);
  world.controllers.stopped.clear();
  await world.settle();
  assert.equal(world.condition('Ready'), ready);
  assert.equal(world.members.group.voters.length, 5);
  assert.equal(world.members.group.formed, 1);
});

test('three members hibernate and come back as the group that they were', async () => {
  const world = await worldOf(3);
  await change(world, { hibernate: true });
  assert.equal(world.condition('Ready'), 'True Hibernated');
  assert.equal(world.api.all('Pod').length, 0);
  assert.equal(world.api.all('PersistentVolumeClaim').length, 3);
  await change(world, { hibernate: false });
  assert.equal(world.condition('Ready'), ready);
  assert.equal(world.members.group.formed, 1);
  assert.equal(world.members.group.voters.length, 3);
});

test('read replicas never vote', async () => {
  const world = await worldOf(3, { readReplicas: 2 });
  assert.equal(world.members.group.voters.length, 3);
  assert.equal(world.members.group.learners.length, 2);
  assert.deepEqual(roles(world).slice(3), ['learner', 'learner']);
});

test('at rest nothing is written', async () => {
  const world = await worldOf(3);
  const before = world.api.effectiveWrites;
  world.restartOperator();
  for (let turn = 0; turn < 60; turn++) await world.turn();
  assert.equal(world.api.effectiveWrites, before);
});

test('BackupThenDelete: the volume that stays is that of the member that made the backup, whoever leads at its end', async () => {
  const world = await worldOf(3, { deletionPolicy: 'BackupThenDelete' });
  world.members.databases = ['orders'];
  world.members.course.isHeld = true;
  world.api.delete(world.cluster(), false);
  for (let turn = 0; turn < 5; turn++) await world.turn();
  assert.deepEqual(world.members.backedUp, ['orders']);
  const { group } = world.members;
  group.leader = group.voters.find((id) => id.startsWith('orders-2'));
  for (let turn = 0; turn < 20; turn++) await world.turn();
  assert.equal(world.cluster().status?.leader, 'orders-2');
  world.members.course.isHeld = false;
  world.members.course.finish();
  await settlePromises();
  for (let turn = 0; turn < 30; turn++) await world.turn();
  assert.equal(world.findCluster('orders'), undefined);
  const claims = world.api.all('PersistentVolumeClaim').map(({ metadata }) => metadata.name);
  assert.deepEqual(claims, ['data-orders-0']);
});

const readyMessage = (world: SimulatedWorld) =>
  conditionOf(world.cluster().status?.conditions, 'Ready')?.message ?? '';

/** A member that fetches a database from the leader, which it alone knows. */
function fetches(world: SimulatedWorld, peerId: string, bytes: number): void {
  const resync = { database: 'orders', phase: 'DOWNLOAD', bytes, totalBytes: 1000 };
  world.members.group.resyncs.set(peerId, resync);
}

test('a voter that fetches a database is not healthy: no other one is restarted meanwhile', async () => {
  const world = await worldOf(3);
  const { group } = world.members;
  const before = uids(world);
  fetches(world, group.voters.find((id) => id.startsWith('orders-1.')) ?? '', 100);
  world.api.change('Cluster', 'orders', { spec: { resources: { requests: { cpu: '2' } } } });
  for (let turn = 0; turn < 40; turn++) await world.turn();
  const now = uids(world);
  assert.deepEqual([now[0], now[2]], [before[0], before[2]]);
  group.resyncs.clear();
  await world.settle();
  assert.equal(world.condition('Ready'), ready);
});

test('a learner that fetches much is waited for as long as it gets on, and told how far it is', async () => {
  const world = await worldOf(3);
  const { group } = world.members;
  world.api.change('Cluster', 'orders', { spec: { replicas: 4 } });
  for (let turn = 0; turn < 30 && group.learners.length === 0; turn++) await world.turn();
  const [learner = ''] = group.learners;
  world.turnMs = 30_000;
  for (let turn = 0; turn < 30; turn++) {
    fetches(world, learner, turn * 30);
    await world.turn();
  }
  assert.equal(group.voters.length, 3);
  assert.equal(world.condition('Stalled'), 'absent', 'after a quarter of an hour');
  assert.match(readyMessage(world), /orders-3 fetches database orders from the leader, 80 %/);
  world.turnMs = 1000;
  group.resyncs.clear();
  await world.settle();
  assert.equal(group.voters.length, 4);
});

test('a member that does not get on is told after ten minutes', async () => {
  const world = await worldOf(3);
  world.members.refuse = ({ method, path }) =>
    method === 'POST' && path.endsWith('/cluster/peer')
      ? { status: 409, body: '{"error":"the build of the newcomer is too old"}' }
      : undefined;
  world.api.change('Cluster', 'orders', { spec: { replicas: 4 } });
  world.turnMs = 10_000;
  for (let turn = 0; turn < 70; turn++) await world.turn();
  assert.equal(world.condition('Stalled'), 'True JoinFailed');
  const stalled = conditionOf(world.cluster().status?.conditions, 'Stalled')?.message ?? '';
  assert.match(stalled, /orders-3 .*the build of the newcomer is too old/);
});

test('what is wrong with a member whose pod is well stands with the member, and a copy that differs is none to fall back on', async () => {
  const world = await worldOf(3);
  const { group } = world.members;
  const messageOf = (name: string) =>
    world.cluster().status?.members?.find((member) => member.name === name)?.message;
  const id = (name: string) => group.voters.find((peer) => peer.startsWith(`${name}.`)) ?? '';
  assert.equal(world.condition('FaultTolerant'), 'True Full');
  group.logStates.set(id('orders-1'), 'PRESSURE');
  await world.turn();
  assert.match(messageOf('orders-1') ?? '', /the volume is filling/);
  assert.equal(world.condition('FaultTolerant'), 'True Full');
  group.logStates.clear();
  group.diverged.set(id('orders-2'), ['orders']);
  await world.turn();
  assert.equal(messageOf('orders-1'), undefined);
  assert.equal(messageOf('orders-2'), 'holds another content of database orders');
  assert.equal(world.condition('FaultTolerant'), 'False None');
  const tolerance = conditionOf(world.cluster().status?.conditions, 'FaultTolerant');
  assert.match(tolerance?.message ?? '', /2 of 3 voters.*orders-2 holds another content/);
  const before = uids(world);
  world.api.change('Cluster', 'orders', { spec: { resources: { requests: { cpu: '2' } } } });
  for (let turn = 0; turn < 40; turn++) await world.turn();
  assert.deepEqual(uids(world).slice(0, 2), before.slice(0, 2), 'nobody beside it is restarted');
  group.diverged.clear();
  await world.settle();
  assert.equal(world.condition('FaultTolerant'), 'True Full');
});

test('every member is told of schedules and of the tool server, before the Cluster is ready for them', async () => {
  const frequency = (frequencyMinutes: number) => ({
    defaults: { schedule: { frequencyMinutes } },
  });
  const world = await worldOf(3, { mcp: { enabled: true }, backup: frequency(60) });
  await change(world, { mcp: { allowInsert: true }, backup: frequency(45) });
  assert.equal(world.condition('Ready'), ready);
  const told = world.members.told();
  assert.equal(told.length, 3);
  for (const { backup, mcp } of told) {
    assert.deepEqual(mcp, { enabled: true, allowInsert: true, databases: {} });
    assert.match(JSON.stringify(backup), /"frequencyMinutes":45/);
  }
});

test('a leader that leaves hands over to whoever lacks least, and by priority first', async () => {
  for (const [priority, next] of [
    [0, 1],
    [9, 0],
  ] as const) {
    const world = await worldOf(4);
    const { group } = world.members;
    const peer = (ordinal: number) => group.voters[ordinal] ?? '';
    group.leader = peer(3);
    group.told.set(peer(0), { lag: 50, status: 'HEALTHY' });
    group.told.set(peer(2), { lag: 9, status: 'HEALTHY' });
    group.priorities.set(peer(0), priority);
    const wanted = peer(next);
    await change(world, { replicas: 3 });
    assert.equal(group.leader, wanted);
    assert.equal(group.transfers, 1);
  }
});

test('the last but one voter stays while the log of the last one cannot be written', async () => {
  const world = await worldOf(2);
  const { group } = world.members;
  const [last = ''] = group.voters;
  assert.equal(group.leader, last);
  group.logStates.set(last, 'FAILED');
  world.api.change('Cluster', 'orders', { spec: { replicas: 1 } });
  for (let turn = 0; turn < 40; turn++) await world.turn();
  assert.equal(group.voters.length, 2);
  assert.equal(pods(world).length, 2);
  group.logStates.clear();
  await world.settle();
  assert.deepEqual(group.voters, [last]);
  assert.equal(world.condition('Ready'), ready);
});
