import type { FastifyPluginCallback, FastifyTypeProvider, RawServerDefault } from 'fastify';
import type { Exchange } from '../answer/exchange.ts';
import type { Door } from '../door.ts';
import type { Operation, RouteDescription } from './route.ts';

/*
 * A resource is a fastify plugin with the routes of one thing: users, groups, tokens. `connection/resources.ts` says what happens
 * around its handlers. What a handler returns is the JSON answer; what it throws is the refusal; `reply.hijack()` tells that it
 * has answered by the exchange itself.
 */

/** Bodies and query strings have the types that their schemas read. */
export interface ResourceTypes extends FastifyTypeProvider {
  readonly validator: this['schema'] extends { readonly reads: infer T } ? T : unknown;
  readonly serializer: unknown;
}

export interface ResourceOptions {
  readonly door: Door;
}

export type Resource = FastifyPluginCallback<ResourceOptions, RawServerDefault, ResourceTypes>;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Who may use the route; needed. */
    readonly access?: RouteDescription['access'];
    readonly place?: 'leader';
    /** A request with an id of the client's choice is executed once. */
    readonly isRepeatable?: boolean;
    /** Where the contract answers 500 to what is no JSON. */
    readonly invalidJsonStatus?: 500;
    /** The body is read and ignored. */
    readonly ignoresBody?: boolean;
  }

  interface FastifySchema {
    /** Absent for routes that are no part of the documented API. */
    readonly operationId?: string;
    readonly summary?: string;
    readonly bodyIsOptional?: boolean;
    readonly takesCredentials?: boolean;
    readonly waitsForState?: boolean;
    readonly example?: Operation['example'];
  }

  interface FastifyRequest {
    readonly exchange: Exchange;
    /** The body as it came. */
    bytes: Uint8Array;
  }
}
