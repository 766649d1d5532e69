import type { Expression } from '#query/algebra/expression.ts';
import type { LogicalPlan } from '#query/algebra/plan.ts';
import type { Expression as Expr, ExpressionOf as ExprOf } from '../ast.ts';
import type { Compiler, Substitution } from './compiler.ts';
import { compileParts, partsOfPath } from './pattern.ts';
import { type Scope, withBindings } from './scope.ts';

/** Queries and patterns inside expressions: plans that see the variables around them (cypher.md 3.1, 4.7). */

/** `EXISTS { }`, `COUNT { }`, `COLLECT { }` */
export function compileSubQuery(
  compiler: Compiler,
  expr: ExprOf<'subquery'>,
  scope: Scope,
): Expression {
  const mayEndOpen = expr.form !== 'collect';
  const { plan, columns, writes } = compiler.query(expr.query, new Map(), scope, mayEndOpen);
  if (writes)
    throw compiler.failure(
      'InvalidClauseComposition',
      expr.at,
      `${expr.form.toUpperCase()} holds no updating clauses`,
    );
  const [only] = columns ?? [];
  if (expr.form !== 'collect')
    return {
      op: 'SubPlan',
      plan,
      output: { kind: 'columns', columns: [] },
      mode: expr.form,
    };
  if (only === undefined || columns?.length !== 1)
    throw compiler.failure('InvalidClauseComposition', expr.at, 'COLLECT returns one column');
  return { op: 'SubPlan', plan, output: { kind: 'value', slot: only.slot }, mode: 'collect' };
}

/** True when the pattern matches; it brings no new variables. */
export function compilePatternPredicate(
  compiler: Compiler,
  { path }: ExprOf<'pattern'>,
  scope: Scope,
): Expression {
  for (const part of partsOfPath(path))
    if (part.variable !== undefined && !scope.has(part.variable))
      throw compiler.failure(
        'UndefinedVariable',
        part.at,
        `variable '${part.variable}' is not defined`,
      );
  const { plan } = compileParts(compiler, [path], scope, {
    input: { op: 'Argument' },
    distinctEdges: true,
  });
  return { op: 'SubPlan', plan, output: { kind: 'columns', columns: [] }, mode: 'exists' };
}

/** `shortestPath(...)` and `allShortestPaths(...)` as values: the path or null, the list of paths. */
export function compileShortestPath(
  compiler: Compiler,
  { path, at, end }: ExprOf<'pattern'>,
  scope: Scope,
): Expression {
  for (const { variable, at: start } of [path.first, ...path.steps.map(({ node }) => node)])
    if (variable === undefined || !scope.has(variable))
      throw compiler.failure(
        'UndefinedVariable',
        start,
        variable === undefined
          ? 'a shortest path that is a value needs bound nodes'
          : `variable '${variable}' is not defined`,
      );
  // No text can name a variable like this.
  const variable = '\0path';
  const found = compilePatternComprehension(
    compiler,
    {
      kind: 'patternComprehension',
      path: { ...path, variable },
      where: undefined,
      result: { kind: 'variable', name: variable, at, end },
      at,
      end,
    },
    scope,
  );
  if (path.selector === 'allShortest') return found;
  return { op: 'Call', function: '#cypher.head', arguments: [found] };
}

/** `[p = pattern WHERE condition | result]` */
export function compilePatternComprehension(
  compiler: Compiler,
  expr: ExprOf<'patternComprehension'>,
  scope: Scope,
): Expression {
  const { plan, bindings } = compileParts(compiler, [expr.path], scope, {
    input: { op: 'Argument' },
    distinctEdges: true,
  });
  const inner = withBindings(scope, bindings);
  const filtered: LogicalPlan =
    expr.where === undefined
      ? plan
      : { op: 'Filter', input: plan, predicate: conditionIn(compiler, expr.where, inner) };
  const slot = compiler.newSlot();
  const value = compiler.expression(expr.result, inner);
  return {
    op: 'SubPlan',
    plan: { op: 'Project', input: filtered, columns: [{ slot, value }] },
    output: { kind: 'value', slot },
    mode: 'collect',
  };
}

/** As a conjunction of one, so that what is no boolean is refused. */
export function conditionIn(
  compiler: Compiler,
  expr: Expr,
  scope: Scope,
  substitution?: Substitution,
): Expression {
  const { at, end } = expr;
  const one: Expr = { kind: 'and', operands: [expr], at, end };
  const condition = compiler.expression(one, scope, substitution);
  return condition.op === 'And' && condition.operands.length === 1
    ? (condition.operands[0] as Expression)
    : condition;
}
