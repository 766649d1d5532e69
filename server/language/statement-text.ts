import { DatabaseError } from '#core/errors.ts';
import type { ParseLimits } from './frontend.ts';
import { syntaxError } from './syntax-error.ts';

/**
 * What every text is asked before it is parsed.
 * @throws DatabaseError `TooLarge` beyond `service.sql.maxStatementSize`, `Syntax` for half of a character (limits.md 8, 12)
 */
export function checkText(text: string, limits: Pick<ParseLimits, 'statementBytesMax'>): void {
  const { statementBytesMax } = limits;
  const isLong =
    text.length > statementBytesMax ||
    (text.length * 3 > statementBytesMax && Buffer.byteLength(text) > statementBytesMax);
  if (isLong)
    throw new DatabaseError(
      'TooLarge',
      `statement is longer than the limit of ${statementBytesMax} bytes (service.sql.maxStatementSize)`,
    );
  if (text.isWellFormed()) return;
  const offset = text.search(
    /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/,
  );
  throw syntaxError({ text, offset, problem: 'half of a character (lone surrogate)' });
}
