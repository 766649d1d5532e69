import { DatabaseError } from '#core/errors.ts';
import type { DatabaseState } from '#transaction/database-state.ts';
import type { SliceTimer } from '#transaction/write/slice-timer.ts';
import type { Transaction } from '#transaction/transaction.ts';

/**
 * Does work in a transaction of its own and commits it; when others were in its way it is done again on the newest state.
 *
 * @param work gives what is to be done after the commit, whose value is the result
 * @param begin another kind of transaction
 * @throws what the work or the commit throws, but for conflicts; nothing of this batch is stored then
 */
export async function committed<T>(
  state: DatabaseState,
  timer: SliceTimer,
  work: (transaction: Transaction) => Promise<() => T>,
  begin: () => Transaction = () => state.begin('READ_COMMITTED'),
): Promise<T> {
  for (;;) {
    const transaction = begin();
    try {
      transaction.beginStatement();
      const done = await work(transaction);
      await transaction.commit();
      return done();
    } catch (error) {
      if (!(error instanceof DatabaseError) || error.code !== 'ConcurrentModification') throw error;
      await error.blockedBy;
    } finally {
      transaction.rollback();
    }
    await timer.pause();
  }
}
