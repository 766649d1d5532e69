import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reportCluster, forgetCluster } from '../../operator/act/cluster-metrics.ts';
import { conditionOf } from '../../operator/api/conditions.ts';
import { Metrics } from '../../operator/kubernetes/metrics.ts';
import { reconcile } from '../../operator/reconcile/reconcile.ts';
import { versionLabel } from '../../operator/resources/owner.ts';
import { nowMs, observationOf } from './observation-builder.ts';

// The words that a status and its metrics say (operator.md 3.6, 3.7, 10.7).

const quiet = { resources: { limits: { memory: '1Gi' } } };

const warnings: readonly (readonly [object, string | undefined])[] = [
  [{ replicas: 1, antiAffinity: 'None' }, undefined],
  [{ replicas: 3 }, undefined],
  [{ replicas: 2 }, 'TwoVoters'],
  [{ replicas: 4 }, 'EvenReplicas'],
  [{ replicas: 3, antiAffinity: 'None' }, 'NoAntiAffinity'],
  [{ replicas: 3, affinity: { nodeAffinity: {} } }, 'NoAntiAffinity'],
  [{ replicas: 3, affinity: { podAntiAffinity: {} }, antiAffinity: 'None' }, undefined],
  [{ replicas: 4, resources: { limits: { memory: null, cpu: '1' } } }, 'EvenReplicas'],
  [{ resources: { limits: { memory: null } } }, 'NoMemoryLimit'],
  [{ resources: { limits: { cpu: '1' } } }, 'CpuLimitSet'],
  [{ image: 'polyad:latest' }, 'TagLatest'],
];

test('what is accepted and unwise is a warning with a reason of its own', () => {
  for (const [spec, reason] of warnings) {
    const { status } = reconcile(observationOf({ spec }, quiet), nowMs);
    const found = conditionOf(status.conditions, 'SpecWarnings');
    assert.equal(found?.reason, reason, JSON.stringify(spec));
  }
});

test('Reconciling says the word of the phase', () => {
  const old = { metadata: { annotations: { 'polyad.io/restart-hash': 'old' } } };
  const worlds = [
    [{ pod: old }, 'Updating'],
    [{ spec: { hibernate: true } }, 'Hibernating'],
    [{ pod: null, status: { operation: undefined } }, 'Degraded'],
  ] as const;
  for (const [world, phase] of worlds) {
    const { status } = reconcile(observationOf(world), nowMs);
    const found = conditionOf(status.conditions, 'Reconciling');
    assert.deepEqual([status.phase, found?.reason], [phase, phase]);
  }
});

test('members are counted by how far they are behind', () => {
  const metrics = new Metrics();
  const metadata = { name: 'orders', namespace: 'shop', uid: 'u' };
  const cluster = { apiVersion: 'polyad.io/v1alpha1', kind: 'Cluster', metadata };
  const members = ['0', '<=100', '0', undefined].map((lag, ordinal) => ({
    name: `orders-${ordinal}`,
    ordinal,
    ...(lag === undefined ? undefined : { lag }),
  }));
  const lines = () =>
    metrics
      .render()
      .split('\n')
      .filter((line) => /^polyad_cluster_member_lag\{/.test(line));
  const report = (shown: typeof members) =>
    reportCluster(metrics, cluster, {
      status: { members: shown },
      stalledOperation: undefined,
      nowMs,
    });
  report(members);
  const labels = 'namespace="shop",name="orders"';
  assert.deepEqual(lines(), [
    `polyad_cluster_member_lag{${labels},bucket="0"} 2`,
    `polyad_cluster_member_lag{${labels},bucket="<=100"} 1`,
  ]);
  report(members.slice(0, 1));
  assert.deepEqual(lines(), [`polyad_cluster_member_lag{${labels},bucket="0"} 1`]);
  forgetCluster(metrics, 'shop', 'orders');
  assert.deepEqual(lines(), []);
});

const images: readonly (readonly [string, string | undefined, string | undefined])[] = [
  ['polyad:26.10.1', undefined, '26.10.1'],
  ['registry:5000/polyad:v1.2', undefined, 'v1.2'],
  [`polyad:26.10.1@sha256:${'a'.repeat(64)}`, undefined, '26.10.1'],
  [`polyad@sha256:${'a'.repeat(64)}`, undefined, undefined],
  [`polyad@sha256:${'a'.repeat(64)}`, '26.10.2', '26.10.2'],
  ['registry:5000/polyad', undefined, undefined],
  ['polyad:latest', undefined, undefined],
  ['polyad:latest', 'not a label!', undefined],
];

test('the version label is what the spec or the tag says, when that can be a label', () => {
  for (const [image, given, label] of images)
    assert.equal(versionLabel(given, image), label, image);
});
