import type { ReadView } from '#transaction/read/read-view.ts';
import type { Statement } from '../session.ts';
import type { StatementCompiler } from './compiler.ts';
import { isLongText } from './prepared-texts.ts';

/** Operations whose outcome stays on the server that is asked. */
const localOperations: ReadonlySet<string> = new Set(['backup database', 'export database']);

/**
 * Where a statement runs in a cluster: what only reads or only explains on any server, all else on the leader (ha.md 6.1). Texts
 * that take several turns to compile are the leader's.
 */
export function placeOf(
  statement: Statement,
  statements: { readonly compiler: StatementCompiler; view(): ReadView },
): 'any' | 'leader' {
  if (isLongText(statement.text)) return 'leader';
  using now = statements.view();
  const compiled = statements.compiler.compiled(statement, now);
  if (compiled.isReadOnly) return 'any';
  if (compiled.kind === 'operation')
    return localOperations.has(compiled.program.name) ? 'any' : 'leader';
  const isExplained = compiled.kind === 'statement' && compiled.program.inspect === 'explain';
  return isExplained ? 'any' : 'leader';
}
