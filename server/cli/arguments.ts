import { closestWord } from '#language/suggestion.ts';
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { wrongUse } from './terminal.ts';

/** The command line, taken apart. */
export interface Arguments {
  readonly command: string | undefined;
  /** What follows the command, options apart. */
  readonly words: readonly string[];
  readonly options: Options;
}

export interface Options {
  readonly url?: string;
  readonly user?: string;
  readonly 'password-file'?: string;
  readonly 'ca-file'?: string;
  readonly format?: string;
  readonly language?: string;
  readonly limit?: string;
  readonly file?: string;
  readonly type?: string;
  readonly to?: string;
  readonly overwrite?: boolean;
  readonly json?: boolean;
  readonly help?: boolean;
}

const config = {
  options: {
    url: { type: 'string' },
    user: { type: 'string', short: 'u' },
    'password-file': { type: 'string' },
    'ca-file': { type: 'string' },
    format: { type: 'string', short: 'f' },
    language: { type: 'string', short: 'l' },
    limit: { type: 'string' },
    file: { type: 'string' },
    type: { type: 'string' },
    to: { type: 'string' },
    overwrite: { type: 'boolean' },
    json: { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
  },
  allowPositionals: true,
} as const satisfies ParseArgsConfig;

/** @throws CommandFailure for an unknown option, and for a password, which has no place where others can see it */
export function readArguments(commandLine: readonly string[]): Arguments {
  if (commandLine.some((argument) => /^--?p(assword)?(=|$)/.test(argument)))
    throw wrongUse(
      'a password is not taken from the command line, where others could see it: use POLYAD_PASSWORD, --password-file or the prompt',
    );
  let parsed: ReturnType<typeof parseArgs<typeof config>>;
  try {
    parsed = parseArgs({ ...config, args: [...commandLine] });
  } catch (error) {
    throw wrongUse(optionMessage(error));
  }
  const [command, ...words] = parsed.positionals;
  return { command, words, options: parsed.values };
}

/** What Node says of an option, with the one that was probably meant. */
function optionMessage(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const [, name] = /^Unknown option '--([^']*)'/.exec(message) ?? [];
  const meant = name === undefined ? undefined : closestWord(name, Object.keys(config.options));
  return meant === undefined ? message : `Unknown option '--${name}'; did you mean '--${meant}'?`;
}

/** Exactly the named words. @throws CommandFailure */
export function requireWords(
  words: readonly string[],
  names: readonly string[],
  countMin = names.length,
): readonly (string | undefined)[] {
  if (words.length < countMin) throw wrongUse(`<${names[words.length]}> is missing`);
  const extra = words[names.length];
  if (extra !== undefined) throw wrongUse(`unexpected '${extra}'`);
  return words;
}
