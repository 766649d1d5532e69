import type { Expression as Computed } from '#query/algebra/expression.ts';
import { walkExpression } from '#query/algebra/walk.ts';
import type { QueryScope } from '#query/binder/scope.ts';
import {
  scoreFunction,
  searchCallNamed,
  similarityFunction,
} from '#query/functions/search/text-functions.ts';

/**
 * `$score` and `$similarity` of what WHERE searches for (sql-functions.md 6): computed of the record by what the searches found,
 * of several the sum and the highest.
 */
export function bindScores(scope: QueryScope, predicate: Computed): void {
  const calls: Computed[][] = [];
  walkExpression(predicate, (part) => {
    if (part.op !== 'Call') return;
    const call = searchCallNamed(part.function);
    if (call !== undefined) calls.push([{ op: 'Constant', value: call }, ...part.arguments]);
  });
  if (calls.length === 0) return;
  const { level } = scope;
  const of = (name: string) =>
    calls.map((args): Computed => ({ op: 'Call', function: name, arguments: args }));
  const sum = of(scoreFunction).reduce(
    (left, right): Computed => ({ op: 'Arithmetic', operator: '+', left, right, dialect: 'sql' }),
  );
  const similarities = of(similarityFunction);
  const [only] = similarities;
  const highest: Computed =
    similarities.length === 1 && only
      ? only
      : { op: 'Call', function: 'max', arguments: similarities };
  scope.bindings.set('score', { kind: 'value', value: sum, level });
  scope.bindings.set('similarity', { kind: 'value', value: highest, level });
}
