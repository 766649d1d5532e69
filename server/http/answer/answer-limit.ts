import type { SettingsReader } from '#config/effective-settings.ts';
import {
  serverHttpQueryDefaultLimit,
  serverHttpQueryMaxResultRows,
} from '#config/server-settings.ts';
import { DatabaseError } from '#core/errors.ts';

/** How many rows an answer may hold (http-api.md 6.3). */
export interface RowLimit {
  /** To be told to the client; -1 when uncapped. */
  readonly limit: number;
  /** Rows that are given; more make the answer `truncated`. */
  readonly cap: number;
  /** Rows from which the answer is refused; Infinity for none. */
  readonly ceiling: number;
}

export interface LimitRequest {
  /** Field `limit` of the request. */
  readonly requested: number | undefined;
  /** `resultSetLimit` of the user's groups; -1 for none. */
  readonly ofUser: number;
  /** Streamed answers without a limit have no ceiling: their memory is bounded anyway. */
  readonly isStream: boolean;
}

/**
 * @param ofStatement the LIMIT that the statement itself has; undefined while it is not known
 * @returns without a requested limit: the larger of the default and the statement's own, up to the ceiling
 */
export function rowLimit(
  request: LimitRequest,
  ofStatement: number | undefined,
  settings: SettingsReader,
): RowLimit {
  const { requested, ofUser, isStream } = request;
  const most = settings.get(serverHttpQueryMaxResultRows) || Number.POSITIVE_INFINITY;
  let limit = requested ?? settings.get(serverHttpQueryDefaultLimit);
  if (limit <= 0) limit = Number.POSITIVE_INFINITY;
  if (requested === undefined) limit = Math.min(Math.max(limit, ofStatement ?? 0), most);
  if (ofUser >= 0) limit = Math.min(limit, ofUser);
  const isUncapped = limit === Number.POSITIVE_INFINITY;
  const ceiling = limit <= most || (isStream && isUncapped) ? Number.POSITIVE_INFINITY : most;
  return { limit: isUncapped ? -1 : limit, cap: limit, ceiling };
}

/** Rows that the statement need not go beyond; undefined when it must be run to its end. */
export function rowsToAskFor({ cap, ceiling }: RowLimit): number | undefined {
  const rows = Math.min(cap, ceiling);
  return rows === Number.POSITIVE_INFINITY ? undefined : rows + 1;
}

/** The refusal of an answer that would pass the ceiling. */
export function tooManyRows(ceiling: number): DatabaseError {
  return new DatabaseError(
    'ResultTooLarge',
    `the result has more than ${ceiling} rows, as many as ${serverHttpQueryMaxResultRows.key} allows`,
    { arguments: [String(ceiling)] },
  );
}
