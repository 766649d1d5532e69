import { conjunctionOf } from '#query/algebra/walk.ts';
import { QueryScope, type Scope } from '#query/binder/scope.ts';
import type { Expression } from '../ast.ts';
import type { Select, TimeLimit } from '../statements.ts';
import { hasSubQuery } from '../syntax-walk.ts';
import { type Analysis, type AnalyzedQuery, rowEnvironment } from './analysis.ts';
import { bindScores } from './scores.ts';
import { requireKeyCondition } from './schema/index-target.ts';
import { analyzeEarlyLets, analyzeRowLets } from './let.ts';
import { shapeOf } from './projection.ts';
import { writtenLimit, finishRows } from './result-pipeline.ts';
import { analyzeTarget } from './target.ts';

/** SELECT (sql.md 7). */
export function analyzeSelect(
  analysis: Analysis,
  node: Select,
  parent: Scope | undefined,
): AnalyzedQuery {
  const scope = new QueryScope(parent);
  const late = analyzeEarlyLets(analysis, node.lets, scope);
  if (node.target !== undefined) {
    if (node.target.kind === 'index') requireKeyCondition(analysis, node.target.name, node.where);
    analyzeTarget(analysis, node.target, scope, node.where);
  }
  analyzeRowLets(analysis, late, scope);
  if (node.where !== undefined) filter(analysis, scope, node.where);
  const projection = shapeOf(analysis, node.projection);
  const output = finishRows(analysis, scope, projection, node);
  limitTime(scope, node.timeout);
  // Rows that pass as they are keep what they carry beside their columns.
  const passes = projection.shape.kind === 'record';
  return {
    plan: scope.close(),
    output,
    metadata: new Map(passes ? scope.bindings : []),
    statementLimit: writtenLimit(node.limit),
  };
}

/**
 * WHERE. Conditions without sub-queries are checked first, so that sub-queries that depend on the row are run only for rows
 * that passed them.
 */
export function filter(analysis: Analysis, scope: QueryScope, where: Expression): void {
  const parts = where.kind === 'and' ? where.operands : [where];
  const plain: Expression[] = [];
  const others: Expression[] = [];
  // The order of a single condition needs no look through it.
  for (const part of parts) (parts.length > 1 && hasSubQuery(part) ? others : plain).push(part);
  for (const group of [plain, others]) {
    if (group.length === 0) continue;
    const env = rowEnvironment(scope);
    const predicate = conjunctionOf(group.map((part) => analysis.expression(part, env)));
    if (predicate === undefined) continue;
    scope.stage((input) => ({ op: 'Filter', input, predicate }));
    bindScores(scope, predicate);
  }
}

export function limitTime(scope: QueryScope, timeout: TimeLimit | undefined): void {
  if (timeout === undefined) return;
  const { ms: timeoutMs, onTimeout } = timeout;
  scope.stage((input) => ({ op: 'TimeLimit', input, timeoutMs, onTimeout }));
}
