import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterObject } from '../../operator/api/cluster.ts';
import { parseSpec } from '../../operator/api/cluster.ts';
import type { KubernetesObject, Pod } from '../../operator/api/kubernetes-object.ts';
import { ObjectCache, objectKeyOf } from '../../operator/kubernetes/object-cache.ts';
import { memberOf } from '../../operator/observe/member-address.ts';
import { projectPod } from '../../operator/observe/projections.ts';
import { hasGuard, incarnationOf, podProblem } from '../../operator/resources/pod-state.ts';
import { podTemplate } from '../../operator/resources/pod-template.ts';
import { replicates, speaksTls } from '../../operator/resources/replication.ts';

// What a cache holds of objects: by name, by Cluster, as little as decisions need.

const object = (name: string, version: number, cluster?: string): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: {
    name,
    namespace: 'shop',
    uid: `uid-${name}`,
    resourceVersion: String(version),
    ...(cluster === undefined ? undefined : { labels: { 'polyad.io/cluster': cluster } }),
  },
});

for (const isCompact of [true, false])
  test(`objects are found by their Cluster, ${isCompact ? 'as text' : 'as objects'}`, () => {
    const cache = new ObjectCache({ isCompact });
    const names = (cluster: string, namespace = 'shop') =>
      cache.ofCluster(namespace, cluster).map(({ metadata }) => metadata.name);
    assert.equal(cache.put(object('a', 1, 'orders')), true);
    assert.equal(cache.put(object('a', 1, 'orders')), false);
    cache.put(object('b', 2, 'orders'));
    cache.put(object('c', 3, 'bills'));
    cache.put(object('d', 4));
    assert.deepEqual(
      [names('orders'), names('bills'), names('orders', 'other')],
      [['a', 'b'], ['c'], []],
    );
    // A label that changes, one that goes, an object that goes, a list without one.
    cache.put(object('a', 5, 'bills'));
    cache.put(object('b', 6));
    assert.deepEqual([names('orders'), names('bills')], [[], ['c', 'a']]);
    cache.remove(object('a', 7, 'bills'));
    assert.deepEqual(names('bills'), ['c']);
    const listed = object('e', 8, 'orders');
    assert.equal(cache.put(listed), true);
    const gone = cache.retain(new Set([objectKeyOf(listed)]), () => true);
    assert.deepEqual(
      gone.map(({ metadata }) => metadata.name),
      ['b', 'c', 'd'],
    );
    assert.deepEqual([names('orders'), names('bills')], [['e'], []]);
    assert.equal(cache.get('shop', 'e')?.metadata.uid, 'uid-e');
    assert.deepEqual([...cache.values()].length, 1);
  });

const leaf = {
  problem: undefined,
  authorities: 'authorities',
  dnsNames: ['*.orders.shop.svc.cluster.local'],
};

test('what is kept of a pod decides as the whole pod does', () => {
  for (const settings of [
    {},
    { tls: { http: { enabled: true } } },
    { extraArgs: ['-Dservice.ssl.enabled=true'] },
  ]) {
    const cluster: ClusterObject = {
      apiVersion: 'polyad.io/v1alpha1',
      kind: 'Cluster',
      metadata: { name: 'orders', namespace: 'shop', uid: 'u' },
      spec: { env: [{ name: 'NOTE', value: 'x'.repeat(1000) }], ...settings },
    };
    const { spec } = parseSpec(cluster);
    if (spec === undefined) throw new Error('no spec');
    const inputs = { cluster, spec, image: 'polyad:1', restartHash: 'h', isReplicated: true };
    const template = podTemplate(inputs) as unknown as Pod;
    const whole: Pod = {
      ...template,
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { ...template.metadata, name: 'orders-0', namespace: 'shop', uid: 'pod-1' },
      status: {
        podIP: '10.0.0.1',
        containerStatuses: [
          { name: 'server', restartCount: 2, state: { waiting: { reason: 'CrashLoopBackOff' } } },
        ],
      },
    };
    const kept = projectPod(whole) as Pod;
    const reach = { cluster, spec, certificates: { leaf } } as unknown as Parameters<
      typeof memberOf
    >[1];
    const decide = (pod: Pod) => ({
      member: memberOf(pod, reach),
      replicates: replicates(pod.spec),
      tls: speaksTls(pod),
      guard: hasGuard(pod),
      life: incarnationOf(pod),
      problem: podProblem(pod),
      token: pod.spec?.volumes?.find(({ name }) => name === 'token')?.secret?.secretName,
    });
    assert.deepEqual(decide(kept), decide(whole));
    assert.equal(decide(kept).replicates, true);
    assert.ok(JSON.stringify(kept).length < JSON.stringify(whole).length / 3);
  }
});
