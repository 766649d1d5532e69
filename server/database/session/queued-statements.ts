import { DatabaseError } from '#core/errors.ts';
import type { Log } from '#core/log.ts';
import type { QueuedStatement } from './async-queue.ts';
import { isLongText } from '../statement/prepared-texts.ts';
import type { ResultStream, RunOptions, Statement } from '../session.ts';
import type { StatementMeter } from '../statement/meter.ts';
import type { StatementPipeline } from '../statement/pipeline.ts';
import type { MaterializedViews } from '../views/materialized-views.ts';

/** How long queued statements gather in one transaction before they are committed and visible (house decision 53). */
const commitAfterMs = 100;

/** The client has its answer: its leaving ends nothing, and its rows are dropped. */
export function queuedOptions(options: RunOptions): RunOptions {
  const { principal, mustBeIdempotent, requestId, replayKey, retries, readTimeoutMs } = options;
  return {
    principal,
    mustBeIdempotent,
    ...(requestId === undefined ? {} : { requestId }),
    ...(replayKey === undefined ? {} : { replayKey }),
    ...(retries === undefined ? {} : { retries }),
    ...(readTimeoutMs === undefined ? {} : { readTimeoutMs }),
    rowCountMax: 0,
    signal: new AbortController().signal,
  };
}

/** Who executes queued statements. */
export interface QueuedStatementsRunner {
  readonly pipeline: Pick<StatementPipeline, 'runTogether'>;
  /** As a statement that is waited for. */
  run(statement: Statement, options: RunOptions): Promise<ResultStream>;
}

export interface QueuedStatementsOptions {
  readonly views: Pick<MaterializedViews, 'incrementalIn'>;
  readonly meter: Pick<StatementMeter, 'recording'>;
  readonly log: Log;
}

/**
 * Executes queued statements in order. They share a transaction; when one of them fails, or their commit meets a conflict,
 * they are executed again one by one, each with its own commit, so that an error touches only its own statement. Errors go to
 * the log, with the request id (http-api.md 6.7).
 * @returns how many were taken
 */
export async function runQueued(
  statements: readonly QueuedStatement[],
  runner: QueuedStatementsRunner,
  options: QueuedStatementsOptions,
): Promise<number> {
  const firstAlone = statements.findIndex(({ statement }) => standsAlone(statement, options));
  const together = firstAlone === -1 ? statements : statements.slice(0, firstAlone);
  const { count, error } =
    together.length === 0 ? nothing : await runner.pipeline.runTogether(together, commitAfterMs);
  const taken = Math.max(1, count);
  // None: one that stands alone is in front, or a schema change.
  let alone = error === undefined && count > 0 ? [] : statements.slice(0, taken);
  const last = alone.at(-1);
  if (last !== undefined && isFinal(error)) {
    alone = alone.slice(0, -1);
    report(last, error, options.log);
  }
  for (const queued of alone) {
    try {
      const result = await runner.run(queued.statement, queued.options);
      result.close();
    } catch (failure) {
      report(queued, failure, options.log);
    }
  }
  return taken;
}

/**
 * Whether a statement cannot share the transaction of others: it takes turns to compile, waits until the views that it names
 * show what was committed before it, or is to be recorded by itself.
 */
function standsAlone({ text }: Statement, { views, meter }: QueuedStatementsOptions): boolean {
  if (isLongText(text) || meter.recording !== undefined) return true;
  return views.incrementalIn(text).length > 0;
}

const nothing = { count: 0, error: undefined };

/** The last statement was told to end; it is not to be executed again. */
function isFinal(error: unknown): boolean {
  return error instanceof DatabaseError && (error.code === 'Cancelled' || error.code === 'Timeout');
}

function report({ options }: QueuedStatement, failure: unknown, log: Log): void {
  log.error('asynchronous command failed', {
    requestId: options.requestId,
    reason: failure instanceof Error ? failure.message : String(failure),
  });
}
