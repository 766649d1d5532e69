import assert from 'node:assert/strict';
import { Controller } from '../../../operator/act/controller.ts';
import { KindController } from '../../../operator/act/kinds/kind-controller.ts';
import type { OwnKind } from '../../../operator/act/kinds/kind-controller.ts';
import type { ClusterObject } from '../../../operator/api/cluster.ts';
import { clusterStatus } from '../../../operator/api/cluster-status.ts';
import { backupStatus } from '../../../operator/api/kinds/backup.ts';
import { restoreStatus } from '../../../operator/api/kinds/restore.ts';
import { scheduledBackupStatus } from '../../../operator/api/kinds/scheduled-backup.ts';
import { conditionOf } from '../../../operator/api/conditions.ts';
import type { KubernetesObject } from '../../../operator/api/kubernetes-object.ts';
import type { Log } from '../../../operator/api/runtime.ts';
import { Metrics } from '../../../operator/kubernetes/metrics.ts';
import type { CallRecord } from '../../../operator/kubernetes/port.ts';
import { RestClient } from '../../../operator/kubernetes/rest-client.ts';
import { LiveReader } from '../../../operator/observe/cluster-reader.ts';
import { Pace } from '../../../operator/observe/pace.ts';
import { DatabaseClient } from '../../../operator/observe/database-client.ts';
import { stableJson } from '../../../operator/resources/content-hash.ts';
import { SimulatedApi } from './simulated-api.ts';
import type { StoredObject } from './simulated-api.ts';
import { SimulatedControllers } from './simulated-controllers.ts';
import { SimulatedMembers } from './simulated-members.ts';
import { settlePromises, VirtualRuntime } from './virtual-runtime.ts';

/** What the API server keeps of a status. */
const kindStatuses = {
  Restore: restoreStatus,
  Backup: backupStatus,
  ScheduledBackup: scheduledBackupStatus,
} as const;

export const silentLog: Log = { info: () => {}, warn: () => {}, error: () => {} };

export const namespace = 'shop';
export const facts = {
  namespace: 'operators',
  identity: 'operators/polyad-operator',
  defaultServerImage: 'polyad:26.10.1',
  renderVersion: '1',
} as const;

/** A whole control plane with one operator whose looks the test makes. */
export class SimulatedWorld {
  readonly runtime = new VirtualRuntime();
  readonly api = new SimulatedApi(() => this.runtime.clock.now());
  readonly members = new SimulatedMembers(this.api, () => this.runtime.clock.now());
  readonly controllers = new SimulatedControllers(this.api, this.members, () =>
    this.runtime.clock.now(),
  );
  readonly calls: CallRecord[] = [];
  /** Of the operator whose looks the test makes; a restart keeps them. */
  readonly metrics = new Metrics();
  #controller: Controller;
  #kinds: KindController;

  constructor() {
    this.#controller = this.#makeController();
    this.#kinds = this.#makeKinds();
    this.api.put({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    this.addNode('node-a');
  }

  addNode(name: string): void {
    this.api.put({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name, labels: { 'topology.kubernetes.io/zone': 'zone-a' } },
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    } as KubernetesObject);
    this.api.put({
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name: 'standard' },
      allowVolumeExpansion: true,
    } as KubernetesObject);
  }

  /** What is left of the operator after a crash: nothing. */
  restartOperator(): void {
    this.#controller = this.#makeController();
    this.#kinds = this.#makeKinds();
  }

  /** Another operator, with a memory of its own. */
  secondOperator(identity: string = facts.identity): Controller {
    return this.#makeController(identity);
  }

  #makeController(identity: string = facts.identity): Controller {
    const metrics = identity === facts.identity ? this.metrics : new Metrics();
    return new Controller({ ...this.#parts(identity), metrics });
  }

  #makeKinds(identity: string = facts.identity): KindController {
    return new KindController({ ...this.#parts(identity), onSettled: () => {} });
  }

  #parts(identity: string) {
    const api = new RestClient({
      transport: this.api,
      beforeCall: (call) => this.calls.push(call),
    });
    return {
      api,
      reader: new LiveReader(api),
      // Time stands still during a look: nobody would wake one that waits for its turn.
      databases: new DatabaseClient(
        this.members,
        this.runtime,
        new Pace(this.runtime, Number.POSITIVE_INFINITY),
      ),
      facts: { ...facts, identity },
      runtime: this.runtime,
      log: silentLog,
      instance: 'test',
    };
  }

  /** Puts an object of a kind beside `Cluster` there, as a user would. */
  put(kind: OwnKind, name: string, spec: object): void {
    const metadata = { name, namespace };
    this.api.put({ apiVersion: 'polyad.io/v1alpha1', kind, metadata, spec } as KubernetesObject);
  }

  /** Another operator's view of the kinds beside `Cluster`. */
  secondKinds(identity: string = facts.identity): KindController {
    return this.#makeKinds(identity);
  }

  /** One look at an object beside `Cluster`, and what is under way comes to an end. */
  async lookAt(kind: OwnKind, name: string): Promise<number | undefined> {
    const again = await this.#kinds.look(kind, namespace, name);
    const { status } = this.api.find(kind, name) ?? {};
    if (status !== undefined)
      assert.equal(stableJson(kindStatuses[kind].parse(status)), stableJson(status));
    await settlePromises();
    return again;
  }

  /** One member that speaks in the clear, unless the spec says more: to make keys takes real time, in thousands of runs. */
  create(name: string, spec: object = {}, annotations: Record<string, string> = {}): void {
    const { tls } = spec as { readonly tls?: object };
    this.api.put({
      apiVersion: 'polyad.io/v1alpha1',
      kind: 'Cluster',
      metadata: { name, namespace, annotations },
      spec: { replicas: 1, ...spec, tls: { raft: { enabled: false }, ...tls } },
    } as KubernetesObject);
  }

  cluster(name = 'orders'): ClusterObject {
    const found = this.api.find('Cluster', name);
    if (found === undefined) throw new Error(`no Cluster ${name}`);
    return found as unknown as ClusterObject;
  }

  /** Pods of Jobs are no members. */
  memberPods(): readonly StoredObject[] {
    return this.api.all('Pod').filter(({ metadata }) => /-\d+$/.test(metadata.name));
  }

  condition(type: string, name = 'orders'): string {
    const found = conditionOf(this.cluster(name).status?.conditions, type);
    return found === undefined ? 'absent' : `${found.status} ${found.reason}`;
  }

  async look(name = 'orders'): Promise<number | undefined> {
    const again = await this.#controller.look(namespace, name);
    // What it has begun comes to an end.
    await settlePromises();
    this.#checkStatus(name);
    return again;
  }

  /** The API server drops fields that the definition does not have; the operator would write them for ever. */
  #checkStatus(name: string): void {
    const status = this.findCluster(name)?.status;
    if (status === undefined) return;
    assert.equal(stableJson(clusterStatus.parse(status)), stableJson(status));
  }

  /** How much time a turn takes. */
  turnMs = 1000;

  /** One look and one turn of everybody else. */
  async turn(name = 'orders'): Promise<void> {
    await this.look(name);
    this.controllers.step();
    this.runtime.skip(this.turnMs);
  }

  /** Turns until nothing changes any more. @returns how many */
  async settle(name = 'orders', turnsMax = 120): Promise<number> {
    let quiet = 0;
    for (let turn = 1; turn <= turnsMax; turn++) {
      const before = this.api.effectiveWrites;
      await this.turn(name);
      const isWaiting = this.findCluster(name)?.status?.operation !== undefined;
      quiet = this.api.effectiveWrites === before && !isWaiting ? quiet + 1 : 0;
      if (quiet === 3) return turn;
    }
    throw new Error(
      `not settled after ${turnsMax} turns: ${JSON.stringify(this.findCluster(name)?.status, undefined, 1)}`,
    );
  }

  findCluster(name: string): ClusterObject | undefined {
    return this.api.find('Cluster', name) as unknown as ClusterObject | undefined;
  }
}
