import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { conditionOf } from '../../../operator/api/conditions.ts';
import type { ObservedMember } from '../../../operator/api/observation.ts';
import { survivorsOf } from '../../../operator/reconcile/group/lost-quorum.ts';
import { SimulatedWorld } from '../sim/simulated-world.ts';

// A majority is lost for good, and a person gives it up (operator.md 8.13): by this incident's token only, and with nothing lost
// that is still there.

const ready = 'True AllMembersReady';

async function worldOfThree(spec: object = {}): Promise<SimulatedWorld> {
  const world = new SimulatedWorld();
  world.create('orders', { replicas: 3, update: { minReadySeconds: 0 }, ...spec });
  await world.settle();
  assert.equal(world.condition('Ready'), ready);
  return world;
}

async function pass(world: SimulatedWorld, seconds: number): Promise<void> {
  world.turnMs = 5000;
  for (let turn = 0; turn < seconds / 5; turn++) await world.turn();
  world.turnMs = 1000;
}

const token = (world: SimulatedWorld) => world.cluster().status?.recovery?.incidentToken ?? '';
const claims = (world: SimulatedWorld) =>
  world.api.all('PersistentVolumeClaim').map(({ metadata }) => metadata.uid);
const record = (world: SimulatedWorld) =>
  JSON.parse(world.api.find('ConfigMap', 'orders-members')?.data?.['members.json'] ?? '{}') as {
    recovery?: object;
    members: Record<string, { state: string; incarnation: number }>;
  };
const approve = (world: SimulatedWorld, acknowledge: string, survivor: string) =>
  world.api.change('Cluster', 'orders', {
    spec: { recovery: { quorum: { acknowledge, survivor } } },
  });
const reasons = (world: SimulatedWorld) =>
  world.api.all('Event').map((event) => (event as { reason?: string }).reason ?? '');

/** Two of three are away for good. */
async function lose(world: SimulatedWorld, lost: readonly number[] = [0, 2]): Promise<void> {
  for (const ordinal of lost) world.controllers.stopped.add(`orders-${ordinal}`);
  await pass(world, 300);
  assert.equal(token(world), '');
  assert.notEqual(world.cluster().status?.recovery?.since, undefined);
  await pass(world, 330);
  assert.equal(world.condition('Stalled'), 'True QuorumLost');
}

test('after ten minutes the token and who could go on are told; without them nothing is done', async () => {
  const world = await worldOfThree();
  const before = [claims(world), world.members.group.index, record(world)];
  await lose(world);
  const { recovery, conditions } = world.cluster().status ?? {};
  assert.deepEqual(recovery?.candidates, ['orders-1']);
  assert.match(token(world), /^quorum-/);
  const said = conditionOf(conditions, 'Stalled')?.message ?? '';
  assert.match(said, /Who could go on alone.*: orders-1\. .*patch clusters\.polyad\.io orders/);
  approve(world, 'quorum-another', 'orders-1');
  await pass(world, 60);
  approve(world, token(world), 'orders-2');
  await pass(world, 60);
  assert.match(
    conditionOf(world.cluster().status?.conditions, 'Stalled')?.message ?? '',
    /survivor 'orders-2' is none of them/,
  );
  assert.deepEqual([claims(world), world.members.group.index, record(world)], before);
  assert.ok(!reasons(world).includes('UnsafeRecoveryStarted'));
  world.controllers.stopped.clear();
  await world.settle();
  assert.equal(world.condition('Ready'), ready);
  assert.equal(world.cluster().status?.recovery, undefined);
});

test('where nobody answers the token is told, and names nobody: it approves nothing', async () => {
  const world = await worldOfThree();
  await lose(world, [0, 1, 2]);
  assert.deepEqual(world.cluster().status?.recovery?.candidates, []);
  const said = conditionOf(world.cluster().status?.conditions, 'Stalled')?.message ?? '';
  assert.match(said, /only the others hold: nobody answers/);
  const before = record(world);
  approve(world, token(world), 'orders-1');
  await pass(world, 60);
  assert.deepEqual(record(world), before);
  assert.equal(world.api.all('Pod').length, 3);
});

test('the survivor goes on alone, the others come back as new members, and the token counts once', async () => {
  const world = await worldOfThree();
  const volumes = claims(world);
  await lose(world);
  const given = token(world);
  approve(world, given, 'orders-1');
  let fewest = 3;
  for (let turn = 0; turn < 40 && world.members.group.recoveries.length === 0; turn++) {
    // No volume of the others is given up before the survivor leads.
    for (const ordinal of ['0', '2']) assert.equal(record(world).members[ordinal]?.state, 'member');
    await world.turn();
    fewest = Math.min(fewest, world.api.all('Pod').length);
    if (fewest === 0) world.controllers.stopped.clear();
  }
  assert.equal(fewest, 0, 'all stop first');
  await world.settle('orders', 300);
  assert.equal(world.condition('Ready'), ready);
  assert.deepEqual(world.members.group.recoveries, [given]);
  assert.equal(world.members.group.formed, 1);
  assert.equal(world.members.group.voters.length, 3);
  assert.deepEqual(claims(world), volumes);
  const { members } = record(world);
  assert.deepEqual(
    ['0', '1', '2'].map((ordinal) => members[ordinal]),
    [2, 1, 2].map((incarnation) => ({ state: 'member', incarnation })),
  );
  for (const reason of ['UnsafeRecoveryStarted', 'UnsafeRecoveryFinished'])
    assert.equal(reasons(world).filter((one) => one === reason).length, 1, reason);
  // It stays in Git, and the next loss is another incident.
  await lose(world, [0, 2]);
  assert.notEqual(token(world), given);
  await pass(world, 60);
  assert.equal(world.members.group.recoveries.length, 1);
});

test('who ends earlier is no survivor, nor is a learner or an empty disk', async () => {
  const world = await worldOfThree();
  const uid = (ordinal: number) =>
    world.api.find('PersistentVolumeClaim', `data-orders-${ordinal}`)?.metadata.uid ?? '';
  const { group } = world.members;
  world.controllers.stopped.add('orders-0').add('orders-1').add('orders-2');
  await world.turn();
  group.setLog(uid(1), { term: 3, index: 90 });
  group.setLog(uid(2), { term: 2, index: 100 });
  const claim = world.api.find('PersistentVolumeClaim', 'data-orders-0');
  assert.ok(claim);
  world.controllers.strandedClaims.add(uid(0));
  world.controllers.stopped.delete('orders-1');
  await lose(world, [0, 2]);
  assert.deepEqual(world.cluster().status?.recovery?.candidates, ['orders-1']);
});

test('a survivor that does not start can be changed for another one', async () => {
  const world = await worldOfThree({ update: { minReadySeconds: 0, progressDeadlineSeconds: 60 } });
  await lose(world);
  const given = token(world);
  approve(world, given, 'orders-1');
  for (let turn = 0; turn < 3; turn++) await world.turn();
  world.controllers.stopped.clear();
  world.controllers.stopped.add('orders-1');
  await pass(world, 120);
  assert.match(
    conditionOf(world.cluster().status?.conditions, 'Stalled')?.message ?? '',
    /does not lead in time/,
  );
  approve(world, given, 'orders-2');
  await pass(world, 30);
  world.controllers.stopped.clear();
  await world.settle('orders', 300);
  assert.equal(world.condition('Ready'), ready);
  assert.equal(record(world).members['1']?.incarnation, 2);
  assert.equal(record(world).members['2']?.incarnation, 1);
});

test('killed at every call, the operator ends it in the same state', async () => {
  for (let at = 1; ; at += 4) {
    const world = await worldOfThree();
    await lose(world);
    approve(world, token(world), 'orders-1');
    let writes = 0;
    world.api.faultAfter = ({ method }) =>
      method !== 'GET' && ++writes === at ? 'drop' : undefined;
    for (let turn = 0; turn < 70; turn++) {
      await world.look().catch(() => world.restartOperator());
      world.controllers.step();
      if (world.api.all('Pod').length === 0) world.controllers.stopped.clear();
      world.runtime.skip(6000);
    }
    assert.equal(world.condition('Ready'), ready, `call ${at}`);
    assert.equal(world.members.group.voters.length, 3, `call ${at}`);
    assert.equal(world.members.group.recoveries.length, 1, `call ${at}`);
    assert.equal(world.members.group.formed, 1);
    if (writes < at) break;
  }
});

test('nobody who answers ends later than a survivor', () => {
  const member = fc.record({
    ordinal: fc.nat(8),
    lastTerm: fc.option(fc.nat(5), { nil: undefined }),
    lastIndex: fc.nat(20),
    isAdmitted: fc.boolean(),
    isVoter: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.uniqueArray(member, { selector: ({ ordinal }) => ordinal }), (given) => {
      const members = given.map(({ ordinal, isVoter, ...raft }) => {
        const peerId = `peer-${ordinal}`;
        return {
          name: `orders-${ordinal}`,
          peerId,
          raft: { ...raft, peers: [{ id: peerId, isVoter }] },
        };
      });
      const able = given.filter(
        ({ lastTerm, isAdmitted, isVoter }) => lastTerm !== undefined && isAdmitted && isVoter,
      );
      const found = survivorsOf(members as unknown as readonly ObservedMember[]);
      assert.equal(found.length > 0, able.length > 0);
      for (const name of found) {
        const one = given.find(({ ordinal }) => name === `orders-${ordinal}`);
        assert.ok(one !== undefined && able.includes(one));
        for (const { lastTerm = 0, lastIndex } of able)
          assert.ok(
            lastTerm < (one.lastTerm ?? 0) ||
              (lastTerm === one.lastTerm && lastIndex <= one.lastIndex),
          );
      }
    }),
  );
});
