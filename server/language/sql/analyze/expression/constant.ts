import { DatabaseError } from '#core/errors.ts';
import { defaultTemporalFormats } from '#core/temporal/format.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import { constantOperations } from '#query/algebra/constant-operations.ts';
import type { Expression as Computed } from '#query/algebra/expression.ts';
import { walkExpression } from '#query/algebra/walk.ts';
import { QueryScope } from '#query/binder/scope.ts';
import { compileExpression } from '#query/evaluate/compile.ts';
import type { EvaluationContext } from '#query/evaluate/context.ts';
import type { Expression } from '../../ast.ts';
import type { NamedValue } from '../../statements.ts';
import { someExpression } from '../../syntax-walk.ts';
import { type Analysis, rowEnvironment } from '../analysis.ts';

/**
 * The value of an expression in a schema statement. Schema changes are data that every node applies alike, so they hold values
 * and not expressions: what is computed is computed now, from literals, parameters and script variables.
 *
 * @throws DatabaseError `IllegalArgument` for what depends on anything else; `Arithmetic`
 */
export function constantOf(analysis: Analysis, node: Expression, what: string): Value {
  const scope = new QueryScope(undefined);
  const computed = analysis.expression(node, rowEnvironment(scope));
  // A name is null where there is no row; here it is a word that somebody forgot to quote.
  if (!isConstant(computed) || someExpression(node, isFieldName))
    throw notConstant(analysis, node, what);
  const parameters = new Map<string, Value>();
  walkExpression(computed, (part) => {
    if (part.op === 'Parameter') parameters.set(part.name, analysis.parameterValue(part.name));
  });
  return evaluated(analysis, computed, parameters);
}

/** The value of an expression that is made of literals only; undefined for others. @throws DatabaseError `Arithmetic` */
export function literalValueOf(analysis: Analysis, node: Expression): Value | undefined {
  if (someExpression(node, isFieldName)) return undefined;
  const computed = analysis.expression(node, rowEnvironment(new QueryScope(undefined)));
  let isLiteral = isConstant(computed);
  walkExpression(computed, (part) => {
    if (part.op === 'Parameter' || part.op === 'Variable') isLiteral = false;
  });
  return isLiteral ? evaluated(analysis, computed, new Map()) : undefined;
}

function isFieldName(node: Expression): boolean {
  return node.kind === 'name' && (node.isQuoted || !node.name.startsWith('$'));
}

function isConstant(computed: Computed): boolean {
  let isAllowed = true;
  walkExpression(computed, (part) => {
    if (!constantOperations.has(part.op)) isAllowed = false;
  });
  return isAllowed;
}

function notConstant(analysis: Analysis, node: Expression, what: string): DatabaseError {
  return new DatabaseError(
    'IllegalArgument',
    `${what} must be a constant, not '${analysis.text.slice(node.at, node.end)}'`,
  );
}

function evaluated(
  analysis: Analysis,
  computed: Computed,
  parameters: ReadonlyMap<string, Value>,
): Value {
  const evaluate = compileExpression(computed, {
    functions: analysis.functions,
    compileSubPlan: () => {
      throw new DatabaseError('IllegalArgument', 'a sub-query is no constant');
    },
  });
  const context: Partial<EvaluationContext> = {
    frame: [],
    parameters,
    variables: { get: (name) => analysis.variables.get(name) ?? null },
    formats: defaultTemporalFormats,
    limits: { elementCountMax: 500_000, rangeSizeMax: 0, valueBytesMax: 1024 * 1024 },
    memory: { reserve() {}, release() {} },
    regexBudget: { remainingMs: 0 },
  };
  // Constants look at nothing else.
  return evaluate(context as EvaluationContext);
}

/** `k = v, ...` as a map. */
export function constantMap(
  analysis: Analysis,
  entries: readonly NamedValue[],
  what: string,
): ValueMap {
  return new Map(
    entries.map((entry) => [
      entry.name,
      constantOf(analysis, entry.value, `${what} ${entry.name}`),
    ]),
  );
}
