import { DatabaseError } from '#core/errors.ts';
import type { Command, CommandsProgram, CommandUnit } from '#query/algebra/commands.ts';
import type { LanguageFrontend, ParseLimits } from '../frontend.ts';
import { positionAt } from '../text-cursor.ts';
import { commandSpecs, readTexts, takesWords, wrongNumber } from './commands.ts';
import { shown } from './refusal.ts';
import { type Line, splitLines } from './words.ts';

/**
 * Language `redis` (redis.md 5): command lines on keys in memory and on records. Lines between MULTI and EXEC are one unit, done
 * as a whole or not at all; of those before DISCARD nothing is left.
 */
export const redisFrontend: LanguageFrontend<CommandsProgram> = {
  name: 'redis',
  aliases: [],
  parse: parseCommands,
  // Names are resolved command by command when their turn comes.
  analyze: (program) => program,
};

function parseCommands(text: string, { statementBytesMax }: ParseLimits): CommandsProgram {
  const size = text.length > statementBytesMax / 4 ? Buffer.byteLength(text) : text.length;
  if (size > statementBytesMax)
    throw new DatabaseError(
      'TooLarge',
      `the commands have ${size} bytes, more than service.sql.maxStatementSize (${statementBytesMax})`,
    );
  const lines = splitLines(text);
  const isMany = lines.length > 1;
  const units: CommandUnit[] = [];
  let block: Command[] | undefined;
  let isOnlyBlock = false;
  for (const line of lines) {
    const fault = (problem: string) => faultOf(text, line, isMany, problem);
    switch (nameOf(line)) {
      case 'MULTI':
        requireBare(line, fault);
        if (block !== undefined) throw fault('MULTI calls can not be nested');
        block = [];
        break;
      case 'EXEC':
        requireBare(line, fault);
        if (block === undefined) throw fault('EXEC without MULTI');
        units.push({ kind: 'block', commands: block });
        block = undefined;
        isOnlyBlock = true;
        break;
      case 'DISCARD':
        requireBare(line, fault);
        if (block === undefined) throw fault('DISCARD without MULTI');
        units.push({ kind: 'single', command: { kind: 'constant', reply: 'OK' } });
        block = undefined;
        break;
      default: {
        const command = commandOf(line, fault);
        if (block === undefined) units.push({ kind: 'single', command });
        else block.push(command);
      }
    }
  }
  if (block !== undefined)
    throw new DatabaseError('Syntax', 'MULTI without EXEC or DISCARD: nothing was executed');
  if (units.length === 0)
    throw new DatabaseError('Syntax', 'there is no command, only blank lines and comments');
  return { kind: 'commands', units, isList: units.length > 1 || isOnlyBlock };
}

function nameOf({ words }: Line): string {
  return (words[0] ?? '').toUpperCase();
}

type Fault = (problem: string) => DatabaseError;

function requireBare({ words }: Line, fault: Fault): void {
  if (words.length > 1)
    throw fault(`wrong number of arguments for '${(words[0] ?? '').toLowerCase()}' command`);
}

function commandOf(line: Line, fault: Fault): Command {
  const { words } = line;
  const spec = commandSpecs.get(nameOf(line));
  if (spec === undefined) throw fault(`Command not found: ${shown(words[0] ?? '')}`);
  if (!takesWords(spec, words.length))
    throw fault(`${wrongNumber(spec)}; usage: ${spec.name} ${spec.usage}`);
  try {
    return readTexts(spec, words);
  } catch (error) {
    throw error instanceof DatabaseError ? fault(error.message) : error;
  }
}

/** The line is told where there are several. */
function faultOf(text: string, { at }: Line, isMany: boolean, problem: string): DatabaseError {
  const place = isMany ? `line ${positionAt(text, at).line}: ` : '';
  return new DatabaseError('Syntax', `${place}${problem}`);
}
