import type { PrecheckReport } from '../../operator/api/build.ts';
import type { ClusterObject } from '../../operator/api/cluster.ts';
import { parseSpec } from '../../operator/api/cluster.ts';
import type { ClusterStatus } from '../../operator/api/cluster-status.ts';
import type {
  Claim,
  Job,
  KubernetesObject,
  Pod,
  StatefulSet,
} from '../../operator/api/kubernetes-object.ts';
import { objectKey, unknownMember } from '../../operator/api/observation.ts';
import type { Observation } from '../../operator/api/observation.ts';
import { makePass } from '../../operator/reconcile/pass.ts';
import { desiredObjects } from '../../operator/reconcile/steps/ensure-objects.ts';
import { reconcile } from '../../operator/reconcile/reconcile.ts';
import { ownedLabels } from '../../operator/api/names.ts';
import { facts } from './sim/simulated-world.ts';

/*
 * Observations for tables of decisions. `settledObservation` is a Cluster that is ready and at rest; a case says what is
 * different.
 */

export const nowMs = Date.UTC(2026, 10, 21, 12);

export interface World {
  readonly spec?: object;
  readonly metadata?: object;
  readonly status?: object;
  /** Merged into the pod; null: there is no pod. */
  readonly pod?: object | null;
  readonly claim?: object | null;
  readonly node?: object | null;
  /** Undefined: they may not be read. */
  readonly jobs?: readonly Job[];
  readonly prechecks?: Readonly<Record<string, PrecheckReport>>;
  readonly secrets?: object;
  readonly member?: object;
  readonly statefulSet?: object;
  /** Names of objects that are missing, as Kind/name. */
  readonly missing?: readonly string[];
  /** Objects that are there instead of ours. */
  readonly instead?: readonly KubernetesObject[];
  readonly rejections?: Readonly<Record<string, string>>;
  readonly isExpandable?: boolean;
}

type Tree = Record<string, unknown>;

function merged<T>(base: T, change: unknown): T {
  if (change === undefined) return base;
  if (typeof change !== 'object' || change === null || Array.isArray(change)) return change as T;
  const result: Tree = { ...(base as Tree) };
  for (const [key, value] of Object.entries(change)) {
    if (value === null) delete result[key];
    else result[key] = merged(result[key], value);
  }
  return result as T;
}

const basePod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'orders-0', uid: 'pod-1', creationTimestamp: '2026-11-21T10:00:00Z' },
  spec: { nodeName: 'node-a' },
  status: {
    podIP: '10.0.0.1',
    conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-11-21T10:00:10Z' }],
    containerStatuses: [{ name: 'server', restartCount: 0, state: { running: {} } }],
  },
};

const baseClaim = {
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name: 'data-orders-0', uid: 'claim-1', labels: ownedLabels('orders') },
  spec: { storageClassName: 'standard', resources: { requests: { storage: '8Gi' } } },
  status: { phase: 'Bound', capacity: { storage: '8Gi' } },
};

/** The observation of a Cluster that was at rest with `before` as its spec, and in which `world` has changed. */
export function observationOf(world: World, before: object = {}): Observation {
  const settled = settle(before);
  const cluster: ClusterObject = merged(settled.cluster, {
    spec: world.spec,
    metadata: { ...world.metadata, ...(world.spec === undefined ? undefined : { generation: 2 }) },
    status: world.status,
  });
  const objects = new Map(settled.objects);
  for (const key of world.missing ?? []) objects.delete(key);
  for (const object of world.instead ?? []) objects.set(objectKey(object), object);
  const set = objects.get('StatefulSet/orders');
  if (set !== undefined) objects.set('StatefulSet/orders', merged(set, world.statefulSet));
  return {
    ...settled,
    cluster,
    objects,
    statefulSet: objects.get('StatefulSet/orders') as StatefulSet | undefined,
    members: settled.members.map((member) => ({
      ...member,
      pod: world.pod === null ? undefined : merged(member.pod, world.pod),
      node: world.node === null ? undefined : merged(member.node, world.node),
      view: merged(member.view, world.member),
    })),
    claims: world.claim === null ? [] : [merged(baseClaim as unknown as Claim, world.claim)],
    jobs: world.jobs,
    prechecks: new Map(Object.entries(world.prechecks ?? {})),
    secrets: merged(settled.secrets, world.secrets),
    isExpandable: new Map(
      world.isExpandable === undefined ? [] : [['standard', world.isExpandable]],
    ),
    rejections: new Map(
      Object.entries(world.rejections ?? {}).map(([target, message]) => [
        target,
        { message, code: 400, generation: cluster.metadata.generation ?? 0, atMs: nowMs },
      ]),
    ),
  };
}

/** Lets the decisions themselves bring a new Cluster to rest, so that no test repeats what they do. */
function settle(spec: object): Observation {
  const key = JSON.stringify(spec);
  const known = settledBySpec.get(key) ?? settleAnew(spec);
  settledBySpec.set(key, known);
  return known;
}

const settledBySpec = new Map<string, Observation>();

function settleAnew(spec: object): Observation {
  const cluster: ClusterObject = {
    apiVersion: 'polyad.io/v1alpha1',
    kind: 'Cluster',
    metadata: { name: 'orders', namespace: 'shop', uid: 'cluster-1', generation: 1 },
    spec: { replicas: 1, tls: { raft: { enabled: false } }, ...spec },
  };
  const password = { secretName: 'orders-root', hash: 'aaaa', lengthInCharacters: 32 };
  let seen: Observation = {
    cluster,
    operator: facts,
    objects: new Map(),
    settled: new Map(),
    statefulSet: undefined,
    membersRecord: undefined,
    secrets: {
      root: password,
      applied: password,
      token: { volumeIdentity: 'volume-1' },
      wantedToken: undefined,
      appliedToken: undefined,
    },
    members: [
      {
        ordinal: 0,
        name: 'orders-0',
        peerId: 'orders-0.orders.shop.svc.cluster.local_2434',
        pod: undefined,
        isReplicated: false,
        node: {
          name: 'node-a',
          zone: 'zone-a',
          exists: true,
          isReady: true,
          isOutOfService: false,
        },
        view: { ...unknownMember, isReady: true, version: '26.10.1', settings: new Map() },
        raft: undefined,
      },
    ],
    leaderForMs: undefined,
    learners: new Map(),
    claims: [baseClaim as unknown as Claim],
    jobs: undefined,
    prechecks: new Map(),
    silentForMs: new Map(),
    groupCall: undefined,
    bootstrap: undefined,
    isExpandable: new Map(),
    rejections: new Map(),
    done: new Set(),
    running: new Set(),
    isNamespaceTerminating: false,
    certificates: undefined,
    hasCertManager: true,
    monitorKinds: new Set(['PodMonitor', 'PrometheusRule']),
  };
  for (let look = 0; look < 10; look++) {
    const { status, action } = reconcile(seen, nowMs);
    seen = withObjects({ ...seen, cluster: { ...seen.cluster, status } });
    if (action === undefined && look > 3) return seen;
  }
  return seen;
}

function withObjects(seen: Observation): Observation {
  const { spec } = parseSpec(seen.cluster);
  if (spec === undefined) return seen;
  const pass = makePass(seen, spec, nowMs);
  const record = {
    clusterId: 'volume-1',
    initialised: true,
    members: { '0': { state: 'member' as const, incarnation: 1 } },
  };
  const objects = new Map<string, KubernetesObject>(
    desiredObjects(pass, { record }).map((object) => [
      objectKey(object),
      {
        ...object,
        metadata: { ...object.metadata, uid: `uid-${object.metadata.name}`, generation: 1 },
      },
    ]),
  );
  const set = objects.get('StatefulSet/orders') as StatefulSet;
  const statefulSet: StatefulSet = {
    ...set,
    status: { observedGeneration: 1, updateRevision: 'r1' },
  };
  objects.set('StatefulSet/orders', statefulSet);
  const annotations = statefulSet.spec?.template?.metadata?.annotations ?? {};
  return {
    ...seen,
    objects,
    statefulSet,
    membersRecord: objects.get('ConfigMap/orders-members') as Observation['membersRecord'],
    members: seen.members.map((member) => ({
      ...member,
      pod: merged(basePod as Pod, {
        metadata: {
          annotations,
          labels: {
            ...set.metadata.labels,
            'controller-revision-hash': 'r1',
            'polyad.io/role': 'leader',
            'polyad.io/voter': 'true',
            'app.kubernetes.io/version': '26.10.1',
          },
        },
      }),
    })),
  };
}

export type { ClusterStatus };
