import type {
  FastifyInstance,
  FastifyPluginCallback,
  FastifyReply,
  FastifyRequest,
  FastifySchema,
  RouteHandlerMethod,
  RouteOptions,
} from 'fastify';
import type { ValueMap } from '#core/value/value.ts';
import type { Exchange } from '../answer/exchange.ts';
import { type Elsewhere, sendOn } from '../cluster/sent-on.ts';
import type { Door } from '../door.ts';
import { onceOnly } from '../replay/once-only.ts';
import type { JsonSchema } from '../request/body-fields.ts';
import { type GivenBody, InputSchema } from '../request/input-schema.ts';
import { parseAnyJsonObject } from '../request/json-body.ts';
import type { Resource } from '../routes/resource.ts';
import { basePath, type Operation, type RouteDescription } from '../routes/route.ts';
import { requireExchange } from './request-exchange.ts';

/*
 * What happens around the handlers of resources, in the order in which fastify does it: who asks (onRequest), whether another
 * server executes it, the body (parser), its JSON (preValidation), its fields and those of the query string (validation), the
 * handler, the answer (onSend). Answers leave by the exchange as on the lean way, since fastify writes the names of headers
 * otherwise and knows neither repeated requests nor bookmarks.
 */

export interface ResourcesOptions {
  readonly door: Door;
  /** Below `/api/v1`, and those whose paths are whole. */
  readonly resources: readonly Resource[];
  readonly rootResources: readonly Resource[];
  /** Told of each route, in order. */
  readonly described: (route: RouteDescription) => ArrivedAt;
  /** Admits who may use a route, and answers who may not. */
  readonly enter: (
    exchange: Exchange,
    access: RouteDescription['access'],
    next: () => void,
  ) => void;
}

/** To be called for each request that was admitted. @returns where it is to be executed when that is not simply here */
export type ArrivedAt = (
  exchange: Exchange,
  parameters: Readonly<Record<string, string>>,
) => Elsewhere | undefined;

const noBytes = new Uint8Array();
const noFields: ValueMap = new Map();

/** All resources, in order. */
export const resourcesPlugin: FastifyPluginCallback<ResourcesOptions> = (scope, options, done) => {
  scope.decorateRequest('exchange', {
    getter() {
      return requireExchange(this.raw);
    },
  });
  const bodies = new WeakMap<FastifyRequest, Uint8Array>();
  scope.decorateRequest('bytes', {
    getter() {
      return bodies.get(this) ?? noBytes;
    },
    setter(bytes: Uint8Array) {
      bodies.set(this, bytes);
    },
  });
  scope.setValidatorCompiler(({ schema }) => {
    if (schema instanceof InputSchema) return (input) => schema.check(input);
    throw new Error('schemas of resources are those of `input-schema.ts`');
  });
  scope.setSerializerCompiler(() => JSON.stringify);
  scope.addContentTypeParser('*', readBody);
  scope.addHook('onRoute', (route) => prepare(route, options));
  scope.addHook('preSerialization', withWarnings);
  scope.addHook('onSend', answer);
  scope.setErrorHandler((error: Error & { readonly validationContext?: string }, { exchange }) =>
    exchange.fail(error.validationContext === undefined ? error : error.cause),
  );
  const { door, resources, rootResources } = options;
  for (const resource of resources) void scope.register(resource, { door, prefix: basePath });
  for (const resource of rootResources) void scope.register(resource, { door });
  done();
};

function prepare(route: RouteOptions, { described, enter }: ResourcesOptions): void {
  const description = descriptionOf(route);
  const { access } = description;
  const arrivedAt = described(description);
  const admit = (request: FastifyRequest, _reply: FastifyReply, next: () => void) =>
    enter(request.exchange, access, next);
  const arrive = (request: FastifyRequest, reply: FastifyReply, next: (error?: Error) => void) => {
    const { exchange } = request;
    const place = arrivedAt(exchange, request.params as Readonly<Record<string, string>>);
    if (place === undefined) {
      next();
      return;
    }
    sendOn(exchange, place).then((isAnswered) => {
      if (isAnswered) reply.hijack();
      else next();
    }, next);
  };
  route.onRequest = access === 'public' ? [arrive] : [admit, arrive];
  if (route.schema?.body !== undefined)
    route.preValidation = [...hooksOf(route.preValidation), parseBody] as NonNullable<
      RouteOptions['preValidation']
    >;
  if (route.config?.isRepeatable) route.handler = repeatable(route.handler);
}

function hooksOf<T>(hooks: T | T[] | undefined): readonly T[] {
  if (hooks === undefined) return [];
  return Array.isArray(hooks) ? hooks : [hooks];
}

function descriptionOf({ method, url, schema = {}, config }: RouteOptions): RouteDescription {
  const { access, place } = config ?? {};
  if (access === undefined) throw new Error(`${url} does not say who may use it`);
  const isAtRoot = !url.startsWith(`${basePath}/`);
  const operation = operationOf(schema);
  return {
    method: method as RouteDescription['method'],
    path: isAtRoot ? url : url.slice(basePath.length),
    access,
    ...(isAtRoot && { isAtRoot }),
    ...(place && { place }),
    ...(operation && { operation }),
  };
}

function operationOf(schema: FastifySchema): Operation | undefined {
  const { operationId, summary = '', bodyIsOptional, example } = schema;
  const { takesCredentials, waitsForState } = schema;
  if (operationId === undefined) return undefined;
  const body = documentOf(schema.body);
  const query = documentOf(schema.querystring) as Operation['query'];
  return {
    id: operationId,
    summary,
    ...(body && { body }),
    ...(query && { query }),
    ...(bodyIsOptional !== undefined && { bodyIsOptional }),
    ...(takesCredentials !== undefined && { takesCredentials }),
    ...(waitsForState !== undefined && { waitsForState }),
    ...(example && { example }),
    answers: schema.response as Operation['answers'],
  };
}

function documentOf(schema: unknown): JsonSchema | undefined {
  return schema instanceof InputSchema ? schema.document : undefined;
}

/** Routes that do nothing with a body leave it unread. */
function readBody(
  request: FastifyRequest,
  _payload: unknown,
  done: (error: Error | null, body?: unknown) => void,
): void {
  const { schema, config } = request.routeOptions;
  if (schema?.body === undefined && !config.isRepeatable && !config.ignoresBody) {
    done(null);
    return;
  }
  request.exchange.body().then((bytes) => {
    request.bytes = bytes;
    done(null, bytes);
  }, done);
}

async function parseBody(request: FastifyRequest): Promise<void> {
  const { exchange, bytes } = request;
  const { schema, config } = request.routeOptions;
  const isLeftOut = bytes.length === 0 && schema?.bodyIsOptional === true;
  const fields = isLeftOut
    ? noFields
    : await parseAnyJsonObject(exchange, bytes, {
        invalidStatus: config.invalidJsonStatus ?? 400,
        mayBeEmpty: false,
      });
  request.body = { fields, exchange } satisfies GivenBody;
}

/** Only answers that are JSON are kept, and whoever waited for another one executes the request. */
function repeatable(handler: RouteHandlerMethod): RouteHandlerMethod {
  return async function repeated(this: FastifyInstance, request, reply) {
    const { exchange, bytes } = request;
    if (!exchange.hasClientRequestId) return handler.call(this, request, reply);
    await onceOnly(exchange, bytes, async () => {
      const value = await handler.call(this, request, reply);
      exchange.jsonValue(reply.statusCode, value);
    });
    return reply.hijack();
  };
}

function withWarnings(
  request: FastifyRequest,
  _reply: FastifyReply,
  payload: unknown,
  done: (error: null, payload: unknown) => void,
): void {
  const { warnings } = request.exchange;
  done(null, warnings === undefined ? payload : { ...(payload as object), warnings });
}

/** The last hook: it does not go on, since the answer is on its way. */
function answer(
  { exchange }: FastifyRequest,
  reply: FastifyReply,
  payload: string | undefined,
): void {
  const { statusCode } = reply;
  reply.hijack();
  if (payload === undefined) exchange.send(statusCode, [], undefined);
  else exchange.json(statusCode, Buffer.from(payload));
}
