import type { KubernetesObject } from '../api/kubernetes-object.ts';
import { labelKeys, selectorLabels } from '../api/names.ts';
import type { ObjectCache } from '../kubernetes/object-cache.ts';
import type { KubernetesApi } from '../kubernetes/port.ts';
import type { KindName } from '../kubernetes/resource-kinds.ts';
import type { GivenSecrets } from './given-secrets.ts';

/** Where an observation comes from: the caches of a running operator, or the API itself in tests. */
export interface ClusterReader {
  /** Whether objects of a kind that not every cluster has, or grants, can be read at present. */
  canRead(kind: KindName, namespace: string | undefined): boolean;
  /**
   * As far as known without asking; for kinds that are not watched, asks.
   * @throws Error for a kind that may not be read
   */
  get(
    kind: KindName,
    namespace: string | undefined,
    name: string,
  ): Promise<KubernetesObject | undefined>;
  /** Asks the API server: for objects that the caches cannot hold because they lack our labels. */
  getLive(
    kind: KindName,
    namespace: string | undefined,
    name: string,
  ): Promise<KubernetesObject | undefined>;
  /** A Secret that a user may have named in a Cluster. */
  getGiven(namespace: string | undefined, name: string): Promise<KubernetesObject | undefined>;
  /** Objects that carry the label of the Cluster. */
  list(
    kind: KindName,
    namespace: string | undefined,
    cluster: string,
  ): Promise<readonly KubernetesObject[]>;
  /** Asks the API server for those of a release of the chart, which lack our label. */
  listRelease(
    kind: KindName,
    namespace: string | undefined,
    release: string,
  ): Promise<readonly KubernetesObject[]>;
  /** Takes in the answer to one of our own writes. */
  noteWritten(object: KubernetesObject): void;
}

/** Reads caches that reflectors keep. */
export class CachedReader implements ClusterReader {
  readonly #caches: ReadonlyMap<KindName, ObjectCache>;
  readonly #api: KubernetesApi;
  readonly #unreadable: ReadonlySet<string>;
  readonly #given: GivenSecrets;

  /** @param parts.unreadable what may not be read at present, see `scopeKey` */
  constructor(parts: {
    readonly caches: ReadonlyMap<KindName, ObjectCache>;
    readonly api: KubernetesApi;
    readonly unreadable: ReadonlySet<string>;
    readonly given: GivenSecrets;
  }) {
    this.#caches = parts.caches;
    this.#api = parts.api;
    this.#unreadable = parts.unreadable;
    this.#given = parts.given;
  }

  canRead(kind: KindName, namespace: string | undefined): boolean {
    return (
      !this.#unreadable.has(scopeKey(kind, namespace)) && !this.#unreadable.has(scopeKey(kind))
    );
  }

  get(kind: KindName, namespace: string | undefined, name: string) {
    if (!this.canRead(kind, namespace)) return Promise.reject(new Error(`${kind} may not be read`));
    const cache = this.#caches.get(kind);
    return cache === undefined
      ? this.getLive(kind, namespace, name)
      : Promise.resolve(cache.get(namespace, name));
  }

  getLive(kind: KindName, namespace: string | undefined, name: string) {
    return this.#api.get({ kind, namespace, name });
  }

  async getGiven(namespace: string | undefined, name: string) {
    // One that was ours once may be named, too.
    return this.#caches.get('Secret')?.get(namespace, name) ?? this.#given.get(namespace, name);
  }

  list(kind: KindName, namespace: string | undefined, cluster: string) {
    return Promise.resolve(this.#caches.get(kind)?.ofCluster(namespace, cluster) ?? []);
  }

  listRelease(kind: KindName, namespace: string | undefined, release: string) {
    return listRelease(this.#api, kind, namespace, release);
  }

  noteWritten(object: KubernetesObject): void {
    this.#caches.get(object.kind as KindName)?.put(object);
  }
}

async function listRelease(
  api: KubernetesApi,
  kind: KindName,
  namespace: string | undefined,
  release: string,
): Promise<readonly KubernetesObject[]> {
  const labels = Object.entries(selectorLabels(release)).map(([key, value]) => `${key}=${value}`);
  return (await api.list(kind, namespace, { labelSelector: labels.join(',') })).items;
}

/** A kind in a namespace, or in the whole cluster. */
export function scopeKey(kind: KindName, namespace?: string): string {
  return `${namespace ?? ''}/${kind}`;
}

/** Asks the API server every time. */
export class LiveReader implements ClusterReader {
  readonly #api: KubernetesApi;

  constructor(api: KubernetesApi) {
    this.#api = api;
  }

  canRead(): boolean {
    return true;
  }

  get(kind: KindName, namespace: string | undefined, name: string) {
    return this.#api.get({ kind, namespace, name });
  }

  getLive(kind: KindName, namespace: string | undefined, name: string) {
    return this.get(kind, namespace, name);
  }

  getGiven(namespace: string | undefined, name: string) {
    return this.get('Secret', namespace, name);
  }

  async list(kind: KindName, namespace: string | undefined, cluster: string) {
    const labelSelector = `${labelKeys.cluster}=${cluster}`;
    return (await this.#api.list(kind, namespace, { labelSelector })).items;
  }

  listRelease(kind: KindName, namespace: string | undefined, release: string) {
    return listRelease(this.#api, kind, namespace, release);
  }

  noteWritten(): void {
    // Nothing is kept.
  }
}
