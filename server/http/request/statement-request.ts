import { serverHttpMarkerMaxDepth } from '#config/server-settings.ts';
import type { Principal } from '#core/principal.ts';
import type { ValueMap } from '#core/value/value.ts';
import type { RunOptions, Statement } from '#database/session.ts';
import type { PlanSink } from '#database/session.ts';
import { SliceTimer } from '#transaction/write/slice-timer.ts';
import type { BodyOf } from './body-fields.ts';
import {
  optionalBoolean,
  optionalChoice,
  optionalInteger,
  optionalParameters,
  optionalText,
  requiredText,
} from './body-fields.ts';
import type { Connection } from '../connection/connection.ts';
import type { Exchange } from '../answer/exchange.ts';
import { badRequest } from '../answer/errors.ts';
import { parametersInSteps, statementParameters } from './typed-parameters.ts';

/** Layouts of rows (http-api.md 5.3); the last one is ours. */
export const serializerNames = ['record', 'graph', 'studio', 'studioGraph'] as const;
export type SerializerName = (typeof serializerNames)[number];

/** Fields of `POST /query` (http-api.md 6.1). */
export const queryFields = {
  language: requiredText({
    description: 'Language of the statement, in any case: sql, sqlscript, cypher, ...',
    missing: 'Language is null',
  }),
  command: requiredText({ description: 'The statement', missing: 'Command text is null' }),
  params: optionalParameters({
    description: 'Named parameters as an object, positional ones as an array',
  }),
  limit: optionalInteger({
    description: 'Largest number of rows of the answer; 0 or less asks for no cap',
  }),
  serializer: optionalChoice(serializerNames, {
    description: 'Layout of the rows',
    refuse: (value) => `Invalid serializer '${value}'`,
  }),
  autoCommit: optionalBoolean({
    description: 'true forces one atomic transaction, false wraps nothing',
  }),
  typeHints: optionalBoolean({ description: 'Adds the types of the columns as @props' }),
  profileExecution: optionalChoice(['basic', 'detailed'], {
    description: 'Adds the plan, and with detailed the times, to the answer',
    refuse: (value) => `Invalid profileExecution '${value}'; use basic or detailed`,
  }),
};

/** Fields of `POST /command`. */
export const commandFields = {
  ...queryFields,
  awaitResponse: optionalBoolean({
    description: 'false queues the command and answers 202 at once',
  }),
  retries: optionalInteger({
    description: 'Attempts when other transactions are in the way',
    min: 0,
  }),
};

export type CommandFields = BodyOf<typeof commandFields>;
export type QueryFields = BodyOf<typeof queryFields>;

/** Fields that the GET form takes behind the question mark. */
export const queryStringFields = {
  limit: optionalText({ description: 'Largest number of rows of the answer' }),
  serializer: queryFields.serializer,
};

/**
 * The statement of a request.
 * @param parameters `fields.params`, where they are decoded already
 * @throws DatabaseError `IllegalArgument` for a malformed marker
 */
export function statementOf(
  exchange: Exchange,
  fields: QueryFields,
  parameters = statementParameters(fields.params, depthMaxOf(exchange)),
): Statement {
  return { language: fields.language.trim().toLowerCase(), text: fields.command, parameters };
}

/** The parameters in the body of a request, giving others a turn now and then. @throws as `statementOf` */
export async function parametersOfLongBody(exchange: Exchange, body: ValueMap): Promise<ValueMap> {
  const slices = new SliceTimer(exchange.door.runtime);
  await slices.pause();
  const steps = parametersInSteps(body.get('params'), depthMaxOf(exchange));
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (slices.isSpent) await slices.pause();
  }
}

function depthMaxOf(exchange: Exchange): number {
  return exchange.door.settings.get(serverHttpMarkerMaxDepth);
}

/** The options of a statement. The abort signal is made only when somebody asks for it: short statements never do. */
export class StatementOptions implements RunOptions {
  readonly principal: Principal;
  readonly mustBeIdempotent: boolean;
  readonly requestId: string;
  readonly sessionId?: string;
  readonly autoCommit?: boolean;
  readonly retries?: number;
  readonly rowCountMax?: number;
  readonly limitedRowCountMax?: number;
  readonly memoryBytes?: number;
  readonly profile?: 'basic' | 'detailed';
  readonly readTimeoutMs?: number;
  readonly replayKey?: string;
  readonly receivedMs: number;
  planSink?: PlanSink;
  readonly #connection: Connection;

  constructor(
    exchange: Exchange,
    given: {
      readonly mustBeIdempotent: boolean;
      readonly fields: QueryFields & { readonly retries?: number | undefined };
      readonly rowCountMax: number | undefined;
      readonly limitedRowCountMax?: number | undefined;
      readonly memoryBytes?: number | undefined;
      readonly sessionId: string | undefined;
      readonly readTimeoutMs: number;
      readonly replayKey: string | undefined;
      readonly receivedMs: number;
    },
  ) {
    const { fields } = given;
    this.principal = exchange.principal;
    this.requestId = exchange.requestId;
    this.#connection = exchange.connection;
    this.mustBeIdempotent = given.mustBeIdempotent;
    this.receivedMs = given.receivedMs;
    if (given.sessionId !== undefined) this.sessionId = given.sessionId;
    if (fields.autoCommit !== undefined) this.autoCommit = fields.autoCommit;
    if (fields.retries !== undefined) this.retries = Math.max(1, fields.retries);
    if (given.rowCountMax !== undefined) this.rowCountMax = given.rowCountMax;
    if (given.limitedRowCountMax !== undefined) this.limitedRowCountMax = given.limitedRowCountMax;
    if (given.memoryBytes !== undefined) this.memoryBytes = given.memoryBytes;
    if (fields.profileExecution !== undefined) this.profile = fields.profileExecution;
    if (given.readTimeoutMs >= 0) this.readTimeoutMs = given.readTimeoutMs;
    if (given.replayKey !== undefined) this.replayKey = given.replayKey;
  }

  get signal(): AbortSignal {
    return this.#connection.signal;
  }

  get isAborted(): boolean {
    return this.#connection.isAborted;
  }
}

/** The fields of the GET form, from path and query string. @throws HttpRefusal 400 */
export function fieldsOfGetForm(exchange: Exchange): ValueMap {
  const { language = '', command = '' } = exchange.parameters;
  const fields = new Map<string, string | number>([
    ['language', language],
    ['command', command],
  ]);
  const given = new URLSearchParams(exchange.queryString);
  const limit = given.get('limit');
  if (limit !== null) {
    if (!/^-?\d{1,10}$/.test(limit)) throw badRequest("Field 'limit' must be an integer");
    fields.set('limit', Number(limit));
  }
  const serializer = given.get('serializer');
  if (serializer !== null) fields.set('serializer', serializer);
  return fields;
}
