import { DatabaseError } from '#core/errors.ts';
import type { Log } from '#core/log.ts';
import type { QueuedStatement } from './async-queue.ts';
import type { StatementPipeline } from './statement-pipeline.ts';

/** How long queued statements gather in one transaction before they are committed and visible (house decision 53). */
const commitAfterMs = 100;

/**
 * Executes queued statements in order. They share a transaction; when one of them fails, or their commit meets a conflict,
 * they are executed again one by one, each with its own commit, so that an error touches only its own statement. Errors go to
 * the log, with the request id (http-api.md 6.7).
 * @returns how many were taken
 */
export async function runQueued(
  pipeline: StatementPipeline,
  statements: readonly QueuedStatement[],
  log: Log,
): Promise<number> {
  const { count, error } = await pipeline.runTogether(statements, commitAfterMs);
  const taken = Math.max(1, count);
  // None: a schema change stands in front.
  let alone = error === undefined && count > 0 ? [] : statements.slice(0, taken);
  const last = alone.at(-1);
  if (last !== undefined && isFinal(error)) {
    alone = alone.slice(0, -1);
    report(last, error, log);
  }
  for (const queued of alone) {
    try {
      const result = await pipeline.run(queued.statement, queued.options);
      result.close();
    } catch (failure) {
      report(queued, failure, log);
    }
  }
  return taken;
}

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
