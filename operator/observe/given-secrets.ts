import type { KubernetesObject } from '../api/kubernetes-object.ts';
import { ObjectCache } from '../kubernetes/object-cache.ts';
import type { KubernetesApi } from '../kubernetes/port.ts';
import type { Reflector } from '../kubernetes/reflector.ts';

/*
 * Secrets that users name in a Cluster carry no label of ours. One watch a namespace brings of all its Secrets no more than
 * metadata, of which name and version are kept; the content of those that are named is asked for when their version is another one.
 */

export interface GivenSecretsOptions {
  readonly api: Pick<KubernetesApi, 'get'>;
  /** Begins to fill the cache with what is told of the Secrets of a namespace. */
  readonly watch: (
    namespace: string,
    cache: ObjectCache,
    onChange: (secret: KubernetesObject) => void,
  ) => Pick<Reflector, 'isSynced' | 'isDenied' | 'stop'>;
  /** A Secret that this Cluster names is not what it was. */
  readonly onChange: (namespace: string, cluster: string) => void;
}

interface Watched {
  /** Clusters by the Secret that they name. */
  readonly users: Map<string, Set<string>>;
  readonly cache: ObjectCache;
  readonly reflector: Pick<Reflector, 'isSynced' | 'isDenied' | 'stop'>;
  /** Those that were asked for, as they were. */
  readonly contents: Map<string, KubernetesObject>;
}

/** The Secrets that users name, by namespace. */
export class GivenSecrets {
  readonly #options: GivenSecretsOptions;
  readonly #watched = new Map<string, Watched>();
  /** What each Cluster names. */
  readonly #names = new Map<string, readonly string[]>();

  constructor(options: GivenSecretsOptions) {
    this.#options = options;
  }

  /** @param secrets what the Cluster names now; none when it is gone */
  note(namespace: string, cluster: string, secrets: readonly string[]): void {
    const key = `${namespace}/${cluster}`;
    const before = this.#names.get(key) ?? [];
    if (before.length === secrets.length && before.every((name, at) => name === secrets[at]))
      return;
    if (secrets.length === 0) this.#names.delete(key);
    else this.#names.set(key, secrets);
    for (const name of before) this.#release(namespace, name, cluster);
    for (const name of secrets) this.#use(namespace, name, cluster);
    const watched = this.#watched.get(namespace);
    if (watched === undefined || watched.users.size > 0) return;
    watched.reflector.stop();
    this.#watched.delete(namespace);
  }

  async get(namespace: string | undefined, name: string): Promise<KubernetesObject | undefined> {
    const watched = this.#watched.get(namespace ?? '');
    const ask = () => this.#options.api.get({ kind: 'Secret', namespace, name });
    const isTold = watched?.reflector.isSynced === true && !watched.reflector.isDenied;
    if (watched === undefined || !isTold || !watched.users.has(name)) return ask();
    const told = watched.cache.get(namespace, name)?.metadata;
    const held = watched.contents.get(name);
    const isSame =
      held?.metadata.uid === told?.uid && held?.metadata.resourceVersion === told?.resourceVersion;
    if (held !== undefined && isSame) return held;
    watched.contents.delete(name);
    if (told === undefined) return undefined;
    const found = await ask();
    if (found !== undefined) watched.contents.set(name, found);
    return found;
  }

  stop(): void {
    for (const { reflector } of this.#watched.values()) reflector.stop();
  }

  #use(namespace: string, name: string, cluster: string): void {
    const watched = this.#watched.get(namespace) ?? this.#begin(namespace);
    const users = watched.users.get(name) ?? new Set();
    watched.users.set(name, users.add(cluster));
  }

  #release(namespace: string, name: string, cluster: string): void {
    const { users, contents } = this.#watched.get(namespace) ?? {};
    const left = users?.get(name);
    left?.delete(cluster);
    if (left?.size !== 0) return;
    users?.delete(name);
    contents?.delete(name);
  }

  #begin(namespace: string): Watched {
    const users: Watched['users'] = new Map();
    const cache = new ObjectCache({ project: nameAndVersion, isCompact: true });
    const reflector = this.#options.watch(namespace, cache, ({ metadata }) => {
      for (const cluster of users.get(metadata.name) ?? [])
        this.#options.onChange(namespace, cluster);
    });
    const watched = { users, cache, reflector, contents: new Map() };
    this.#watched.set(namespace, watched);
    return watched;
  }
}

function nameAndVersion({ apiVersion, kind, metadata }: KubernetesObject): KubernetesObject {
  const { name, namespace, uid, resourceVersion } = metadata;
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      ...(namespace === undefined ? undefined : { namespace }),
      ...(uid === undefined ? undefined : { uid }),
      ...(resourceVersion === undefined ? undefined : { resourceVersion }),
    },
  };
}
