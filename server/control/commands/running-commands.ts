import { DatabaseError } from '#core/errors.ts';
import { cancelRunning, findRunning } from '#database/progress/running-work.ts';
import { requireOneName } from '../command-parser.ts';
import type { CommandCall, ControlCommand } from '../control-command.ts';
import { ok } from '../control-command.ts';
import { operationReport, statementReport } from '../running-report.ts';

/** Lists what runs on all databases, or on the one that is named. */
function listing(phrase: string, report: typeof statementReport): ControlCommand {
  return {
    phrase,
    access: 'root',
    isAudited: false,
    run: ({ argument, targets: { databases, runtime } }) => {
      const database = argument === '' ? undefined : requireOneName(argument, 'database name');
      const filter = { user: undefined, database };
      const result = report(databases.running, filter, runtime.clock.now());
      return { result, count: result.length };
    },
  };
}

function cancelling(phrase: string): ControlCommand {
  return { phrase, access: 'root', run: cancel };
}

function cancel({ argument, principal, targets: { databases } }: CommandCall) {
  const id = requireOneName(argument, 'id');
  const task = findRunning(databases.running, id, undefined);
  if (task === undefined)
    throw new DatabaseError('IllegalArgument', `Nothing with id '${id}' runs`);
  cancelRunning(databases.running, task, principal.name);
  return ok;
}

export const listStatements = listing('list statements', statementReport);
export const listOperations = listing('list operations', operationReport);
export const cancelStatement = cancelling('cancel statement');
export const cancelOperation = cancelling('cancel operation');
