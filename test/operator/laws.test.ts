import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Action } from '../../operator/api/decision.ts';
import { clusterStatus } from '../../operator/api/cluster-status.ts';
import { reconcile } from '../../operator/reconcile/reconcile.ts';
import { stableJson } from '../../operator/resources/content-hash.ts';
import { compareQuantities, parseQuantity } from '../../operator/resources/quantity.ts';
import { nowMs, observationOf } from './observation-builder.ts';
import type { World } from './observation-builder.ts';

// What holds of every decision, in worlds that nobody thought of.

const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 3 });

const specs = fc.record(
  {
    image: fc.constantFrom('polyad:1', 'polyad:2'),
    hibernate: fc.boolean(),
    deletionPolicy: fc.constantFrom('Retain', 'Delete', 'BackupThenDelete'),
    update: fc.record({ paused: fc.boolean(), autoRollback: fc.boolean() }, { requiredKeys: [] }),
    storage: fc.record({ size: fc.constantFrom('7Gi', '8Gi', '9Gi') }),
    networkPolicy: fc.record({ enabled: fc.boolean() }),
    backup: fc.constant({}),
    ephemeral: fc.boolean(),
    settings: fc.constantFrom(
      {},
      { 'service.server.maxSnapshotAge': '5' },
      { 'service.server.mode': 'test' },
    ),
  },
  { requiredKeys: [] },
);

const pods = fc.oneof(
  fc.constant(null),
  fc.record(
    {
      metadata: fc.record(
        {
          deletionTimestamp: fc.constant('2026-11-21T11:00:00Z'),
          annotations: fc.constant({ 'polyad.io/restart-hash': 'other' }),
        },
        { requiredKeys: [] },
      ),
      status: fc.constantFrom(
        {},
        { conditions: [] },
        {
          conditions: [],
          containerStatuses: [{ name: 'server', state: { waiting: { reason: 'ErrImagePull' } } }],
        },
        {
          conditions: [],
          initContainerStatuses: [
            { name: 'guard', state: { terminated: { exitCode: 1, message: 'VolumeLost: x' } } },
          ],
        },
      ),
    },
    { requiredKeys: [] },
  ),
);

const operations = fc.record({
  id: fc.constant('a'),
  type: fc.constantFrom('Create', 'Restart', 'Upgrade', 'RollBack', 'Resume', 'Repair'),
  target: fc.constantFrom('x', 'y'),
  step: fc.constant('Restart'),
  startedAt: fc.constantFrom('2026-11-21T10:00:00Z', '2026-11-21T11:59:59Z', 'nonsense'),
});

const worlds: fc.Arbitrary<World> = fc
  .record({
    spec: maybe(specs),
    pod: maybe(pods),
    metadata: maybe(
      fc.constantFrom(
        { deletionTimestamp: '2026-11-21T11:00:00Z', finalizers: ['polyad.io/teardown'] },
        { annotations: { 'polyad.io/reconcile': 'paused' } },
        { annotations: { 'polyad.io/adopt': 'lost-5363631a91' } },
      ),
    ),
    status: maybe(
      fc.record(
        {
          operation: operations,
          failedImage: fc.constantFrom('polyad:1', 'polyad:2'),
          lastGoodImage: fc.constantFrom('polyad:1', 'polyad:2', null),
        },
        { requiredKeys: [] },
      ),
    ),
    claim: maybe(fc.constantFrom(null, { status: { capacity: { storage: '4Gi' } } })),
    node: maybe(fc.constantFrom(null, { isReady: false }, { isReady: false, exists: false })),
    secrets: maybe(
      fc.constantFrom({ root: null }, { token: null }, { root: { hash: 'b' } }, { applied: null }),
    ),
    missing: maybe(
      fc.constantFrom(['StatefulSet/orders'], ['ConfigMap/orders-members', 'Service/orders']),
    ),
    member: maybe(
      fc.constantFrom({ isReady: false }, { isReady: null }, { backup: 'unsupported' }),
    ),
  })
  .map((world) =>
    Object.fromEntries(Object.entries(world).filter(([, value]) => value !== undefined)),
  );

const destructive = (action: Action | undefined) =>
  action?.kind === 'delete' && ['PersistentVolumeClaim', 'Secret'].includes(action.target.kind);

test('in any world: a function, a valid status, and nothing destroyed that nobody asked to destroy', () => {
  fc.assert(
    fc.property(worlds, (world) => {
      const seen = observationOf(world);
      const decision = reconcile(seen, nowMs);
      assert.equal(stableJson(reconcile(seen, nowMs)), stableJson(decision));
      const { action, status } = decision;
      assert.equal(stableJson(clusterStatus.parse(status)), stableJson(status));
      const isDeleting = seen.cluster.metadata.deletionTimestamp !== undefined;
      const { deletionPolicy, update } = (seen.cluster.spec ?? {}) as {
        deletionPolicy?: string;
        update?: { paused?: boolean };
      };
      if (destructive(action))
        assert.ok(isDeleting && deletionPolicy !== undefined && deletionPolicy !== 'Retain');
      const isPaused = seen.cluster.metadata.annotations?.['polyad.io/reconcile'] === 'paused';
      if (isPaused && !isDeleting) assert.equal(action, undefined);
      // A running member is restarted by eviction only, and not while restarts are held.
      if (action?.kind === 'evict' && seen.cluster.status?.failedImage === undefined)
        assert.notEqual(update?.paused, true);
      for (const target of [action?.kind === 'delete' ? action.target : undefined])
        if (target !== undefined) assert.notEqual(target.uid, undefined);
      const ready = status.conditions?.find(({ type }) => type === 'Ready');
      assert.notEqual(ready, undefined);
      const stalled = status.conditions?.some(({ type }) => type === 'Stalled') ?? false;
      const reconciling = status.conditions?.some(({ type }) => type === 'Reconciling') ?? false;
      assert.ok(!(stalled && reconciling));
      if (ready?.status === 'True') assert.ok(!stalled && !reconciling);
    }),
    { numRuns: 400 },
  );
});

test('quantities compare by value, whatever they are written like', () => {
  const units = ['', 'k', 'M', 'G', 'Ki', 'Mi', 'Gi', 'm'];
  const quantities = fc
    .tuple(fc.integer({ min: 1, max: 9999 }), fc.constantFrom(...units))
    .map(([number, unit]) => `${number}${unit}`);
  fc.assert(
    fc.property(quantities, quantities, (a, b) => {
      assert.equal(Math.sign(compareQuantities(a, b)), -Math.sign(compareQuantities(b, a)) || 0);
      assert.equal(compareQuantities(a, a), 0);
    }),
  );
  assert.equal(compareQuantities('1024Mi', '1Gi'), 0);
  assert.equal(compareQuantities('1000m', 1), 0);
  assert.equal(parseQuantity('ten'), undefined);
});
