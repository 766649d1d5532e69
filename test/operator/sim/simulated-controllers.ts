import type { ContainerStatus } from '../../../operator/api/kubernetes-object.ts';
import { contentHash } from '../../../operator/resources/content-hash.ts';
import type { SimulatedApi, StoredObject } from './simulated-api.ts';
import type { SimulatedMembers } from './simulated-members.ts';
import { SimulatedStreams } from './simulated-streams.ts';

/*
 * What other programs of a cluster do: the StatefulSet controller, the kubelet, the garbage collector. One `step` is one turn
 * of each; a pod is ready one turn after it was made.
 */

/** A kubelet brings another ConfigMap with a change of the pod, or so much later. */
const filesMs = 60_000;

interface Template {
  readonly metadata: {
    readonly labels?: Record<string, string>;
    readonly annotations?: Record<string, string>;
  };
  readonly spec: {
    readonly containers: readonly {
      readonly name: string;
      readonly image: string;
      readonly lifecycle?: object;
      readonly volumeMounts?: readonly { readonly name: string }[];
    }[];
    readonly initContainers?: Template['spec']['containers'];
  };
}

export class SimulatedControllers {
  readonly #api: SimulatedApi;
  readonly #members: SimulatedMembers;
  readonly #now: () => number;
  /** Images that cannot be pulled, and images whose server ends at once. */
  readonly missingImages = new Set<string>();
  readonly crashingImages = new Set<string>();
  /** By image, what its build says of itself in place of what all say. */
  readonly builds = new Map<string, object>();
  /** Pods of Jobs are gone before anybody reads what they said. */
  losesReports = false;
  /** Pods whose node is away: nothing of them runs. */
  readonly stopped = new Set<string>();
  /** Claims, by uid, whose volume lies on a node that is gone. */
  readonly strandedClaims = new Set<string>();
  canGrow = true;
  /** Archives outside of the members. */
  readonly streams = new SimulatedStreams();
  node = 'node-a';
  /** Of pods; loopback addresses let a real process reach them. */
  addressPrefix = '10.0.';
  #addresses = 0;
  /** The record of the guard as pods can read it, by uid. */
  readonly #files = new Map<
    string,
    { readonly record: string | undefined; readonly annotations: string; readonly atMs: number }
  >();
  /** Stored objects never change in place. */
  readonly #revisions = new WeakMap<Template, string>();

  constructor(api: SimulatedApi, members: SimulatedMembers, now: () => number) {
    this.#api = api;
    this.#members = members;
    this.#now = now;
  }

  step(): void {
    this.#collectGarbage();
    for (const set of this.#api.all('StatefulSet')) this.#runStatefulSet(set);
    for (const pod of this.#api.all('Pod')) if (isMember(pod)) this.#runPod(pod);
    for (const claim of this.#api.all('PersistentVolumeClaim')) this.#runClaim(claim);
    for (const job of this.#api.all('Job')) this.#runJob(job);
  }

  #collectGarbage(): void {
    const kinds = [
      ...[
        'Job',
        'StatefulSet',
        'Service',
        'ConfigMap',
        'Secret',
        'ServiceAccount',
        'NetworkPolicy',
      ],
      'PodDisruptionBudget',
      'Pod',
    ];
    const living = new Set(
      ['Cluster', 'StatefulSet', 'Backup', 'Restore', 'Job']
        .flatMap((kind) => this.#api.all(kind))
        .map(({ metadata }) => metadata.uid),
    );
    for (const object of kinds.flatMap((kind) => this.#api.all(kind))) {
      const owners = object.metadata.ownerReferences ?? [];
      if (owners.length > 0 && owners.every(({ uid }) => !living.has(uid)))
        this.#api.delete(object, object.kind === 'Pod');
    }
  }

  #runStatefulSet(set: StoredObject): void {
    if (set.metadata.deletionTimestamp !== undefined) return;
    const { name, namespace } = set.metadata;
    const spec = set.spec as {
      replicas: number;
      template: Template;
      volumeClaimTemplates?: readonly StoredObject[];
    };
    const revision = this.#revisionOf(spec.template);
    for (let ordinal = spec.replicas; ordinal < ordinalsMax; ordinal++) {
      const pod = this.#api.find('Pod', `${name}-${ordinal}`, namespace);
      if (pod !== undefined && isOf(name, pod)) this.#api.delete(pod, true);
    }
    for (let ordinal = 0; ordinal < spec.replicas; ordinal++)
      this.#ensurePod(set, spec, ordinal, revision);
    const status = { updateRevision: revision, observedGeneration: set.metadata.generation };
    this.#api.change('StatefulSet', name, { status }, namespace);
  }

  #ensurePod(
    set: StoredObject,
    spec: { readonly template: Template; readonly volumeClaimTemplates?: readonly StoredObject[] },
    ordinal: number,
    revision: string,
  ): void {
    const { name, namespace } = set.metadata;
    const podName = `${name}-${ordinal}`;
    const pod = this.#api.find('Pod', podName, namespace);
    if (pod === undefined) {
      // As the real one: no pod for a claim that is ending.
      const claim = this.#api.find('PersistentVolumeClaim', `data-${podName}`, namespace);
      if (claim?.metadata.deletionTimestamp !== undefined) return;
      for (const template of spec.volumeClaimTemplates ?? [])
        this.#ensureClaim(set, template, ordinal);
      this.#api.put(podOf(set, spec.template, revision, ordinal));
    } else if ((pod.metadata.ownerReferences ?? []).length === 0) {
      const change = { metadata: { ownerReferences: [ownerOf(set)] } };
      this.#api.change('Pod', podName, change, namespace);
    }
  }

  #revisionOf(template: Template): string {
    const known = this.#revisions.get(template) ?? contentHash(template);
    this.#revisions.set(template, known);
    return known;
  }

  #ensureClaim(set: StoredObject, template: StoredObject, ordinal: number): void {
    const name = `${template.metadata.name}-${set.metadata.name}-${ordinal}`;
    const { namespace } = set.metadata;
    if (this.#api.find('PersistentVolumeClaim', name, namespace) !== undefined) return;
    this.#api.put({
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name, ...(namespace && { namespace }), labels: template.metadata.labels ?? {} },
      spec: { storageClassName: 'standard', ...template.spec },
    } as StoredObject);
  }

  #newAddress(): string {
    const count = ++this.#addresses;
    return `${this.addressPrefix}${count >> 8}.${count & 255}`;
  }

  #runPod(pod: StoredObject): void {
    const { name, namespace, deletionTimestamp } = pod.metadata;
    if (deletionTimestamp !== undefined) {
      this.#preStop(pod);
      this.#members.stop(pod);
      this.#api.remove(pod);
      return;
    }
    this.#bringFiles(pod);
    const containers = (pod.spec as unknown as Template['spec']).containers;
    const image = containers.find((container) => container.name === 'server')?.image ?? '';
    const present = pod.status as { podIP?: string } | undefined;
    const ownClaim = this.#api.find('PersistentVolumeClaim', `data-${name}`, namespace);
    // A pod that waits for its volume waits on when the claim goes.
    const isStranded =
      ownClaim === undefined
        ? JSON.stringify(pod.status ?? {}).includes('"reason":"Unschedulable"')
        : this.strandedClaims.has(ownClaim.metadata.uid ?? '');
    if (present?.podIP === undefined && isStranded) {
      if (present === undefined)
        this.#api.change('Pod', name, { status: unschedulable(this.#now()) }, namespace);
      return;
    }
    if (present?.podIP === undefined) {
      const waiting = this.missingImages.has(image)
        ? { reason: 'ErrImagePull', message: `no image ${image}` }
        : { reason: 'PodInitializing' };
      const status = {
        phase: 'Pending',
        podIP: this.missingImages.has(image) ? undefined : this.#newAddress(),
        containerStatuses: [{ name: 'server', restartCount: 0, state: { waiting } }],
        conditions: [condition('Ready', 'False', this.#now())],
      };
      this.#api.change('Pod', name, { spec: { nodeName: this.node }, status }, namespace);
      return;
    }
    if (this.stopped.has(name)) {
      this.#members.stop(pod);
      const conditions = [condition('Ready', 'False', this.#now())];
      if (JSON.stringify(pod.status).includes('"type":"Ready","status":"True"'))
        this.#api.change('Pod', name, { status: { conditions } }, namespace);
      return;
    }
    const server = this.#members.start(pod, this.crashingImages.has(image));
    const isReady = server.state?.running !== undefined && this.#members.isServing(pod);
    const wasReady = JSON.stringify(pod.status).includes('"type":"Ready","status":"True"');
    const claim = this.#api.find('PersistentVolumeClaim', `data-${name}`, namespace);
    if (wasReady === isReady && (isReady || !this.#isNews(pod, server))) return;
    const guard = this.#members.guard(pod, claim);
    const conditions = [condition('Ready', isReady ? 'True' : 'False', this.#now())];
    this.#api.change(
      'Pod',
      name,
      {
        status: {
          phase: 'Running',
          conditions: isReady || wasReady ? conditions : pod.status?.['conditions'],
          containerStatuses: [server],
          initContainerStatuses: [guard],
        },
      },
      namespace,
    );
  }

  #bringFiles({ metadata: { name, namespace, uid = '', annotations } }: StoredObject): void {
    const present = this.#files.get(uid);
    const now = { annotations: JSON.stringify(annotations), atMs: this.#now() };
    const isOld = present === undefined || now.atMs - present.atMs >= filesMs;
    if (!isOld && present.annotations === now.annotations) return;
    const map = this.#api.find('ConfigMap', `${name.replace(/-\d+$/, '')}-members`, namespace);
    this.#files.set(uid, { ...now, record: map?.data?.['members.json'] });
  }

  /** Only what its server can read counts. */
  #preStop(pod: StoredObject): void {
    const { uid = '', name } = pod.metadata;
    const { containers } = pod.spec as unknown as Template['spec'];
    const server = containers.find((container) => container.name === 'server');
    if (server?.lifecycle === undefined || this.stopped.has(name)) return;
    const mayRead = server.volumeMounts?.some((mount) => mount.name === 'members') ?? false;
    this.#members.preStop(pod, mayRead ? this.#files.get(uid)?.record : undefined);
    this.#files.delete(uid);
  }

  /** A Job whose image is there ends well; the other waits for it for ever. */
  #runJob(job: StoredObject): void {
    const { name, namespace } = job.metadata;
    const { template } = job.spec as { template: Template };
    const isThere = !this.missingImages.has(template.spec.containers[0]?.image ?? '');
    if (job.status !== undefined || !isThere) return;
    if (template.spec.containers[0]?.name === 'backup') {
      this.streams.run(job, this.#api, this.#members);
      return;
    }
    const status = { conditions: [{ type: 'Complete', status: 'True' }] };
    this.#api.change('Job', name, { status }, namespace);
    if (!this.losesReports) this.#report(job);
  }

  /** The pod of a Job that asks builds what they are. */
  #report(job: StoredObject): void {
    const { name, namespace, uid = '' } = job.metadata;
    const { template } = job.spec as { template: Template };
    const ended = (containers: Template['spec']['containers'] = []) =>
      containers.map((container) => {
        const terminated = { exitCode: 0, message: this.#describe(container.image) };
        return { name: container.name, restartCount: 0, state: { terminated } };
      });
    const { containers, initContainers } = template.spec;
    this.#api.put({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: `${name}-x7k2p`,
        ...(namespace && { namespace }),
        labels: template.metadata.labels ?? {},
        ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name, uid, controller: true }],
      },
      status: {
        phase: 'Succeeded',
        containerStatuses: ended(containers),
        initContainerStatuses: ended(initContainers),
      },
    } as StoredObject);
  }

  #describe(image: string): string {
    const [, version = '26.10.1'] = /:(\d+\.\d+\.\d+)$/.exec(image) ?? [];
    const formats = { storage: { reads: [1, 1], writes: 1 }, log: { reads: [1, 2], writes: 2 } };
    const standard = { version, formats, capabilities: ['sql'], downgradeSafeTo: '26.10.1' };
    return JSON.stringify({ ...standard, ...this.builds.get(image) });
  }

  /** What the operator reads of a pod that is not ready. */
  #isNews(pod: StoredObject, server: ContainerStatus): boolean {
    const before = (pod.status?.['containerStatuses'] ?? []) as readonly ContainerStatus[];
    return (
      JSON.stringify(before) !== JSON.stringify([server]) ||
      pod.status?.['initContainerStatuses'] === undefined
    );
  }

  #runClaim(claim: StoredObject): void {
    const { name, namespace, deletionTimestamp } = claim.metadata;
    if (deletionTimestamp !== undefined) {
      this.#api.remove(claim);
      return;
    }
    const requested = (claim.spec as { resources: { requests: { storage: string } } }).resources
      .requests;
    const present = (claim.status as { capacity?: { storage: string } } | undefined)?.capacity
      ?.storage;
    if (present === requested.storage || (present !== undefined && !this.canGrow)) return;
    this.#api.change(
      'PersistentVolumeClaim',
      name,
      { status: { phase: 'Bound', capacity: { storage: requested.storage } } },
      namespace,
    );
  }
}

/** What the scheduler says of a pod whose volume lies elsewhere. */
function unschedulable(nowMs: number) {
  return {
    phase: 'Pending',
    conditions: [
      {
        ...condition('PodScheduled', 'False', nowMs),
        reason: 'Unschedulable',
        message: '0/3 nodes are available: 3 node(s) had volume node affinity conflict.',
      },
    ],
  };
}

function isOf(set: string, { metadata }: StoredObject): boolean {
  return (metadata.ownerReferences ?? []).some(({ name }) => name === set);
}

/** Pods of Jobs have run when they are seen. */
function isMember({ metadata }: StoredObject): boolean {
  return !(metadata.ownerReferences ?? []).some(({ kind }) => kind === 'Job');
}

function condition(type: string, status: string, nowMs: number) {
  return { type, status, lastTransitionTime: new Date(nowMs).toISOString() };
}

function ownerOf(set: StoredObject) {
  const { name, uid } = set.metadata;
  return { apiVersion: 'apps/v1', kind: 'StatefulSet', name, uid: uid ?? '', controller: true };
}

function podOf(
  set: StoredObject,
  template: Template,
  revision: string,
  ordinal: number,
): StoredObject {
  const { name, namespace } = set.metadata;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `${name}-${ordinal}`,
      ...(namespace && { namespace }),
      labels: { ...template.metadata.labels, 'controller-revision-hash': revision },
      annotations: template.metadata.annotations ?? {},
      ownerReferences: [ownerOf(set)],
    },
    spec: template.spec as unknown as Record<string, unknown>,
  };
}

export type { ContainerStatus };
/** Members of a Cluster: nine voters and sixteen that read. */
const ordinalsMax = 25;
