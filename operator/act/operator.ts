import type { ClusterObject } from '../api/cluster.ts';
import type { KubernetesObject } from '../api/kubernetes-object.ts';
import { conditionOf } from '../api/conditions.ts';
import { clusterKind, labelKeys, monitorKinds } from '../api/names.ts';
import type { OperatorFacts } from '../api/observation.ts';
import type { Log, Runtime } from '../api/runtime.ts';
import { KubernetesError } from '../kubernetes/kubernetes-error.ts';
import type { Metrics } from '../kubernetes/metrics.ts';
import { Gate } from '../kubernetes/gate.ts';
import { ObjectCache } from '../kubernetes/object-cache.ts';
import type { KubernetesApi, ListOptions } from '../kubernetes/port.ts';
import { Reflector } from '../kubernetes/reflector.ts';
import type { KindName } from '../kubernetes/resource-kinds.ts';
import { WorkQueue } from '../kubernetes/work-queue.ts';
import { CachedReader, scopeKey } from '../observe/cluster-reader.ts';
import { GivenSecrets } from '../observe/given-secrets.ts';
import { MemberError } from '../observe/database-client.ts';
import type { DatabaseClient } from '../observe/database-client.ts';
import { MemberPoller } from '../observe/member-poller.ts';
import { LeaderWatch } from '../observe/leader-watch.ts';
import { projectNode, projectPod } from '../observe/projections.ts';
import { Controller } from './controller.ts';
import { isOwnKind, KindController, ownKinds } from './kinds/kind-controller.ts';

export interface OperatorOptions {
  readonly api: KubernetesApi;
  readonly databases: DatabaseClient;
  readonly facts: OperatorFacts;
  readonly runtime: Runtime;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly instance: string;
  /** Empty: the whole cluster. */
  readonly namespaces: readonly string[];
  readonly clusterSelector: string;
  readonly concurrency: number;
  readonly pollMs: number;
  readonly resyncMs: number;
}

const ownedKinds = [
  'StatefulSet',
  'Service',
  'ConfigMap',
  'Secret',
  'ServiceAccount',
  'NetworkPolicy',
  'PodDisruptionBudget',
  'Pod',
  'PersistentVolumeClaim',
] as const satisfies readonly KindName[];

/** Kinds that a cluster may lack, or not grant. */
const optionalKinds = [
  'Job',
  'Certificate',
  ...monitorKinds,
] as const satisfies readonly KindName[];

/** Pages of lists that are read at once: what the API server sends takes ten times as much as what is kept of it. */
const pagesMax = 2;
/** To each member. */
const questionsOfLook = 2;
/**
 * Of looks that nothing asks for, if all Clusters were alike. Beside them each leader is asked (`LeaderWatch`), and what happens is told
 * by watches.
 */
const questionsPerSecond = { rest: 25, trouble: 150 } as const;

/** Counted from the start, so that a rate can be taken of them before the first failure. */
const failureCounters = [
  ['controller_runtime_reconcile_errors_total', 'Looks that failed'],
  ['controller_runtime_terminal_reconcile_errors_total', 'Steps that were refused for good'],
  ['controller_runtime_reconcile_panics_total', 'Faults of the operator'],
] as const;

/**
 * The running operator: watches fill caches and put names of Clusters on a queue; workers look at them. Every event only says
 * "look at this one"; what to do follows from the world.
 */
export class Operator {
  readonly #options: OperatorOptions;
  readonly #caches = new Map<KindName, ObjectCache>();
  /** Kinds that may not be read: nobody must take their empty caches for the truth. */
  readonly #unreadable = new Set<string>();
  readonly #reflectors: Reflector[] = [];
  readonly #pages = new Gate(pagesMax);
  readonly #given: GivenSecrets;
  readonly #controller: Controller;
  readonly #kinds: KindController;
  readonly #queue: WorkQueue;
  readonly #leaders: LeaderWatch;
  #isActive = false;

  constructor(options: OperatorOptions) {
    this.#options = options;
    for (const kind of [...ownedKinds, ...optionalKinds])
      this.#caches.set(kind, new ObjectCache({ isCompact: true }));
    // What is read of a certificate is remembered by the object that holds it.
    for (const kind of ['Cluster', 'Secret', ...ownKinds] as const)
      this.#caches.set(kind, new ObjectCache());
    this.#caches.set('Pod', new ObjectCache({ isCompact: true, project: projectPod }));
    this.#caches.set('Node', new ObjectCache({ project: projectNode }));
    this.#given = new GivenSecrets({
      api: options.api,
      watch: (namespace, cache, onChange) =>
        this.#reflect('Secret', { namespace, select: { isMetadataOnly: true }, cache, onChange }),
      onChange: (namespace, name) => {
        if (this.#isActive) this.#queue.add(keyOf(namespace, name));
      },
    });
    const reader = new CachedReader({
      caches: this.#caches,
      api: options.api,
      unreadable: this.#unreadable,
      given: this.#given,
    });
    this.#leaders = new LeaderWatch({
      ...options,
      onDoubt: (namespace, name) => {
        if (this.#isActive) this.#queue.add(keyOf(namespace, name));
      },
    });
    const poller = new MemberPoller({
      ...options,
      pace: options.databases.pace,
      onLate: (namespace, name) => {
        if (this.#isActive) this.#queue.addFirst(keyOf(namespace, name));
      },
    });
    this.#controller = new Controller({
      ...options,
      reader,
      leaders: this.#leaders,
      poller,
      onSettled: (namespace, name) => {
        if (this.#isActive) this.#queue.add(keyOf(namespace, name));
      },
    });
    this.#kinds = new KindController({
      ...options,
      reader,
      onSettled: (kind, namespace, name) => {
        if (this.#isActive) this.#queue.add(keyOf(namespace, name, kind));
      },
    });
    this.#queue = new WorkQueue({
      runtime: options.runtime,
      workers: options.concurrency,
      work: (key) => this.#work(key),
      retryAfterMs,
      onError: (key, error) => this.#failed(key, error),
      onDone: (times) => this.#noteTimes(times),
    });
    options.metrics.onScrape(() => this.#setGauges());
    for (const [metric, help] of failureCounters)
      options.metrics.add(metric, help, { controller: 'cluster' }, 0);
  }

  /** Fills the caches; may be done before the lease is held. */
  startWatching(): void {
    const { namespaces, clusterSelector } = this.#options;
    const scopes = namespaces.length === 0 ? [undefined] : namespaces;
    for (const namespace of scopes) {
      this.#watch(
        'Cluster',
        namespace,
        clusterSelector === '' ? {} : { labelSelector: clusterSelector },
      );
      // A definition that is not there yet is asked for again.
      for (const kind of ownKinds) this.#watch(kind, namespace, {}, true);
      for (const kind of ownedKinds)
        this.#watch(kind, namespace, { labelSelector: labelKeys.cluster });
      for (const kind of optionalKinds)
        this.#watch(kind, namespace, { labelSelector: labelKeys.cluster }, true);
    }
    // Of the whole cluster, whatever the scope: granted to namespaced installations on its own, or not at all.
    this.#watch('Node', undefined, {}, true);
  }

  /** The caches hold all that may be read. A namespace that is gone, or not granted yet, keeps no other one waiting. */
  get isSynced(): boolean {
    return this.#reflectors.every(
      ({ isSynced, isDenied, namespace }) => isSynced || (isDenied && namespace !== undefined),
    );
  }

  /** What is looked at in the namespace is the truth: no cache is empty only because it may not be read. */
  #isWhole(namespace: string): boolean {
    return this.#reflectors.every(
      (reflector) =>
        (reflector.namespace !== undefined && reflector.namespace !== namespace) ||
        (reflector.isSynced && !(reflector.isDenied && reflector.namespace === namespace)),
    );
  }

  /** The longest time for which a watch has not worked. */
  failingForMs(): number {
    return Math.max(0, ...this.#reflectors.map((reflector) => reflector.failingForMs()));
  }

  /** Begins to act on what the caches hold. */
  activate(): void {
    this.#isActive = true;
    this.#leaders.start();
    for (const cluster of this.#caches.get('Cluster')?.values() ?? []) this.#changed(cluster);
    for (const kind of ownKinds)
      for (const object of this.#caches.get(kind)?.values() ?? []) this.#changed(object);
  }

  /** Ends: no more work is begun, what is under way is finished. */
  async stop(): Promise<void> {
    this.#isActive = false;
    this.#leaders.stop();
    await this.#queue.stop();
    for (const reflector of this.#reflectors) reflector.stop();
    this.#given.stop();
  }

  whenIdle(): Promise<void> {
    return this.#queue.whenIdle();
  }

  #watch(
    kind: KindName,
    namespace: string | undefined,
    select: ListOptions,
    isOptional = false,
  ): Reflector {
    const cache = this.#caches.get(kind) ?? new ObjectCache();
    const onChange = (object: KubernetesObject) => this.#changed(object);
    const reflector = this.#reflect(kind, { namespace, select, isOptional, cache, onChange });
    this.#reflectors.push(reflector);
    return reflector;
  }

  #reflect(
    kind: KindName,
    given: Pick<
      ConstructorParameters<typeof Reflector>[0],
      'namespace' | 'select' | 'isOptional' | 'cache' | 'onChange'
    >,
  ): Reflector {
    const { api, runtime, log, metrics } = this.#options;
    const { namespace } = given;
    const reflector = new Reflector({
      ...given,
      api,
      runtime,
      log,
      kind,
      pages: this.#pages,
      onRelist: () => metrics.add('polyad_operator_relists_total', 'Lists of a kind', { kind }),
      onReadable: (isReadable) => {
        const scope = scopeKey(kind, namespace);
        if (isReadable) this.#unreadable.delete(scope);
        else this.#unreadable.add(scope);
      },
    });
    reflector.run().catch((error: unknown) => log.error({ kind }, `watch ended: ${String(error)}`));
    return reflector;
  }

  #changed(object: KubernetesObject): void {
    if (!this.#isActive) return;
    if (object.kind === 'Node') {
      this.#nodeChanged(object);
      return;
    }
    if (isOwnKind(object.kind)) {
      const { namespace, name } = object.metadata;
      this.#queue.add(keyOf(namespace, name, object.kind));
      const schedule = object.metadata.labels?.[labelKeys.scheduledBy];
      if (schedule !== undefined) this.#queue.add(keyOf(namespace, schedule, 'ScheduledBackup'));
      return;
    }
    if (object.kind === clusterKind) this.#noteGiven(object.metadata);
    const name = clusterOf(object);
    if (name !== undefined) this.#queue.add(keyOf(object.metadata.namespace, name));
  }

  /** It names other Secrets now, or is gone. */
  #noteGiven({ namespace = '', name }: KubernetesObject['metadata']): void {
    const cluster = this.#caches.get(clusterKind)?.get(namespace, name);
    this.#given.note(namespace, name, cluster === undefined ? [] : givenSecretsOf(cluster));
  }

  /** Only Clusters with a pod on the node care; nodes report themselves every few seconds. */
  #nodeChanged(node: KubernetesObject): void {
    for (const pod of this.#caches.get('Pod')?.values() ?? []) {
      const nodeName = (pod as { readonly spec?: { readonly nodeName?: string } }).spec?.nodeName;
      const name = clusterOf(pod);
      if (nodeName === node.metadata.name && name !== undefined)
        this.#queue.add(keyOf(pod.metadata.namespace, name));
    }
  }

  async #work(key: string): Promise<void> {
    const { runtime, metrics, pollMs, resyncMs } = this.#options;
    const { kind, namespace, name } = partsOf(key);
    if (!this.#isWhole(namespace)) {
      this.#queue.addAfter(key, pollMs);
      return;
    }
    const startedMs = runtime.clock.monotonicMs();
    const afterMs = isOwnKind(kind)
      ? await this.#kinds.look(kind, namespace, name)
      : await this.#controller.look(namespace, name);
    const seconds = (runtime.clock.monotonicMs() - startedMs) / 1000;
    const controller = kind.toLowerCase();
    metrics.observeSeconds(
      'controller_runtime_reconcile_time_seconds',
      'Time of one look',
      { controller },
      seconds,
    );
    metrics.add('controller_runtime_reconcile_total', 'Looks by result', {
      controller,
      result: afterMs === undefined ? 'success' : 'requeue_after',
    });
    const object = this.#caches.get(kind)?.get(namespace, name);
    if (object === undefined) {
      this.#queue.forget(key);
      return;
    }
    const spreadMs = resyncMs * (0.8 + 0.4 * runtime.random.fraction());
    const restMs = Math.min(this.#restMs(object as ClusterObject), spreadMs);
    this.#queue.addAfter(key, Math.min(afterMs ?? restMs, restMs));
  }

  /** Between looks at a Cluster where nothing happens: the more members there are, the longer, so that few are asked a second. */
  #restMs({ status }: ClusterObject): number {
    const questions = (this.#caches.get('Pod')?.size ?? 0) * questionsOfLook;
    const isAtRest = conditionOf(status?.conditions, 'Ready')?.status === 'True';
    const perSecond = isAtRest ? questionsPerSecond.rest : questionsPerSecond.trouble;
    return Math.max(this.#options.pollMs, (questions * 1000) / perSecond);
  }

  #failed(key: string, error: unknown): void {
    const { log, metrics } = this.#options;
    // What no answer of the world explains is a fault of ours.
    if (!(error instanceof KubernetesError) && !(error instanceof MemberError))
      metrics.add('controller_runtime_reconcile_panics_total', 'Faults of the operator', {
        controller: 'cluster',
      });
    metrics.add('controller_runtime_reconcile_errors_total', 'Looks that failed', {
      controller: partsOf(key).kind.toLowerCase(),
    });
    const message = error instanceof Error ? error.message : String(error);
    log.warn({ object: key }, `will be tried again: ${message}`);
  }

  #noteTimes({
    waitedMs,
    workedMs,
  }: {
    readonly waitedMs: number;
    readonly workedMs: number;
  }): void {
    const { metrics } = this.#options;
    const queue = { name: 'cluster' };
    const waited = 'Time a Cluster waited to be looked at';
    metrics.observeSeconds('workqueue_queue_duration_seconds', waited, queue, waitedMs / 1000);
    const worked = 'Time a look took, failed ones too';
    metrics.observeSeconds('workqueue_work_duration_seconds', worked, queue, workedMs / 1000);
  }

  #setGauges(): void {
    const { metrics, concurrency } = this.#options;
    const { depth, active, adds, retries } = this.#queue.counts;
    const queue = { name: 'cluster' };
    const controller = { controller: 'cluster' };
    metrics.set('workqueue_depth', 'Clusters that wait to be looked at', queue, depth);
    metrics.setTotal('workqueue_adds_total', 'Reasons to look at a Cluster', queue, adds);
    metrics.setTotal(
      'workqueue_retries_total',
      'Looks that were repeated after a failure',
      queue,
      retries,
    );
    const longest = 'workqueue_longest_running_processor_seconds';
    const slowestMs = this.#queue.longestRunningMs();
    metrics.set(longest, 'Time of the slowest look under way', queue, slowestMs / 1000);
    const unfinishedMs = this.#queue.unfinishedMs();
    const unfinished = 'workqueue_unfinished_work_seconds';
    metrics.set(unfinished, 'Time of all looks under way', queue, unfinishedMs / 1000);
    metrics.set(
      'controller_runtime_active_workers',
      'Clusters being looked at',
      controller,
      active,
    );
    metrics.set('controller_runtime_max_concurrent_reconciles', 'Workers', controller, concurrency);
  }
}

function keyOf(namespace: string | undefined, name: string, kind: KindName = clusterKind): string {
  return `${namespace ?? ''}/${name}${kind === clusterKind ? '' : `/${kind}`}`;
}

function partsOf(key: string) {
  const [namespace = '', name = '', kind = clusterKind] = key.split('/');
  return { kind: kind as KindName, namespace, name };
}

/** The Cluster that an object belongs to: itself, or by label, or by its controller when somebody took the label away. */
function clusterOf(object: KubernetesObject): string | undefined {
  if (object.kind === clusterKind) return object.metadata.name;
  const label = object.metadata.labels?.[labelKeys.cluster];
  if (label !== undefined) return label;
  const owner = object.metadata.ownerReferences?.find(({ controller }) => controller === true);
  return owner?.kind === clusterKind || owner?.kind === 'StatefulSet' ? owner.name : undefined;
}

/** Secrets of the user that the operator reads. */
function givenSecretsOf(cluster: KubernetesObject): readonly string[] {
  const { spec } = cluster as ClusterObject & {
    readonly spec?: {
      readonly auth?: {
        readonly rootPassword?: { readonly secretName?: string };
        readonly clusterToken?: { readonly secretName?: string };
      };
      readonly tls?: { readonly issuer?: { readonly secretRef?: { readonly name?: string } } };
    };
  };
  const names = [
    spec?.auth?.rootPassword?.secretName,
    spec?.auth?.clusterToken?.secretName,
    spec?.tls?.issuer?.secretRef?.name,
  ];
  return names.filter((name) => name !== undefined);
}

/** A conflict means that something newer is on its way to the cache. */
function retryAfterMs(error: unknown): number | undefined {
  if (!(error instanceof KubernetesError)) return undefined;
  return error.code === 409 ? 100 : error.retryAfterMs;
}
