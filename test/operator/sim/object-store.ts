import { labelKeys } from '../../../operator/api/names.ts';
import type { StoredObject } from './simulated-api.ts';

type Objects = Map<string, StoredObject>;

/** What the simulated API server holds, by name, by kind and by Cluster: a thousand Clusters are 21,000 objects. */
export class ObjectStore {
  readonly #all: Objects = new Map();
  readonly #ofKind = new Map<string, Objects>();
  /** Those that are labelled with a Cluster, by kind and Cluster. */
  readonly #ofCluster = new Map<string, Objects>();

  get(key: string): StoredObject | undefined {
    return this.#all.get(key);
  }

  has(key: string): boolean {
    return this.#all.has(key);
  }

  all(): StoredObject[] {
    return [...this.#all.values()];
  }

  ofKind(kind: string): StoredObject[] {
    return [...(this.#ofKind.get(kind)?.values() ?? [])];
  }

  /** In any namespace. */
  ofCluster(kind: string, cluster: string): StoredObject[] {
    return [...(this.#ofCluster.get(`${kind}/${cluster}`)?.values() ?? [])];
  }

  put(key: string, object: StoredObject): void {
    const present = this.#all.get(key);
    const cluster = clusterKey(object);
    if (present !== undefined && clusterKey(present) !== cluster) this.#unlabel(key, present);
    this.#all.set(key, object);
    entryOf(this.#ofKind, object.kind).set(key, object);
    if (cluster !== undefined) entryOf(this.#ofCluster, cluster).set(key, object);
  }

  remove(key: string): void {
    const present = this.#all.get(key);
    if (present === undefined) return;
    this.#all.delete(key);
    this.#ofKind.get(present.kind)?.delete(key);
    this.#unlabel(key, present);
  }

  #unlabel(key: string, object: StoredObject): void {
    const cluster = clusterKey(object) ?? '';
    const objects = this.#ofCluster.get(cluster);
    objects?.delete(key);
    if (objects?.size === 0) this.#ofCluster.delete(cluster);
  }
}

function clusterKey({ kind, metadata }: StoredObject): string | undefined {
  const cluster = metadata.labels?.[labelKeys.cluster];
  return cluster === undefined ? undefined : `${kind}/${cluster}`;
}

function entryOf(map: Map<string, Objects>, key: string): Objects {
  const objects = map.get(key) ?? new Map<string, StoredObject>();
  map.set(key, objects);
  return objects;
}
