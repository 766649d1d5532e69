import type { Runtime } from '#core/runtime.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import type { Transaction } from '#transaction/transaction.ts';
import type { CompiledStatement } from '../statement/compiled-statement.ts';
import type { ServerMemory } from '../bounds/memory-accounts.ts';
import type { StatementLimits } from '../bounds/statement-limits.ts';

/** What a refresh of views needs of its database. */
export interface RefreshServices {
  readonly compile: (query: string, view: ReadView) => CompiledStatement;
  /** As `sourcedProgram`. */
  readonly compileSourced: (
    query: string,
    view: ReadView,
    ofChangedOnly: boolean,
  ) => CompiledStatement | undefined;
  readonly begin: () => Transaction;
  /** The newest committed state. */
  readonly view: () => ReadView;
  readonly limits: () => StatementLimits;
  readonly memory: ServerMemory;
  readonly runtime: Runtime;
}
