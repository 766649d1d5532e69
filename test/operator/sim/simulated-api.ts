import { isDeepStrictEqual } from 'node:util';
import type { KubernetesObject } from '../../../operator/api/kubernetes-object.ts';
import type {
  HttpAnswer,
  HttpRequest,
  HttpStream,
  Transport,
} from '../../../operator/kubernetes/port.ts';
import { resourceKindOf, resourceKinds } from '../../../operator/kubernetes/resource-kinds.ts';
import { labelKeys } from '../../../operator/api/names.ts';
import { ObjectStore } from './object-store.ts';
import { fieldsOf, pick } from './managed-fields.ts';
import { applyFields, mergePatch } from './server-side-apply.ts';

/*
 * An API server in memory: resource versions, optimistic concurrency, finalizers, list and watch, server-side apply, status and
 * eviction subresources. It answers the same requests that a real one would get. What passes here is not proven on Kubernetes
 * (house decision 26); it makes every interleaving playable.
 */

export interface StoredObject extends KubernetesObject {
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
  data?: Record<string, string>;
  [field: string]: unknown;
}

/** What a fault does to a request: an answer of its own, or a connection that breaks. */
export type Fault =
  | { readonly status: number; readonly retryAfter?: string; readonly message?: string }
  | 'drop';

interface Change {
  readonly version: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: StoredObject;
}

interface DeleteOptions {
  readonly preconditions?: { readonly uid?: string };
  readonly propagationPolicy?: string;
  readonly gracePeriodSeconds?: number;
  /** Of an eviction. */
  readonly deleteOptions?: { readonly preconditions?: { readonly uid?: string } };
}

interface ManagedFields {
  readonly manager: string;
  readonly operation: string;
  readonly fieldsV1: Record<string, unknown>;
}

interface Subscriber {
  readonly isWanted: (object: StoredObject) => boolean;
  push(change: Change): void;
  end(error?: Error): void;
}

const plurals = new Map(Object.values(resourceKinds).map((kind) => [kind.plural, kind]));

interface Target {
  readonly plural: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
  readonly query: URLSearchParams;
  /** That an object must carry, with this value or with any. */
  readonly labels: ReadonlyMap<string, string | undefined>;
}

export class SimulatedApi implements Transport {
  readonly #objects = new ObjectStore();
  /** What further pages of lists hold, by token: as it was when the list began. */
  readonly #pages = new Map<string, { readonly version: number; readonly rest: StoredObject[] }>();
  readonly #applied = new Map<string, unknown>();
  readonly #subscribers = new Set<Subscriber>();
  #history: Change[] = [];
  #version = 100;
  #uids = 0;
  #tokens = 0;
  /** Writes that changed something; reads and no-ops do not count. */
  effectiveWrites = 0;
  requests: string[] = [];
  /** May answer instead of the server; seen before the request takes effect. */
  faultBefore: ((request: HttpRequest) => Fault | undefined) | undefined;
  /** Seen after the request took effect, before the answer: the answer may be lost. */
  faultAfter: ((request: HttpRequest) => Fault | undefined) | undefined;
  /** Hears every answer and every line of a watch. */
  onAnswer: ((text: string) => void) | undefined;
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  async send(request: HttpRequest): Promise<HttpAnswer> {
    this.requests.push(`${request.method} ${request.path}`);
    const before = this.faultBefore?.(request);
    if (before !== undefined) return faulty(before);
    const answer = this.#handle(request);
    this.onAnswer?.(answer.body);
    const after = this.faultAfter?.(request);
    return after === undefined ? answer : faulty(after);
  }

  async stream(request: HttpRequest): Promise<HttpStream> {
    this.requests.push(`WATCH ${request.path}`);
    const fault = this.faultBefore?.(request);
    if (fault !== undefined) {
      const answer = faulty(fault);
      return { status: answer.status, retryAfter: answer.retryAfter, lines: once(answer.body) };
    }
    return this.#watch(targetOf(request.path), request);
  }

  /** Ends all watches; with an error as when the connection breaks. */
  cutWatches(error?: Error): void {
    for (const subscriber of [...this.#subscribers]) subscriber.end(error);
  }

  /** Forgets what happened so far: watches that begin before now are answered 410, and so are further pages of lists. */
  compact(): void {
    this.#history = [];
    this.#pages.clear();
    this.#version++;
  }

  get watchCount(): number {
    return this.#subscribers.size;
  }

  all(kind: string): StoredObject[] {
    return this.#objects.ofKind(kind);
  }

  find(
    kind: string,
    name: string,
    namespace: string | undefined = 'shop',
  ): StoredObject | undefined {
    return this.#objects.get(keyOf(pluralOf(kind), namespace, name));
  }

  /** Puts an object there as a user would, with what the API server adds. */
  put(object: KubernetesObject): StoredObject {
    const plural = pluralOf(object.kind);
    const key = keyOf(plural, object.metadata.namespace, object.metadata.name);
    return this.#store(key, this.#objects.get(key), object as StoredObject);
  }

  /** The same by a tool that does not apply server-side: its fields stay its own. */
  putAs(manager: string, object: KubernetesObject): StoredObject {
    const { metadata, ...rest } = object as StoredObject;
    const { labels, annotations } = metadata;
    const written = {
      metadata: { ...(labels && { labels }), ...(annotations && { annotations }) },
    };
    const fieldsV1 = fieldsOf({ ...rest, ...written, apiVersion: undefined, kind: undefined });
    const { 'f:apiVersion': _, 'f:kind': __, ...fields } = fieldsV1;
    const managedFields = [
      { manager, operation: 'Update', fieldsType: 'FieldsV1', fieldsV1: fields },
    ];
    return this.put({ ...rest, metadata: { ...metadata, managedFields } } as KubernetesObject);
  }

  /** Changes an object as somebody else would. */
  change(kind: string, name: string, patch: object, namespace: string | undefined = 'shop'): void {
    const key = keyOf(pluralOf(kind), namespace, name);
    const present = this.#objects.get(key);
    if (present === undefined) throw new Error(`no ${kind} ${name}`);
    this.#store(key, present, mergePatch(present, patch) as StoredObject);
  }

  remove(object: KubernetesObject): void {
    const { namespace, name } = object.metadata;
    const key = keyOf(pluralOf(object.kind), namespace, name);
    const present = this.#objects.get(key);
    if (present === undefined) return;
    this.#objects.remove(key);
    this.#applied.delete(key);
    this.effectiveWrites++;
    this.#publish('DELETED', {
      ...present,
      metadata: { ...present.metadata, resourceVersion: String(++this.#version) },
    });
  }

  /** Begins a deletion; it ends when nothing holds the object any more. */
  delete(object: KubernetesObject, isGraceful: boolean): void {
    const { namespace, name, finalizers, deletionTimestamp } = object.metadata;
    const isHeld = (finalizers?.length ?? 0) > 0 || isGraceful;
    if (!isHeld) this.remove(object);
    else if (deletionTimestamp === undefined)
      this.change(object.kind, name, { metadata: { deletionTimestamp: this.#time() } }, namespace);
  }

  #time(): string {
    return new Date(this.#now()).toISOString();
  }

  #handle(request: HttpRequest): HttpAnswer {
    const target = targetOf(request.path);
    const key = keyOf(target.plural, target.namespace, target.name ?? '');
    const present = this.#objects.get(key);
    switch (request.method) {
      case 'GET':
        return target.name === undefined ? this.#list(target, request) : found(present);
      case 'POST':
        if (target.subresource === 'eviction')
          return this.#evict(present, parse(request) as unknown as DeleteOptions);
        return this.#create(target, parse(request));
      case 'PUT':
        return this.#update(key, present, parse(request));
      case 'PATCH':
        return request.contentType?.includes('apply')
          ? this.#apply(key, target, present, parse(request))
          : this.#mergePatch(key, present, parse(request));
      case 'DELETE':
        return this.#delete(present, parse(request) as unknown as DeleteOptions);
    }
  }

  #list(target: Target, { accept }: HttpRequest): HttpAnswer {
    const token = target.query.get('continue');
    const kept = token === null ? undefined : this.#pages.get(token);
    if (token !== null && kept === undefined) return failure(410, 'Expired', 'the list is too old');
    if (token !== null) this.#pages.delete(token);
    const { version, rest } = kept ?? { version: this.#version, rest: this.#selected(target) };
    const limit = Number(target.query.get('limit') ?? rest.length);
    const items = rest.slice(0, limit).map((item) => asAccepted(item, accept));
    const next = rest.length > limit ? `page-${++this.#tokens}` : undefined;
    if (next !== undefined) this.#pages.set(next, { version, rest: rest.slice(limit) });
    const metadata = { resourceVersion: String(version), ...(next && { continue: next }) };
    return json(200, { metadata, items });
  }

  /** Those of one Cluster are not looked for among those of all. */
  #selected(target: Target): StoredObject[] {
    const kind = plurals.get(target.plural)?.kind ?? '';
    const cluster = target.labels.get(labelKeys.cluster);
    const objects =
      cluster === undefined ? this.#objects.ofKind(kind) : this.#objects.ofCluster(kind, cluster);
    return objects.filter((object) => isSelected(object, target));
  }

  #create(target: Target, body: StoredObject): HttpAnswer {
    const { metadata } = body;
    const key = keyOf(target.plural, target.namespace, metadata.name);
    if (this.#objects.has(key)) return failure(409, 'AlreadyExists', `${key} exists`);
    return json(201, this.#store(key, undefined, body));
  }

  #update(key: string, present: StoredObject | undefined, body: StoredObject): HttpAnswer {
    if (present === undefined) return failure(404, 'NotFound', key);
    if (body.metadata.resourceVersion !== present.metadata.resourceVersion)
      return failure(409, 'Conflict', `${key} was changed`);
    return json(200, this.#store(key, present, body));
  }

  #apply(
    key: string,
    target: Target,
    present: StoredObject | undefined,
    body: StoredObject,
  ): HttpAnswer {
    const refusal = refusalOfApply(key, present, body, target.subresource);
    if (refusal !== undefined) return refusal;
    const manager = `${key} ${target.query.get('fieldManager') ?? ''}`;
    const { status, ...rest } = body;
    const { uid: _, resourceVersion: __, ...metadata } = rest.metadata;
    const next = target.subresource === 'status' ? { status } : { ...rest, metadata };
    const result = applyFields(present ?? {}, this.#applied.get(manager), next) as StoredObject;
    this.#applied.set(manager, next);
    return json(200, this.#store(key, present, result));
  }

  #mergePatch(key: string, present: StoredObject | undefined, body: StoredObject): HttpAnswer {
    if (present === undefined) return failure(404, 'NotFound', `${key} not found`);
    const { uid, resourceVersion } = body.metadata ?? {};
    if (uid !== undefined && uid !== present.metadata.uid) return failure(409, 'Conflict', 'uid');
    if (resourceVersion !== undefined && resourceVersion !== present.metadata.resourceVersion)
      return failure(409, 'Conflict', `${key} was changed`);
    this.#noteManagers(key, present, body);
    return json(200, this.#store(key, present, mergePatch(present, body) as StoredObject));
  }

  /** Whoever is named as having applied fields owns them from then on. */
  #noteManagers(key: string, present: StoredObject, { metadata }: StoredObject): void {
    const { managedFields = [] } = metadata as { managedFields?: readonly ManagedFields[] };
    for (const { manager, operation, fieldsV1 } of managedFields)
      if (operation === 'Apply') this.#applied.set(`${key} ${manager}`, pick(present, fieldsV1));
  }

  #delete(present: StoredObject | undefined, options: DeleteOptions): HttpAnswer {
    if (present === undefined) return failure(404, 'NotFound', 'gone');
    const { uid } = options.preconditions ?? {};
    if (uid !== undefined && uid !== present.metadata.uid) return failure(409, 'Conflict', 'uid');
    if (options.propagationPolicy === 'Orphan') this.#orphan(present);
    this.delete(present, present.kind === 'Pod' && options.gracePeriodSeconds !== 0);
    return json(200, { kind: 'Status' });
  }

  #orphan(owner: StoredObject): void {
    for (const object of this.#objects.all()) {
      const owners = object.metadata.ownerReferences ?? [];
      const kept = owners.filter(({ uid }) => uid !== owner.metadata.uid);
      const { name, namespace } = object.metadata;
      if (kept.length < owners.length)
        this.change(object.kind, name, { metadata: { ownerReferences: kept } }, namespace);
    }
  }

  #evict(pod: StoredObject | undefined, body: DeleteOptions): HttpAnswer {
    if (pod === undefined) return failure(404, 'NotFound', 'gone');
    const uid = body.deleteOptions?.preconditions?.uid;
    if (uid !== undefined && uid !== pod.metadata.uid) return failure(409, 'Conflict', 'uid');
    this.delete(pod, true);
    return json(201, { kind: 'Status' });
  }

  #store(key: string, present: StoredObject | undefined, next: StoredObject): StoredObject {
    if (present !== undefined && isDeepStrictEqual(present, next)) return present;
    const isNewSpec = !isDeepStrictEqual(present?.spec, next.spec);
    const stored: StoredObject = {
      ...next,
      metadata: {
        ...next.metadata,
        uid: present?.metadata.uid ?? `uid-${++this.#uids}`,
        creationTimestamp: present?.metadata.creationTimestamp ?? this.#time(),
        generation: (present?.metadata.generation ?? 0) + (isNewSpec ? 1 : 0),
        resourceVersion: String(++this.#version),
      },
    };
    this.effectiveWrites++;
    this.#objects.put(key, stored);
    const isGone =
      stored.metadata.deletionTimestamp !== undefined &&
      stored.kind !== 'Pod' &&
      (stored.metadata.finalizers?.length ?? 0) === 0;
    this.#publish(present === undefined ? 'ADDED' : 'MODIFIED', stored);
    if (isGone) this.remove(stored);
    return stored;
  }

  #publish(type: Change['type'], object: StoredObject): void {
    const change = { version: Number(object.metadata.resourceVersion), type, object };
    this.#history.push(change);
    for (const subscriber of [...this.#subscribers])
      if (subscriber.isWanted(object)) subscriber.push(change);
  }

  #watch(target: Target, { signal, accept }: HttpRequest): HttpStream {
    const from = Number(target.query.get('resourceVersion') ?? 0);
    const oldest = this.#history[0]?.version ?? this.#version + 1;
    if (from + 1 < oldest && from < this.#version)
      return {
        status: 410,
        retryAfter: undefined,
        lines: once(JSON.stringify({ reason: 'Expired', code: 410 })),
      };
    const queue = new LineQueue();
    const subscriber: Subscriber = {
      isWanted: (object) => pluralOf(object.kind) === target.plural && isSelected(object, target),
      push: ({ type, object }) => {
        const line = JSON.stringify({ type, object: asAccepted(object, accept) });
        this.onAnswer?.(line);
        queue.push(line);
      },
      end: (error) => {
        this.#subscribers.delete(subscriber);
        queue.end(error);
      },
    };
    for (const change of this.#history)
      if (change.version > from && subscriber.isWanted(change.object)) subscriber.push(change);
    this.#subscribers.add(subscriber);
    signal?.addEventListener('abort', () => subscriber.end());
    return { status: 200, retryAfter: undefined, lines: queue };
  }
}

/** Lines that come one by one until the stream ends. */
class LineQueue implements AsyncIterable<string> {
  #lines: string[] = [];
  #waiting: (() => void) | undefined;
  #end: { readonly error: Error | undefined } | undefined;

  push(line: string): void {
    this.#lines.push(line);
    this.#waiting?.();
  }

  end(error?: Error): void {
    this.#end ??= { error };
    this.#waiting?.();
  }

  async *[Symbol.asyncIterator](): AsyncIterator<string> {
    for (;;) {
      const line = this.#lines.shift();
      if (line !== undefined) yield line;
      else if (this.#end?.error !== undefined) throw this.#end.error;
      else if (this.#end !== undefined) return;
      else
        await new Promise<void>((resolve) => {
          this.#waiting = resolve;
        });
    }
  }
}

async function* once(line: string): AsyncIterable<string> {
  yield line;
}

function refusalOfApply(
  key: string,
  present: StoredObject | undefined,
  body: StoredObject,
  subresource: string | undefined,
): HttpAnswer | undefined {
  const { uid, resourceVersion } = body.metadata ?? {};
  if (present === undefined && subresource !== undefined) return failure(404, 'NotFound', key);
  if (uid !== undefined && uid !== present?.metadata.uid) return failure(409, 'Conflict', 'uid');
  if (resourceVersion !== undefined && resourceVersion !== present?.metadata.resourceVersion)
    return failure(409, 'Conflict', `${key} was changed`);
  const templates = present?.spec?.['volumeClaimTemplates'];
  if (templates === undefined || isDeepStrictEqual(templates, body.spec?.['volumeClaimTemplates']))
    return undefined;
  return failure(422, 'Invalid', 'spec: volumeClaimTemplates is immutable');
}

function faulty(fault: Fault): HttpAnswer {
  if (fault === 'drop') throw new Error('the connection broke');
  const body = JSON.stringify({
    reason: 'Fault',
    code: fault.status,
    message: fault.message ?? `fault ${fault.status}`,
  });
  return { status: fault.status, body, retryAfter: fault.retryAfter };
}

/** The whole object, or what its metadata say. */
function asAccepted(object: StoredObject, accept: string | undefined): object {
  if (!accept?.includes('as=PartialObjectMetadata')) return object;
  const { metadata } = object;
  return { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata', metadata };
}

function found(object: StoredObject | undefined): HttpAnswer {
  return object === undefined ? failure(404, 'NotFound', 'not found') : json(200, object);
}

function json(status: number, body: unknown): HttpAnswer {
  return { status, body: JSON.stringify(body), retryAfter: undefined };
}

function failure(code: number, reason: string, message: string): HttpAnswer {
  return json(code, { kind: 'Status', code, reason, message });
}

function parse(request: HttpRequest): StoredObject {
  return JSON.parse(request.body ?? '{}') as StoredObject;
}

function targetOf(path: string): Target {
  const url = new URL(path, 'http://api');
  const parts = url.pathname.split('/').filter((part) => part !== '');
  // /api/v1/... or /apis/group/version/...
  const rest = parts.slice(parts[0] === 'api' ? 2 : 3);
  const isInside = rest[0] === 'namespaces' && rest.length > 2;
  const [plural = '', name, subresource] = isInside ? rest.slice(2) : rest;
  return {
    plural,
    namespace: isInside ? rest[1] : undefined,
    name: name === undefined ? undefined : decodeURIComponent(name),
    subresource,
    query: url.searchParams,
    labels: labelsOf(url.searchParams.get('labelSelector')),
  };
}

function labelsOf(selector: string | null): ReadonlyMap<string, string | undefined> {
  const parts = selector === null ? [] : selector.split(',');
  return new Map(
    parts.map((part) => {
      const [key = '', value] = part.split('=');
      return [key, value];
    }),
  );
}

function isSelected(object: StoredObject, { namespace, query, labels }: Target): boolean {
  if (namespace !== undefined && object.metadata.namespace !== namespace) return false;
  const field = query.get('fieldSelector');
  if (field !== null && field !== `metadata.name=${object.metadata.name}`) return false;
  for (const [key, value] of labels) {
    const present = object.metadata.labels?.[key];
    if (value === undefined ? present === undefined : present !== value) return false;
  }
  return true;
}

function keyOf(plural: string, namespace: string | undefined, name: string): string {
  return `${plural}/${namespace ?? ''}/${name}`;
}

function pluralOf(kind: string): string {
  return resourceKindOf(kind).plural;
}
