import { DatabaseError } from '#core/errors.ts';
import type { ValueMap } from '#core/value/value.ts';
import type { BodyOf } from '../request/body-fields.ts';
import { readFields, schemaOfFields } from '../request/body-fields.ts';
import { badRequest } from '../answer/errors.ts';
import type { Exchange } from '../answer/exchange.ts';
import { answerJson } from '../answer/json-answer.ts';
import { isLongBody, parseJsonObject, parseLongJsonObject } from '../request/json-body.ts';
import { answerLines, wantsLines } from '../answer/ndjson-answer.ts';
import { leadsHere, sendOn } from '../cluster/sent-on.ts';
import { beforeRead } from '../cluster/wanted-state.ts';
import { onceOnly } from '../replay/once-only.ts';
import type { CommandFields } from '../request/statement-request.ts';
import {
  commandFields,
  fieldsOfGetForm,
  queryFields,
  parametersOfLongBody,
  statementOf,
  StatementOptions,
} from '../request/statement-request.ts';
import type { StatementRun } from '../answer/statement-run.ts';
import { echoSession, sessionHeader } from '../answer/statement-run.ts';
import { accessibleName, databaseOf } from './database-parameter.ts';
import { refusal, resultAnswer, shared, text } from '../document/schemas.ts';
import type { Answer, Route } from './route.ts';

// Queries and commands (contract, Query and POST /command; http-api.md 6).

const rowsAnswer: Answer = {
  description: 'The rows',
  schema: shared('QueryResponse'),
  lines: shared('NdJsonQueryEvent'),
};

const exampleQuery = {
  language: 'sql',
  command: 'SELECT :a + 1 AS next',
  params: { a: 41 },
  limit: 10,
};

const refusals = {
  404: refusal('The session has ended, or a record does not exist'),
  413: refusal('Too many rows, or the request is too large'),
};

export const queryPost: Route = {
  method: 'POST',
  path: '/query/:database',
  access: 'user',
  operation: {
    id: 'executeQueryPost',
    summary: 'Executes a statement that only reads',
    body: shared('QueryRequest'),
    example: { body: { 'application/json': exampleQuery } },
    takesSession: true,
    waitsForState: true,
    answers: { 200: rowsAnswer, ...refusals },
  },
  handle: (exchange) => answerBody(exchange, 'query'),
};

export const commandPost: Route = {
  method: 'POST',
  path: '/command/:database',
  access: 'user',
  operation: {
    id: 'executeCommand',
    summary: 'Executes a statement that may write',
    body: schemaOfFields(commandFields),
    example: { body: { 'application/json': { ...exampleQuery, retries: 3 } } },
    takesSession: true,
    waitsForState: true,
    answers: {
      200: {
        ...rowsAnswer,
        schema: { oneOf: [shared('QueryResponse'), shared('RepeatedResponse')] },
      },
      202: resultAnswer('Queued', text()),
      ...refusals,
      409: refusal('A unique key is taken, or the request is still in flight'),
    },
  },
  handle: (exchange) => answerBody(exchange, 'command'),
};

export const queryGet: Route = {
  method: 'GET',
  path: '/query/:database/:language/*',
  access: 'user',
  operation: {
    id: 'executeQueryGet',
    summary: 'Executes a statement that only reads, given in the path',
    query: { limit: { type: 'integer' }, serializer: queryFields.serializer.schema },
    example: { query: { limit: 10 } },
    takesSession: true,
    waitsForState: true,
    answers: { 200: rowsAnswer, ...refusals },
  },
  handle: (exchange) => {
    const { startedMs } = exchange;
    const command = exchange.parameters['*'] ?? '';
    exchange.parameters = { ...exchange.parameters, command };
    return answerStatement(exchange, {
      body: fieldsOfGetForm(exchange),
      bytes: undefined,
      endpoint: 'query',
      startedMs,
    });
  },
};

/** The GET form without a statement. */
export const queryGetWithoutCommand: Route = {
  method: 'GET',
  path: '/query/:database/:language',
  access: 'user',
  handle: () => {
    throw badRequest('Command text is null');
  },
};

type Endpoint = 'query' | 'command';

/** Access comes before the body: nothing is read for a database that the caller may not use. */
function answerBody(exchange: Exchange, endpoint: Endpoint): void {
  const { startedMs } = exchange;
  accessibleName(exchange);
  exchange.withBody((bytes) => {
    if (isLongBody(bytes)) return answerLongBody(exchange, { bytes, endpoint, startedMs });
    const body = parseJsonObject(exchange, bytes, jsonRules);
    return answerStatement(exchange, { body, bytes, endpoint, startedMs });
  });
}

async function answerLongBody(
  exchange: Exchange,
  call: Omit<StatementCall, 'body' | 'bytes'> & { readonly bytes: Uint8Array },
): Promise<void> {
  const body = await parseLongJsonObject(exchange, call.bytes, jsonRules);
  const parameters = await parametersOfLongBody(exchange, body);
  await answerStatement(exchange, { ...call, body, parameters });
}

const jsonRules = { invalidStatus: 400, mayBeEmpty: false } as const;

interface StatementCall {
  readonly body: ValueMap;
  /** Those of a long body, decoded. */
  readonly parameters?: ValueMap;
  /** As received; undefined in the GET form. */
  readonly bytes: Uint8Array | undefined;
  readonly endpoint: Endpoint;
  readonly startedMs: number;
}

/** In a cluster writes go to the leader, and reads wait until this server has what they may expect (ha.md 6.1, 7.1). */
function answerStatement(exchange: Exchange, call: StatementCall): void | Promise<void> {
  const { cluster } = exchange.door;
  if (cluster === undefined || exchange.header(sessionHeader) !== undefined)
    return answerHere(exchange, call);
  if (call.endpoint === 'command' && !leadsHere(cluster) && writesElsewhere(exchange, call))
    return answerByLeader(exchange, call);
  return answerFresh(exchange, call);
}

/** A write that finds nothing to change tells of a state as well, and only a quorum knows whether it is the newest. */
function answerFresh(exchange: Exchange, call: StatementCall): void | Promise<void> {
  const wait = beforeRead(exchange);
  if (wait !== undefined) return answerAfter(wait, exchange, call);
  try {
    return answerHere(exchange, call);
  } catch (error) {
    const { cluster } = exchange.door;
    const isUnknown = error instanceof DatabaseError && error.code === 'DatabaseNotFound';
    if (!isUnknown || cluster === undefined) throw error;
    // Another server may have made the database a moment ago.
    return answerAfter(cluster.caughtUp.withAll(), exchange, call);
  }
}

async function answerAfter(
  wait: Promise<void>,
  exchange: Exchange,
  call: StatementCall,
): Promise<void> {
  await wait;
  await answerHere(exchange, call);
}

async function answerByLeader(exchange: Exchange, call: StatementCall): Promise<void> {
  if (!(await sendOn(exchange, { kind: 'leader' }, call.bytes))) await answerFresh(exchange, call);
}

/**
 * Whether a command is for the leader: known before it runs, by its text. What cannot be judged here, a type that is not there
 * yet for instance, is.
 */
function writesElsewhere(exchange: Exchange, { body, parameters }: StatementCall): boolean {
  const fields = readFields(commandFields, body);
  const statement = statementOf(exchange, fields, parameters);
  try {
    return databaseOf(exchange).placeOf?.(statement) !== 'any';
  } catch (error) {
    if (error instanceof DatabaseError) return error.code !== 'Syntax';
    throw error;
  }
}

function answerHere(exchange: Exchange, call: StatementCall): void | Promise<void> {
  const sessionId = exchange.header(sessionHeader);
  if (sessionId !== undefined) return answerInSession(exchange, call, sessionId);
  const run = prepare(exchange, call, undefined);
  if (run.limits.isStream && run.fields.awaitResponse !== false) return answerLines(run);
  if (exchange.hasClientRequestId && call.bytes)
    return onceOnly(exchange, call.bytes, (replayKey) => answerRun({ ...run, replayKey }));
  return run.fields.awaitResponse === false ? answerLater(run) : answerJson(run);
}

/** The session's id goes with every answer as long as the session lives, refusals included. */
async function answerInSession(
  exchange: Exchange,
  call: StatementCall,
  sessionId: string,
): Promise<void> {
  try {
    const run = prepare(exchange, call, sessionId);
    checkSessionUse(run);
    if (run.limits.isStream) await answerLines(run);
    else await answerJson(run);
  } catch (error) {
    echoSession(exchange, databaseOf(exchange), sessionId);
    throw error;
  }
}

/** Checks the request as far as the door can. */
function prepare(
  exchange: Exchange,
  call: StatementCall,
  sessionId: string | undefined,
): StatementRun {
  const { door, principal } = exchange;
  const isQuery = call.endpoint === 'query';
  const fields: CommandFields = readFields(
    isQuery ? queryOnly : commandFields,
    call.body,
    exchange,
  );
  const database = databaseOf(exchange);
  const statement = statementOf(exchange, fields, call.parameters);
  const { resultSetLimit, readTimeoutMs } = door.authorizer.limitsOf(principal, database.name);
  return {
    exchange,
    database,
    statement,
    fields,
    serializer: fields.serializer ?? 'record',
    mustBeIdempotent: isQuery,
    sessionId,
    limits: { requested: fields.limit, ofUser: resultSetLimit, isStream: wantsLines(exchange) },
    readTimeoutMs,
    replayKey: undefined,
    startedMs: call.startedMs,
    parsedMs: fields.profileExecution === 'detailed' ? door.runtime.clock.monotonicMs() : 0,
  };
}

async function answerRun(run: StatementRun): Promise<void> {
  const { exchange, database, replayKey, mustBeIdempotent, fields } = run;
  const committed =
    replayKey === undefined || mustBeIdempotent ? undefined : database.committedUnder?.(replayKey);
  // Executed before the server was restarted; its answer is gone (ha.md 5.9).
  if (committed !== undefined) {
    exchange.door.replays.hits.add(database.name);
    exchange.jsonValue(200, { deduplicated: true, commitIndex: committed });
  } else if (fields.awaitResponse === false) await answerLater(run);
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
  const { exchange, database, statement, fields, replayKey } = run;
  const options = new StatementOptions(exchange, {
    mustBeIdempotent: false,
    fields,
    rowCountMax: undefined,
    sessionId: undefined,
    readTimeoutMs: run.readTimeoutMs,
    replayKey,
    receivedMs: run.startedMs,
  });
  await database.runLater(statement, options);
  exchange.jsonValue(202, { result: 'Command accepted for asynchronous execution' });
}
