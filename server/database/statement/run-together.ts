import type { LogIndex } from '#core/value/rid.ts';
import type { Runtime } from '#core/runtime.ts';
import type { Isolation, Transaction } from '#transaction/transaction.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import type { Counters } from '../catalogue/counters.ts';
import type { RunOptions, Statement } from '../session.ts';
import type { Compiled, StatementCompiler } from './compiler.ts';
import { lacksTypes } from './missing-types.ts';
import type { Order, PlanRuns, Scope } from './plan-runs.ts';

interface Room {
  readonly compiler: StatementCompiler;
  readonly transactions: { begin(isolation: Isolation): Transaction };
  readonly counters: Counters;
  readonly runtime: Runtime;
  readonly plans: PlanRuns;
  admit(statement: Statement, options: RunOptions, view: ReadView): Compiled;
  order(statement: Statement, options: RunOptions): Order;
  commit(transaction: Transaction, keys: readonly (string | undefined)[]): Promise<LogIndex>;
}

/**
 * Executes statements from the front of the list in one transaction and commits it, for at most some `timeMsMax` before the
 * commit. Rows are dropped. Schema changes are not taken.
 * @returns how many were executed, and the error of the last one or of the commit: then nothing of them was done
 */
export async function runTogether(
  statements: readonly { readonly statement: Statement; readonly options: RunOptions }[],
  timeMsMax: number,
  room: Room,
): Promise<{ readonly count: number; readonly error: unknown }> {
  const { clock } = room.runtime;
  const untilMs = clock.monotonicMs() + timeMsMax;
  const transaction = room.transactions.begin('READ_COMMITTED');
  const scope: Scope = { view: transaction, transaction, settle: nothing };
  let count = 0;
  try {
    for (const { statement, options } of statements) {
      transaction.beginStatement();
      const compiled = room.compiler.compiled(statement, transaction);
      // A script may commit by itself.
      if (compiled.kind !== 'statement' || compiled.changesSchema) break;
      if (lacksTypes(compiled)) break;
      count += 1;
      room.admit(statement, options, transaction);
      const order = room.order(statement, options);
      try {
        await room.plans.runToEnd(compiled, order, scope);
      } finally {
        order.watch.finish();
      }
      if (clock.monotonicMs() >= untilMs) break;
    }
    const keys = statements.slice(0, count).map(({ options }) => options.replayKey);
    if (count > 0) await room.commit(transaction, keys);
    room.counters.queries += count;
    return { count, error: undefined };
  } catch (error) {
    return { count: Math.max(1, count), error };
  } finally {
    transaction.rollback();
  }
}

function nothing(): void {}
