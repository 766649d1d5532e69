import { DatabaseError } from '#core/errors.ts';
import type { ParseLimits } from '../frontend.ts';
import { parseStatement } from './parser/statement.ts';
import { hasSubQuery, someExpression } from './syntax-walk.ts';

const opening = 'SELECT FROM t WHERE (';

/**
 * Makes sure that a text is one condition and nothing else, so that it may stand in parentheses in a statement of ours: it
 * closes no parenthesis that it did not open, and holds no statement and no parameter.
 * @throws DatabaseError `Syntax`, `IllegalArgument`
 */
export function requireLoneCondition(text: string, limits: ParseLimits): void {
  // A comment that runs to the end of its line must not reach the parenthesis.
  const statement = `${opening}${text}\n)`;
  const parsed = parseStatement(statement, limits);
  const where = parsed.kind === 'select' ? parsed.where : undefined;
  const isWhole =
    where?.kind === 'paren' && where.at === opening.length - 1 && where.end === statement.length;
  if (!isWhole) throw new DatabaseError('IllegalArgument', 'the text is more than one condition');
  if (hasSubQuery(where))
    throw new DatabaseError('IllegalArgument', 'a condition here holds no statement');
  if (someExpression(where, ({ kind }) => kind === 'parameter'))
    throw new DatabaseError('IllegalArgument', 'a condition here holds no parameter');
}
