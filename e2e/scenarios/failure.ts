import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { budgetMs } from '../config/timeouts.ts';
import type { Scenario } from '../scenario.ts';
import { signalServer } from '../steps/containers.ts';
import { serverCommand, sql } from '../steps/member.ts';
import { conditionOf, isReady, type Namespace, reasonOf, valueAt } from '../steps/objects.ts';
import { volumePod } from '../steps/volume-pod.ts';

async function backTo(namespace: Namespace, name: string): Promise<void> {
  await namespace.waitFor(
    'pod',
    `${name}-0`,
    'ready',
    'nodeBack',
    (pod) => conditionOf(pod, 'Ready') === 'True',
  );
  await namespace.waitFor('pyd', name, 'Ready', 'memberBack', isReady);
}

/** Holds the databases of a volume as a server does, until it is killed. */
const holder = `
  const path = process.cwd() + '/server/platform/process-lock.ts';
  const { lockFileName, ProcessLock } = await import(path);
  ProcessLock.acquire('/volume/databases/' + lockFileName);
  console.log('holds');
  setInterval(() => {}, 1000);`;

/** Waits until a container says so. */
async function mustSay(
  namespace: Namespace,
  container: readonly string[],
  words: string,
): Promise<void> {
  const deadline = performance.now() + budgetMs('memberBack');
  for (;;) {
    const { output } = await namespace.tryKubectl(['logs', ...container]);
    if (output.includes(words)) return;
    if (performance.now() > deadline) throw new Error(`${container[0]} does not say: ${words}`);
    await pause(300);
  }
}

/** The volume of a claim under another name, as a person does it who mistakes one for another. */
async function renameClaim(namespace: Namespace, from: string, to: string): Promise<void> {
  const claim = await namespace.require('pvc', from);
  const volumeName = String(valueAt(claim, 'spec.volumeName'));
  const keep = (policy: string) =>
    namespace.patch('pv', volumeName, { spec: { persistentVolumeReclaimPolicy: policy } });
  await keep('Retain');
  await namespace.kubectl(['delete', 'pvc', from]);
  await namespace.patch('pv', volumeName, { spec: { claimRef: null } });
  const { accessModes, resources, storageClassName } = valueAt(claim, 'spec') as Readonly<
    Record<string, unknown>
  >;
  await namespace.apply({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: to },
    spec: { accessModes, resources, storageClassName, volumeName },
  });
  await namespace.waitFor(
    'pvc',
    to,
    'bound',
    'storageCondition',
    (object) => valueAt(object, 'status.phase') === 'Bound',
  );
  await keep('Delete');
}

export const failureScenarios: readonly Scenario[] = [
  {
    id: 'F1',
    title: 'SIGKILL of the server process: back with everything acknowledged',
    level: 0,
    needs: ['container kill'],
    async run({ namespace, cluster, load, node, report, expectRestarts }) {
      expectRestarts();
      await cluster('kill');
      const clients = await load('kill');
      const pod = await namespace.require('pod', 'kill-0');
      await signalServer({ namespace, node }, 'kill-0', 'SIGKILL');
      await clients.untilAcknowledged(40);
      const { longestGapSeconds, acknowledged } = await clients.stop();
      report(`gap ${longestGapSeconds.toFixed(1)} s, ${acknowledged} writes`);
      await backTo(namespace, 'kill');
      assert.equal((await namespace.require('pod', 'kill-0')).metadata.uid, pod.metadata.uid);
    },
  },
  {
    id: 'F2',
    title: 'the pod deleted without grace',
    level: 0,
    async run({ namespace, cluster, load, report }) {
      await cluster('gone');
      const clients = await load('gone');
      await namespace.kubectl(['delete', 'pod', 'gone-0', '--grace-period=0', '--force']);
      await clients.untilAcknowledged(40);
      const { longestGapSeconds, acknowledged } = await clients.stop();
      report(`gap ${longestGapSeconds.toFixed(1)} s, ${acknowledged} writes`);
      await backTo(namespace, 'gone');
    },
  },
  {
    id: 'F2b',
    title:
      'a server that finds its directory held, as by one that ends late: it waits, and is not restarted',
    level: 1,
    async run(context) {
      const { namespace, image, cluster, report } = context;
      await cluster('late');
      await serverCommand(namespace, 'late-0', 'create database kept');
      await sql(namespace, 'late-0', 'kept', 'CREATE DOCUMENT TYPE T');
      await sql(namespace, 'late-0', 'kept', 'INSERT INTO T SET n = 42');
      const hibernate = (isAsleep: boolean) =>
        namespace.patch('pyd', 'late', { spec: { hibernate: isAsleep } });
      await hibernate(true);
      await namespace.waitGone('pod', 'late-0', 'hibernate');
      const command = ['node', '--input-type=module', '-e', holder];
      await namespace.apply(volumePod('holder', { image, claim: 'data-late-0', command }));
      await mustSay(namespace, ['holder'], 'holds');
      await hibernate(false);
      const server = ['late-0', '-c', 'server'];
      await mustSay(namespace, server, 'uses this directory already');
      await pause(3_000);
      assert.notEqual(conditionOf(await namespace.require('pod', 'late-0'), 'Ready'), 'True');
      await namespace.kubectl(['delete', 'pod', 'holder', '--grace-period=0', '--force']);
      const start = performance.now();
      await backTo(namespace, 'late');
      report(`Ready ${((performance.now() - start) / 1000).toFixed(1)} s after it was given back`);
      const [row] = await sql(namespace, 'late-0', 'kept', 'SELECT n FROM T');
      assert.equal(row?.['n'], 42);
    },
  },
  {
    id: 'F3',
    title: 'pod and operator deleted at once: converges, nothing lost, nothing twice',
    level: 1,
    isSerial: true,
    async run({ namespace, operatorNamespace, cluster, load, report }) {
      await cluster('both');
      const clients = await load('both');
      await Promise.all([
        namespace.kubectl(['delete', 'pod', 'both-0']),
        operatorNamespace.kubectl([
          ...['delete', 'pod', '-l', 'app.kubernetes.io/name=polyad-operator'],
          '--grace-period=0',
          '--force',
        ]),
      ]);
      await clients.untilAcknowledged(40);
      const { longestGapSeconds } = await clients.stop();
      report(`gap ${longestGapSeconds.toFixed(1)} s`);
      await backTo(namespace, 'both');
      const sets = await namespace.list('statefulsets,persistentvolumeclaims');
      assert.equal(sets.length, 2);
    },
  },
  {
    id: 'F4',
    title: 'the operator away for a while, and a pod lost meanwhile: the database does not need it',
    level: 1,
    isSerial: true,
    async run({ namespace, operatorNamespace, cluster, load, report }) {
      await cluster('alone');
      const clients = await load('alone');
      const scale = (replicas: number) =>
        operatorNamespace.kubectl([
          'scale',
          'deployment',
          'polyad-operator',
          `--replicas=${replicas}`,
        ]);
      await scale(0);
      try {
        await namespace.kubectl(['delete', 'pod', 'alone-0']);
        await clients.untilAcknowledged(40);
        await pause(60_000);
      } finally {
        await scale(2);
      }
      const uid = (await namespace.require('pod', 'alone-0')).metadata.uid;
      const { longestGapSeconds } = await clients.stop();
      report(`gap ${longestGapSeconds.toFixed(1)} s`);
      await backTo(namespace, 'alone');
      assert.equal((await namespace.require('pod', 'alone-0')).metadata.uid, uid);
    },
  },
  {
    id: 'F5',
    title: 'the node stopped and started: nothing destructive, everything there afterwards',
    level: 1,
    isSerial: true,
    needs: ['node chaos', 'several nodes'],
    async run({ namespace, operatorNamespace, cluster, load, node, report, expectRestarts }) {
      expectRestarts();
      await cluster('island');
      const clients = await load('island');
      const pod = await namespace.require('pod', 'island-0');
      const host = String(valueAt(pod, 'spec.nodeName'));
      await node(host, 'stop');
      try {
        await namespace.waitFor(
          'pyd',
          'island',
          'not Ready',
          'nodeLost',
          (object) => conditionOf(object, 'Ready') !== 'True',
        );
        const claim = await namespace.require('pvc', 'data-island-0');
        assert.equal(claim.metadata.deletionTimestamp, undefined);
      } finally {
        await node(host, 'start');
      }
      await operatorNamespace.waitFor(
        'deployment',
        'polyad-operator',
        'available',
        'nodeBack',
        (object) => conditionOf(object, 'Available') === 'True',
      );
      await backTo(namespace, 'island');
      await clients.untilAcknowledged(20);
      const { longestGapSeconds, acknowledged } = await clients.stop();
      report(`gap ${longestGapSeconds.toFixed(0)} s, ${acknowledged} writes`);
    },
  },
  {
    id: 'F9',
    title: 'the volume of another Cluster: refused, said whose it is, and left as it is',
    level: 2,
    async run({ namespace, image, cluster, report, expectLostVolumes }) {
      expectLostVolumes();
      await cluster('host');
      await serverCommand(namespace, 'host-0', 'create database precious');
      await namespace.kubectl(['delete', 'pyd', 'host', '--wait=true', '--timeout=60s']);
      await namespace.waitGone('pod', 'host-0', 'deletion');
      await renameClaim(namespace, 'data-host-0', 'data-guest-0');
      await namespace.apply({
        apiVersion: 'polyad.io/v1alpha1',
        kind: 'Cluster',
        metadata: { name: 'guest' },
        spec: { replicas: 1 },
      });
      const start = performance.now();
      const refused = await namespace.waitFor('pyd', 'guest', 'refused', 'clusterReady', (object) =>
        reasonOf(object, 'Stalled').startsWith('ForeignVolume'),
      );
      report(`told after ${((performance.now() - start) / 1000).toFixed(0)} s`);
      const [, owner = ''] =
        /guest-0 belongs to ordinal 0 of the cluster (\S+)\./.exec(reasonOf(refused, 'Stalled')) ??
        [];
      assert.notEqual(owner, '', reasonOf(refused, 'Stalled'));
      await pause(20_000);
      const still = await namespace.require('pyd', 'guest');
      assert.notEqual(conditionOf(still, 'Ready'), 'True');
      assert.notEqual(conditionOf(await namespace.require('pod', 'guest-0'), 'Ready'), 'True');
      const command = ['sh', '-c', 'cat /volume/.polyad-volume.json; ls /volume/databases'];
      await namespace.apply(volumePod('look', { image, claim: 'data-guest-0', command }));
      await mustSay(namespace, ['look'], 'precious');
      assert.ok((await namespace.kubectl(['logs', 'look'])).includes(`"${owner}"`));
    },
  },
  {
    id: 'F6',
    title: 'the volume lost: an empty disk does not start in its place until a person says so',
    level: 1,
    async run({ namespace, cluster, expectRestarts, expectLostVolumes }) {
      expectRestarts();
      expectLostVolumes();
      await cluster('lost');
      await serverCommand(namespace, 'lost-0', 'create database precious');
      await namespace.kubectl(['delete', 'pvc', 'data-lost-0', '--wait=false']);
      await namespace.kubectl(['delete', 'pod', 'lost-0']);
      const blocked = await namespace.waitFor('pyd', 'lost', 'blocked', 'deliveredFile', (object) =>
        Boolean(valueAt(object, 'status.recovery.incidentToken')),
      );
      assert.notEqual(conditionOf(blocked, 'Ready'), 'True');
      assert.match(
        ['Stalled', 'VolumesHealthy', 'RecoveryRequired', 'Ready']
          .map((type) => reasonOf(blocked, type))
          .join('\n'),
        /volume|adopt/i,
      );
      const token = String(valueAt(blocked, 'status.recovery.incidentToken'));
      await namespace.kubectl(['annotate', 'pyd', 'lost', `polyad.io/adopt=${token}`]);
      await namespace.waitFor('pyd', 'lost', 'Ready', 'deliveredFile', isReady);
      await serverCommand(namespace, 'lost-0', 'create database again');
      await sql(namespace, 'lost-0', 'again', 'SELECT 1 AS n');
    },
  },
];
