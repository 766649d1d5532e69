import type { JsonSchema } from '../request/body-fields.ts';
import type { Door } from '../door.ts';
import type { Exchange } from '../answer/exchange.ts';

/** One endpoint: where it is, who may use it and how the OpenAPI document describes it. */
export interface RouteDescription {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE';
  /** Below `/api/v1`, parameters as `:name`; a last `*` takes the rest. */
  readonly path: string;
  /** The path is the whole one. */
  readonly isAtRoot?: boolean;
  /** The scope it is mounted in: nothing, any valid credentials, root's, or those of another server of the cluster, too. */
  readonly access: 'public' | 'user' | 'root' | 'peer';
  /** In a cluster the leader executes it; absent: the server that is asked, or the handler decides. */
  readonly place?: 'leader';
  /** Absent for routes that are no part of the documented API, such as the refusal of a missing path parameter. */
  readonly operation?: Operation;
}

/** An endpoint of the lean way (`lean-routes.ts`): it reads the request and answers it by the exchange alone. */
export interface Route extends RouteDescription {
  /** On its way to the leader its body is not held. */
  readonly streamsBody?: boolean;
  /** May answer later; what it throws or rejects with becomes the answer. */
  readonly handle: (exchange: Exchange, door: Door) => void | Promise<void>;
}

/** A path that answers methods it has no route for by itself. */
export interface PathOwner {
  /** The whole path. */
  readonly path: string;
  readonly methods: readonly string[];
  readonly refuse: (exchange: Exchange) => void;
}

/** What OpenAPI says of an endpoint beyond what follows from its path. */
export interface Operation {
  readonly id: string;
  readonly summary: string;
  readonly body?: JsonSchema;
  /** Other forms of the body by content type; without `body` the only ones. */
  readonly bodyTypes?: Readonly<Record<string, JsonSchema>>;
  readonly bodyIsOptional?: boolean;
  readonly query?: Readonly<Record<string, JsonSchema>>;
  readonly takesSession?: boolean;
  /** In a cluster it begins when the server has what the headers ask for (ha.md 7.1). */
  readonly waitsForState?: boolean;
  /** A route of access `public` that asks for credentials by itself. */
  readonly takesCredentials?: boolean;
  /** A request that works on a server with a database `school`; tests send it. */
  readonly example?: RequestExample;
  /** Name of a shared schema or a schema of its own, by status; undefined for answers without a body. */
  readonly answers: Readonly<Record<number, Answer>>;
}

export interface Answer {
  readonly description: string;
  readonly schema?: JsonSchema;
  /** Also offered as lines. */
  readonly lines?: JsonSchema;
  /** Also offered as other content types. */
  readonly others?: Readonly<Record<string, JsonSchema>>;
  /** Headers beside `X-Request-Id`, as OpenAPI describes them. */
  readonly headers?: JsonSchema;
}

/** What an example puts into a request; the usual path parameters have examples anyway. */
export interface RequestExample {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number>>;
  /** By content type. */
  readonly body?: Readonly<Record<string, unknown>>;
}

export const basePath = '/api/v1';

/** The whole path of a route. */
export function urlOf({ path, isAtRoot }: Pick<RouteDescription, 'path' | 'isAtRoot'>): string {
  return isAtRoot ? path : basePath + path;
}

/** The name that requests of a route are counted by (http-api.md 11.2): `http.query` for both forms of a query. */
export function meterNameOf({ method, path }: Pick<RouteDescription, 'method' | 'path'>): string {
  if (method === 'GET' && path === '/server') return 'http.server-info';
  const words = path.split('/').filter((word) => /^[a-z]/.test(word));
  return `http.${words.join('.')}`;
}
