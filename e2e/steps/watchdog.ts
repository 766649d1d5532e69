import type { ApiServer, WatchedChange } from './api-server.ts';
import { type KubernetesObject, valueAt } from './objects.ts';

/*
 * Runs beside every scenario (e2e text, 3) and sees every change as it comes: never two pods of one member that may both
 * run, no volume deleted that the scenario does not give up, no member set larger than was ever asked for, never two leaders in
 * one term, and no Cluster Ready of a generation that the operator has not seen. Its trace is kept with a failed scenario.
 */

const resources = [
  '/api/v1/namespaces/{}/pods',
  '/api/v1/namespaces/{}/persistentvolumeclaims',
  '/apis/apps/v1/namespaces/{}/statefulsets',
  '/apis/polyad.io/v1alpha1/namespaces/{}/clusters',
] as const;
const traceMax = 5000;

export class Watchdog {
  readonly #ended = new AbortController();
  readonly #pods = new Map<string, KubernetesObject>();
  readonly #trace: string[] = [];
  readonly #faults: string[] = [];
  /** The most members that were ever wanted, and had, by Cluster; and who led, by Cluster and term. */
  readonly #wanted = new Map<string, number>();
  readonly #sets = new Map<string, number>();
  readonly #leaders = new Map<string, string>();
  #mayLoseVolumes = false;

  constructor(api: Pick<ApiServer, 'watch'>, namespace: string) {
    for (const resource of resources) {
      const onChange = (change: WatchedChange): void => this.#note(change);
      const onBegin = (): void => {
        if (resource.endsWith('/pods')) this.#pods.clear();
      };
      const { signal } = this.#ended;
      void api.watch(resource.replace('{}', namespace), { onBegin, onChange, signal });
    }
  }

  /** From here on volumes may be deleted. */
  allowLostVolumes(): void {
    this.#mayLoseVolumes = true;
  }

  /** @returns what must not have happened */
  end(): readonly string[] {
    this.#ended.abort();
    // Changes of different kinds come in no order, so sizes are compared when all have come.
    for (const [name, size] of this.#sets)
      if (size > (this.#wanted.get(name) ?? 1))
        this.#fault(`${name} was asked for ${size} members`);
    return this.#faults;
  }

  /** Every change with its time, the status of Clusters in full. */
  trace(): string {
    return `${this.#trace.join('\n')}\n`;
  }

  #fault(text: string): void {
    if (!this.#faults.includes(text)) this.#faults.push(text);
  }

  #note({ type, object }: WatchedChange): void {
    const { name, resourceVersion } = object.metadata;
    const status = object.kind === 'Cluster' ? JSON.stringify(object['status']) : '';
    const line = `${new Date().toISOString()} ${type} ${object.kind}/${name} ${resourceVersion} ${status}`;
    if (this.#trace.length < traceMax) this.#trace.push(line.trim());
    switch (object.kind) {
      case 'Pod':
        this.#notePod(type, object);
        return;
      case 'PersistentVolumeClaim':
        if (type === 'DELETED' && !this.#mayLoseVolumes) this.#fault(`${name} was deleted`);
        return;
      case 'StatefulSet':
        this.#noteLarger(this.#sets, name, Number(valueAt(object, 'spec.replicas') ?? 1));
        return;
      case 'Cluster':
        this.#noteCluster(object);
        return;
      default:
    }
  }

  #notePod(type: WatchedChange['type'], pod: KubernetesObject): void {
    const cluster = pod.metadata.labels?.['polyad.io/cluster'];
    if (cluster === undefined) return;
    if (type === 'DELETED') this.#pods.delete(pod.metadata.uid);
    else this.#pods.set(pod.metadata.uid, pod);
    const alive = [...this.#pods.values()].filter(
      (other) =>
        other.metadata.labels?.['polyad.io/cluster'] === cluster &&
        other.metadata.name === pod.metadata.name,
    );
    if (alive.length > 1)
      this.#fault(
        `${pod.metadata.name}: ${alive.map(({ metadata }) => metadata.uid).join(' and ')} at once`,
      );
  }

  #noteCluster(cluster: KubernetesObject): void {
    this.#noteSize(cluster);
    this.#noteLeader(cluster);
    const conditions = (valueAt(cluster, 'status.conditions') ?? []) as {
      readonly type: string;
      readonly status: string;
      readonly observedGeneration?: number;
    }[];
    const seen = Number(valueAt(cluster, 'status.observedGeneration') ?? 0);
    const isReady = conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
    if (isReady && seen > (cluster.metadata.generation ?? 0))
      this.#fault(`${cluster.metadata.name} is Ready of a generation that is not there`);
    const words = new Set(conditions.map(({ type }) => type));
    if (words.size !== conditions.length)
      this.#fault(`${cluster.metadata.name} says a condition twice`);
  }

  #noteSize(cluster: KubernetesObject): void {
    const { name } = cluster.metadata;
    const asked = ['spec.replicas', 'spec.readReplicas'].map((path) =>
      Number(valueAt(cluster, path) ?? 0),
    );
    this.#noteLarger(
      this.#wanted,
      name,
      asked.reduce((sum, count) => sum + count, 0),
    );
  }

  #noteLarger(sizes: Map<string, number>, name: string, size: number): void {
    sizes.set(name, Math.max(size, sizes.get(name) ?? 1));
  }

  #noteLeader(cluster: KubernetesObject): void {
    const { name, uid } = cluster.metadata;
    const term = valueAt(cluster, 'status.term');
    const leader = valueAt(cluster, 'status.leader');
    if (term === undefined || typeof leader !== 'string') return;
    const key = `${uid} ${String(term)}`;
    const known = this.#leaders.get(key) ?? leader;
    this.#leaders.set(key, known);
    if (known !== leader)
      this.#fault(`${name}: ${known} and ${leader} led in term ${String(term)}`);
  }
}
