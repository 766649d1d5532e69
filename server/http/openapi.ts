import { schemaOfFields } from './body-fields.ts';
import type { JsonSchema } from './body-fields.ts';
import type { Answer, Operation, Route } from './routes/route.ts';
import { basePath } from './routes/route.ts';
import { queryFields } from './statement-request.ts';

/*
 * The OpenAPI document (contract, GET /openapi.json; http-api.md 20), derived from the routes and from the field lists that
 * they validate with.
 */

const ref = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });
const text = (description: string): JsonSchema => ({ type: 'string', description });
const integer = (description: string): JsonSchema => ({ type: 'integer', description });

const counters = [
  'nodesCreated',
  'nodesDeleted',
  'relationshipsCreated',
  'relationshipsDeleted',
  'propertiesSet',
  'labelsAdded',
  'labelsRemoved',
  'indexesAdded',
  'indexesRemoved',
  'constraintsAdded',
  'constraintsRemoved',
];

function object(properties: Readonly<Record<string, JsonSchema>>, required?: readonly string[]) {
  return { type: 'object', properties, ...(required ? { required } : undefined) };
}

const sharedSchemas: Readonly<Record<string, JsonSchema>> = {
  ErrorResponse: object(
    {
      error: text('Short category'),
      detail: text('What happened'),
      exception: text('Name of the failure'),
      exceptionArgs: text('Machine-readable arguments, joined with |'),
      help: text('A hint'),
      requestId: text('Equals header X-Request-Id'),
    },
    ['error'],
  ),
  QueryRequest: schemaOfFields(queryFields),
  QueryResponse: object({
    user: text('Who asked'),
    result: {
      description: 'Rows; an object of vertices and edges for serializer graph',
      oneOf: [{ type: 'array', items: { type: 'object' } }, { type: 'object' }],
    },
    limit: integer('Effective cap; -1 for none'),
    returned: integer('Number of rows, or of vertices and edges'),
    truncated: { type: 'boolean', description: 'There was at least one row more' },
    stats: ref('WriteStatistics'),
    explain: text('The plan'),
    explainPlan: { type: 'object' },
    profile: { type: 'object' },
  }),
  NdJsonQueryEvent: object({
    record: { type: 'object', description: 'One row' },
    stats: { type: 'object', description: 'The last line of a complete answer' },
    error: { type: 'object', description: 'The last line of a broken answer' },
  }),
  LoginResponse: object({ token: text('For Authorization: Bearer'), user: text('Who logged in') }, [
    'token',
    'user',
  ]),
  ProgressResponse: object({
    result: {
      type: 'array',
      items: object({
        id: integer('Operation id'),
        database: text('Database'),
        operation: text('Label'),
        stepName: text('Current step'),
        stepIndex: integer('Its index, from 0'),
        totalSteps: integer('Number of steps'),
        done: integer('Units done in the step'),
        total: integer('Units of the step; -1 when unknown'),
        percentage: integer('-1 when unknown'),
        startedOn: integer('Epoch milliseconds'),
        elapsedMs: integer('Milliseconds'),
      }),
    },
  }),
  WriteStatistics: object({
    ...Object.fromEntries(counters.map((name) => [name, { type: 'integer' }])),
    containsUpdates: { type: 'boolean' },
  }),
};

const requestIdHeader = {
  'X-Request-Id': { description: 'Id of the request', schema: { type: 'string' } },
};

/** The document. Pure: the same routes and version give the same text. */
export function openApiDocument(routes: readonly Route[], version: string): JsonSchema {
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

/** The route that gives the document out; it is part of the document itself. */
export function openApiGet(documented: () => readonly Route[]): Route {
  let cached: Buffer | undefined;
  const route: Route = {
    method: 'GET',
    path: '/openapi.json',
    access: 'user',
    operation: {
      id: 'getOpenApi',
      summary: 'This document',
      answers: { 200: { description: 'OpenAPI 3.0.3', schema: { type: 'object' } } },
    },
    handle: (exchange, door) => {
      cached ??= Buffer.from(
        JSON.stringify(openApiDocument([...documented(), route], door.version)),
      );
      exchange.json(200, cached);
    },
  };
  return route;
}

/** `/query/:database/:language/*` as `/api/v1/query/{database}/{language}/{command}`. */
function templateOf(path: string): string {
  return basePath + path.replaceAll(/:(\w+)/g, '{$1}').replace('*', '{command}');
}

function describe(route: Route, operation: Operation): JsonSchema {
  const { id, summary, body, bodyIsOptional, bodyTypes } = operation;
  const isPublic = route.access === 'public' && route.path !== '/logout';
  return {
    operationId: id,
    summary,
    ...(isPublic ? { security: [] } : undefined),
    parameters: parametersOf(route, operation),
    ...(body || bodyTypes
      ? {
          requestBody: {
            required: bodyIsOptional !== true,
            content: contentOf({ ...(body && { 'application/json': body }), ...bodyTypes }),
          },
        }
      : undefined),
    responses: responsesOf(route, operation, isPublic),
  };
}

function contentOf(types: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return Object.fromEntries(Object.entries(types).map(([type, schema]) => [type, { schema }]));
}

function parametersOf(route: Route, operation: Operation): readonly JsonSchema[] {
  const inPath = [...templateOf(route.path).matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  const inQuery = Object.entries(operation.query ?? {}).map(([name, schema]) => ({
    name,
    in: 'query',
    schema,
  }));
  const session = {
    name: 'service-session-id',
    in: 'header',
    description: 'Transaction session to use',
    schema: { type: 'string' },
  };
  return [...inPath, ...inQuery, ...(operation.takesSession ? [session] : [])];
}

function responsesOf(route: Route, operation: Operation, isPublic: boolean): JsonSchema {
  const responses: Record<string, JsonSchema> = {};
  for (const [status, answer] of Object.entries(operation.answers))
    responses[status] = responseOf(answer);
  if (isPublic) return responses;
  const refused = (description: string) =>
    responseOf({ description, schema: ref('ErrorResponse') });
  if (operation.body || route.path.includes(':')) responses['400'] = refused('Wrong request');
  responses['401'] = refused('Credentials are missing, or the token is dead');
  responses['403'] = refused('Wrong credentials, or not allowed');
  responses['500'] = refused('Failed');
  responses['503'] = refused('Busy or in conflict: repeat');
  return responses;
}

function responseOf(answer: Answer): JsonSchema {
  const content = {
    ...(answer.schema ? { 'application/json': { schema: answer.schema } } : undefined),
    ...(answer.lines ? { 'application/x-ndjson': { schema: answer.lines } } : undefined),
  };
  return {
    description: answer.description,
    headers: requestIdHeader,
    ...(Object.keys(content).length > 0 ? { content } : undefined),
  };
}
