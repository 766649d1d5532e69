import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SimulatedWorld } from './sim/simulated-world.ts';

/*
 * Random users, random failures, two operators that do not know of each other: whatever happens, the world ends as the last
 * spec says, with one pod, one volume and the data that was there. Each seed is one history and replays alone.
 */

/** A small generator of our own, so that a seed is the same history everywhere (mulberry32). */
function randomOf(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return Math.floor((((value ^ (value >>> 14)) >>> 0) / 4_294_967_296) * below);
  };
}

type Event = (world: SimulatedWorld, random: (below: number) => number) => void;

const specOf =
  (spec: object): Event =>
  (world) =>
    world.api.change('Cluster', 'orders', { spec });

const events: readonly Event[] = [
  (world, random) =>
    world.api.change('Cluster', 'orders', { spec: { image: `polyad:${1 + random(3)}` } }),
  specOf({ hibernate: true }),
  specOf({ hibernate: false }),
  specOf({ settings: { 'service.server.maxSnapshotAge': '7' } }),
  specOf({ settings: { 'service.server.mode': 'production' } }),
  specOf({ storage: { size: '9Gi' } }),
  specOf({ networkPolicy: { enabled: true } }),
  specOf({ services: { readOnly: { enabled: false } } }),
  (world) => remove(world, 'Service', 'orders-http'),
  (world) => remove(world, 'ConfigMap', 'orders-config'),
  (world) => remove(world, 'ConfigMap', 'orders-members'),
  (world) => remove(world, 'Secret', 'orders-root'),
  (world) => remove(world, 'Pod', 'orders-0'),
  (world) => remove(world, 'StatefulSet', 'orders'),
  (world) => {
    if (world.api.find('Pod', 'orders-0') !== undefined)
      world.api.change('Pod', 'orders-0', { metadata: { labels: { 'polyad.io/cluster': null } } });
  },
  (world) =>
    world.api.change('Secret', 'orders-root', {
      data: { rootPassword: Buffer.from('a-new-password').toString('base64') },
    }),
  (world) => world.controllers.missingImages.add('polyad:3'),
  (world) => world.controllers.crashingImages.add('polyad:2'),
  (world) => world.controllers.crashingImages.clear(),
];

function remove(world: SimulatedWorld, kind: string, name: string): void {
  const found = world.api.find(kind, name);
  if (found !== undefined) world.api.delete(found, kind === 'Pod');
}

async function playHistory(seed: number): Promise<void> {
  const random = randomOf(seed);
  const world = new SimulatedWorld();
  world.turnMs = 3000;
  world.create('orders', { image: 'polyad:1', update: { progressDeadlineSeconds: 30 } });
  await world.settle();
  const volume = world.api.find('PersistentVolumeClaim', 'data-orders-0')?.metadata.uid;
  world.api.faultAfter = ({ method }) => (method !== 'GET' && random(6) === 0 ? 'drop' : undefined);
  for (let turn = 0; turn < 60; turn++) {
    if (random(3) === 0) {
      const event = events[random(events.length)];
      // Something that is not there cannot be changed.
      try {
        event?.(world, random);
      } catch {}
    }
    try {
      await world.look();
    } catch {
      world.restartOperator();
    }
    if (random(4) > 0) world.controllers.step();
    world.runtime.skip(world.turnMs);
  }
  world.api.faultAfter = undefined;
  world.controllers.missingImages.clear();
  world.controllers.crashingImages.clear();
  world.api.change('Cluster', 'orders', { spec: { image: 'polyad:4', hibernate: false } });
  await world.settle('orders', 200);
  const say = (what: string) => `seed ${seed}: ${what}`;
  assert.equal(world.condition('Ready'), 'True AllMembersReady', say('ready'));
  assert.equal(world.cluster().status?.image, 'polyad:4', say('image'));
  assert.equal(world.memberPods().length, 1, say('pods'));
  const claims = world.api.all('PersistentVolumeClaim').map(({ metadata }) => metadata.uid);
  assert.deepEqual(claims, [volume], say('the volume is the one of the beginning'));
  const secret = world.api.find('Secret', 'orders-root')?.data?.['rootPassword'] ?? '';
  const password = Buffer.from(secret, 'base64').toString('utf8');
  assert.deepEqual(world.members.passwords(), [password], say('password'));
}

for (let seed = 1; seed <= 6; seed++) {
  test(`history ${seed} of random changes and failures ends as the last spec says`, () =>
    playHistory(seed));
}

test('two operators that both believe to lead make nothing twice', async () => {
  const world = new SimulatedWorld();
  world.create('orders', { networkPolicy: { enabled: true } });
  const other = world.secondOperator();
  for (let turn = 0; turn < 40; turn++) {
    await Promise.allSettled([world.look(), other.look('shop', 'orders')]);
    world.controllers.step();
    world.runtime.skip(1000);
  }
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
  assert.equal(world.api.all('Pod').length, 1);
  assert.equal(world.api.all('Secret').length, 4);
  const writes = world.api.effectiveWrites;
  for (let turn = 0; turn < 10; turn++) {
    await Promise.all([world.look(), other.look('shop', 'orders')]);
    world.controllers.step();
  }
  assert.equal(world.api.effectiveWrites, writes);
});
