import { closestWord } from '#language/suggestion.ts';
import { type Arguments, readArguments } from './arguments.ts';
import { backupCommand, restoreCommand } from './backup-command.ts';
import { helpText } from './help.ts';
import { importCommand } from './import-command.ts';
import { cypherCommand, sqlCommand } from './sql-command.ts';
import { statusCommand } from './status-command.ts';
import {
  CommandFailure,
  type ExitCode,
  exitCodes,
  printable,
  type Terminal,
  wrongUse,
} from './terminal.ts';

type Command = (given: Arguments, terminal: Terminal) => Promise<ExitCode>;

const commands: Readonly<Record<string, Command>> = {
  sql: sqlCommand,
  cypher: cypherCommand,
  import: importCommand,
  backup: backupCommand,
  restore: restoreCommand,
  status: statusCommand,
};

/** Runs one command line. @returns the exit code; what went wrong was told on `messages` */
export async function runCommandLine(
  commandLine: readonly string[],
  terminal: Terminal,
): Promise<ExitCode> {
  try {
    const given = readArguments(commandLine);
    if (given.options.help === true || given.command === 'help') {
      terminal.output.write(helpText);
      return exitCodes.ok;
    }
    if (given.command === undefined) {
      terminal.messages.write(helpText);
      return exitCodes.usage;
    }
    const command = Object.hasOwn(commands, given.command) ? commands[given.command] : undefined;
    if (command === undefined) throw unknownCommand(given.command);
    return await command(given, terminal);
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    terminal.messages.write(`polyad: ${printable(error.message)}\n`);
    return error.code;
  }
}

function unknownCommand(name: string): CommandFailure {
  const meant = closestWord(name, [...Object.keys(commands), 'start', 'help']);
  const hint = meant === undefined ? '' : `; did you mean '${meant}'?`;
  return wrongUse(`'${name}' is no command${hint}`);
}
