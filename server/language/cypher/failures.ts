import { DatabaseError } from '#core/errors.ts';
import { maskSecretsInPlace } from '#core/text/masked-text.ts';
import { errorPositionAt, excerptAt, positionAt, printable } from '../text-cursor.ts';

/** What went wrong, and where it stands in the text. */
export interface Fault {
  readonly text: string;
  readonly at: number;
  /** The suite's name of it (cypher.md 16.2). */
  readonly detail: string;
  readonly problem: string;
  /** Default: `SyntaxError`. */
  readonly type?: string;
  readonly suggestion?: string | undefined;
}

/**
 * A failure that is found before the statement runs: `UndefinedVariable: line 1, column 8: variable 'm' not defined in
 * "RETURN ^m"` (cypher.md 16.1). The suggestion is also its `help`.
 */
export function compileError(fault: Fault): DatabaseError {
  const { line, column } = positionAt(fault.text, fault.at);
  const shown = maskSecretsInPlace(fault.text);
  const isHidden = shown.charAt(fault.at) !== fault.text.charAt(fault.at);
  const problem = isHidden ? 'unexpected text' : printable(fault.problem);
  const hint = fault.suggestion === undefined ? '' : `; did you mean '${fault.suggestion}'?`;
  const message = `${fault.detail}: line ${line}, column ${column}: ${problem} in "${excerptAt(shown, fault.at)}"${hint}`;
  return new DatabaseError('Syntax', message, {
    position: errorPositionAt(fault.text, fault.at),
    failure: { type: fault.type ?? 'SyntaxError', phase: 'compile time', detail: fault.detail },
    ...(fault.suggestion === undefined ? {} : { help: `did you mean '${fault.suggestion}'?` }),
  });
}

/** What the grammar knows and the server does not do. */
export function notSupported(what: string): DatabaseError {
  return new DatabaseError('NotSupported', `not supported: ${what}`);
}
