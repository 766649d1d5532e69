import type { Expression as Computed, Slot } from '#query/algebra/expression.ts';
import type { LogicalPlan } from '#query/algebra/plan.ts';
import { outputOfRow } from '#query/binder/row.ts';
import { type ElementScope, QueryScope, type Binding, type Scope } from '#query/binder/scope.ts';
import type { Traverse } from '../statements.ts';
import type { Analysis, AnalyzedQuery, Environment } from './analysis.ts';
import { writtenLimit, skipAndLimit } from './result-pipeline.ts';
import { limitTime } from './select.ts';
import { analyzeTarget } from './target.ts';

/**
 * TRAVERSE (sql.md 12). The records it starts from are collected first; fields and WHILE are evaluated on each record that is
 * visited, so sub-queries in them that depend on it stay in their place.
 */
export function analyzeTraverse(
  analysis: Analysis,
  node: Traverse,
  parent: Scope | undefined,
): AnalyzedQuery {
  const scope = new QueryScope(parent);
  const roots = collectRoots(analysis, node, scope);
  const as = analysis.slots.next();
  const depth = analysis.slots.next();
  const path = analysis.slots.next();
  const history = analysis.slots.next();
  const slots = { depth, path, history };
  const visited: ElementScope = {
    kind: 'element',
    parent: scope,
    level: scope.level + 1,
    row: { kind: 'value', slot: as },
    isCurrent: true,
    bindings: pathBindings(analysis, slots, scope.level + 1),
  };
  const env: Environment = {
    scope: visited,
    row: visited.row,
    names: undefined,
    aggregation: undefined,
    isLazy: false,
  };
  const fields =
    node.fields === 'all' ? 'all' : node.fields.map((field) => analysis.expression(field, env));
  const condition = node.while && analysis.expression(node.while, env);
  const { maxDepth, strategy } = node;
  scope.stage(
    (input): LogicalPlan => ({
      op: 'Traverse',
      input,
      roots,
      as,
      fields,
      depth,
      path,
      history,
      maxDepth,
      condition,
      strategy,
    }),
  );
  scope.isSingleRow = false;
  scope.row = visited.row;
  skipAndLimit(analysis, scope, { limit: node.limit });
  limitTime(scope, node.timeout);
  return {
    plan: scope.close(),
    output: { kind: 'value', slot: as },
    metadata: pathBindings(analysis, slots, scope.level),
    statementLimit: writtenLimit(node.limit),
  };
}

function collectRoots(analysis: Analysis, node: Traverse, scope: QueryScope): Computed {
  const source = new QueryScope(scope);
  analyzeTarget(analysis, node.target, source);
  const as = analysis.slots.next();
  const output = outputOfRow(source.row);
  const inner = source.close();
  scope.stage((outer) => ({ op: 'Apply', outer, inner, mode: { kind: 'collect', output, as } }));
  return { op: 'Slot', slot: as };
}

/** `$depth`, `$path`, `$stack` (the path from here back to the start) and `$history` (what was visited so far). */
function pathBindings(
  analysis: Analysis,
  slots: { readonly depth: Slot; readonly path: Slot; readonly history: Slot },
  level: number,
): ReadonlyMap<string, Binding> {
  const path: Computed = { op: 'Slot', slot: slots.path };
  const accumulator = analysis.slots.next();
  const element = analysis.slots.next();
  const stack: Computed = {
    op: 'Reduce',
    list: path,
    accumulator,
    initial: { op: 'Constant', value: [] },
    element,
    step: {
      op: 'Concatenate',
      operands: [
        { op: 'List', items: [{ op: 'Slot', slot: element }] },
        { op: 'Slot', slot: accumulator },
      ],
    },
  };
  return new Map<string, Binding>([
    ['depth', { kind: 'value', value: { op: 'Slot', slot: slots.depth }, level }],
    ['path', { kind: 'value', value: path, level }],
    ['stack', { kind: 'value', value: stack, level }],
    ['history', { kind: 'value', value: { op: 'Slot', slot: slots.history }, level }],
  ]);
}
