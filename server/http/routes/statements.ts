import type { ValueMap } from '#core/value.ts';
import type { BodyOf } from '../body-fields.ts';
import { readFields, schemaOfFields } from '../body-fields.ts';
import type { Door } from '../door.ts';
import { badRequest } from '../errors.ts';
import type { Exchange } from '../exchange.ts';
import { answerJson } from '../json-answer.ts';
import { parseJsonObject } from '../json-body.ts';
import { answerLines, wantsLines } from '../ndjson-answer.ts';
import { onceOnly } from '../replay.ts';
import type { CommandFields } from '../statement-request.ts';
import {
  commandFields,
  fieldsOfGetForm,
  queryFields,
  statementOf,
  StatementOptions,
} from '../statement-request.ts';
import type { StatementRun } from '../statement-run.ts';
import { echoSession, sessionHeader } from '../statement-run.ts';
import { accessibleName, databaseOf } from './database-parameter.ts';
import type { Answer, Route } from './route.ts';

// Queries and commands (contract, Query and POST /command; http-api.md 6).

const rowsAnswer: Answer = {
  description: 'The rows',
  schema: { $ref: '#/components/schemas/QueryResponse' },
  lines: { $ref: '#/components/schemas/NdJsonQueryEvent' },
};

export const queryPost: Route = {
  method: 'POST',
  path: '/query/:database',
  access: 'user',
  operation: {
    id: 'executeQueryPost',
    summary: 'Executes a statement that only reads',
    body: { $ref: '#/components/schemas/QueryRequest' },
    takesSession: true,
    answers: { 200: rowsAnswer },
  },
  handle: async (exchange, door) => {
    door.meters.meter('http.query').mark();
    await answerBody(exchange, door, 'query');
  },
};

export const commandPost: Route = {
  method: 'POST',
  path: '/command/:database',
  access: 'user',
  operation: {
    id: 'executeCommand',
    summary: 'Executes a statement that may write',
    body: schemaOfFields(commandFields),
    takesSession: true,
    answers: {
      200: rowsAnswer,
      202: { description: 'Queued', schema: { type: 'object' } },
    },
  },
  handle: async (exchange, door) => {
    door.meters.meter('http.command').mark();
    await answerBody(exchange, door, 'command');
  },
};

export const queryGet: Route = {
  method: 'GET',
  path: '/query/:database/:language/*',
  access: 'user',
  operation: {
    id: 'executeQueryGet',
    summary: 'Executes a statement that only reads, given in the path',
    query: { limit: { type: 'integer' }, serializer: queryFields.serializer.schema },
    takesSession: true,
    answers: { 200: rowsAnswer },
  },
  handle: async (exchange, door) => {
    door.meters.meter('http.query').mark();
    const startedMs = door.runtime.clock.monotonicMs();
    const command = exchange.parameters['*'] ?? '';
    exchange.parameters = { ...exchange.parameters, command };
    await answerStatement(exchange, {
      body: fieldsOfGetForm(exchange),
      bytes: undefined,
      endpoint: 'query',
      startedMs,
    });
  },
};

/** The schema of `POST /query`, shared by name. */
export const queryRequestSchema = schemaOfFields(queryFields);

type Endpoint = 'query' | 'command';

async function answerBody(exchange: Exchange, door: Door, endpoint: Endpoint): Promise<void> {
  const startedMs = door.runtime.clock.monotonicMs();
  accessibleName(exchange);
  const bytes = await exchange.body();
  const body = parseJsonObject(exchange, bytes, { invalidStatus: 400, mayBeEmpty: false });
  await answerStatement(exchange, { body, bytes, endpoint, startedMs });
}

interface StatementCall {
  readonly body: ValueMap;
  /** As received; undefined in the GET form. */
  readonly bytes: Uint8Array | undefined;
  readonly endpoint: Endpoint;
  readonly startedMs: number;
}

async function answerStatement(exchange: Exchange, call: StatementCall): Promise<void> {
  const { door } = exchange;
  const isQuery = call.endpoint === 'query';
  const fields: CommandFields = readFields(isQuery ? queryOnly : commandFields, call.body);
  const database = databaseOf(exchange);
  const statement = statementOf(exchange, fields);
  const { resultSetLimit, readTimeoutMs } = door.authorizer.limitsOf(
    exchange.principal,
    database.name,
  );
  const isStream = wantsLines(exchange);
  const run: StatementRun = {
    exchange,
    database,
    statement,
    fields,
    serializer: fields.serializer ?? 'record',
    mustBeIdempotent: isQuery,
    sessionId: exchange.header(sessionHeader),
    limits: { requested: fields.limit, ofUser: resultSetLimit, isStream },
    readTimeoutMs,
    replayKey: undefined,
    startedMs: call.startedMs,
    parsedMs: door.runtime.clock.monotonicMs(),
  };
  try {
    if (run.sessionId !== undefined) checkSessionUse(run);
    if (isStream) await answerLines(run);
    else if (exchange.hasClientRequestId && call.bytes && run.sessionId === undefined)
      await onceOnly(exchange, call.bytes, (replayKey) => answerRun({ ...run, replayKey }));
    else await answerRun(run);
  } catch (error) {
    echoSession(run);
    throw error;
  }
}

async function answerRun(run: StatementRun): Promise<void> {
  const { exchange, database, replayKey, mustBeIdempotent, fields } = run;
  const committed =
    replayKey === undefined || mustBeIdempotent ? undefined : database.committedUnder?.(replayKey);
  // Executed before the server was restarted; its answer is gone (ha.md 5.9).
  if (committed !== undefined)
    exchange.jsonValue(200, { deduplicated: true, commitIndex: committed });
  else if (fields.awaitResponse === false) await answerLater(run);
  else await answerJson(run);
}

// The fields of commands are ignored on queries, whatever they hold (house decision 42).
const queryOnly = {
  ...queryFields,
  awaitResponse: { ...commandFields.awaitResponse, read: () => undefined },
  retries: { ...commandFields.retries, read: () => undefined },
} satisfies Record<keyof BodyOf<typeof commandFields>, unknown>;

function checkSessionUse(run: StatementRun): void {
  const { exchange, fields } = run;
  if (fields.awaitResponse === false)
    throw badRequest('An asynchronous command cannot join a transaction session');
  if (fields.autoCommit === true)
    exchange.door.log.warn('autoCommit is ignored inside a transaction session', {
      requestId: exchange.requestId,
      user: exchange.principal.name,
    });
}

/** `awaitResponse: false` (http-api.md 6.7). */
async function answerLater(run: StatementRun): Promise<void> {
  const { exchange, database, statement, fields } = run;
  const options = new StatementOptions(exchange, {
    mustBeIdempotent: false,
    fields,
    rowCountMax: undefined,
    sessionId: undefined,
    readTimeoutMs: run.readTimeoutMs,
    replayKey: undefined,
  });
  await database.runLater(statement, options);
  exchange.jsonValue(202, { result: 'Command accepted for asynchronous execution' });
}
