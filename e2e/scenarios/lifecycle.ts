import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { budgetMs } from '../config/timeouts.ts';
import type { Scenario } from '../scenario.ts';
import { ask, serverCommand, sql } from '../steps/member.ts';
import {
  conditionOf,
  isReady,
  type KubernetesObject,
  type Namespace,
  reasonOf,
  valueAt,
} from '../steps/objects.ts';
import { makeBuilds } from '../steps/other-builds.ts';
import { volumePod } from '../steps/volume-pod.ts';

async function fill(namespace: Namespace, pod: string): Promise<void> {
  await serverCommand(namespace, pod, 'create database kept');
  await sql(namespace, pod, 'kept', 'CREATE DOCUMENT TYPE T');
  await sql(namespace, pod, 'kept', 'INSERT INTO T SET n = 42');
}

async function isFilled(namespace: Namespace, pod: string): Promise<boolean> {
  return (await sql(namespace, pod, 'kept', 'SELECT n FROM T'))[0]?.['n'] === 42;
}

const passwordOf = async (namespace: Namespace, secret: string): Promise<string> =>
  String(valueAt(await namespace.require('secret', secret), 'data.rootPassword'));

/** Objects that are there and will stay. */
async function leftOf(namespace: Namespace, cluster: string): Promise<readonly string[]> {
  const kinds = 'statefulsets,services,configmaps,secrets,persistentvolumeclaims,pods';
  return (await namespace.list(kinds, '-l', `app.kubernetes.io/instance=${cluster}`))
    .filter((object) => object.metadata.deletionTimestamp === undefined)
    .map((object) => `${String(object.kind)}/${object.metadata.name}`);
}

/** What lies among the backups of a volume that no member uses any more. */
async function backupsOn(namespace: Namespace, image: string, claim: string): Promise<string> {
  const command = ['find', '/volume/backups', '-type', 'f'];
  await namespace.apply(volumePod('look', { image, claim, command }));
  const isOver = (pod: KubernetesObject | undefined): boolean =>
    valueAt(pod, 'status.phase') === 'Succeeded';
  await namespace.waitFor('pod', 'look', 'over', 'memberBack', isOver);
  return namespace.kubectl(['logs', 'look']);
}

/** The certificate that the Service shows, trusted by the authority in the Cluster's Secret. */
async function servedOver(
  namespace: Namespace,
  cluster: string,
): Promise<{ readonly serial: string; readonly names: string; readonly error: string }> {
  const program = `
    const socket = require('node:tls').connect({
      host: '${cluster}-http', port: 2490, servername: '${cluster}-http',
      ca: require('node:fs').readFileSync('/etc/polyad/tls/ca.crt'), rejectUnauthorized: false,
    }, () => {
      const { serialNumber: serial, subjectaltname: names } = socket.getPeerCertificate();
      console.log(JSON.stringify({ serial, names, error: String(socket.authorizationError ?? '') }));
      socket.end();
    });`;
  const words = ['exec', `${cluster}-0`, '-c', 'server', '--', 'node', '-e', program];
  return JSON.parse(await namespace.kubectl(words)) as {
    readonly serial: string;
    readonly names: string;
    readonly error: string;
  };
}

export const lifecycleScenarios: readonly Scenario[] = [
  {
    id: 'T6',
    title: 'the password of root changed: old refused, new accepted, no restart',
    level: 1,
    async run({ namespace, cluster }) {
      const secret = (rootPassword: string) => ({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'admin' },
        stringData: { rootPassword },
      });
      await namespace.apply(secret('first-password-of-root'));
      await cluster('turn', {
        auth: { rootPassword: { secretName: 'admin', key: 'rootPassword' } },
      });
      const { uid } = (await namespace.require('pod', 'turn-0')).metadata;
      await namespace.apply(secret('second-password-of-root'));
      const status = async (password: string) =>
        (await ask(namespace, 'turn-0', { path: '/databases', password })).status;
      const deadline = performance.now() + 60_000;
      while ((await status('second-password-of-root')) !== 200 && performance.now() < deadline)
        await pause(500);
      assert.equal(await status('second-password-of-root'), 200);
      assert.equal(await status('first-password-of-root'), 403);
      assert.equal((await namespace.require('pod', 'turn-0')).metadata.uid, uid);
    },
  },
  {
    id: 'T2',
    title:
      'HTTPS: served with a certificate of the operator, another one taken over without a restart',
    level: 1,
    async run({ namespace, cluster, report }) {
      await cluster('safe', { tls: { http: { enabled: true } } });
      const uid = (await namespace.require('pod', 'safe-0')).metadata.uid;
      const first = await servedOver(namespace, 'safe');
      assert.equal(first.error, '', 'the authority of the Secret is trusted');
      const before = valueAt(await namespace.require('pyd', 'safe'), 'status.certificates');
      assert.match(JSON.stringify(before), new RegExp(first.serial));
      await namespace.patch('pyd', 'safe', { spec: { tls: { extraDnsNames: ['db.example'] } } });
      const start = performance.now();
      const deadline = start + budgetMs('certificateServed');
      let now = first;
      while (now.serial === first.serial && performance.now() < deadline) {
        await pause(1_000);
        now = await servedOver(namespace, 'safe');
      }
      assert.notEqual(now.serial, first.serial);
      assert.match(now.names, /db\.example/);
      report(`another one served after ${((performance.now() - start) / 1000).toFixed(0)} s`);
      assert.equal((await namespace.require('pod', 'safe-0')).metadata.uid, uid);
    },
  },
  {
    id: 'B7',
    title: 'more storage: grown, or said clearly why not, and mended by the old size',
    level: 1,
    async run({ namespace, cluster, report }) {
      await cluster('grow', { storage: { size: '1Gi' } });
      await namespace.patch('pyd', 'grow', { spec: { storage: { size: '2Gi' } } });
      const told = await namespace.waitFor(
        'pyd',
        'grow',
        'grown or told why not',
        'storageCondition',
        (object) =>
          JSON.stringify(valueAt(object, 'status.storage') ?? '').includes('"capacity":"2Gi"') ||
          /storage|expan/i.test(
            ['StorageResized', 'StorageReady', 'Stalled', 'Progressing', 'Ready', 'SpecWarnings']
              .map((type) => reasonOf(object, type))
              .join(' '),
          ),
      );
      report(JSON.stringify(valueAt(told, 'status.storage')).slice(0, 120));
      await sql(namespace, 'grow-0', 'nothing', 'SELECT 1').catch(() => undefined);
    },
  },
  {
    id: 'L2',
    title:
      'an image that is not there: tried beside the member, which is never interrupted; automatic return',
    level: 1,
    async run({ namespace, image, cluster, report }) {
      await cluster('ship', { update: { progressDeadlineSeconds: 30 } });
      await fill(namespace, 'ship-0');
      const before = (await namespace.require('pod', 'ship-0')).metadata.uid;
      const start = performance.now();
      await namespace.patch('pyd', 'ship', { spec: { image: 'polyad:no-such-tag' } });
      const returned = await namespace.waitFor(
        'pyd',
        'ship',
        'returned',
        'imageReturn',
        (object) =>
          valueAt(object, 'status.failedImage') === 'polyad:no-such-tag' &&
          valueAt(object, 'status.image') === image &&
          valueAt(object, 'status.readyReplicas') === 1,
      );
      report(`returned after ${((performance.now() - start) / 1000).toFixed(0)} s`);
      assert.match(JSON.stringify(valueAt(returned, 'status.conditions')), /UpgradeFailed/);
      assert.equal(await isFilled(namespace, 'ship-0'), true);
      await pause(10_000);
      assert.equal((await namespace.require('pod', 'ship-0')).metadata.uid, before);
      await namespace.patch('pyd', 'ship', { spec: { image } });
      await namespace.waitFor('pyd', 'ship', 'Ready', 'memberBack', isReady);
    },
  },
  {
    id: 'L3',
    title:
      'an older version, and one that skips others and does not read what they wrote: refused before a member ends; the next one goes on',
    level: 2,
    needs: ['image building'],
    async run({ namespace, image, cluster, report }) {
      const [older = '', skipping = '', next = ''] = await makeBuilds(image, [
        { version: '25.4.0' },
        { version: '26.99.0', formats: 's/log: { reads: .1, 2/log: { reads: [2, 2/' },
        { version: '26.10.2' },
      ]);
      await cluster('path', { update: { canarySoakSeconds: 0 } });
      await fill(namespace, 'path-0');
      const { uid } = (await namespace.require('pod', 'path-0')).metadata;
      const mustRefuse = async (refused: string, why: RegExp): Promise<void> => {
        const start = performance.now();
        await namespace.patch('pyd', 'path', { spec: { image: refused } });
        const told = await namespace.waitFor(
          'pyd',
          'path',
          'refused',
          'imageReturn',
          (object) => valueAt(object, 'status.failedImage') === refused,
        );
        report(`refused after ${((performance.now() - start) / 1000).toFixed(0)} s`);
        assert.match(reasonOf(told, 'Stalled'), /^UpgradeFailed: image .* is not rolled out: /);
        assert.match(reasonOf(told, 'Stalled'), why);
        await pause(5_000);
        assert.equal((await namespace.require('pod', 'path-0')).metadata.uid, uid);
        assert.equal(valueAt(await namespace.require('pyd', 'path'), 'status.image'), image);
      };
      await mustRefuse(older, /is read from version 26\.\d+\.\d+ on, not by version 25\.4\.0/);
      await mustRefuse(skipping, /version 26\.99\.0 skips versions after version 26\./);
      await namespace.patch('pyd', 'path', { spec: { image: next } });
      await namespace.waitFor('pyd', 'path', 'Ready', 'rolled', isReady);
      assert.equal(valueAt(await namespace.require('pyd', 'path'), 'status.image'), next);
      assert.equal(await isFilled(namespace, 'path-0'), true);
    },
  },
  {
    id: 'L4',
    title: 'the operator rolled: no database restarts',
    level: 1,
    isSerial: true,
    async run({ namespace, operatorNamespace, cluster }) {
      await cluster('calm');
      const { uid } = (await namespace.require('pod', 'calm-0')).metadata;
      await operatorNamespace.kubectl(['rollout', 'restart', 'deployment', 'polyad-operator']);
      await operatorNamespace.kubectl([
        ...['rollout', 'status', 'deployment', 'polyad-operator', '--timeout=120s'],
      ]);
      await namespace.patch('pyd', 'calm', {
        spec: { podMetadata: {}, settings: { 'service.server.httpQueryDefaultLimit': '777' } },
      });
      await namespace.waitFor('pyd', 'calm', 'Ready', 'deliveredFile', isReady);
      assert.equal((await namespace.require('pod', 'calm-0')).metadata.uid, uid);
    },
  },
  {
    id: 'L5',
    title: 'hibernate and resume: data and names intact',
    level: 1,
    async run({ namespace, cluster, report }) {
      await cluster('sleep');
      await fill(namespace, 'sleep-0');
      const start = performance.now();
      await namespace.patch('pyd', 'sleep', { spec: { hibernate: true } });
      await namespace.waitGone('pod', 'sleep-0', 'hibernate');
      const slept = (performance.now() - start) / 1000;
      await namespace.patch('pyd', 'sleep', { spec: { hibernate: false } });
      await namespace.waitFor('pyd', 'sleep', 'Ready', 'hibernate', isReady);
      assert.equal(await isFilled(namespace, 'sleep-0'), true);
      report(`asleep after ${slept.toFixed(0)} s`);
    },
  },
  {
    id: 'L6',
    title: 'deleted with Retain and made again: same data, same password',
    level: 1,
    async run({ namespace, cluster }) {
      await cluster('phoenix');
      await fill(namespace, 'phoenix-0');
      const before = await passwordOf(namespace, 'phoenix-root');
      await namespace.kubectl(['delete', 'pyd', 'phoenix', '--wait=false']);
      await namespace.waitGone('pyd', 'phoenix', 'deletion');
      await namespace.waitGone('statefulset', 'phoenix', 'deletion');
      await namespace.waitGone('pod', 'phoenix-0', 'deletion');
      await cluster('phoenix');
      assert.equal(await passwordOf(namespace, 'phoenix-root'), before);
      assert.equal(await isFilled(namespace, 'phoenix-0'), true);
    },
  },
  {
    id: 'L7',
    title:
      'deleted with Delete, with BackupThenDelete, with its namespace: what is left is what was said',
    level: 1,
    async run({ namespace, image, cluster, report, expectLostVolumes }) {
      expectLostVolumes();
      await cluster('ash', { deletionPolicy: 'Delete' });
      await cluster('dust', { deletionPolicy: 'BackupThenDelete' });
      await fill(namespace, 'dust-0');
      const start = performance.now();
      await namespace.kubectl(['delete', 'pyd', 'ash', 'dust', '--wait=false']);
      await namespace.waitGone('pyd', 'ash', 'deletion');
      await namespace.waitGone('pvc', 'data-ash-0', 'deletion');
      assert.deepEqual(await leftOf(namespace, 'ash'), []);
      await namespace.waitGone('pyd', 'dust', 'deletion');
      assert.deepEqual(await leftOf(namespace, 'dust'), ['PersistentVolumeClaim/data-dust-0']);
      report(`${((performance.now() - start) / 1000).toFixed(0)} s`);
      const claim = await namespace.require('pvc', 'data-dust-0');
      assert.notEqual(claim.metadata.labels?.['polyad.io/retired'], undefined);
      assert.match(
        await backupsOn(namespace, image, 'data-dust-0'),
        /kept-backup-\d{8}-\d{9}\.zip/,
      );
      await cluster('both', { deletionPolicy: 'BackupThenDelete' });
      await namespace.kubectl(['delete', 'namespace', namespace.name, '--wait=false']);
      await namespace.waitGone('namespace', namespace.name, 'namespaceGone');
    },
  },
  {
    id: 'L7b',
    title: 'the operator gone first: the documented command lets a Cluster go',
    level: 1,
    isSerial: true,
    async run({ namespace, operatorNamespace, cluster }) {
      await cluster('orphan', { deletionPolicy: 'Delete' });
      const scale = (replicas: number) =>
        operatorNamespace.kubectl([
          'scale',
          'deployment/polyad-operator',
          `--replicas=${replicas}`,
        ]);
      await scale(0);
      try {
        await namespace.kubectl(['delete', 'pyd', 'orphan', '--wait=false']);
        await pause(3_000);
        await namespace.require('pyd', 'orphan');
        const release = '{"metadata":{"finalizers":null}}';
        await namespace.kubectl(['patch', 'pyd', 'orphan', '--type=merge', '-p', release]);
        await namespace.waitGone('pyd', 'orphan', 'deletion');
        await namespace.waitGone('statefulset', 'orphan', 'deletion');
      } finally {
        await scale(2);
        await operatorNamespace.kubectl(['rollout', 'status', 'deployment/polyad-operator']);
      }
      await namespace.require('pvc', 'data-orphan-0');
    },
  },
  {
    id: 'L10',
    title: 'paused: the status moves, nothing else does',
    level: 1,
    async run({ namespace, cluster }) {
      await cluster('still');
      await namespace.kubectl(['annotate', 'pyd', 'still', 'polyad.io/reconcile=paused']);
      await pause(2_000);
      const { uid } = (await namespace.require('pod', 'still-0')).metadata;
      await namespace.patch('pyd', 'still', { spec: { settings: { 'service.txRetries': '9' } } });
      await namespace.kubectl(['delete', 'service', 'still-http']);
      await pause(8_000);
      assert.equal(await namespace.get('service', 'still-http'), undefined);
      assert.equal((await namespace.require('pod', 'still-0')).metadata.uid, uid);
      const seen = await namespace.require('pyd', 'still');
      assert.notEqual(isReady(seen), true, 'Ready is said of a spec that was not applied');
      await namespace.kubectl(['annotate', 'pyd', 'still', 'polyad.io/reconcile-']);
      await namespace.waitFor('pyd', 'still', 'Ready', 'memberBack', isReady);
      assert.notEqual(await namespace.get('service', 'still-http'), undefined);
      assert.equal(conditionOf(await namespace.get('pod', 'still-0'), 'Ready'), 'True');
    },
  },
];
