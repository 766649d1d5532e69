import { progressToJson } from '#control/running-report.ts';
import { beforeRead } from '../cluster/wanted-state.ts';
import { accessibleName, databaseName } from './database-parameter.ts';
import { listOf, object, resultAnswer, shared, text } from '../document/schemas.ts';
import type { Route } from './route.ts';

// The databases that a user may see (contract; http-api.md 13).

export const databasesGet: Route = {
  method: 'GET',
  path: '/databases',
  access: 'user',
  operation: {
    id: 'listDatabases',
    waitsForState: true,
    summary: 'Names of the databases that the user may access',
    answers: {
      200: {
        description: 'Names, sorted',
        schema: object({ result: listOf(text()), user: text('Who asked'), version: text() }),
      },
    },
  },
  handle: async (exchange, { databases, authorizer, version }) => {
    await beforeRead(exchange);
    const { principal } = exchange;
    const result = databases.names().filter((name) => authorizer.canAccess(principal, name));
    exchange.jsonValue(200, { result, user: principal.name, version });
  },
};

export const existsGet: Route = {
  method: 'GET',
  path: '/exists/:database',
  access: 'user',
  operation: {
    id: 'checkDatabaseExists',
    waitsForState: true,
    summary: 'Whether a database exists; one without access is like none',
    answers: {
      200: resultAnswer('The answer', { type: 'boolean' }),
    },
  },
  handle: async (exchange, { databases, authorizer }) => {
    const name = databaseName(exchange);
    await beforeRead(exchange);
    const mayKnow = authorizer.canAccess(exchange.principal, name);
    exchange.jsonValue(200, { result: mayKnow && databases.exists(name) });
  },
};

export const progressGet: Route = {
  method: 'GET',
  path: '/progress/:database',
  access: 'user',
  operation: {
    id: 'getOperationProgress',
    summary: 'Maintenance operations that run on a database',
    answers: {
      200: {
        description: 'The running operations',
        schema: shared('ProgressResponse'),
      },
    },
  },
  handle: (exchange, { databases, runtime }) => {
    const name = accessibleName(exchange);
    const now = runtime.clock.now();
    const result = databases.progress(name).map((entry) => progressToJson(entry, now));
    exchange.jsonValue(200, { result });
  },
};

/** Paths that lack the name of the database (http-api.md 1). */
export const missingDatabaseRoutes: readonly Route[] = (
  [
    ['GET', '/exists'],
    ['GET', '/progress'],
    ['GET', '/query'],
    ['POST', '/query'],
    ['POST', '/command'],
    ['POST', '/begin'],
    ['POST', '/commit'],
    ['POST', '/rollback'],
    ['POST', '/batch'],
  ] as const
).map(([method, path]) => ({
  method,
  path,
  access: 'user',
  handle: (exchange) => exchange.refuse({ status: 400, error: 'Database parameter is null' }),
}));
