import type { Expression as Computed } from '#query/algebra/expression.ts';
import { liftRows } from '#query/binder/scope.ts';
import type { Statement } from '../statements.ts';
import type { Analysis, Environment } from './analysis.ts';

/**
 * The list of the rows of a statement in parentheses (sql.md 5.6). It is run once for each row it depends on, before the
 * expression; only when it depends on an element of a list, or writes in a branch that may not be taken, in its place.
 */
export function rowsOf(analysis: Analysis, statement: Statement, env: Environment): Computed {
  const writesBefore = analysis.writeCount;
  const { scope } = env;
  const { result: query, level } = analysis.dependencies.measure(scope.level + 1, () =>
    analysis.query(statement, scope),
  );
  const { plan, output } = query;
  const mayBeLifted = !env.isLazy || analysis.writeCount === writesBefore;
  const lifted = mayBeLifted
    ? liftRows(scope, level, { plan, output, as: analysis.slots.next() })
    : undefined;
  return lifted ?? { op: 'SubPlan', plan, output, mode: 'collect' };
}
