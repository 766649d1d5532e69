import { DatabaseError } from '#core/errors.ts';
import type { Runtime } from '#core/runtime.ts';
import type { ConflictLanes, Lane } from './conflict-lanes.ts';

export interface RetryPolicy<T = unknown> {
  /** Attempts that may reach the log; 0 and 1 both mean a single attempt (http-api.md 6.1). */
  readonly attemptCountMax: number;
  /** Base of the pause between attempts, milliseconds (`service.txRetryDelay`). */
  readonly delayMs: number;
  /** How long in all to wait for transactions that stand in the way (`service.commitLockTimeout`). */
  readonly conflictWaitMs: number;
  /** Where statements of the database wait for transactions in their way. */
  readonly lanes: ConflictLanes;
  /** Runs it once more after it has made what an attempt failed for want of, which counts as no attempt; undefined for other errors. */
  readonly supplied?: ((error: unknown) => Promise<T> | undefined) | undefined;
  /** Looked at before each new attempt. @throws DatabaseError when the statement is over */
  readonly check: () => void;
  readonly runtime: Runtime;
}

/**
 * Runs a statement until it commits (http-api.md 6.8, limits.md 16). `attempt` rolls back before it throws.
 *
 * A conflict that was known before the log write names the transaction in its way: the statement waits for its fate and is
 * executed again at once, which counts as no attempt, since nothing was tried with the log; many writers of one record so
 * come one after the other. Other retryable errors are retried after `delayMs` times a random factor that grows;
 * `DuplicatedKey` once. With a single attempt nothing is executed twice, as the contract promises of `retries: 1`.
 *
 * @param policy asked for when an attempt has failed: every commit comes by here, few fail
 * @param ended called once, when nothing is tried any more
 */
export function runWithRetries<T>(
  attempt: () => Promise<T>,
  policy: () => RetryPolicy<T>,
  ended?: () => void,
): Promise<T> {
  return attempt().then(
    (result) => {
      ended?.();
      return result;
    },
    (error: unknown) => runAgain(error, attempt, policy()).finally(ended),
  );
}

/** @param failure of the first attempt */
async function runAgain<T>(
  failure: unknown,
  attempt: () => Promise<T>,
  policy: RetryPolicy<T>,
): Promise<T> {
  const { clock } = policy.runtime;
  let error = failure;
  let attemptNumber = 1;
  let duplicateCount = 0;
  let waitUntilMs: number | undefined;
  let lane: Lane | undefined;
  for (;;) {
    try {
      const supplied = policy.supplied?.(error);
      if (supplied !== undefined) return await supplied;
    } catch (next) {
      error = next;
    }
    if (!(error instanceof DatabaseError) || !error.mayRunAgain) throw error;
    if (policy.attemptCountMax <= 1) throw error;
    if (error.blockedBy !== undefined) {
      waitUntilMs ??= clock.monotonicMs() + policy.conflictWaitMs;
      const leftMs = waitUntilMs - clock.monotonicMs();
      if (leftMs <= 0) throw error;
      lane = await policy.lanes.wait(error.blockedBy, lane, leftMs);
      if (lane === undefined) throw error;
      policy.check();
    } else {
      if (error.code === 'DuplicatedKey') {
        duplicateCount += 1;
        if (duplicateCount > 1) throw error;
      }
      if (attemptNumber >= policy.attemptCountMax) throw error;
      await policy.runtime.timers.sleep(pauseMs(attemptNumber, policy));
      policy.check();
      attemptNumber += 1;
    }
    try {
      return await attempt();
    } catch (next) {
      error = next;
    }
  }
}

/** Spread over half to one and a half of the base, growing with each attempt, so that losers do not meet again. */
function pauseMs(attemptNumber: number, policy: RetryPolicy): number {
  const factor = 0.5 + policy.runtime.random.uint32() / 2 ** 32;
  return policy.delayMs * factor * attemptNumber;
}
