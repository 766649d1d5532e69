import type { KubernetesObject } from '../api/kubernetes-object.ts';
import type { KindName } from './resource-kinds.ts';

/** One HTTP exchange with the API server. What lies below may be a real connection or a simulated control plane. */
export interface Transport {
  send(request: HttpRequest): Promise<HttpAnswer>;
  /** Lines of a body that does not end by itself. Ends when the server closes; throws when the connection breaks. */
  stream(request: HttpRequest): Promise<HttpStream>;
}

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With its query string. */
  readonly path: string;
  readonly contentType?: string;
  /** JSON of whole objects, unless this says otherwise. */
  readonly accept?: string;
  readonly body?: string;
  readonly signal?: AbortSignal;
  readonly timeoutMs: number;
}

export interface HttpAnswer {
  readonly status: number;
  readonly body: string;
  readonly retryAfter: string | undefined;
}

export interface HttpStream {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly lines: AsyncIterable<string>;
}

export interface ListOptions {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Of each object no more than its metadata. */
  readonly isMetadataOnly?: boolean;
}

export interface ListPage {
  readonly items: readonly KubernetesObject[];
  readonly resourceVersion: string;
  readonly continueToken: string | undefined;
}

export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: KubernetesObject;
}

export interface ObjectName {
  readonly kind: KindName;
  readonly namespace: string | undefined;
  readonly name: string;
}

/** What the operator asks of Kubernetes. All methods throw `KubernetesError`. */
export interface KubernetesApi {
  get(target: ObjectName): Promise<KubernetesObject | undefined>;
  list(
    kind: KindName,
    namespace: string | undefined,
    options: ListOptions & { readonly limit?: number; readonly continueToken?: string },
  ): Promise<ListPage>;
  watch(
    kind: KindName,
    namespace: string | undefined,
    options: ListOptions & {
      readonly resourceVersion: string;
      readonly timeoutSeconds: number;
      readonly signal: AbortSignal;
    },
  ): AsyncIterable<WatchEvent>;
  /** Server-side apply; takes over fields that others own. */
  apply(
    object: KubernetesObject,
    options: { readonly manager: string; readonly subresource?: 'status' },
  ): Promise<KubernetesObject>;
  create(object: KubernetesObject): Promise<KubernetesObject>;
  update(object: KubernetesObject): Promise<KubernetesObject>;
  mergePatch(target: ObjectName, body: object, manager: string): Promise<KubernetesObject>;
  /** An object that is not there, or not the one with that uid, is as good as deleted. */
  delete(
    target: ObjectName,
    options: {
      readonly uid?: string | undefined;
      readonly propagation: 'background' | 'orphan';
      readonly gracePeriodSeconds?: number | undefined;
    },
  ): Promise<void>;
  /** Ends a pod when its budget allows it. */
  evict(target: ObjectName, uid: string | undefined): Promise<void>;
}

/** One call as the authorizer of the API server sees it. */
export interface CallRecord {
  readonly verb: string;
  readonly group: string;
  /** With its subresource: `pods/eviction`. */
  readonly resource: string;
  readonly namespace: string | undefined;
}
