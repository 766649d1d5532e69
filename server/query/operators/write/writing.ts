import { DatabaseError } from '#core/errors.ts';
import type { Transaction } from '#transaction/transaction.ts';
import type { ExecutionContext } from '../operator.ts';

/**
 * The transaction that a writing operator needs.
 * @throws DatabaseError `Internal` when the statement was started for reading only, which is a mistake of ours
 */
export function transactionOf(context: ExecutionContext): Transaction {
  if (context.transaction === undefined)
    throw new DatabaseError('Internal', 'a writing statement was started without a transaction');
  return context.transaction;
}
