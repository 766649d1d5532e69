import type { Warning } from '#core/warnings.ts';
import type { DatabaseHandle, ResultStream, ResultSummary, Statement } from '#database/session.ts';
import type { SettingsReader } from '#config/effective-settings.ts';
import {
  serverHttpQueryDefaultLimit,
  serverHttpQueryMaxResultRows,
} from '#config/server-settings.ts';
import type { LimitRequest, RowLimit } from './answer-limit.ts';
import { rowLimit, rowsToAskFor } from './answer-limit.ts';
import type { Exchange } from './exchange.ts';
import type { CommandFields, SerializerName } from '../request/statement-request.ts';
import { StatementOptions } from '../request/statement-request.ts';

/** What a statement endpoint has made of its request. */
export interface StatementRun {
  readonly exchange: Exchange;
  readonly database: DatabaseHandle;
  readonly statement: Statement;
  readonly fields: CommandFields;
  readonly serializer: SerializerName;
  readonly mustBeIdempotent: boolean;
  readonly sessionId: string | undefined;
  readonly limits: LimitRequest;
  readonly readTimeoutMs: number;
  readonly replayKey: string | undefined;
  /** When the request was taken up, and when its body was read and checked (ms of the monotonic clock). */
  readonly startedMs: number;
  readonly parsedMs: number;
}

/**
 * Starts the statement; a short reading one gives its result without a promise. Graph answers count elements, not rows, so no
 * number of rows bounds them.
 * @param memoryBytes what an earlier run of it took; counted before this one starts
 */
export function start(
  run: StatementRun,
  memoryBytes?: number,
): ResultStream | Promise<ResultStream> {
  const { settings } = run.database;
  const isByElement = run.serializer === 'graph' || run.serializer === 'studioGraph';
  const limit = rowLimit(run.limits, undefined, settings);
  const options = new StatementOptions(run.exchange, {
    mustBeIdempotent: run.mustBeIdempotent,
    fields: run.fields,
    rowCountMax: isByElement ? undefined : rowsToAskFor(limit),
    limitedRowCountMax: rowsUpToOwnLimit(run),
    memoryBytes,
    sessionId: run.sessionId,
    readTimeoutMs: run.readTimeoutMs,
    replayKey: run.replayKey,
    receivedMs: run.startedMs,
  });
  return run.database.runNow(run.statement, options);
}

/** As many rows as are asked for when the statement turns out to have a LIMIT. */
function rowsUpToOwnLimit({ limits, database }: StatementRun): number | undefined {
  if (limits.requested !== undefined) return undefined;
  const most = rowLimit(limits, Number.POSITIVE_INFINITY, database.settings);
  return rowsToAskFor(most) ?? Number.POSITIVE_INFINITY;
}

/** The limit in force, now that the statement's own one is known. */
export function limitOf(run: StatementRun, stream: ResultStream): RowLimit {
  return rowLimit(run.limits, stream.statementLimit, run.database.settings);
}

/**
 * What the answer warns of; undefined for nothing.
 * @param cutBy the limit that cut the rows
 */
export function warningsOf(
  { exchange, limits, database }: StatementRun,
  summary: ResultSummary,
  cutBy: RowLimit | undefined,
): readonly Warning[] | undefined {
  const isSilentCut = cutBy !== undefined && limits.requested === undefined;
  const { warnings } = exchange;
  if (!isSilentCut && warnings === undefined) return summary.warnings;
  const all = [...(warnings ?? []), ...(summary.warnings ?? [])];
  if (isSilentCut) all.push(rowsCut(cutBy, limits, database.settings));
  return all;
}

function rowsCut({ limit }: RowLimit, { ofUser }: LimitRequest, settings: SettingsReader): Warning {
  const asksForMore = "; field 'limit' of the request asks for more";
  let whose = `${serverHttpQueryDefaultLimit.key}${asksForMore}`;
  if (limit === ofUser) whose = "resultSetLimit of the user's groups";
  else if (limit === settings.get(serverHttpQueryMaxResultRows))
    whose = serverHttpQueryMaxResultRows.key;
  return { code: 'RowsCut', message: `there are more rows than the ${limit} of ${whose}` };
}

/** Every answer to a request in a session that goes on repeats the session's header (http-api.md 8). */
export function echoSession(
  exchange: Exchange,
  database: DatabaseHandle,
  sessionId: string | undefined,
): void {
  if (sessionId !== undefined && database.hasSession(exchange.principal, sessionId))
    exchange.extraHeaders = [sessionHeader, sessionId];
}

export const sessionHeader = 'service-session-id';
