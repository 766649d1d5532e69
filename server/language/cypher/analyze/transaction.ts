import { DatabaseError } from '#core/errors.ts';
import type { ScriptIsolation, SqlScript, Step } from '../../script-steps.ts';
import type { Command } from '../ast.ts';

type TransactionCommand = Extract<Command, { readonly kind: 'transaction' }>;

/**
 * START TRANSACTION, COMMIT and ROLLBACK (cypher.md 12.3): scripts of one step, as those of SQL. In a session they end its
 * transaction, and its next statement begins another.
 */
export function transactionScript(command: TransactionCommand): SqlScript {
  return {
    kind: 'script',
    steps: [stepOf(command)],
    parts: [],
    names: new Set(),
    effects: {
      writes: false,
      changesState: true,
      affectsOthers: false,
      operates: false,
      functions: new Set(),
    },
  };
}

function stepOf({ operation, isolation }: TransactionCommand): Step {
  switch (operation) {
    case 'begin':
      return { kind: 'begin', isolation: isolationOf(isolation) };
    case 'commit':
      return { kind: 'commit', needsOpen: true };
    default:
      return { kind: 'rollback' };
  }
}

function isolationOf(name: string | undefined): ScriptIsolation {
  if (name === undefined || name === 'READ_COMMITTED') return 'READ_COMMITTED';
  if (name === 'REPEATABLE_READ') return name;
  throw new DatabaseError(
    'IllegalArgument',
    `Invalid isolation '${name}'; there are READ_COMMITTED and REPEATABLE_READ`,
  );
}
