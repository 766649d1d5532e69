import { operationReport, statementReport } from '#control/running-report.ts';
import { cancelRunning, findRunning } from '#database/progress/running-work.ts';
import { HttpRefusal } from '../answer/errors.ts';
import type { Exchange } from '../answer/exchange.ts';
import { integer, listOf, mapOf, object, text } from '../document/schemas.ts';
import type { Operation, Route } from './route.ts';

// What runs now and how to end it (limits.md 6): everybody sees and ends what is theirs, root all of it.

const listOfWork = object({ result: listOf(mapOf(true)), count: integer() });

const databaseQuery = { database: { type: 'string', description: 'Only of this database' } };

function listing(
  path: string,
  operation: Pick<Operation, 'id' | 'summary'>,
  report: typeof statementReport,
): Route {
  return {
    method: 'GET',
    path,
    access: 'user',
    operation: {
      ...operation,
      query: databaseQuery,
      answers: { 200: { description: 'Oldest first', schema: listOfWork } },
    },
    handle: (exchange, { databases, runtime }) => {
      const database = new URLSearchParams(exchange.queryString).get('database') ?? undefined;
      const filter = { user: ownUser(exchange), database };
      const result = report(databases.running, filter, runtime.clock.now());
      exchange.jsonValue(200, { result, count: result.length });
    },
  };
}

function cancelling(path: string, operation: Pick<Operation, 'id' | 'summary'>): Route {
  return {
    method: 'DELETE',
    path,
    access: 'user',
    operation: {
      ...operation,
      answers: {
        200: {
          description: 'It was told to end, and does so within 2 s',
          schema: object({ result: text() }),
        },
        404: {
          description: 'Nothing with this id runs',
          schema: { $ref: '#/components/schemas/ErrorResponse' },
        },
      },
    },
    handle: (exchange, { databases, events }) => {
      const id = exchange.parameters['id'] ?? '';
      const task = findRunning(databases.running, id, ownUser(exchange));
      if (task === undefined)
        throw new HttpRefusal({ status: 404, error: `Nothing with id '${shown(id)}' runs` });
      const { name } = exchange.principal;
      cancelRunning(databases.running, task, name);
      const what = task.kind === 'statement' ? 'Statement' : 'Operation';
      const message = `User '${name}' cancelled ${task.kind} ${task.id} of user '${task.user}'`;
      events.report('INFO', 'Database', message, task.database, exchange.requestId);
      exchange.jsonValue(200, { result: `${what} ${task.id} cancelled` });
    },
  };
}

/** An id as it may stand in an answer. */
function shown(id: string): string {
  return id.slice(0, 128).replaceAll(/\p{Cc}/gu, ' ');
}

function ownUser({ principal }: Exchange): string | undefined {
  return principal.isRoot ? undefined : principal.name;
}

export const statementsGet = listing(
  '/server/statements',
  { id: 'listStatements', summary: 'Statements that run longer than a few milliseconds' },
  statementReport,
);

export const operationsGet = listing(
  '/server/operations',
  { id: 'listOperations', summary: 'Long operations that run, or ended within an hour' },
  operationReport,
);

export const statementsDelete = cancelling('/server/statements/:id', {
  id: 'cancelStatement',
  summary: 'Cancels a statement by its id or by the X-Request-Id of its request',
});

export const operationsDelete = cancelling('/server/operations/:id', {
  id: 'cancelOperation',
  summary: 'Cancels a long operation by its id or by the X-Request-Id of its request',
});
