import { DatabaseError } from '#core/errors.ts';
import { maskSecretsInPlace } from '#core/text/masked-text.ts';
import { errorPositionAt, excerptAt, positionAt, printable } from './text-cursor.ts';

const shownTextMax = 40;
const shownExpectationsMax = 8;

export interface SyntaxProblem {
  readonly text: string;
  /** Offset of the first token that cannot continue the statement. */
  readonly offset: number;
  /** What is wrong, for example `unexpected '*'`; made printable here. */
  readonly problem: string;
  /** What could have stood there. */
  readonly expected?: readonly string[];
  /** A word that was probably meant. */
  readonly suggestion?: string | undefined;
}

/**
 * A `Syntax` error on one line: `line 1, column 11: unexpected '*' in "SELECT 1 +^* 2", expected an expression` (sql.md 4,
 * http-api.md 3.1). The suggestion is also its `help`.
 */
export function syntaxError(problem: SyntaxProblem): DatabaseError {
  const { line, column } = positionAt(problem.text, problem.offset);
  // Errors are logged and shown to more people than those who wrote the statement.
  const shown = maskSecretsInPlace(problem.text);
  const excerpt = excerptAt(shown, problem.offset);
  const isHidden = shown.charAt(problem.offset) !== problem.text.charAt(problem.offset);
  const what = isHidden ? 'unexpected text' : printable(problem.problem);
  const hint = problem.suggestion === undefined ? '' : `; did you mean '${problem.suggestion}'?`;
  const message = `line ${line}, column ${column}: ${what} in "${excerpt}"${expectation(problem.expected ?? [])}${hint}`;
  return new DatabaseError('Syntax', message, {
    position: errorPositionAt(problem.text, problem.offset),
    ...(problem.suggestion === undefined ? {} : { help: `did you mean '${problem.suggestion}'?` }),
  });
}

function expectation(expected: readonly string[]): string {
  if (expected.length === 0) return '';
  const shown = expected.slice(0, shownExpectationsMax);
  if (shown.length < expected.length) return `, expected ${shown.join(', ')}, ...`;
  const last = shown.pop() ?? '';
  return `, expected ${shown.length === 0 ? last : `${shown.join(', ')} or ${last}`}`;
}

/** `'text'` as it stands in messages: not too long. */
export function quoteForMessage(text: string): string {
  const shown = text.length > shownTextMax ? `${text.slice(0, shownTextMax)}...` : text;
  return `'${shown}'`;
}
