import { CommandFailure } from './terminal.ts';
import type { PlacedStatement } from './statement-splitter.ts';

/** A place in a statement, as the server tells it: both from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/**
 * A failure of a statement as one of the text that it stands in: places are counted from the beginning of that text, and a
 * failure without one tells where its statement begins.
 */
export function placedFailure(error: unknown, statement: PlacedStatement): unknown {
  if (!(error instanceof CommandFailure) || (statement.line === 1 && statement.column === 1))
    return error;
  const { place, message, code } = error;
  if (place === undefined) {
    const where = `in the statement at line ${statement.line}, column ${statement.column}`;
    return new CommandFailure(code, `${message} (${where})`);
  }
  return new CommandFailure(code, message.replaceAll(told(place), told(moved(place, statement))));
}

/** A place in a statement as one in the text around it. */
export function moved(place: Place, { line, column }: PlacedStatement): Place {
  const isFirst = place.line === 1;
  return {
    line: place.line + line - 1,
    column: isFirst ? place.column + column - 1 : place.column,
  };
}

function told({ line, column }: Place): string {
  return `line ${line}, column ${column}`;
}
