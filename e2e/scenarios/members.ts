import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import type { Scenario, ScenarioContext } from '../scenario.ts';
import {
  GroupWatch,
  handLeadershipTo,
  leaderOf,
  mustBeConsistent,
  uidsOf,
} from '../steps/group.ts';
import { mustHaveServed } from '../steps/load.ts';
import { conditionOf, isReady, reasonOf, valueAt } from '../steps/objects.ts';
import { mustStayQuiet } from '../steps/quiescence.ts';

/*
 * Clusters of several members while nothing fails but what the spec asks for: formed, grown, shrunk, rolled, and given an image or
 * a setting that is no good. Clients write and read all the time.
 */

const secondsSince = (start: number): string => ((performance.now() - start) / 1000).toFixed(1);

async function scaleTo(context: ScenarioContext, name: string, replicas: number): Promise<void> {
  const { namespace, report } = context;
  const start = performance.now();
  await namespace.kubectl(['scale', 'pyd', name, `--replicas=${replicas}`]);
  await namespace.waitFor('pyd', name, 'Ready', 'scaled', isReady);
  report(`to ${replicas}: ${secondsSince(start)} s`);
  const pods = Object.keys(await uidsOf(namespace, name));
  assert.equal(pods.length, replicas);
}

/** Restarts of all three: one at a time, the leader last, one new term. */
async function mustHaveRolled(
  context: ScenarioContext,
  name: string,
  change: () => Promise<void>,
): Promise<void> {
  const { namespace, api, report } = context;
  const before = await leaderOf(namespace, name);
  const watch = new GroupWatch(api, namespace.name, name);
  const uids = await uidsOf(namespace, name);
  await pause(500);
  const start = performance.now();
  await change();
  await namespace.waitFor('pyd', name, 'Ready', 'rolled', isReady);
  report(`rolled in ${secondsSince(start)} s`);
  const ended = watch.end();
  assert.equal(new Set(ended).size, 3, `ended: ${ended.join(' ')}`);
  assert.equal(ended.length, 3, `ended: ${ended.join(' ')}`);
  assert.equal(ended.at(-1), before.pod, `led by ${before.pod}, ended: ${ended.join(' ')}`);
  assert.deepEqual(watch.doubled, [], 'ended while another one was not ready');
  for (const [pod, uid] of Object.entries(await uidsOf(namespace, name)))
    assert.notEqual(uid, uids[pod]);
  const after = await leaderOf(namespace, name);
  assert.ok(after.term - before.term <= 1, `term ${before.term} became ${after.term}`);
}

export const memberScenarios: readonly Scenario[] = [
  {
    id: 'S1',
    title:
      '1 -> 3 -> 5 -> 3 under load: nobody restarted, nothing lost, never two voters on the way',
    level: 0,
    needs: ['several nodes'],
    async run(context) {
      const { namespace, api, cluster, load } = context;
      await cluster('scale', { replicas: 1 });
      const watch = new GroupWatch(api, namespace.name, 'scale');
      const clients = await load('scale');
      await scaleTo(context, 'scale', 3);
      const three = await uidsOf(namespace, 'scale');
      await scaleTo(context, 'scale', 5);
      // The one that leaves first leads.
      await handLeadershipTo(namespace, 'scale', 'scale-4');
      await scaleTo(context, 'scale', 3);
      watch.end();
      assert.deepEqual(await uidsOf(namespace, 'scale'), three);
      assert.ok(!watch.voters.includes(2), `voters: ${watch.voters.join(' ')}`);
      for (const claim of ['data-scale-3', 'data-scale-4']) {
        const { metadata } = await namespace.require('pvc', claim);
        assert.notEqual(metadata.labels?.['polyad.io/retired'], undefined);
      }
      await clients.untilAcknowledged(20);
      mustHaveServed(context, await clients.stop());
      await mustBeConsistent(namespace, 'scale', 'load');
    },
  },
  {
    id: 'S5',
    title: '3 -> 1 -> 3: explicit, ends with ordinal 0; those that return discard what they held',
    level: 1,
    async run(context) {
      const { namespace, cluster, load } = context;
      await cluster('again', { replicas: 3 });
      const clients = await load('again');
      await handLeadershipTo(namespace, 'again', 'again-2');
      await scaleTo(context, 'again', 1);
      assert.equal((await leaderOf(namespace, 'again')).pod, 'again-0');
      await clients.untilAcknowledged(40);
      await scaleTo(context, 'again', 3);
      await clients.untilAcknowledged(20);
      mustHaveServed(context, await clients.stop());
      await mustBeConsistent(namespace, 'again', 'load');
      await mustStayQuiet(namespace, 20, ['clients']);
    },
  },
  {
    id: 'R1b',
    title: 'three members restarted for a setting: one at a time, leader last, one new term',
    level: 0,
    async run(context) {
      const { namespace, cluster, load } = context;
      await cluster('turn', { replicas: 3 });
      const clients = await load('turn');
      const settings = { 'service.server.wsMaxConnections': '777' };
      await mustHaveRolled(context, 'turn', () =>
        namespace.patch('pyd', 'turn', { spec: { settings } }),
      );
      await clients.untilAcknowledged(20);
      mustHaveServed(context, await clients.stop());
    },
  },
  {
    id: 'L1',
    title: 'another image for three members under load: leader last, one new term, equal data',
    level: 1,
    needs: ['container kill'],
    async run(context) {
      const { namespace, image, cluster, load, node } = context;
      await cluster('fleet', { replicas: 3, update: { canarySoakSeconds: 5 } });
      const clients = await load('fleet');
      const next = `${image}-next`;
      const nodes = await namespace.kubectl([
        'get',
        'nodes',
        '-o=jsonpath={.items[*].metadata.name}',
      ]);
      const name = (tag: string): string => `docker.io/library/${tag}`;
      for (const host of nodes.trim().split(' '))
        await node(
          host,
          'exec',
          ...['ctr', '-n', 'k8s.io', 'images', 'tag', '--force', name(image), name(next)],
        );
      await mustHaveRolled(context, 'fleet', () =>
        namespace.patch('pyd', 'fleet', { spec: { image: next } }),
      );
      assert.equal(valueAt(await namespace.get('pyd', 'fleet'), 'status.image'), next);
      await clients.untilAcknowledged(20);
      mustHaveServed(context, await clients.stop());
      await mustBeConsistent(namespace, 'fleet', 'load');
    },
  },
  {
    id: 'R4b',
    title:
      'a setting that no member can start with touches one of three, and is mended by the spec',
    level: 1,
    async run(context) {
      const { namespace, cluster, load, report, expectRestarts } = context;
      expectRestarts();
      await cluster('bad', { replicas: 3, update: { progressDeadlineSeconds: 60 } });
      const before = await uidsOf(namespace, 'bad');
      const clients = await load('bad');
      await namespace.patch('pyd', 'bad', { spec: { settings: { 'service.noSuchSetting': 'x' } } });
      const stalled = await namespace.waitFor(
        'pyd',
        'bad',
        'stalled',
        'deliveredFile',
        (object) => conditionOf(object, 'Stalled') === 'True',
      );
      assert.match(reasonOf(stalled, 'Stalled'), /noSuchSetting/);
      await pause(10_000);
      const now = await uidsOf(namespace, 'bad');
      const touched = Object.keys(before).filter((pod) => now[pod] !== before[pod]);
      assert.equal(touched.length, 1, `touched: ${touched.join(' ')}`);
      report(`${touched[0]} was touched`);
      await namespace.patch('pyd', 'bad', { spec: { settings: null } });
      const start = performance.now();
      await namespace.waitFor('pyd', 'bad', 'Ready', 'memberBack', isReady);
      report(`mended in ${secondsSince(start)} s`);
      mustHaveServed(context, await clients.stop());
    },
  },
  {
    id: 'L2b',
    title: 'an image that is not there is tried beside three members, none of which is touched',
    level: 1,
    async run(context) {
      const { namespace, image, cluster, load, report } = context;
      await cluster('ship', { replicas: 3, update: { progressDeadlineSeconds: 30 } });
      const clients = await load('ship');
      const before = await uidsOf(namespace, 'ship');
      const start = performance.now();
      await namespace.patch('pyd', 'ship', { spec: { image: 'polyad:no-such-tag' } });
      await namespace.waitFor(
        'pyd',
        'ship',
        'returned',
        'imageReturn',
        (object) =>
          valueAt(object, 'status.failedImage') === 'polyad:no-such-tag' &&
          valueAt(object, 'status.image') === image,
      );
      report(`returned after ${secondsSince(start)} s`);
      assert.deepEqual(await uidsOf(namespace, 'ship'), before);
      mustHaveServed(context, await clients.stop());
    },
  },
];
