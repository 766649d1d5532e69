import { DatabaseError } from '#core/errors.ts';
import { maskSecrets } from '#core/text/masked-text.ts';
import type { Principal } from '#core/principal.ts';
import {
  deleteBackupCommand,
  getBackupConfig,
  listBackupsCommand,
  restoreBackup,
  setBackupConfig,
  triggerBackup,
} from './commands/backup-commands.ts';
import {
  alignDatabase,
  closeDatabase,
  createDatabase,
  dropDatabase,
  openDatabase,
} from './commands/database-commands.ts';
import { listDatabases } from './commands/list-databases.ts';
import { profilerCommands } from './commands/profiler-commands.ts';
import {
  cancelOperation,
  cancelStatement,
  listOperations,
  listStatements,
} from './commands/running-commands.ts';
import {
  connectCluster,
  disconnectCluster,
  getServerEvents,
  shutdown,
} from './commands/server-commands.ts';
import { setDatabaseSetting, setServerSetting } from './commands/setting-commands.ts';
import { importDatabase, restoreDatabase } from './commands/transfer-commands.ts';
import { createUser, dropUser } from './commands/user-commands.ts';
import { parseCommand } from './command-parser.ts';
import type {
  CommandAnswer,
  CommandRequest,
  CommandTargets,
  ControlCommand,
} from './control-command.ts';

/** Every control command. */
export const controlCommands: readonly ControlCommand[] = [
  listDatabases,
  createDatabase,
  dropDatabase,
  openDatabase,
  closeDatabase,
  alignDatabase,
  createUser,
  dropUser,
  setServerSetting,
  setDatabaseSetting,
  getServerEvents,
  shutdown,
  listStatements,
  cancelStatement,
  listOperations,
  cancelOperation,
  connectCluster,
  disconnectCluster,
  restoreDatabase,
  importDatabase,
  triggerBackup,
  listBackupsCommand,
  deleteBackupCommand,
  restoreBackup,
  getBackupConfig,
  setBackupConfig,
  ...profilerCommands,
];

/** What the last progress event of the command says; undefined for a command that tells no progress. */
export function completedTextOf(text: string): string | undefined {
  const parsed = parseCommand(text, controlCommands);
  return parsed?.command.completedText?.(parsed.argument);
}

/** Where a command belongs in a cluster; unknown ones are refused wherever they are sent. */
export function placeOfCommand(text: string): 'leader' | undefined {
  return parseCommand(text, controlCommands)?.command.place;
}

/**
 * Runs one command text. The right to run it is checked before its arguments and before anything exists or not
 * (http-api.md 12), so that nobody learns names from refusals.
 * @returns undefined for an unknown command
 * @throws DatabaseError `Forbidden` for everybody but root, and what the command throws
 */
export async function runControlCommand(
  text: string,
  principal: Principal,
  targets: CommandTargets,
  request: CommandRequest,
): Promise<CommandAnswer | undefined> {
  const parsed = parseCommand(text, controlCommands);
  if (parsed?.command.access !== 'user' && !principal.isRoot)
    throw new DatabaseError('Forbidden', `User '${principal.name}' may not run server commands`);
  if (!parsed) {
    // Its words behind the first may be a secret of a misspelt command.
    const [verb = ''] = /^[a-z]{1,30}(?=\s|$)/i.exec(text.trim()) ?? [];
    const told = `User '${principal.name}' sent an unknown command${verb && ` that begins with '${verb}'`}`;
    targets.events.report('WARNING', 'Security', told, null, request.requestId);
    return undefined;
  }
  const { command, argument } = parsed;
  const report = (type: 'INFO' | 'WARNING', verb: string, outcome = ''): void => {
    if (command.isAudited === false) return;
    const shown = maskSecrets((command.mask?.(argument) ?? argument).slice(0, 200));
    const text = `User '${principal.name}' ${verb}: ${`${command.phrase} ${shown}`.trim()}${outcome}`;
    targets.events.report(type, 'Security', text, null, request.requestId);
  };
  try {
    const answer = await command.run({ ...request, principal, argument, targets });
    report('INFO', 'ran');
    return answer;
  } catch (error) {
    // Messages hold what was given, which may be a secret.
    const reason = error instanceof DatabaseError ? error.exception : 'InternalException';
    report('WARNING', 'ran in vain', ` (${reason})`);
    throw error;
  }
}
