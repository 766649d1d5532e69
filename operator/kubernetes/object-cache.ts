import type { KubernetesObject, ObjectMeta } from '../api/kubernetes-object.ts';
import { labelKeys } from '../api/names.ts';

const goneMax = 1000;

interface CacheOptions {
  /** Keeps what decisions need of an object; the rest is not held in memory. */
  readonly project?: (object: KubernetesObject) => KubernetesObject;
  /**
   * Objects are kept as JSON text, a third of what they take as objects, and parsed when they are read. For kinds of which
   * there are many for each Cluster and that are read by their Cluster.
   */
  readonly isCompact?: boolean;
}

interface Held {
  readonly version: number;
  readonly uid: string | undefined;
  /** Key of the Cluster that it is labelled with. */
  readonly cluster: string | undefined;
  readonly content: KubernetesObject | string;
}

/**
 * Objects of one kind as last heard of, by name and by Cluster. Answers to our own writes go in too, so that the next look does not
 * act on what was before them; an older version never replaces a newer one.
 */
export class ObjectCache {
  readonly #objects = new Map<string, Held>();
  /** Keys of the objects of each Cluster. */
  readonly #byCluster = new Map<string, readonly string[]>();
  /** Versions at which objects went, by uid: a late answer to an earlier write must not bring them back. */
  readonly #gone = new Map<string, number>();
  readonly #project: (object: KubernetesObject) => KubernetesObject;
  readonly #isCompact: boolean;

  constructor({ project = withoutManagedFields, isCompact = false }: CacheOptions = {}) {
    this.#project = project;
    this.#isCompact = isCompact;
  }

  get size(): number {
    return this.#objects.size;
  }

  get(namespace: string | undefined, name: string): KubernetesObject | undefined {
    const held = this.#objects.get(keyOf(namespace, name));
    return held && objectOf(held);
  }

  *values(): IterableIterator<KubernetesObject> {
    for (const held of this.#objects.values()) yield objectOf(held);
  }

  /** Those that carry the label of the Cluster. */
  ofCluster(namespace: string | undefined, cluster: string): readonly KubernetesObject[] {
    return (this.#byCluster.get(keyOf(namespace, cluster)) ?? []).flatMap((key) => {
      const held = this.#objects.get(key);
      return held === undefined ? [] : [objectOf(held)];
    });
  }

  /** @returns whether something changed */
  put(object: KubernetesObject): boolean {
    const { namespace, name, uid, labels } = object.metadata;
    const version = versionOf(object);
    if (version <= (this.#gone.get(uid ?? '') ?? -1)) return false;
    const key = keyOf(namespace, name);
    const present = this.#objects.get(key);
    if (present !== undefined && present.version >= version) return false;
    const kept = this.#project(object);
    const label = labels?.[labelKeys.cluster];
    const cluster = label === undefined ? undefined : keyOf(namespace, label);
    this.#index(key, present?.cluster, cluster);
    this.#objects.set(key, {
      version,
      uid,
      cluster,
      content: this.#isCompact ? JSON.stringify(kept) : kept,
    });
    return true;
  }

  remove(object: KubernetesObject): void {
    const { namespace, name, uid } = object.metadata;
    const key = keyOf(namespace, name);
    // A namesake that was made since is not the one that went.
    if (this.#objects.get(key)?.uid === uid) this.#drop(key);
    if (uid === undefined) return;
    this.#gone.set(uid, versionOf(object));
    const [oldest] = this.#gone.keys();
    if (this.#gone.size > goneMax && oldest !== undefined) this.#gone.delete(oldest);
  }

  /**
   * Drops what a fresh list does not have.
   * @param listed names that are on it, as `objectKeyOf` says them
   * @returns what is gone
   */
  retain(
    listed: ReadonlySet<string>,
    isInScope: (object: KubernetesObject) => boolean,
  ): readonly KubernetesObject[] {
    const gone: KubernetesObject[] = [];
    for (const [key, held] of this.#objects) {
      if (listed.has(key)) continue;
      const object = objectOf(held);
      if (!isInScope(object)) continue;
      this.#drop(key);
      gone.push(object);
    }
    return gone;
  }

  #drop(key: string): void {
    this.#index(key, this.#objects.get(key)?.cluster, undefined);
    this.#objects.delete(key);
  }

  #index(key: string, before: string | undefined, after: string | undefined): void {
    if (before === after) return;
    if (before !== undefined) {
      const rest = (this.#byCluster.get(before) ?? []).filter((other) => other !== key);
      if (rest.length === 0) this.#byCluster.delete(before);
      else this.#byCluster.set(before, rest);
    }
    if (after !== undefined)
      this.#byCluster.set(after, [...(this.#byCluster.get(after) ?? []), key]);
  }
}

/** What an object is called among those of its kind. */
export function objectKeyOf({ metadata }: KubernetesObject): string {
  return keyOf(metadata.namespace, metadata.name);
}

function objectOf({ content }: Held): KubernetesObject {
  return typeof content === 'string' ? (JSON.parse(content) as KubernetesObject) : content;
}

function keyOf(namespace: string | undefined, name: string): string {
  return `${namespace ?? ''}/${name}`;
}

// Versions of one API server grow; comparing them is what Kubernetes itself does since 1.35.
function versionOf({ metadata }: KubernetesObject): number {
  return Number(metadata.resourceVersion ?? 0);
}

/** Managed fields are most of an object and say nothing to a decision. */
export function withoutManagedFields<T extends KubernetesObject>(object: T): T {
  const { managedFields: _, ...metadata } = object.metadata as ObjectMeta & {
    readonly managedFields?: unknown;
  };
  return { ...object, metadata };
}
