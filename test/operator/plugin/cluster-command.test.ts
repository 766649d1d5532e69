import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseWords, runCluster } from '../../../operator/plugin/cluster-command.ts';
import { SimulatedWorld } from '../sim/simulated-world.ts';

// `kubectl polyad cluster NAME`, on a kubectl that reads the simulated world.

interface Outcome {
  readonly code: number;
  readonly output: string;
  readonly asked: readonly string[];
}

async function run(world: SimulatedWorld, after: object, ...words: string[]): Promise<Outcome> {
  const asked: string[] = [];
  let output = '';
  const write = (text: string) => {
    output += text;
  };
  const kubectl = async (given: readonly string[]) => {
    asked.push(given.join(' '));
    if (given[0] === 'apply') return JSON.stringify({ kind: 'List', items: [after] });
    if (given[1] === 'clusters.polyad.io') {
      if (world.findCluster(given[2] ?? '') === undefined)
        throw new Error(`Error from server (NotFound): clusters.polyad.io "${given[2]}" not found`);
      return JSON.stringify(world.findCluster(given[2] ?? ''));
    }
    return JSON.stringify({ items: world.api.all('Event') });
  };
  const out = { write, complain: write };
  const code = await runCluster(words, kubectl, out, world.runtime.clock.now());
  return { code, output, asked };
}

async function readyWorld(spec: object = {}): Promise<SimulatedWorld> {
  const world = new SimulatedWorld();
  world.create('orders', { resources: { limits: { memory: '1Gi' } }, ...spec });
  await world.settle();
  return world;
}

test('a Cluster at rest: who leads, and that nothing waits', async () => {
  const world = await readyWorld();
  const { code, output, asked } = await run(world, {}, 'orders', '-n', 'shop', '--context', 'c');
  assert.equal(code, 0);
  assert.match(output, /^shop\/orders: Running, ready$/m);
  assert.match(output, /leader {3}orders-0/);
  assert.match(output, /1 of 1 healthy, 0 may fail/);
  assert.match(output, /orders-0 +leader +voter +ready +- +node-a\/zone-a$/m);
  assert.match(output, /^Nothing waits\.$/m);
  assert.match(output, /Created/);
  assert.equal(
    asked.every((words) => words.endsWith('-o json -n shop --context c')),
    true,
  );
});

test('what waits, why, and for how long', async () => {
  const world = await readyWorld();
  world.api.change('Cluster', 'orders', {
    spec: {
      storage: { size: '1Gi' },
      settings: { 'service.txRetries': '9' },
      update: { paused: true },
    },
  });
  await world.settle();
  world.runtime.skip(7_200_000);
  const { output } = await run(world, {}, 'orders');
  assert.match(output, /not ready: StorageShrinkRefused/);
  assert.match(output, /needs you: StorageShrinkRefused: .* cannot shrink to 1Gi \(for 2 h\)/);
  assert.match(output, /ConfigApplied False: RestartPending: spec\.update\.paused holds restarts/);
  assert.match(output, /2 h ago +! +StorageShrinkRefused/);
});

test('an upgrade under way: from what to what, who runs it, who still waits, and that there is no way back', async () => {
  const world = await readyWorld({
    replicas: 3,
    image: 'polyad:26.10.1',
    update: { minReadySeconds: 0, canarySoakSeconds: 600 },
  });
  world.controllers.builds.set('polyad:26.11.0', { downgradeSafeTo: '26.11.0' });
  world.api.change('Cluster', 'orders', { spec: { image: 'polyad:26.11.0' } });
  for (let turn = 0; turn < 30; turn++) await world.turn();
  const { output } = await run(world, {}, 'orders');
  assert.match(
    output,
    /Upgrade from polyad:26\.10\.1 to polyad:26\.11\.0: Soaking, orders-2 runs it alone/,
  );
  assert.match(output, /not taken back by itself: what version 26\.11\.0 writes/);
  assert.match(output, /orders-0 .* waits for its restart$/m);
  assert.match(output, /orders-1 .* waits for its restart$/m);
  assert.doesNotMatch(output, /orders-2 .* waits for its restart$/m);
  assert.match(output, /leader {3}orders-0 \(term 1\)/);
  assert.match(output, /service {2}http:\/\/orders-http\.shop\.svc/);
});

test('what a manifest would restart, and what it would not', async () => {
  const world = await readyWorld();
  const after = (spec: object, annotations: object = {}) => {
    const { metadata, spec: before, ...rest } = world.cluster();
    return {
      ...rest,
      metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } },
      spec: { ...(before as object), ...spec },
    };
  };
  const told = async (spec: object, annotations: object = {}) =>
    (await run(world, after(spec, annotations), 'orders', '-f', 'new.yaml')).output.trim();
  assert.equal(await told({}), 'nothing changes');
  assert.equal(
    await told({ settings: { 'service.server.httpQueryDefaultLimit': '7' } }),
    'without a restart: spec.settings.service.server.httpQueryDefaultLimit',
  );
  assert.equal(
    await told({ settings: { 'service.txRetries': '7' }, storage: { size: '9Gi' } }),
    'restarts the members: spec.settings.service.txRetries\nwithout a restart: spec.storage.size',
  );
  assert.equal(
    await told({ heapPercent: 60, update: { paused: true } }),
    'restarts the members: spec.heapPercent\nwithout a restart: spec.update.paused\nheld until spec.update.paused is false',
  );
  assert.match(await told({ image: 'polyad:2' }), /^restarts the members: spec\.image$/);
  assert.match(await told({ plugins: { redis: { enabled: true } } }), /^restarts .*plugins\.redis/);
  assert.match(await told({}, { 'polyad.io/restart': '1' }), /an annotation asks for it/);
  assert.match(await told({ heapPercent: 'many' }), /^refused: spec\.heapPercent/);
});

test('wrong words and what kubectl says are errors', async () => {
  const world = await readyWorld();
  for (const words of [[], ['a', 'b'], ['orders', '--help']])
    assert.equal((await run(world, {}, ...words)).code, 2);
  const missing = await run(world, {}, 'nobody');
  assert.equal(missing.code, 1);
  assert.match(missing.output, /"nobody" not found/);
  assert.deepEqual(parseWords(['-n', 'shop', 'orders', '--filename=x.yaml']), {
    name: 'orders',
    file: 'x.yaml',
    flags: ['-n', 'shop'],
  });
});
