import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubernetesObject } from '../../operator/api/kubernetes-object.ts';
import { Gate } from '../../operator/kubernetes/gate.ts';
import { KubernetesError } from '../../operator/kubernetes/kubernetes-error.ts';
import { Metrics } from '../../operator/kubernetes/metrics.ts';
import { ObjectCache } from '../../operator/kubernetes/object-cache.ts';
import type { KubernetesApi, ListPage } from '../../operator/kubernetes/port.ts';
import { Reflector } from '../../operator/kubernetes/reflector.ts';
import { runOperatorOn } from './sim/running-operator.ts';
import { silentLog, SimulatedWorld } from './sim/simulated-world.ts';
import { settlePromises, VirtualRuntime } from './sim/virtual-runtime.ts';

// Lists of thousands of objects: what the API server sends is held in memory for two pages at most.

const pod = (name: string, version = 1): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace: 'shop', uid: name, resourceVersion: String(version) },
});

/** Answers lists page by page, by token; watches say nothing. */
function reflect(
  pages: (token: string | undefined, hasLimit: boolean) => ListPage,
  cache = new ObjectCache(),
) {
  const changed: string[] = [];
  const runtime = new VirtualRuntime();
  const api: Pick<KubernetesApi, 'list' | 'watch'> = {
    list: async (_kind, _namespace, { continueToken, limit }) =>
      pages(continueToken, limit !== undefined),
    watch: async function* () {
      await new Promise(() => {});
      yield* [];
    },
  };
  const reflector = new Reflector({
    api: api as KubernetesApi,
    runtime,
    log: silentLog,
    cache,
    pages: new Gate(2),
    kind: 'Service',
    namespace: undefined,
    select: {},
    onChange: ({ metadata }) => changed.push(metadata.name),
  });
  void reflector.run();
  return { reflector, cache, changed };
}

const page = (names: readonly string[], continueToken?: string): ListPage => ({
  items: names.map((name) => pod(name)),
  resourceVersion: '9',
  continueToken,
});

test('each page is in the cache before the next one is asked for, and what no page has goes at the end', async () => {
  const known = new ObjectCache();
  known.put(pod('gone'));
  const sizes: number[] = [];
  const { reflector, cache, changed } = reflect((token) => {
    sizes.push(known.size);
    return token === undefined ? page(['a', 'b'], '2') : page(['c']);
  }, known);
  await settlePromises();
  assert.deepEqual(sizes, [1, 3]);
  assert.deepEqual(changed, ['a', 'b', 'c', 'gone']);
  assert.equal(reflector.isSynced, true);
  assert.equal(cache.size, 3);
  reflector.stop();
});

test('pages that grew too old are left for one list of all, which alone says what is there', async () => {
  let tries = 0;
  const { reflector, cache } = reflect((token, hasLimit) => {
    tries++;
    if (!hasLimit) return page(['b', 'c']);
    if (token === undefined) return page(['a', 'b'], '2');
    throw new KubernetesError({ code: 410, reason: 'Expired', message: 'too old' });
  });
  await settlePromises();
  assert.equal(tries, 3);
  assert.deepEqual(
    [...cache.values()].map(({ metadata }) => metadata.name),
    ['b', 'c'],
  );
  reflector.stop();
});

test('a gate lets two through, the others in order, and a failure makes room', async () => {
  const gate = new Gate(2);
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const works = [0, 1, 2, 3].map((at) =>
    gate.pass(async () => {
      begun.push(at);
      await new Promise<void>((resolve) => ends.push(resolve));
      if (at === 0) throw new Error('failed');
      return at;
    }),
  );
  const settled = Promise.allSettled(works);
  await settlePromises();
  assert.deepEqual(begun, [0, 1]);
  ends[0]?.();
  await settlePromises();
  assert.deepEqual(begun, [0, 1, 2]);
  for (let at = 1; at < 4; at++) {
    ends[at]?.();
    await settlePromises();
  }
  assert.deepEqual(
    (await settled).map(({ status }) => status),
    ['rejected', 'fulfilled', 'fulfilled', 'fulfilled'],
  );
});

test('an operator that starts reads two pages at once, of whatever kinds', async () => {
  const world = new SimulatedWorld();
  world.create('orders');
  await world.settle();
  const send = world.api.send.bind(world.api);
  let [now, most, all] = [0, 0, 0];
  world.api.send = async (request) => {
    const isPage = request.method === 'GET' && request.path.includes('limit=500');
    if (!isPage) return send(request);
    most = Math.max(most, ++now);
    all++;
    await world.runtime.timers.sleep(10);
    now--;
    return send(request);
  };
  const { operator } = runOperatorOn(world);
  operator.startWatching();
  await world.runtime.advance(1000);
  assert.equal(operator.isSynced, true);
  assert.ok(all > 10, `${all} lists`);
  assert.equal(most, 2);
  await operator.stop();
});

test('all series of a Cluster go with it, and none of another one', () => {
  const metrics = new Metrics();
  const tell = (name: string) => {
    const labels = { namespace: 'shop', name };
    metrics.set('a', 'A', labels, 1);
    metrics.set('a', 'A', { ...labels, claim: 'x' }, 2);
    metrics.set('a', 'A', { ...labels, claim: 'y' }, 3);
    metrics.observeSeconds('b', 'B', { ...labels, type: 'z' }, 4);
  };
  tell('orders');
  tell('orders-1');
  metrics.removeAll('a', { namespace: 'shop', name: 'orders' });
  metrics.removeAll('b', { namespace: 'shop', name: 'orders' });
  assert.doesNotMatch(metrics.render(), /name="orders"/);
  assert.equal(metrics.render().match(/^a\{namespace="shop",name="orders-1"/gm)?.length, 3);
  tell('orders');
  metrics.removeAll('a', { namespace: 'shop', name: 'orders' });
  metrics.removeAll('b', { namespace: 'shop', name: 'orders' });
  assert.doesNotMatch(metrics.render(), /name="orders"/);
});
