import type { KubernetesObject, ObjectMeta } from '../api/kubernetes-object.ts';

const goneMax = 1000;

/**
 * Objects of one kind as last heard of. Answers to our own writes go in too, so that the next look does not act on what was
 * before them; an older version never replaces a newer one.
 */
export class ObjectCache {
  readonly #objects = new Map<string, KubernetesObject>();
  /** Versions at which objects went, by uid: a late answer to an earlier write must not bring them back. */
  readonly #gone = new Map<string, number>();
  readonly #project: (object: KubernetesObject) => KubernetesObject;

  /** @param project keeps what decisions need of an object; the rest is not held in memory */
  constructor(project: (object: KubernetesObject) => KubernetesObject = withoutManagedFields) {
    this.#project = project;
  }

  get(namespace: string | undefined, name: string): KubernetesObject | undefined {
    return this.#objects.get(keyOf(namespace, name));
  }

  values(): IterableIterator<KubernetesObject> {
    return this.#objects.values();
  }

  /** @returns whether something changed */
  put(object: KubernetesObject): boolean {
    const { namespace, name, uid } = object.metadata;
    if (versionOf(object) <= (this.#gone.get(uid ?? '') ?? -1)) return false;
    const key = keyOf(namespace, name);
    const present = this.#objects.get(key);
    if (present !== undefined && versionOf(present) >= versionOf(object)) return false;
    this.#objects.set(key, this.#project(object));
    return true;
  }

  remove(object: KubernetesObject): void {
    const { namespace, name, uid } = object.metadata;
    const key = keyOf(namespace, name);
    // A namesake that was made since is not the one that went.
    if (this.#objects.get(key)?.metadata.uid === uid) this.#objects.delete(key);
    if (uid === undefined) return;
    this.#gone.set(uid, versionOf(object));
    const [oldest] = this.#gone.keys();
    if (this.#gone.size > goneMax && oldest !== undefined) this.#gone.delete(oldest);
  }

  /** Replaces everything in `scope` by a fresh list. @returns the objects that differ or are gone */
  replace(
    items: readonly KubernetesObject[],
    isInScope: (object: KubernetesObject) => boolean,
  ): readonly KubernetesObject[] {
    const listed = new Set(items.map(({ metadata }) => keyOf(metadata.namespace, metadata.name)));
    const changed: KubernetesObject[] = [];
    for (const [key, object] of this.#objects) {
      if (listed.has(key) || !isInScope(object)) continue;
      this.#objects.delete(key);
      changed.push(object);
    }
    for (const item of items) if (this.put(item)) changed.push(item);
    return changed;
  }
}

function keyOf(namespace: string | undefined, name: string): string {
  return `${namespace ?? ''}/${name}`;
}

// Versions of one API server grow; comparing them is what Kubernetes itself does since 1.35.
function versionOf({ metadata }: KubernetesObject): number {
  return Number(metadata.resourceVersion ?? 0);
}

/** Managed fields are most of an object and say nothing to a decision. */
export function withoutManagedFields(object: KubernetesObject): KubernetesObject {
  const { managedFields: _, ...metadata } = object.metadata as ObjectMeta & {
    readonly managedFields?: unknown;
  };
  return { ...object, metadata };
}
