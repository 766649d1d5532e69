import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { chart, imageValues } from '../cluster-under-test.ts';
import { budgetMs } from '../config/timeouts.ts';
import type { Scenario, ScenarioContext } from '../scenario.ts';
import { e2eSettings } from '../settings.ts';
import {
  backToThree,
  clusterIdOf,
  groupSeenBy,
  leaderOf,
  mustBeConsistent,
  podsOf,
  uidsOf,
} from '../steps/group.ts';
import { mustHaveServed } from '../steps/load.ts';
import { sql } from '../steps/member.ts';
import {
  isReady,
  type KubernetesObject,
  type Namespace,
  reasonOf,
  valueAt,
} from '../steps/objects.ts';
import { isOnPath, must } from '../steps/programs.ts';

/*
 * What changes the nature of a group of three: taken over from a release of the chart, formed by its list, given another token,
 * grown by members that only read, begun anew by what one member holds.
 */

const secondsSince = (start: number): string => ((performance.now() - start) / 1000).toFixed(1);

/** Lines of the token that members read, as the Secret holds them. */
async function tokenLines(namespace: Namespace, cluster: string): Promise<readonly string[]> {
  const secret = await namespace.require('secret', `${cluster}-token-applied`);
  const { token = '' } = valueAt(secret, 'data') as Readonly<Record<string, string>>;
  const text = Buffer.from(token, 'base64').toString();
  return text.split('\n').filter((line) => line !== '');
}

async function countEntries(namespace: Namespace, pod: string): Promise<number> {
  const rows = await sql(namespace, pod, 'load', 'SELECT count(*) AS n FROM Entry');
  return Number(rows[0]?.['n']);
}

/** Two of three volumes are gone for good; @returns who has the third, and led */
async function loseTwoVolumes(context: ScenarioContext, cluster: string): Promise<string> {
  const { namespace } = context;
  const { pod: survivor } = await leaderOf(namespace, cluster);
  const lost = podsOf(cluster).filter((pod) => pod !== survivor);
  for (const pod of lost) await namespace.kubectl(['delete', 'pvc', `data-${pod}`, '--wait=false']);
  await namespace.kubectl(['delete', 'pod', ...lost, '--grace-period=0', '--force']);
  return survivor;
}

const tokenOf = (object: KubernetesObject | undefined): string =>
  /"acknowledge":"(quorum-[^"]+)"/.exec(reasonOf(object, 'Stalled'))?.[1] ?? '';

export const groupChangeScenarios: readonly Scenario[] = [
  {
    id: 'L8',
    title:
      'a release of the chart with three members becomes a Cluster under load: nobody restarted, the same group',
    level: 2,
    async run(context) {
      const { namespace, image, load, report } = context;
      const helm = isOnPath('helm4') ? 'helm4' : e2eSettings.helm;
      const wait = ['-n', namespace.name, '--wait', '--timeout', '240s'];
      const release = ['taken', chart, ...wait, '--set', `${imageValues(image)},replicaCount=3`];
      await must(helm, ['install', ...release]);
      const clients = await load('taken', 'service-credentials-secret');
      const [id, uids] = [await clusterIdOf(namespace, 'taken'), await uidsOf(namespace, 'taken')];
      assert.equal(Object.keys(uids).length, 3);
      await must(helm, ['upgrade', ...release, '--set', 'keepObjects=true']);
      const start = performance.now();
      await must(helm, [
        ...['upgrade', ...release],
        ...['--set', 'keepObjects=true,mode=cluster,fromRelease=true'],
      ]);
      await namespace.waitFor('pyd', 'taken', 'Ready', 'rolled', isReady);
      report(`taken over in ${secondsSince(start)} s`);
      assert.deepEqual(await uidsOf(namespace, 'taken'), uids);
      const events = await namespace.kubectl([
        'get',
        'events',
        '-o',
        'jsonpath={.items[*].reason}',
      ]);
      assert.match(events, /ReleaseAdopted/);
      await backToThree(namespace, 'taken');
      assert.equal(await clusterIdOf(namespace, 'taken'), id);
      await clients.untilAcknowledged(20);
      // Grown and rolled by the operator from here on.
      await namespace.kubectl(['scale', 'pyd', 'taken', '--replicas=5']);
      await namespace.waitFor('pyd', 'taken', 'Ready', 'scaled', isReady);
      assert.equal(valueAt(await namespace.require('pyd', 'taken'), 'status.voters'), 5);
      await clients.untilAcknowledged(20);
      mustHaveServed(context, await clients.stop());
      await mustBeConsistent(namespace, 'taken', 'load');
    },
  },
  {
    id: 'I2c',
    title:
      'three members that form their group by its list: one group, once; an empty volume joins it',
    level: 1,
    async run(context) {
      const { namespace, cluster, load, report, expectLostVolumes } = context;
      expectLostVolumes();
      const start = performance.now();
      const bootstrap = { empty: { formation: 'Static' } };
      const made = await cluster('list', { replicas: 3, bootstrap });
      report(`Ready after ${secondsSince(start)} s`);
      assert.equal(valueAt(made, 'status.voters'), 3);
      const id = await clusterIdOf(namespace, 'list');
      const ids = await Promise.all(podsOf('list').map((pod) => groupSeenBy(namespace, pod)));
      assert.deepEqual(
        ids.map((said) => said?.clusterId),
        [id, id, id],
      );
      const clients = await load('list');
      await clients.untilAcknowledged(20);
      await namespace.kubectl(['delete', 'pvc', 'data-list-0', '--wait=false']);
      await namespace.kubectl(['delete', 'pod', 'list-0']);
      await backToThree(namespace, 'list');
      await clients.untilAcknowledged(20);
      mustHaveServed(context, await clients.stop());
      assert.equal(await clusterIdOf(namespace, 'list'), id);
      await mustBeConsistent(namespace, 'list', 'load');
    },
  },
  {
    id: 'T7',
    title:
      'another cluster token in three steps under load: nobody restarted, no forwarded write refused',
    level: 2,
    async run(context) {
      const { namespace, cluster, load, report } = context;
      await cluster('word', { replicas: 3 });
      const clients = await load('word');
      const uids = await uidsOf(namespace, 'word');
      const [before = ''] = await tokenLines(namespace, 'word');
      const wanted = 'another-token-of-the-cluster-long-enough-for-it';
      assert.notEqual(before, wanted);
      const start = performance.now();
      await namespace.patch('secret', 'word-token', { stringData: { token: wanted } });
      const seen: string[] = [];
      const deadline = start + budgetMs('authorityStep');
      for (let lines: readonly string[] = []; lines.length !== 1 || lines[0] !== wanted; ) {
        if (performance.now() > deadline) throw new Error(`still ${seen.join(', ')}`);
        await pause(2_000);
        lines = await tokenLines(namespace, 'word');
        const text = lines.map((line) => (line === wanted ? 'new' : 'old')).join(' ');
        if (seen.at(-1) !== text) seen.push(text);
      }
      report(`${seen.join(', ')} after ${secondsSince(start)} s`);
      // The change itself takes a moment to begin.
      assert.deepEqual(
        seen.filter((text) => text !== 'old'),
        ['old new', 'new old', 'new'],
      );
      assert.deepEqual(await uidsOf(namespace, 'word'), uids);
      // One that starts now knows the new one alone.
      const { pod: leader } = await leaderOf(namespace, 'word');
      await namespace.kubectl(['delete', 'pod', leader]);
      await backToThree(namespace, 'word');
      await clients.untilAcknowledged(40);
      mustHaveServed(context, await clients.stop());
      await mustBeConsistent(namespace, 'word', 'load');
    },
  },
  {
    id: 'S9',
    title: 'members that only read, 0 -> 2 -> 0 under load: never counted, never lead',
    level: 1,
    async run(context) {
      const { namespace, cluster, load, report } = context;
      await cluster('eyes', { replicas: 3 });
      const clients = await load('eyes');
      const uids = await uidsOf(namespace, 'eyes');
      const resize = async (readReplicas: number): Promise<KubernetesObject | undefined> => {
        const start = performance.now();
        await namespace.patch('pyd', 'eyes', { spec: { readReplicas } });
        const done = await namespace.waitFor('pyd', 'eyes', 'Ready', 'scaled', isReady);
        report(`to ${readReplicas}: ${secondsSince(start)} s`);
        return done;
      };
      const grown = await resize(2);
      assert.equal(valueAt(grown, 'status.voters'), 3);
      assert.equal(valueAt(grown, 'status.learners'), 2);
      for (const pod of ['eyes-3', 'eyes-4']) {
        await clients.untilAcknowledged(1);
        assert.ok((await countEntries(namespace, pod)) > 0, pod);
      }
      for (let round = 0; round < 2; round += 1) {
        const { pod } = await leaderOf(namespace, 'eyes');
        await namespace.kubectl(['delete', 'pod', pod, '--grace-period=0', '--force']);
        await clients.untilAcknowledged(40);
        assert.ok(podsOf('eyes').includes((await leaderOf(namespace, 'eyes')).pod));
        await backToThree(namespace, 'eyes');
      }
      const now = await uidsOf(namespace, 'eyes');
      const shrunk = await resize(0);
      assert.equal(valueAt(shrunk, 'status.learners') ?? 0, 0);
      assert.deepEqual(
        Object.keys(await uidsOf(namespace, 'eyes')).sort(),
        Object.keys(uids).sort(),
      );
      for (const pod of podsOf('eyes'))
        assert.equal((await uidsOf(namespace, 'eyes'))[pod], now[pod], pod);
      await clients.untilAcknowledged(20);
      mustHaveServed(context, await clients.stop());
      await mustBeConsistent(namespace, 'eyes', 'load');
    },
  },
  {
    id: 'F8',
    title:
      'two of three volumes gone while lost ones are to be replaced by themselves: nobody is, the empty ones are no group, and what is left stays',
    level: 2,
    async run(context) {
      const { namespace, cluster, load, report, expectLostVolumes, expectRestarts } = context;
      expectLostVolumes();
      // Members that find no group end and try again.
      expectRestarts();
      const recovery = { lostVolume: 'Automatic', lostVolumeAfterSeconds: 5 };
      await cluster('third', { replicas: 3, recovery });
      const clients = await load('third');
      await clients.untilAcknowledged(100);
      const { acknowledged } = await clients.stop();
      const id = await clusterIdOf(namespace, 'third');
      const start = performance.now();
      const survivor = await loseTwoVolumes(context, 'third');
      const kept = async () => ({
        pod: (await namespace.require('pod', survivor)).metadata.uid,
        claim: (await namespace.require('pvc', `data-${survivor}`)).metadata.uid,
      });
      const before = await kept();
      const hasNoQuorum = (object: KubernetesObject | undefined): boolean =>
        reasonOf(object, 'Available').startsWith('NoQuorum');
      const lost = await namespace.waitFor('pyd', 'third', 'lost', 'noQuorum', hasNoQuorum);
      report(`said after ${secondsSince(start)} s: ${reasonOf(lost, 'Available').slice(0, 100)}`);
      const peers = (await groupSeenBy(namespace, survivor))?.peers ?? [];
      for (const end = performance.now() + 60_000; performance.now() < end; ) {
        await pause(5_000);
        assert.deepEqual(await kept(), before);
        assert.ok(hasNoQuorum(await namespace.require('pyd', 'third')));
        for (const pod of podsOf('third'))
          assert.notEqual((await groupSeenBy(namespace, pod))?.isLeader, true, `${pod} leads`);
      }
      const now = await groupSeenBy(namespace, survivor);
      assert.equal(now?.clusterId, id);
      assert.deepEqual(
        now?.peers.map((peer) => peer.id),
        peers.map((peer) => peer.id),
      );
      const events = (await namespace.list('events')).map((event) => String(event['reason']));
      assert.ok(!events.includes('VolumeReplaced'), events.join(' '));
      assert.ok((await countEntries(namespace, survivor)) >= acknowledged);
    },
  },
  {
    id: 'F15',
    title:
      'two of three volumes gone for good: nothing by itself; by its token one goes on with all that it has, the others join anew',
    level: 2,
    async run(context) {
      const { namespace, cluster, load, report, expectLostVolumes, expectRestarts } = context;
      expectLostVolumes();
      // Members that find no group end and try again.
      expectRestarts();
      await cluster('last', { replicas: 3 });
      const clients = await load('last');
      await clients.untilAcknowledged(100);
      const { acknowledged } = await clients.stop();
      const id = await clusterIdOf(namespace, 'last');
      const start = performance.now();
      const survivor = await loseTwoVolumes(context, 'last');
      const { uid } = (await namespace.require('pod', survivor)).metadata;
      const told = await namespace.waitFor(
        'pyd',
        'last',
        'told of the way out',
        'quorumToken',
        (object) => tokenOf(object) !== '',
      );
      report(`the way out is told after ${secondsSince(start)} s`);
      assert.equal((await namespace.require('pod', survivor)).metadata.uid, uid);
      assert.match(reasonOf(told, 'Stalled'), new RegExp(survivor));
      const approved = performance.now();
      const quorum = { acknowledge: tokenOf(told), survivor };
      await namespace.patch('pyd', 'last', { spec: { recovery: { quorum } } });
      await namespace.waitFor('pyd', 'last', 'Ready', 'rolled', isReady);
      await backToThree(namespace, 'last');
      report(`three members again ${secondsSince(approved)} s after the approval`);
      assert.notEqual(await clusterIdOf(namespace, 'last'), id);
      assert.equal(await countEntries(namespace, survivor), acknowledged);
      await mustBeConsistent(namespace, 'last', 'load');
      // The word stands in the spec still, and does nothing any more.
      const uids = await uidsOf(namespace, 'last');
      await namespace.kubectl(['delete', 'pod', survivor]);
      await backToThree(namespace, 'last');
      const { [survivor]: again, ...others } = await uidsOf(namespace, 'last');
      assert.notEqual(again, uids[survivor]);
      for (const [pod, same] of Object.entries(others)) assert.equal(same, uids[pod], pod);
    },
  },
];
