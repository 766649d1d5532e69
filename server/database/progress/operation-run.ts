import type { Principal } from '#core/principal.ts';
import type { ValueMap } from '#core/value/value.ts';
import type { OperationProgram } from '#query/algebra/program.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import { FinishedResult, type ResultFacts } from '../statement/results.ts';
import type { ResultStream } from '../session.ts';
import type { StatementLimits } from '../bounds/statement-limits.ts';
import { StatementWatch, type WatchOptions } from '../bounds/statement-watch.ts';

/** An operation statement that is to be executed. */
export interface OperationCall {
  readonly program: OperationProgram;
  readonly principal: Principal;
  /** Aborted when the client leaves, at the time limit, when the statement is cancelled. */
  readonly signal: AbortSignal;
}

/** What operations need of the database they are run on. */
export interface OperationRoom {
  /** Runs BACKUP, EXPORT and IMPORT DATABASE. @returns the row of the statement */
  readonly operate: (call: OperationCall) => Promise<ValueMap>;
  readonly transactions: { view(): ReadView };
  readonly limits: () => StatementLimits;
  /** @throws DatabaseError when the database was closed or dropped */
  readonly requireOpen: () => void;
}

/** Operations hold no snapshot of the statement, so none grows too old. */
const noAgeMs = 2 ** 31 - 1;

/**
 * Runs an operation as a statement that others see and may cancel. It is executed once: what it did may stand on disk.
 * @throws the reason for which it was ended, else what it throws
 */
export async function runOperation(
  order: OperationRoom &
    Omit<WatchOptions, 'snapshotAgeMsMax' | 'limits'> & { readonly program: OperationProgram },
): Promise<ResultStream> {
  const { program, options, operate } = order;
  const watch = new StatementWatch({
    ...order,
    limits: order.limits(),
    snapshotAgeMsMax: () => noAgeMs,
  });
  const abort = new AbortController();
  const statement = watch.statement();
  statement.onEnd(() => abort.abort());
  try {
    statement.check();
    const { principal } = options;
    return resultOf(await operate({ program, principal, signal: abort.signal }), order);
  } catch (error) {
    // Whatever an abort made fail: the reason is what the client is told.
    statement.check();
    throw error;
  } finally {
    watch.finish();
  }
}

function resultOf(row: ValueMap, { transactions, requireOpen }: OperationRoom): ResultStream {
  const view = transactions.view();
  const facts: ResultFacts = {
    shape: { kind: 'value' },
    isReadOnly: false,
    statementLimit: undefined,
    index: view.snapshotIndex,
    explain: undefined,
    requireOpen,
    isShown: undefined,
  };
  return new FinishedResult(facts, { rowCount: 1, values: [row] }, view, () =>
    view[Symbol.dispose](),
  );
}
