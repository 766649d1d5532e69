import type { KubernetesObject } from '../api/kubernetes-object.ts';
import { errorOfAnswer, KubernetesError, unknownKindText } from './kubernetes-error.ts';
import type {
  CallRecord,
  HttpAnswer,
  KubernetesApi,
  ListOptions,
  ListPage,
  ObjectName,
  Transport,
  WatchEvent,
} from './port.ts';
import { groupOf, pathOf, resourceKindOf, resourceKinds } from './resource-kinds.ts';
import type { KindName, ResourceKind } from './resource-kinds.ts';

const requestTimeoutMs = 10_000;
/** Longer than the pauses between bookmarks, so that only a dead connection runs into it. */
const watchSilenceMs = 120_000;

/** 403 for want of no right: the namespace is on its way out, or its definition is too new for the API server. */
const passingCauses = ['"NamespaceTerminating"', unknownKindText] as const;

const contentTypes = {
  json: 'application/json',
  apply: 'application/apply-patch+yaml',
  merge: 'application/merge-patch+json',
} as const;

interface RestClientOptions {
  readonly transport: Transport;
  /** Hears of every call before it goes out; may throw to hold it back, as one does that lost its lease. */
  readonly beforeCall?: (call: CallRecord) => void;
  /** Told the status, and whether it is a namespace on its way out that refused, not a missing right. */
  readonly afterCall?: (call: CallRecord, code: number, isPassing: boolean) => void;
}

/** The Kubernetes API in its own words: paths, verbs and content types, over any transport. */
export class RestClient implements KubernetesApi {
  readonly #options: RestClientOptions;

  constructor(options: RestClientOptions) {
    this.#options = options;
  }

  async get(target: ObjectName): Promise<KubernetesObject | undefined> {
    try {
      return parseObject(await this.#call('get', target, { method: 'GET' }));
    } catch (error) {
      if (error instanceof KubernetesError && error.code === 404) return undefined;
      throw error;
    }
  }

  async list(
    kind: KindName,
    namespace: string | undefined,
    options: ListOptions & { readonly limit?: number; readonly continueToken?: string },
  ): Promise<ListPage> {
    const resource = resourceKinds[kind];
    const answer = await this.#call(
      'list',
      { kind, namespace },
      {
        method: 'GET',
        query: {
          ...selectors(options),
          limit: options.limit,
          continue: options.continueToken,
        },
        accept: acceptOf(options, 'PartialObjectMetadataList'),
      },
    );
    const list = JSON.parse(answer.body) as {
      metadata?: { resourceVersion?: string; continue?: string };
      items?: KubernetesObject[];
    };
    const token = list.metadata?.continue;
    return {
      items: (list.items ?? []).map((item) => typed(item, resource)),
      resourceVersion: list.metadata?.resourceVersion ?? '',
      continueToken: token === undefined || token === '' ? undefined : token,
    };
  }

  async *watch(
    kind: KindName,
    namespace: string | undefined,
    options: ListOptions & {
      readonly resourceVersion: string;
      readonly timeoutSeconds: number;
      readonly signal: AbortSignal;
    },
  ): AsyncIterable<WatchEvent> {
    const resource = resourceKinds[kind];
    const call = record('watch', resource, namespace);
    this.#options.beforeCall?.(call);
    const query = queryText({
      watch: 'true',
      allowWatchBookmarks: 'true',
      timeoutSeconds: options.timeoutSeconds,
      resourceVersion: options.resourceVersion,
      ...selectors(options),
    });
    const accept = acceptOf(options, 'PartialObjectMetadata');
    const stream = await this.#options.transport.stream({
      method: 'GET',
      path: pathOf(resource, namespace) + query,
      signal: options.signal,
      ...(accept === undefined ? undefined : { accept }),
      timeoutMs: watchSilenceMs,
    });
    this.#options.afterCall?.(call, stream.status, false);
    if (stream.status !== 200) {
      let body = '';
      for await (const line of stream.lines) body += line;
      throw errorOfAnswer({ status: stream.status, body, retryAfter: stream.retryAfter });
    }
    for await (const line of stream.lines) {
      if (line.trim() !== '') yield parseEvent(line, resource);
    }
  }

  async apply(
    object: KubernetesObject,
    options: { readonly manager: string; readonly subresource?: 'status' },
  ): Promise<KubernetesObject> {
    const answer = await this.#call('patch', targetOf(object), {
      method: 'PATCH',
      contentType: contentTypes.apply,
      body: object,
      subresource: options.subresource,
      query: { fieldManager: options.manager, force: 'true' },
    });
    return parseObject(answer);
  }

  async create(object: KubernetesObject): Promise<KubernetesObject> {
    const { kind, namespace } = targetOf(object);
    const answer = await this.#call(
      'create',
      { kind, namespace },
      {
        method: 'POST',
        contentType: contentTypes.json,
        body: object,
      },
    );
    return parseObject(answer);
  }

  async update(object: KubernetesObject): Promise<KubernetesObject> {
    const answer = await this.#call('update', targetOf(object), {
      method: 'PUT',
      contentType: contentTypes.json,
      body: object,
    });
    return parseObject(answer);
  }

  async mergePatch(target: ObjectName, body: object, manager: string): Promise<KubernetesObject> {
    const answer = await this.#call('patch', target, {
      method: 'PATCH',
      contentType: contentTypes.merge,
      body,
      query: { fieldManager: manager },
    });
    return parseObject(answer);
  }

  async delete(
    target: ObjectName,
    options: {
      readonly uid?: string | undefined;
      readonly propagation: 'background' | 'orphan';
      readonly gracePeriodSeconds?: number | undefined;
    },
  ): Promise<void> {
    try {
      await this.#call('delete', target, {
        method: 'DELETE',
        contentType: contentTypes.json,
        body: {
          apiVersion: 'v1',
          kind: 'DeleteOptions',
          propagationPolicy: options.propagation === 'orphan' ? 'Orphan' : 'Background',
          ...(options.uid === undefined ? undefined : { preconditions: { uid: options.uid } }),
          ...(options.gracePeriodSeconds === undefined
            ? undefined
            : { gracePeriodSeconds: options.gracePeriodSeconds }),
        },
      });
    } catch (error) {
      if (!(error instanceof KubernetesError) || ![404, 409].includes(error.code)) throw error;
    }
  }

  async evict(target: ObjectName, uid: string | undefined): Promise<void> {
    const body = {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name: target.name, namespace: target.namespace },
      ...(uid === undefined ? undefined : { deleteOptions: { preconditions: { uid } } }),
    };
    try {
      await this.#call('create', target, {
        method: 'POST',
        contentType: contentTypes.json,
        body,
        subresource: 'eviction',
      });
    } catch (error) {
      if (!(error instanceof KubernetesError) || ![404, 409].includes(error.code)) throw error;
    }
  }

  async #call(
    verb: string,
    target: {
      readonly kind: KindName;
      readonly namespace: string | undefined;
      readonly name?: string;
    },
    request: {
      readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
      readonly contentType?: string;
      readonly body?: object;
      readonly subresource?: string | undefined;
      readonly query?: Readonly<Record<string, string | number | undefined>>;
      readonly accept?: string | undefined;
    },
  ): Promise<HttpAnswer> {
    const resource = resourceKinds[target.kind];
    const call = record(verb, resource, target.namespace, request.subresource);
    this.#options.beforeCall?.(call);
    const path = pathOf(resource, target.namespace, target.name, request.subresource);
    const answer = await this.#options.transport.send({
      method: request.method,
      path: path + queryText(request.query ?? {}),
      timeoutMs: requestTimeoutMs,
      ...(request.contentType === undefined ? undefined : { contentType: request.contentType }),
      ...(request.body === undefined ? undefined : { body: JSON.stringify(request.body) }),
      ...(request.accept === undefined ? undefined : { accept: request.accept }),
    });
    const isPassing =
      answer.status === 403 && passingCauses.some((text) => answer.body.includes(text));
    this.#options.afterCall?.(call, answer.status, isPassing);
    if (answer.status < 200 || answer.status > 299) throw errorOfAnswer(answer);
    return answer;
  }
}

function record(
  verb: string,
  resource: ResourceKind,
  namespace: string | undefined,
  subresource?: string,
): CallRecord {
  const name = subresource === undefined ? resource.plural : `${resource.plural}/${subresource}`;
  return { verb, group: groupOf(resource), resource: name, namespace };
}

function targetOf(object: KubernetesObject): ObjectName {
  const { kind } = resourceKindOf(object.kind);
  return {
    kind: kind as KindName,
    namespace: object.metadata.namespace,
    name: object.metadata.name,
  };
}

function selectors({ labelSelector, fieldSelector }: ListOptions) {
  return { labelSelector, fieldSelector };
}

/** In what words objects are asked for; undefined: whole. */
function acceptOf({ isMetadataOnly }: ListOptions, as: string): string | undefined {
  return isMetadataOnly ? `application/json;as=${as};g=meta.k8s.io;v=v1` : undefined;
}

function queryText(query: Readonly<Record<string, string | number | undefined>>): string {
  const parts = Object.entries(query)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key}=${encodeURIComponent(String(value))}`);
  return parts.length === 0 ? '' : `?${parts.join('&')}`;
}

function parseObject(answer: HttpAnswer): KubernetesObject {
  return JSON.parse(answer.body) as KubernetesObject;
}

/** A line of a watch. An `ERROR` is an answer like any other that failed. */
function parseEvent(line: string, resource: ResourceKind): WatchEvent {
  const event = JSON.parse(line) as WatchEvent;
  if (event.type !== 'ERROR') return { type: event.type, object: typed(event.object, resource) };
  const status = event.object as unknown as { code?: number };
  throw errorOfAnswer({
    status: status.code ?? 500,
    body: JSON.stringify(status),
    retryAfter: undefined,
  });
}

/** Items of a list do not say what they are, and metadata alone say that they are that. */
function typed(object: KubernetesObject, { apiVersion, kind }: ResourceKind): KubernetesObject {
  return object.kind === kind ? object : { ...object, apiVersion, kind };
}
