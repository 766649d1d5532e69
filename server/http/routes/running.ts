import { operationReport, statementReport } from '#control/running-report.ts';
import { cancelRunning, findRunning } from '#database/progress/running-work.ts';
import { HttpRefusal } from '../answer/errors.ts';
import { queryWith } from '../request/input-schema.ts';
import type { Exchange } from '../answer/exchange.ts';
import { integer, listOf, mapOf, object, refusal, text } from '../document/schemas.ts';
import type { Resource } from './resource.ts';

// What runs now and how to end it (limits.md 6): everybody sees and ends what is theirs, root all of it.

const listOfWork = object({ result: listOf(mapOf(true)), count: integer() });

const databaseQuery = queryWith({
  database: {
    schema: { type: 'string', description: 'Only of this database' },
    read: (name) => name ?? undefined,
  },
});

const lists = [
  {
    path: '/server/statements',
    operationId: 'listStatements',
    summary: 'Statements that run longer than a few milliseconds',
    report: statementReport,
  },
  {
    path: '/server/operations',
    operationId: 'listOperations',
    summary: 'Long operations that run, or ended within an hour',
    report: operationReport,
  },
] as const;

const cancels = [
  {
    path: '/server/statements/:id',
    operationId: 'cancelStatement',
    summary: 'Cancels a statement by its id or by the X-Request-Id of its request',
  },
  {
    path: '/server/operations/:id',
    operationId: 'cancelOperation',
    summary: 'Cancels a long operation by its id or by the X-Request-Id of its request',
  },
] as const;

export const running: Resource = (scope, { door }, done) => {
  const { databases, events, runtime } = door;

  for (const { path, report, ...about } of lists)
    scope.get(
      path,
      {
        config: { access: 'user' },
        schema: {
          ...about,
          querystring: databaseQuery,
          response: { 200: { description: 'Oldest first', schema: listOfWork } },
        },
      },
      async ({ exchange, query: { database } }) => {
        const filter = { user: ownUser(exchange), database };
        const result = report(databases.running, filter, runtime.clock.now());
        return { result, count: result.length };
      },
    );

  for (const { path, ...about } of cancels)
    scope.delete(
      path,
      {
        config: { access: 'user' },
        schema: {
          ...about,
          response: {
            200: {
              description: 'It was told to end, and does so within 2 s',
              schema: object({ result: text() }),
            },
            404: refusal('Nothing with this id runs'),
          },
        },
      },
      async ({ exchange }) => {
        const id = exchange.parameters['id'] ?? '';
        const task = findRunning(databases.running, id, ownUser(exchange));
        if (task === undefined)
          throw new HttpRefusal({ status: 404, error: `Nothing with id '${shown(id)}' runs` });
        const { name } = exchange.principal;
        cancelRunning(databases.running, task, name);
        const what = task.kind === 'statement' ? 'Statement' : 'Operation';
        const message = `User '${name}' cancelled ${task.kind} ${task.id} of user '${task.user}'`;
        events.report('INFO', 'Database', message, task.database, exchange.requestId);
        return { result: `${what} ${task.id} cancelled` };
      },
    );
  done();
};

/** An id as it may stand in an answer. */
function shown(id: string): string {
  return id.slice(0, 128).replaceAll(/\p{Cc}/gu, ' ');
}

function ownUser({ principal }: Exchange): string | undefined {
  return principal.isRoot ? undefined : principal.name;
}
