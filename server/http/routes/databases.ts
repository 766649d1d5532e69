import { progressToJson } from '#control/running-report.ts';
import { badRequest } from '../answer/errors.ts';
import { beforeRead } from '../cluster/wanted-state.ts';
import { accessibleName, databaseName } from './database-parameter.ts';
import { listOf, object, resultAnswer, shared, text } from '../document/schemas.ts';
import type { Resource } from './resource.ts';

// The databases that a user may see (contract; http-api.md 13).

export const databases: Resource = (scope, { door }, done) => {
  scope.get(
    '/databases',
    {
      config: { access: 'user' },
      schema: {
        operationId: 'listDatabases',
        waitsForState: true,
        summary: 'Names of the databases that the user may access',
        response: {
          200: {
            description: 'Names, sorted',
            schema: object({ result: listOf(text()), user: text('Who asked'), version: text() }),
          },
        },
      },
    },
    async ({ exchange }) => {
      await beforeRead(exchange);
      const { principal } = exchange;
      const names = door.databases.names();
      const result = names.filter((name) => door.authorizer.canAccess(principal, name));
      return { result, user: principal.name, version: door.version };
    },
  );

  scope.get(
    '/exists/:database',
    {
      config: { access: 'user' },
      schema: {
        operationId: 'checkDatabaseExists',
        waitsForState: true,
        summary: 'Whether a database exists; one without access is like none',
        response: { 200: resultAnswer('The answer', { type: 'boolean' }) },
      },
    },
    async ({ exchange }) => {
      const name = databaseName(exchange);
      await beforeRead(exchange);
      if (!door.databases.exists(name)) await door.cluster?.caughtUp.withAll();
      const mayKnow = door.authorizer.canAccess(exchange.principal, name);
      return { result: mayKnow && door.databases.exists(name) };
    },
  );

  scope.get(
    '/progress/:database',
    {
      config: { access: 'user' },
      schema: {
        operationId: 'getOperationProgress',
        summary: 'Maintenance operations that run on a database',
        response: {
          200: { description: 'The running operations', schema: shared('ProgressResponse') },
        },
      },
    },
    async ({ exchange }) => {
      const name = accessibleName(exchange);
      const now = door.runtime.clock.now();
      return { result: door.databases.progress(name).map((entry) => progressToJson(entry, now)) };
    },
  );

  for (const [method, url] of withoutDatabase)
    scope.route({
      method,
      url,
      config: { access: 'user' },
      handler: async () => {
        throw badRequest('Database parameter is null');
      },
    });
  done();
};

/** Paths that lack the name of the database (http-api.md 1). */
const withoutDatabase = [
  ['GET', '/exists'],
  ['GET', '/progress'],
  ['GET', '/query'],
  ['POST', '/query'],
  ['POST', '/command'],
  ['POST', '/begin'],
  ['POST', '/commit'],
  ['POST', '/rollback'],
  ['POST', '/batch'],
] as const;
