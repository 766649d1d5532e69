import { DatabaseError } from '#core/errors.ts';
import { parseJson } from '#core/value/json-value.ts';
import type { ValueMap } from '#core/value/value.ts';
import type { ControlCommand } from './control-command.ts';

/** A command text, taken apart. */
export interface ParsedCommand {
  readonly command: ControlCommand;
  readonly argument: string;
}

/** The command with the longest phrase that the text starts with, in any case; undefined for an unknown one. */
export function parseCommand(
  text: string,
  commands: readonly ControlCommand[],
): ParsedCommand | undefined {
  const trimmed = text.trim();
  let found: ParsedCommand | undefined;
  for (const command of commands) {
    const length = phraseLength(trimmed, command.phrase);
    if (length === 0 || (found && command.phrase.length <= found.command.phrase.length)) continue;
    found = { command, argument: trimmed.slice(length).trim() };
  }
  return found;
}

/** How much of the text the phrase takes, with any white space between its words; 0 when it does not match. */
function phraseLength(text: string, phrase: string): number {
  let at = 0;
  for (const word of phrase.split(' ')) {
    const gap = /^\s+/.exec(text.slice(at, at + 100))?.[0].length ?? 0;
    if (at > 0 && gap === 0) return 0;
    at += gap;
    if (text.slice(at, at + word.length).toLowerCase() !== word) return 0;
    at += word.length;
  }
  return at === text.length || /^[\s`{]/.test(text.slice(at, at + 1)) ? at : 0;
}

/**
 * The one name that a command takes; back-ticks around it are taken away.
 * @throws DatabaseError `IllegalArgument` without a name and for further words (limits.md 22)
 */
export function requireOneName(argument: string, what: string): string {
  const { name, rest } = takeName(argument, what);
  if (rest !== '')
    throw new DatabaseError('IllegalArgument', `unexpected '${shorten(rest)}' after the ${what}`);
  return name;
}

/** @throws DatabaseError `IllegalArgument` for words after a command that takes none (limits.md 22) */
export function requireNothing(argument: string): void {
  if (argument !== '')
    throw new DatabaseError('IllegalArgument', `unexpected '${shorten(argument)}'`);
}

/** The first word, and what follows. @throws DatabaseError `IllegalArgument` when there is none */
export function takeName(
  argument: string,
  what: string,
): { readonly name: string; readonly rest: string } {
  const quoted = /^`([^`]*)`(?:\s+|$)/.exec(argument);
  const plain = quoted ?? /^([^\s]+)(?:\s+|$)/.exec(argument);
  const name = plain?.[1];
  if (!plain || name === undefined || name === '')
    throw new DatabaseError('IllegalArgument', `the ${what} is missing`);
  return { name, rest: argument.slice(plain[0].length).trim() };
}

/** @throws DatabaseError `IllegalArgument` for what is no JSON object */
export function requireJsonObject(argument: string): ValueMap {
  const value = parseJson(argument);
  if (value instanceof Map) return value as ValueMap;
  throw new DatabaseError('IllegalArgument', 'a JSON object is expected');
}

function shorten(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}...` : text;
}
