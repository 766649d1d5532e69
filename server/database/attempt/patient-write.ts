import type { Wait } from '#core/pausing-work.ts';
import { LongCalls } from '#query/evaluate/turns/long-calls.ts';
import type { Transaction } from '#transaction/transaction.ts';

/**
 * Makes a write that may set off triggers, outside of statements: others have their turn while these run.
 * @param write the write alone: it is called once more after each pause
 * @param pause gives others their turn, when it is time to; may throw to end the work
 */
export async function patientWrite<T>(
  transaction: Transaction,
  write: () => T,
  pause: () => Promise<void>,
): Promise<T> {
  const calls = new LongCalls();
  const pending: { wait: Wait | undefined } = { wait: undefined };
  const place = { transaction, pending };
  const written: T[] = [];
  const job = (): void => void written.push(write());
  try {
    while (!calls.attempt(place, job)) {
      await pending.wait?.over;
      await pause();
    }
    return written[0] as T;
  } finally {
    calls.reset();
  }
}
