import type { JsonSchema } from '../request/body-fields.ts';
import type { Resource } from '../routes/resource.ts';
import type { Answer, Operation, RouteDescription } from '../routes/route.ts';
import { basePath } from '../routes/route.ts';
import { mapOf, shared } from './schemas.ts';
import { sharedSchemas } from './shared-schemas.ts';

/*
 * The OpenAPI document (contract, GET /openapi.json; http-api.md 20), derived from the routes and from the field lists that
 * they validate with.
 */

const requestIdHeader = {
  'X-Request-Id': { description: 'Id of the request', schema: { type: 'string' } },
  'X-Service-Commit-Index': {
    description: 'In a cluster: what the server has applied; X-Service-Read-After takes it',
    schema: { type: 'integer' },
  },
};

/** The document. Pure: the same routes and version give the same text. */
export function openApiDocument(routes: readonly RouteDescription[], version: string): JsonSchema {
  const paths: Record<string, Record<string, JsonSchema>> = {};
  for (const route of routes) {
    if (!route.operation) continue;
    const path = templateOf(route.path);
    paths[path] ??= {};
    paths[path][route.method.toLowerCase()] = describe(route, route.operation);
  }
  return {
    openapi: '3.0.3',
    info: {
      title: 'Polyad HTTP/JSON API',
      version,
      description:
        'Multi-model database. Change events and streaming inserts are offered over a WebSocket at /ws.',
    },
    servers: [{ url: '/' }],
    security: [{ basicAuth: [] }, { bearerAuth: [] }],
    paths,
    components: {
      securitySchemes: {
        basicAuth: { type: 'http', scheme: 'basic' },
        bearerAuth: { type: 'http', scheme: 'bearer' },
      },
      schemas: sharedSchemas,
    },
  };
}

/** Gives the document out, which tells of it, too. @param routes all of this door */
export function openApi(routes: readonly RouteDescription[]): Resource {
  return (scope, { door }, done) => {
    let document: Buffer | undefined;
    scope.get(
      '/openapi.json',
      {
        config: { access: 'user' },
        schema: {
          operationId: 'getOpenApi',
          summary: 'This document',
          response: { 200: { description: 'OpenAPI 3.0.3', schema: mapOf(true) } },
        },
      },
      ({ exchange }, reply) => {
        document ??= Buffer.from(JSON.stringify(openApiDocument(routes, door.version)));
        reply.hijack();
        exchange.json(200, document);
      },
    );
    done();
  };
}

/** `/query/:database/:language/*` as `/api/v1/query/{database}/{language}/{command}`. */
function templateOf(path: string): string {
  return basePath + path.replaceAll(/:(\w+)/g, '{$1}').replace('*', '{command}');
}

function describe(route: RouteDescription, operation: Operation): JsonSchema {
  const { id, summary, body, bodyIsOptional, bodyTypes, example } = operation;
  const isPublic = route.access === 'public' && operation.takesCredentials !== true;
  return {
    operationId: id,
    summary,
    ...(isPublic ? { security: [] } : undefined),
    parameters: parametersOf(route, operation),
    ...(body || bodyTypes
      ? {
          requestBody: {
            required: bodyIsOptional !== true,
            content: contentOf(
              { ...(body && { 'application/json': body }), ...bodyTypes },
              example?.body,
            ),
          },
        }
      : undefined),
    responses: responsesOf(route, operation, isPublic),
  };
}

function contentOf(
  types: Readonly<Record<string, JsonSchema>>,
  examples: Readonly<Record<string, unknown>> = {},
): JsonSchema {
  return Object.fromEntries(
    Object.entries(types).map(([type, schema]) => [
      type,
      { schema, ...(type in examples ? { example: examples[type] } : undefined) },
    ]),
  );
}

function parametersOf(route: RouteDescription, operation: Operation): readonly JsonSchema[] {
  const { path = {}, query = {} } = operation.example ?? {};
  const inPath = [...templateOf(route.path).matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string', minLength: 1 },
    example: path[name] ?? usualExamples[name] ?? 'unknown',
  }));
  const inQuery = Object.entries(operation.query ?? {}).map(([name, schema]) => ({
    name,
    in: 'query',
    schema,
    ...(name in query ? { example: query[name] } : undefined),
  }));
  const session = {
    name: 'service-session-id',
    in: 'header',
    description: 'Transaction session to use',
    schema: { type: 'string' },
  };
  return [
    ...inPath,
    ...inQuery,
    ...(operation.takesSession ? [session] : []),
    ...(operation.waitsForState ? wantedState : []),
  ];
}

/** In a cluster: what a read waits for before it begins. */
const wantedState: readonly JsonSchema[] = [
  {
    name: 'X-Service-Read-Consistency',
    in: 'header',
    description: 'Instead of service.ha.readConsistency',
    schema: { type: 'string', enum: ['eventual', 'read_your_writes', 'linearizable'] },
  },
  {
    name: 'X-Service-Read-After',
    in: 'header',
    description: 'An X-Service-Commit-Index that the server must have applied',
    schema: { type: 'integer', minimum: 0 },
  },
];

const usualExamples: Readonly<Record<string, string>> = {
  database: 'school',
  language: 'sql',
  command: 'SELECT 1 AS one',
};

function responsesOf(route: RouteDescription, operation: Operation, isPublic: boolean): JsonSchema {
  const responses: Record<string, JsonSchema> = {};
  const refused = (description: string) =>
    responseOf({ description, schema: shared('ErrorResponse') });
  const failed = (description: string) =>
    responseOf({ description, schema: shared('ServerErrorResponse') });
  if (!isPublic) {
    if (operation.body || operation.query || route.path.includes(':'))
      responses['400'] = refused('Wrong request');
    responses['401'] = refused('Credentials are missing, or the token is dead');
    responses['403'] = refused('Wrong credentials, or not allowed');
    if (operation.body || operation.bodyTypes) {
      responses['408'] = refused('The body was cut or stalled');
      responses['413'] = refused('Something is too large; the detail names the setting');
      responses['415'] = refused('Unknown Content-Encoding');
    }
    responses['500'] = failed('Failed');
    responses['503'] = failed('Busy or in conflict: repeat');
  }
  for (const [status, answer] of Object.entries(operation.answers))
    responses[status] = responseOf(answer);
  responses['default'] = refused('Any other refusal');
  return responses;
}

function responseOf(answer: Answer): JsonSchema {
  const { description, schema, lines, headers, others } = answer;
  const content = {
    ...(schema ? { 'application/json': { schema } } : undefined),
    ...(lines ? { 'application/x-ndjson': { schema: lines } } : undefined),
    ...Object.fromEntries(
      Object.entries(others ?? {}).map(([type, own]) => [type, { schema: own }]),
    ),
  };
  return {
    description,
    headers: { ...requestIdHeader, ...headers },
    ...(Object.keys(content).length > 0 ? { content } : undefined),
  };
}
