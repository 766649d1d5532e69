import { DatabaseError } from '#core/errors.ts';
import { type PausingWork, toEnd } from '#core/pausing-work.ts';
import type { Command, CommandsProgram, CommandUnit } from '#query/algebra/commands.ts';
import type { LanguageFrontend, ParseLimits } from '../frontend.ts';
import { positionAt } from '../text-cursor.ts';
import { commandSpecs, readTexts, takesWords, wrongNumber } from './commands.ts';
import { refusal, shown } from './refusal.ts';
import { type Line, LineScanner } from './words.ts';

/**
 * Language `redis` (redis.md 5): command lines on keys in memory and on records. Lines between MULTI and EXEC are one unit, done
 * as a whole or not at all; of those before DISCARD nothing is left.
 */
export const redisFrontend: LanguageFrontend<CommandsProgram> = {
  name: 'redis',
  aliases: [],
  parse: (text, limits) => toEnd(parseCommands(text, limits)),
  parseInSteps: parseCommands,
  // Names are resolved command by command when their turn comes.
  analyze: (program) => program,
};

/** Lines between two places to pause: some 100 microseconds. */
const linesPerStep = 256;

function* parseCommands(
  text: string,
  { statementBytesMax }: ParseLimits,
): PausingWork<CommandsProgram> {
  const size = text.length > statementBytesMax / 4 ? Buffer.byteLength(text) : text.length;
  if (size > statementBytesMax)
    throw new DatabaseError(
      'TooLarge',
      `the commands have ${size} bytes, more than service.sql.maxStatementSize (${statementBytesMax})`,
    );
  const scanner = new LineScanner(text);
  const program = new ProgramMaker();
  // Line by line, since hundreds of thousands of them are a burden; what is no line of words is told before what is no command.
  let fault: Problem | undefined;
  let lineCount = 0;
  for (let line = yield* scanner.next(); line !== undefined; line = yield* scanner.next()) {
    lineCount += 1;
    if (lineCount % linesPerStep === 0) yield;
    fault ??= yield* program.add(line);
  }
  if (fault !== undefined) throw faultOf(text, fault, lineCount > 1);
  return program.whole();
}

/** What is wrong with a line. */
interface Problem {
  readonly line: Line;
  readonly problem: string;
}

class ProgramMaker {
  readonly #units: CommandUnit[] = [];
  #block: Command[] | undefined;
  #isOnlyBlock = false;

  /** @returns what is wrong with it */
  *add(line: Line): PausingWork<Problem | undefined> {
    try {
      yield* this.#add(line);
      return undefined;
    } catch (error) {
      if (error instanceof DatabaseError) return { line, problem: error.message };
      throw error;
    }
  }

  *#add(line: Line): PausingWork<void> {
    switch (nameOf(line)) {
      case 'MULTI':
        requireBare(line);
        if (this.#block !== undefined) throw refusal('MULTI calls can not be nested');
        this.#block = [];
        return;
      case 'EXEC':
        requireBare(line);
        if (this.#block === undefined) throw refusal('EXEC without MULTI');
        this.#units.push({ kind: 'block', commands: this.#block });
        this.#block = undefined;
        this.#isOnlyBlock = true;
        return;
      case 'DISCARD':
        requireBare(line);
        if (this.#block === undefined) throw refusal('DISCARD without MULTI');
        this.#units.push({ kind: 'single', command: { kind: 'constant', reply: 'OK' } });
        this.#block = undefined;
        return;
      default: {
        const command = yield* commandOf(line);
        if (this.#block === undefined) this.#units.push({ kind: 'single', command });
        else this.#block.push(command);
      }
    }
  }

  /** @throws DatabaseError `Syntax` */
  whole(): CommandsProgram {
    const units = this.#units;
    if (this.#block !== undefined)
      throw new DatabaseError('Syntax', 'MULTI without EXEC or DISCARD: nothing was executed');
    if (units.length === 0)
      throw new DatabaseError('Syntax', 'there is no command, only blank lines and comments');
    return { kind: 'commands', units, isList: units.length > 1 || this.#isOnlyBlock };
  }
}

function nameOf({ words }: Line): string {
  return (words[0] ?? '').toUpperCase();
}

function requireBare({ words }: Line): void {
  if (words.length > 1)
    throw refusal(`wrong number of arguments for '${(words[0] ?? '').toLowerCase()}' command`);
}

function* commandOf(line: Line): PausingWork<Command> {
  const { words } = line;
  const spec = commandSpecs.get(nameOf(line));
  if (spec === undefined) throw refusal(`Command not found: ${shown(words[0] ?? '')}`);
  if (!takesWords(spec, words))
    throw refusal(`${wrongNumber(spec)}; usage: ${spec.name} ${spec.usage}`);
  return yield* readTexts(spec, words);
}

/** The line is told where there are several. */
function faultOf(text: string, { line, problem }: Problem, isMany: boolean): DatabaseError {
  const place = isMany ? `line ${positionAt(text, line.at).line}: ` : '';
  return new DatabaseError('Syntax', `${place}${problem}`);
}
