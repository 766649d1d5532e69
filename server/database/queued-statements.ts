import type { Log } from '#core/log.ts';
import type { QueuedStatement } from './async-queue.ts';
import type { StatementPipeline } from './statement-pipeline.ts';

/**
 * Executes queued statements in order, several at a time: each commits by itself, and commits that wait together share one
 * flush. Errors only go to the log, with the request id (http-api.md 6.7).
 * @returns how many were taken
 */
export async function runQueued(
  pipeline: StatementPipeline,
  statements: readonly QueuedStatement[],
  log: Log,
): Promise<number> {
  for (const { statement, options } of statements) {
    try {
      const result = await pipeline.run(statement, { ...options, rowCountMax: 0 });
      result.close();
    } catch (error) {
      log.error('asynchronous command failed', {
        requestId: options.requestId,
        reason: error instanceof Error ? error.message : String(error),
      });
    }
  }
  return statements.length;
}
