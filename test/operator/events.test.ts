import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SimulatedWorld } from './sim/simulated-world.ts';

// What happens to a Cluster in its life is told by events (operator.md 10.7), each thing once.

/** Reasons of the events since the last call, in order. */
function reader(world: SimulatedWorld): () => readonly string[] {
  let read = 0;
  return () => {
    const reasons = world.api.all('Event').map((event) => String(event['reason']));
    const fresh = reasons.slice(read);
    read = reasons.length;
    return fresh;
  };
}

const countOf = (reasons: readonly string[], reason: string) =>
  reasons.filter((other) => other === reason).length;

async function threeMembers(spec: object = {}) {
  const world = new SimulatedWorld();
  const read = reader(world);
  world.create('orders', { replicas: 3, update: { minReadySeconds: 0 }, ...spec });
  await world.settle();
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
  const change = async (next: object) => {
    world.api.change('Cluster', 'orders', { spec: next });
    await world.settle();
    // Events of another quarter of an hour: no burst is left.
    world.runtime.skip(900_000);
    return read();
  };
  return { world, read, change };
}

test('to be made, to grow and to shrink is told of each member', async () => {
  const { read, change } = await threeMembers();
  const made = read();
  assert.equal(countOf(made, 'Created'), 1);
  assert.equal(countOf(made, 'Ready'), 1);
  assert.equal(countOf(made, 'MemberAdded'), 2);
  assert.ok(made.includes('MemberPromoted'));
  const grown = await change({ replicas: 5 });
  assert.equal(countOf(grown, 'ScalingUp'), 1);
  assert.equal(countOf(grown, 'MemberAdded'), 2);
  assert.ok(grown.includes('MemberPromoted'));
  const shrunk = await change({ replicas: 3 });
  assert.equal(countOf(shrunk, 'ScalingDown'), 1);
  assert.equal(countOf(shrunk, 'MemberRemoved'), 2);
});

test('a rolling restart has a beginning, each member and an end; a hot setting restarts nobody', async () => {
  const { read, change } = await threeMembers();
  read();
  const rolled = await change({ resources: { requests: { cpu: '2' } } });
  assert.equal(countOf(rolled, 'RollingUpdateStarted'), 1);
  assert.equal(countOf(rolled, 'MemberRestarted'), 3);
  assert.equal(countOf(rolled, 'RollingUpdateFinished'), 1);
  assert.ok(rolled.indexOf('RollingUpdateFinished') > rolled.lastIndexOf('MemberRestarted'));
  const set = await change({ settings: { 'service.server.httpQueryDefaultLimit': '77' } });
  assert.deepEqual(
    set.filter((reason) => /Hot|Restart|Roll/.test(reason)),
    ['HotSettingApplied'],
  );
});

test('an upgrade is told from its beginning to its end, and one that was taken back', async () => {
  const { world, read, change } = await threeMembers({
    image: 'polyad:1',
    update: { minReadySeconds: 0, canarySoakSeconds: 0, progressDeadlineSeconds: 30 },
  });
  read();
  const upgraded = await change({ image: 'polyad:2' });
  assert.equal(countOf(upgraded, 'UpgradeStarted'), 1);
  assert.equal(countOf(upgraded, 'UpgradeFinished'), 1);
  world.controllers.crashingImages.add('polyad:bad');
  world.api.change('Cluster', 'orders', { spec: { image: 'polyad:bad' } });
  for (let turn = 0; turn < 120; turn++) await world.turn();
  const returned = read();
  assert.equal(countOf(returned, 'UpgradeRolledBack'), 1);
  assert.equal(countOf(returned, 'UpgradeFailed'), 1);
  assert.equal(countOf(returned, 'UpgradeFinished'), 0);
});

test('sleep, growth of volumes and certificates are told', async () => {
  const { read, change, world } = await threeMembers({
    storage: { size: '1Gi' },
    tls: { raft: { enabled: true }, certDays: 30, renewBeforeDays: 10 },
  });
  read();
  const grown = await change({ storage: { size: '2Gi' } });
  assert.equal(countOf(grown, 'StorageResizing'), 3);
  assert.equal(countOf(grown, 'StorageResized'), 1);
  assert.equal(countOf(await change({ hibernate: true }), 'Hibernated'), 1);
  assert.equal(countOf(await change({ hibernate: false }), 'Resumed'), 1);
  world.runtime.skip(25 * 86_400_000);
  await world.settle();
  assert.equal(countOf(read(), 'CertificateRenewed'), 1);
  world.runtime.skip(900_000);
  const authority = world.api.find('Secret', 'orders-ca');
  assert.ok(authority);
  world.api.remove(authority);
  world.turnMs = 20_000;
  for (let turn = 0; turn < 30; turn++) await world.turn();
  // Trust both, a certificate of the new one, trust it alone.
  const steps = read().filter((reason) => /^C(ARot|ertificateRen)/.test(reason));
  assert.deepEqual(steps, ['CARotationStep', 'CertificateRenewed', 'CARotationStep']);
});

test('a volume that was emptied is told, and that the member joins anew', async () => {
  const { world, read } = await threeMembers();
  read();
  const claim = world.api.find('PersistentVolumeClaim', 'data-orders-1');
  const pod = world.api.find('Pod', 'orders-1');
  assert.ok(claim && pod);
  world.api.remove(claim);
  world.api.delete(pod, true);
  await world.settle();
  const told = read().filter((reason) => /Volume/.test(reason));
  assert.deepEqual(told, ['VolumeLost', 'VolumeReplaced']);
});
