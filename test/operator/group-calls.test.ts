import assert from 'node:assert/strict';
import { test } from 'node:test';
import { conditionOf } from '../../operator/api/conditions.ts';
import type { MemberTransport } from '../../operator/observe/database-client.ts';
import { pass, runOperatorOn } from './sim/running-operator.ts';
import { SimulatedWorld } from './sim/simulated-world.ts';

// Changes of a group are begun and asked after: a member that takes long to answer, or refuses, holds nobody else up.

/** Posts to the group of one Cluster wait until they are let go, or until the caller gives up; questions are answered. */
function slow(world: SimulatedWorld, cluster: string) {
  const waiting: (() => void)[] = [];
  const asked: string[] = [];
  const gate = { isShut: false, waiting, asked };
  const members: MemberTransport = {
    send: async (address, request) => {
      const isChange = request.method !== 'GET' && request.path.startsWith('/api/v1/cluster');
      const isOurs = world
        .memberPods()
        .some(
          ({ metadata, status }) =>
            metadata.name.startsWith(`${cluster}-`) &&
            (status as { podIP?: string } | undefined)?.podIP === address.host,
        );
      if (!isChange || !isOurs || !gate.isShut) return world.members.send(address, request);
      asked.push(`${request.method} ${request.path}`);
      await new Promise<void>((resolve, reject) => {
        waiting.push(resolve);
        world.runtime.timers.after(request.timeoutMs, () => reject(new Error('no answer')));
      });
      return world.members.send(address, request);
    },
  };
  return { gate, members };
}

test('with one worker, a change of a group that hangs is begun once and keeps no other Cluster waiting', async () => {
  const world = new SimulatedWorld();
  const { gate, members } = slow(world, 'a');
  for (const name of ['a', 'b'])
    world.create(name, { replicas: 3, update: { minReadySeconds: 0 } });
  const { operator } = runOperatorOn(world, { concurrency: 1, members });
  operator.startWatching();
  await world.runtime.advance(100);
  operator.activate();
  await pass(world, 60_000);
  for (const name of ['a', 'b'])
    assert.equal(world.condition('Ready', name), 'True AllMembersReady');
  gate.isShut = true;
  world.api.change('Cluster', 'a', { spec: { replicas: 5 } });
  await pass(world, 10_000);
  assert.equal(gate.asked.length, 1, gate.asked.join(', '));
  const service = world.api.find('Service', 'b-http');
  assert.ok(service);
  world.api.remove(service);
  await world.runtime.advance(100);
  assert.notEqual(world.api.find('Service', 'b-http'), undefined, 'b waited');
  assert.equal(world.condition('Ready', 'a'), 'False Scaling');
  gate.isShut = false;
  for (const go of gate.waiting) go();
  await pass(world, 60_000);
  assert.equal(world.condition('Ready', 'a'), 'True AllMembersReady');
  assert.equal(world.members.groupOf('a-0.').voters.length, 5);
  await operator.stop();
});

test('a change that a member refuses is told with its cause and tried again ever more rarely', async () => {
  const world = new SimulatedWorld();
  world.create('orders', { replicas: 3, update: { minReadySeconds: 0 } });
  await world.settle();
  let tries = 0;
  world.members.refuse = ({ method, path }) => {
    if (method === 'GET' || !path.startsWith('/api/v1/cluster/peer')) return undefined;
    tries++;
    return { status: 409, body: '{"error":"a change is in progress"}' };
  };
  world.api.change('Cluster', 'orders', { spec: { replicas: 5 } });
  for (let turn = 0; turn < 120; turn++) await world.turn();
  assert.ok(tries >= 5 && tries <= 10, `${tries} tries in 120 s`);
  const ready = conditionOf(world.cluster().status?.conditions, 'Ready');
  assert.match(
    ready?.message ?? '',
    /add-peer orders-3\S+ is tried again: .*a change is in progress/,
  );
  const added = () =>
    world.api.all('Event').filter((event) => String(event['note']).includes('orders-3 joins'));
  assert.deepEqual(added(), []);
  world.members.refuse = undefined;
  await world.settle();
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
  assert.equal(added().length, 1);
});
