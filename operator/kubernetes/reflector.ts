import type { KubernetesObject } from '../api/kubernetes-object.ts';
import type { Log, Runtime } from '../api/runtime.ts';
import type { Gate } from './gate.ts';
import { KubernetesError } from './kubernetes-error.ts';
import { objectKeyOf } from './object-cache.ts';
import type { ObjectCache } from './object-cache.ts';
import type { KubernetesApi, ListOptions, ListPage } from './port.ts';
import type { KindName } from './resource-kinds.ts';

const pageSize = 500;
const backoffMs = { first: 800, max: 30_000 } as const;
/** A kind that may not be read is asked for again after this time: rights may be granted later. */
const deniedMs = 300_000;
/** A selector that asks for a label alone. */
const isLabelKey = /^[A-Za-z0-9./_-]+$/;

export interface ReflectorOptions {
  readonly api: KubernetesApi;
  readonly runtime: Runtime;
  readonly log: Log;
  readonly cache: ObjectCache;
  /** Of pages of lists that are held in memory at once, whole as they came, by all reflectors together. */
  readonly pages: Gate;
  readonly kind: KindName;
  readonly namespace: string | undefined;
  readonly select: ListOptions;
  /** Told of every object that changed; only enqueues, never throws. */
  readonly onChange: (object: KubernetesObject) => void;
  /** Features that need it do without when it may not be read. */
  readonly isOptional?: boolean;
  readonly onRelist?: (kind: KindName) => void;
  /** Whether an optional kind may be read, each time that this is found out. */
  readonly onReadable?: (isReadable: boolean) => void;
}

/**
 * Keeps a cache equal to what the API server holds of one kind in one scope: list, then watch from there, for ever. It
 * survives any answer and any broken connection; only `stop` ends it.
 */
export class Reflector {
  readonly #options: ReflectorOptions;
  readonly #stop = new AbortController();
  #resourceVersion: string | undefined;
  #isSynced = false;
  #isDenied = false;
  #failingSinceMs: number | undefined;
  #failures = 0;

  constructor(options: ReflectorOptions) {
    this.#options = options;
  }

  /** The scope; undefined: the whole cluster. */
  get namespace(): string | undefined {
    return this.#options.namespace;
  }

  /** Whether the cache has been filled once, or never will be because it may not. */
  get isSynced(): boolean {
    return this.#isSynced;
  }

  /** The API server answers, and says that this may not be read: the namespace is gone, or nobody granted the right. */
  get isDenied(): boolean {
    return this.#isDenied;
  }

  /** Milliseconds for which nothing has worked; 0 while all is well, and while it may not be read. */
  failingForMs(): number {
    if (this.#failingSinceMs === undefined || this.#isDenied) return 0;
    return this.#options.runtime.clock.monotonicMs() - this.#failingSinceMs;
  }

  stop(): void {
    this.#stop.abort();
  }

  async run(): Promise<void> {
    const { runtime } = this.#options;
    while (!this.#stop.signal.aborted) {
      try {
        if (this.#resourceVersion === undefined) await this.#list();
        await this.#watch();
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        await runtime.timers.sleep(this.#pauseAfter(error), this.#stop.signal);
      }
    }
  }

  async #list(): Promise<void> {
    const { kind, cache, pages, onChange } = this.#options;
    this.#options.onRelist?.(kind);
    const listed = new Set<string>();
    let token: string | undefined;
    let limit: number | undefined = pageSize;
    let version = '';
    do {
      try {
        const from = token;
        const page = await pages.pass(() => this.#readPage(from, limit, listed));
        token = page.continueToken;
        version = page.resourceVersion;
      } catch (error) {
        // The pages grew too old while they were read: take all at once.
        if (!isExpired(error) || token === undefined) throw error;
        listed.clear();
        token = undefined;
        limit = undefined;
        continue;
      }
      if (token === undefined) break;
    } while (!this.#stop.signal.aborted);
    // Of a list that was broken off nobody knows what is gone.
    if (this.#stop.signal.aborted) return;
    const gone = cache.retain(listed, (object) => this.#isInScope(object));
    this.#resourceVersion = version;
    this.#succeeded();
    if (this.#options.isOptional) this.#options.onReadable?.(true);
    for (const object of gone) onChange(object);
  }

  /** Each object is reduced to what the cache keeps of it before the next page is read. */
  async #readPage(
    token: string | undefined,
    limit: number | undefined,
    listed: Set<string>,
  ): Promise<Omit<ListPage, 'items'>> {
    const { api, kind, namespace, select, cache, onChange } = this.#options;
    const { items, continueToken, resourceVersion } = await api.list(kind, namespace, {
      ...select,
      ...(limit === undefined ? undefined : { limit }),
      ...(token === undefined ? undefined : { continueToken: token }),
    });
    for (const item of items) {
      listed.add(objectKeyOf(item));
      if (cache.put(item)) onChange(item);
    }
    return { continueToken, resourceVersion };
  }

  /** Another reflector may fill the same cache from another namespace or by another selector. */
  #isInScope(object: KubernetesObject): boolean {
    const { namespace, select } = this.#options;
    if (namespace !== undefined && object.metadata.namespace !== namespace) return false;
    // What another selector does not list is gone, or selected no more, which is the same here.
    const label = select.labelSelector ?? '';
    return !isLabelKey.test(label) || object.metadata.labels?.[label] !== undefined;
  }

  async #watch(): Promise<void> {
    const { api, kind, namespace, select, cache, runtime, onChange } = this.#options;
    const events = api.watch(kind, namespace, {
      ...select,
      resourceVersion: this.#resourceVersion ?? '',
      // Not all at once: hundreds of watches that end together would come back together.
      timeoutSeconds: 240 + Math.floor(runtime.random.fraction() * 60),
      signal: this.#stop.signal,
    });
    for await (const { type, object } of events) {
      this.#succeeded();
      this.#resourceVersion = object.metadata.resourceVersion ?? this.#resourceVersion;
      if (type === 'DELETED') {
        cache.remove(object);
        onChange(object);
      } else if (type !== 'BOOKMARK' && cache.put(object)) onChange(object);
    }
    // A watch that ends by itself at once would spin; the next one waits a little.
    await runtime.timers.sleep(50, this.#stop.signal);
  }

  #succeeded(): void {
    this.#isSynced = true;
    this.#isDenied = false;
    this.#failingSinceMs = undefined;
    this.#failures = 0;
  }

  /** Notes the failure. @returns how long to wait before the next try */
  #pauseAfter(error: unknown): number {
    const { runtime, log, kind, namespace, isOptional } = this.#options;
    if (isExpired(error)) {
      const wasExpired = this.#resourceVersion === undefined;
      this.#resourceVersion = undefined;
      if (!wasExpired && this.#failures === 0) {
        this.#failures = 1;
        return 0;
      }
    }
    const message = error instanceof Error ? error.message : String(error);
    // 403: not granted; 404: this cluster has no such kind.
    const isRefused = error instanceof KubernetesError && [403, 404].includes(error.code);
    if (isOptional && isRefused) {
      this.#isSynced = true;
      this.#options.onReadable?.(false);
      this.#failingSinceMs = undefined;
      log.info({ kind, namespace }, `cannot be read, doing without: ${message}`);
      return deniedMs;
    }
    this.#failingSinceMs ??= runtime.clock.monotonicMs();
    const step = Math.min(backoffMs.first * 2 ** this.#failures, backoffMs.max);
    this.#failures++;
    this.#isDenied = isRefused;
    const asked = error instanceof KubernetesError ? (error.retryAfterMs ?? 0) : 0;
    // What fails for hours is told ever more rarely.
    if ((this.#failures & (this.#failures - 1)) === 0)
      log.warn({ kind, failures: this.#failures }, `watch failed: ${message}`);
    return Math.max(asked, step * (0.8 + 0.4 * runtime.random.fraction()));
  }
}

function isExpired(error: unknown): boolean {
  return error instanceof KubernetesError && error.code === 410;
}
