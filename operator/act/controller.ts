import { conditionOf } from '../api/conditions.ts';
import type { ClusterObject } from '../api/cluster.ts';
import type { ClusterStatus } from '../api/cluster-status.ts';
import { isGroupAction, targetOf } from '../api/decision.ts';
import type { Action, Decision, EventNote, GroupAction } from '../api/decision.ts';
import type { Observation, OperatorFacts } from '../api/observation.ts';
import type { Log, Runtime } from '../api/runtime.ts';
import type { KubernetesError } from '../kubernetes/kubernetes-error.ts';
import type { Metrics } from '../kubernetes/metrics.ts';
import type { KubernetesApi } from '../kubernetes/port.ts';
import type { ClusterReader } from '../observe/cluster-reader.ts';
import { MemberError } from '../observe/database-client.ts';
import type { DatabaseClient } from '../observe/database-client.ts';
import { StillAsking } from '../observe/member-poller.ts';
import type { MemberPoller } from '../observe/member-poller.ts';
import type { LeaderWatch } from '../observe/leader-watch.ts';
import { observeCluster } from '../observe/observe-cluster.ts';
import type { Recall } from '../observe/observe-cluster.ts';
import { reconcile } from '../reconcile/reconcile.ts';
import { stableJson } from '../resources/content-hash.ts';
import { carryOut } from './carry-out.ts';
import { ClusterMemory } from './cluster-memory.ts';
import { forgetCluster, isReported, reportCluster } from './cluster-metrics.ts';
import { EventRecorder } from './event-recorder.ts';
import { isLasting, Refusals } from './refusal.ts';
import { writeStatus } from './write-status.ts';

/** When to look again if not even the end of a question asks for it. */
const stillAskingMs = 5000;

export interface ControllerOptions {
  readonly api: KubernetesApi;
  readonly reader: ClusterReader;
  readonly databases: DatabaseClient;
  readonly facts: OperatorFacts;
  readonly runtime: Runtime;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Name of this process in events. */
  readonly instance: string;
  readonly leaders?: LeaderWatch;
  /** Asks members beside the looks. */
  readonly poller?: MemberPoller;
  /** What a look had begun has ended: the Cluster has to be looked at. */
  readonly onSettled?: (namespace: string | undefined, name: string) => void;
}

/** One look at one Cluster: observe, decide, write the status, act. */
export class Controller {
  readonly #options: ControllerOptions;
  readonly #memories = new Map<string, ClusterMemory>();
  readonly #events: EventRecorder;

  constructor(options: ControllerOptions) {
    this.#options = options;
    this.#events = new EventRecorder(options);
  }

  /**
   * @returns when to look again if nothing happens: 0 at once, undefined at the next resync
   * @throws KubernetesError and MemberError that may pass by themselves
   */
  async look(namespace: string | undefined, name: string): Promise<number | undefined> {
    const { reader, databases, facts, runtime, leaders, poller } = this.#options;
    const found = await reader.get('Cluster', namespace, name);
    if (found === undefined) {
      this.#forget(namespace, name);
      return undefined;
    }
    const cluster = found as ClusterObject;
    const memory = this.#memoryOf(cluster);
    const leftAloneMs = await this.#leaveToAnother(cluster, memory);
    if (leftAloneMs !== undefined) return leftAloneMs;
    const recall: Recall = (...said) => memory.recall(said, runtime.clock.monotonicMs());
    const observers = { reader, databases, facts, leaders, poller };
    const seen = await observeCluster(cluster, recall, observers).catch(postponed);
    if (seen === undefined) return stillAskingMs;
    const decision = reconcile(seen, runtime.clock.now());
    const isNews = canonical(cluster.status ?? {}) !== canonical(decision.status);
    this.#report(cluster, decision, { isNews, memory });
    if (this.#events.isBehind) await this.#events.catchUp();
    await this.#tell(cluster, decision.events);
    // First what is going on, then the step itself: another instance must find the record of what was begun.
    if (isNews && !isRelease(decision.action))
      await writeStatus(cluster, decision.status, this.#options);
    const { action } = decision;
    if (action === undefined) return decision.againAfterMs;
    const done = () => this.#tell(cluster, decision.outcome);
    if (isGroupAction(action)) this.#begin(action, { seen, memory, done });
    else if (await this.#act(action, seen, memory)) await done();
    return decision.againAfterMs;
  }

  async #tell(cluster: ClusterObject, events: readonly EventNote[]): Promise<void> {
    for (const event of events) await this.#events.record(cluster, event);
  }

  /** No worker waits for a change of the group: a member that hangs, or a group without a majority, may take long to refuse it. */
  #begin(
    action: GroupAction,
    {
      seen,
      memory,
      done,
    }: {
      readonly seen: Observation;
      readonly memory: ClusterMemory;
      readonly done: () => Promise<void>;
    },
  ): void {
    const { poller, runtime, log, onSettled } = this.#options;
    const { namespace, name } = seen.cluster.metadata;
    const target = targetOf(action);
    // What members said before it is no reason for the next step, whether it was done or its answer was lost.
    const renew = () => poller?.renew(namespace, name);
    renew();
    memory.beginGroupCall({
      target,
      work: () => carryOut(action, { seen, memory, actors: this.#options }),
      now: () => runtime.clock.now(),
      ended: (error) => {
        renew();
        if (error === undefined) void done();
        else log.warn({ cluster: name, action: target }, `will be tried again: ${String(error)}`);
        onSettled?.(namespace, name);
      },
    });
  }

  /** @returns when to look again at a Cluster that another installation has taken */
  async #leaveToAnother(
    cluster: ClusterObject,
    memory: ClusterMemory,
  ): Promise<number | undefined> {
    const { facts, runtime, log } = this.#options;
    const actor = cluster.status?.operator;
    const left = memory.yieldTo(actor, facts.identity, runtime.clock.now());
    if (left?.isNew) {
      const note = `${actor ?? ''} acts on this Cluster too, ${facts.identity} leaves it alone for now: let them care for different namespaces (operator.watchNamespaces) or Clusters (operator.clusterSelector)`;
      log.warn({ cluster: cluster.metadata.name }, note);
      await this.#events.record(cluster, { type: 'Warning', reason: 'OperatorConflict', note });
    }
    return left?.forMs;
  }

  #memoryOf({ metadata }: ClusterObject): ClusterMemory {
    const key = `${metadata.namespace ?? ''}/${metadata.name}/${metadata.uid ?? ''}`;
    let memory = this.#memories.get(key);
    if (memory === undefined) {
      memory = new ClusterMemory();
      this.#memories.set(key, memory);
    }
    return memory;
  }

  #forget(namespace: string | undefined, name: string): void {
    this.#options.leaders?.forget(namespace, name);
    this.#options.poller?.renew(namespace, name);
    const prefix = `${namespace ?? ''}/${name}/`;
    for (const key of this.#memories.keys()) if (key.startsWith(prefix)) this.#memories.delete(key);
    forgetCluster(this.#options.metrics, namespace ?? '', name);
  }

  /** @returns false when the action was refused for good, which the next look reports */
  async #act(action: Action, seen: Observation, memory: ClusterMemory): Promise<boolean> {
    try {
      const { poller } = this.#options;
      const { namespace, name } = seen.cluster.metadata;
      if (endsPod(action)) poller?.renew(namespace, name);
      await carryOut(action, { seen, memory, actors: this.#options });
      if (action.kind !== 'apply') memory.noteAccepted(targetOf(action));
      return true;
    } catch (error) {
      const target = action.kind === 'apply' ? undefined : targetOf(action);
      const refused = error instanceof Refusals ? error.byTarget : new Map<string, unknown>();
      if (target !== undefined && isLasting(error, action.kind))
        this.#noteRefusal(target, error, { seen, memory });
      else if (refused.size === 0) throw error;
      for (const [name, refusal] of refused)
        this.#noteRefusal(name, refusal as KubernetesError, { seen, memory });
      return false;
    }
  }

  #noteRefusal(
    target: string,
    error: KubernetesError | MemberError,
    { seen, memory }: { readonly seen: Observation; readonly memory: ClusterMemory },
  ): void {
    const { runtime, log, metrics } = this.#options;
    log.warn({ cluster: seen.cluster.metadata.name, action: target }, error.message);
    metrics.add(
      'controller_runtime_terminal_reconcile_errors_total',
      'Steps that were refused for good',
      { controller: 'cluster' },
    );
    memory.noteRejected(target, {
      message: error.message,
      code: error instanceof MemberError ? error.status : error.code,
      about: target === 'set-root-password' ? seen.secrets.root?.hash : undefined,
      generation: seen.cluster.metadata.generation ?? 0,
      atMs: runtime.clock.now(),
    });
  }

  #report(
    cluster: ClusterObject,
    { action, status }: Decision,
    { isNews, memory }: { readonly isNews: boolean; readonly memory: ClusterMemory },
  ): void {
    const { metrics, log, runtime } = this.#options;
    const { stalledOperation } = memory;
    if (isNews || !isReported(metrics, cluster))
      reportCluster(metrics, cluster, { status, stalledOperation, nowMs: runtime.clock.now() });
    const isStalled = conditionOf(status.conditions, 'Stalled') !== undefined;
    if (isStalled && status.operation !== undefined) memory.stalledOperation = status.operation.id;
    if (action === undefined) return;
    log.info(
      {
        cluster: `${cluster.metadata.namespace ?? ''}/${cluster.metadata.name}`,
        generation: cluster.metadata.generation,
        operation: status.operation?.type,
        step: action.kind,
        reason: conditionOf(status.conditions, 'Ready')?.reason,
      },
      describe(action),
    );
  }
}

/** The API server may keep lists with keys in another order than they were applied in. */
function canonical(status: ClusterStatus): string {
  const by = <T>(list: readonly T[] | undefined, key: (item: T) => string) =>
    list && [...list].sort((a, b) => (key(a) < key(b) ? -1 : 1));
  return stableJson({
    ...status,
    // It moves with every commit: written along with something else, never alone.
    commitIndex: undefined,
    conditions: by(status.conditions, ({ type }) => type),
    members: by(status.members, ({ name }) => name),
    storage: by(status.storage, ({ claim }) => claim),
    certificates: by(status.certificates, ({ name }) => name),
    ...(status.backups === undefined
      ? undefined
      : {
          backups: {
            ...status.backups,
            perDatabase: by(status.backups.perDatabase, ({ name }) => name),
          },
        }),
  });
}

/** After the finalizer is gone there may be no object left to write a status to. */
function isRelease(action: Action | undefined): boolean {
  return action?.kind === 'set-finalizer' && !action.isPresent;
}

/** What its member said before is no reason for the next step, whether it was done or its answer was lost. */
function endsPod({ kind }: Action): boolean {
  return kind === 'evict' || kind === 'delete';
}

/** Names only; never values. */
function describe(action: Action): string {
  switch (action.kind) {
    case 'apply':
      return `apply ${action.objects.map(({ kind, metadata }) => `${kind}/${metadata.name}`).join(', ')}`;
    case 'create-secret':
      return `create Secret/${action.name}`;
    case 'label':
    case 'take-over':
    case 'delete':
    case 'evict':
    case 'grow-claim':
      return `${action.kind} ${action.target.kind}/${action.target.name}`;
    case 'set-settings':
      return `set ${action.changes.map(({ key }) => key).join(', ')}`;
    default:
      return action.kind;
  }
}

/** Members have been asked and nothing is known yet: nothing is said or done. */
function postponed(error: unknown): undefined {
  if (!(error instanceof StillAsking)) throw error;
}
