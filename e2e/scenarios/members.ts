import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { budgetMs } from '../config/timeouts.ts';
import type { Scenario, ScenarioContext } from '../scenario.ts';
import {
  clusterIdOf,
  GroupWatch,
  groupSeenBy,
  handLeadershipTo,
  leaderOf,
  mustBeConsistent,
  podsOf,
  uidsOf,
} from '../steps/group.ts';
import { mustHaveServed } from '../steps/load.ts';
import { ask } from '../steps/member.ts';
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
    id: 'S3',
    title: '3 -> 1 under load while the highest leads: ordinal 0 leads the same group alone',
    level: 2,
    async run(context) {
      const { namespace, cluster, load } = context;
      await cluster('last', { replicas: 3 });
      const clients = await load('last');
      const id = await clusterIdOf(namespace, 'last');
      const uids = await uidsOf(namespace, 'last');
      await handLeadershipTo(namespace, 'last', 'last-2');
      await clients.untilAcknowledged(20);
      await scaleTo(context, 'last', 1);
      assert.equal((await leaderOf(namespace, 'last')).pod, 'last-0');
      assert.equal(await clusterIdOf(namespace, 'last'), id);
      assert.deepEqual(await uidsOf(namespace, 'last'), { 'last-0': uids['last-0'] });
      assert.equal(valueAt(await namespace.require('pyd', 'last'), 'status.voters'), 1);
      await clients.untilAcknowledged(20);
      mustHaveServed(context, await clients.stop());
    },
  },
  {
    id: 'S4',
    title: 'a member fewer while the one that has to go leads: it hands over first',
    level: 1,
    isSerial: true,
    async run(context) {
      const { namespace, api, cluster, load } = context;
      await cluster('heir', { replicas: 5 });
      const clients = await load('heir');
      await handLeadershipTo(namespace, 'heir', 'heir-4');
      const { term } = await leaderOf(namespace, 'heir');
      await clients.untilAcknowledged(40);
      const before = await clients.count();
      const stop = new AbortController();
      let leaderAtItsEnd: unknown;
      void api.watch(`/api/v1/namespaces/${namespace.name}/pods`, {
        onBegin() {},
        signal: stop.signal,
        onChange: ({ object }) => {
          if (object.metadata.name !== 'heir-4' || !object.metadata.deletionTimestamp) return;
          leaderAtItsEnd ??= leaderOf(namespace, 'heir').catch(String);
        },
      });
      await pause(500);
      await scaleTo(context, 'heir', 4);
      stop.abort();
      const heir = await leaderOf(namespace, 'heir');
      assert.deepEqual(await leaderAtItsEnd, heir, 'it led when its pod was ended');
      assert.equal(heir.term, term + 1);
      await clients.untilAcknowledged(40);
      const gap = await clients.gapSince(before);
      const events = await namespace.list('events');
      const moved = events.filter((event) => event['reason'] === 'LeaderTransferred');
      const messages = moved.map((event) => String(event['message'])).join('\n');
      assert.match(messages, /^from heir-4 to heir-[0-3]$/m);
      context.report(`gap at the change ${gap.toFixed(2)} s`);
      assert.ok(gap <= budgetMs('leaderMovedGap') / 1000, `gap ${gap} s`);
      mustHaveServed(context, await clients.stop());
      await mustBeConsistent(namespace, 'heir', 'load');
    },
  },
  {
    id: 'S7',
    title:
      'a fourth member that no node takes: said with the cause, three go on as they were, and three again',
    level: 2,
    needs: ['several nodes'],
    async run(context) {
      const { namespace, cluster, load, report } = context;
      const nodes = JSON.parse(await namespace.kubectl(['get', 'nodes', '-o', 'json'])) as {
        readonly items: readonly { readonly spec: { readonly taints?: readonly unknown[] } }[];
      };
      const hosts = nodes.items.filter(({ spec }) => (spec.taints ?? []).length === 0).length;
      await cluster('full', { replicas: hosts, antiAffinity: 'Required' });
      const clients = await load('full');
      const [uids, before] = [await uidsOf(namespace, 'full'), await leaderOf(namespace, 'full')];
      const extra = `full-${hosts}`;
      const start = performance.now();
      await namespace.kubectl(['scale', 'pyd', 'full', `--replicas=${hosts + 1}`]);
      const stalled = await namespace.waitFor(
        'pyd',
        'full',
        'stalled',
        'stalled',
        (object) => conditionOf(object, 'Stalled') === 'True',
      );
      report(`told after ${secondsSince(start)} s: ${reasonOf(stalled, 'Stalled').slice(0, 80)}`);
      assert.match(
        reasonOf(stalled, 'Stalled'),
        /^Unschedulable: .*(affinity|nodes are available)/,
      );
      await clients.untilAcknowledged(40);
      const now = await namespace.require('pyd', 'full');
      assert.equal(valueAt(now, 'status.voters'), hosts);
      assert.equal(valueAt(now, 'status.learners') ?? 0, 0);
      assert.equal(conditionOf(now, 'Available'), 'True');
      const seen = await groupSeenBy(namespace, before.pod);
      assert.ok(!seen?.peers.some(({ id }) => id.startsWith(`${extra}.`)), 'it is in the group');
      await namespace.kubectl(['scale', 'pyd', 'full', `--replicas=${hosts}`]);
      await namespace.waitFor('pyd', 'full', 'Ready', 'scaled', isReady);
      await namespace.waitGone('pod', extra, 'scaled');
      assert.deepEqual(await uidsOf(namespace, 'full'), uids);
      assert.deepEqual(await leaderOf(namespace, 'full'), before);
      mustHaveServed(context, await clients.stop());
      await mustBeConsistent(namespace, 'full', 'load');
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
    id: 'R8',
    title:
      'another setting while three members restart for one: they end with both, and nobody restarts more than that takes',
    level: 2,
    async run(context) {
      const { namespace, api, cluster, load, report } = context;
      await cluster('twice', { replicas: 3 });
      const clients = await load('twice');
      const before = await leaderOf(namespace, 'twice');
      const watch = new GroupWatch(api, namespace.name, 'twice');
      await pause(500);
      const change = (settings: object) => namespace.patch('pyd', 'twice', { spec: { settings } });
      await change({ 'service.server.wsMaxConnections': '777' });
      const deadline = performance.now() + budgetMs('memberRestart');
      while (watch.ended.length === 0) {
        if (performance.now() > deadline) throw new Error('nobody restarts');
        await pause(100);
      }
      await change({ 'service.server.wsMaxConnections': '778' });
      await namespace.waitFor('pyd', 'twice', 'Ready', 'rolled', isReady);
      const ended = watch.end();
      report(`ended: ${ended.join(' ')}`);
      // The first one had begun for the first change.
      const [first = '', ...others] = ended;
      const wanted = podsOf('twice').filter((pod) => pod !== first);
      assert.deepEqual(others.filter((pod) => pod !== first).sort(), wanted);
      assert.ok(others.filter((pod) => pod === first).length <= 1, `ended: ${ended.join(' ')}`);
      assert.equal(ended.at(-1), before.pod, `led by ${before.pod}, ended: ${ended.join(' ')}`);
      assert.deepEqual(watch.doubled, [], 'ended while another one was not ready');
      for (const pod of podsOf('twice')) {
        const { body } = await ask(namespace, pod, { path: '/server?mode=default' });
        const { settings } = JSON.parse(body) as { settings: { key: string; value: unknown }[] };
        const one = settings.find(({ key }) => key === 'service.server.wsMaxConnections');
        assert.equal(String(one?.value), '778', pod);
      }
      assert.ok((await leaderOf(namespace, 'twice')).term - before.term <= 1);
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
