import type { Expression as Computed, Output } from '#query/algebra/expression.ts';
import { QueryScope, type Scope } from '#query/binder/scope.ts';
import type { Match, Projection } from '../statements.ts';
import type { Analysis, AnalyzedQuery } from './analysis.ts';
import { PatternBuilder } from './pattern.ts';
import { shapeOf } from './projection.ts';
import { writtenLimit, finishRows } from './result-pipeline.ts';
import { limitTime } from './select.ts';

/** MATCH (sql.md 11): one pattern, NOT paths as anti-joins on it, and a projection of the aliases. */
export function analyzeMatch(
  analysis: Analysis,
  node: Match,
  parent: Scope | undefined,
): AnalyzedQuery {
  const scope = new QueryScope(parent);
  const builder = new PatternBuilder(analysis, scope);
  const pattern = builder.build(node.paths.filter((path) => !path.isNegated));
  scope.source({ op: 'Match', input: { op: 'Argument' }, pattern }, builder.row('named'));
  for (const path of node.paths) {
    if (!path.isNegated) continue;
    const inner = builder.negative(path);
    scope.stage((outer) => ({ op: 'Apply', outer, inner, mode: { kind: 'anti' } }));
  }
  bindMatch(scope, builder);
  const special = specialForm(node.projection);
  const output =
    special === undefined
      ? finishRows(analysis, scope, shapeOf(analysis, node.projection), node)
      : specialRows(analysis, scope, builder, node, special);
  limitTime(scope, node.timeout);
  return {
    plan: scope.close(),
    output,
    metadata: new Map(),
    statementLimit: writtenLimit(node.limit),
  };
}

/** `$matched` and `$depth` for RETURN. */
function bindMatch(scope: QueryScope, builder: PatternBuilder): void {
  const { level } = scope;
  scope.bindings.set('matched', { kind: 'group', members: builder.elements('all'), level });
  const depth = builder.lastDepth;
  if (depth !== undefined)
    scope.bindings.set('depth', { kind: 'value', value: { op: 'Slot', slot: depth }, level });
}

type SpecialForm = 'matches' | 'paths' | 'elements' | 'pathElements';

const specialForms = new Map<string, SpecialForm>([
  ['$matches', 'matches'],
  ['$patterns', 'matches'],
  ['$paths', 'paths'],
  ['$elements', 'elements'],
  ['$pathelements', 'pathElements'],
]);

/** `$matches` and its kin as the whole RETURN. */
function specialForm(projection: Projection): SpecialForm | undefined {
  const [only] = projection.items;
  if (projection.items.length !== 1 || only?.kind !== 'value') return undefined;
  if (only.value.kind !== 'name' || only.value.isQuoted || only.alias !== undefined)
    return undefined;
  return specialForms.get(only.value.name.toLowerCase());
}

function specialRows(
  analysis: Analysis,
  scope: QueryScope,
  builder: PatternBuilder,
  node: Match,
  special: SpecialForm,
): Output {
  const [grouped] = node.groupBy;
  if (grouped) throw analysis.fault(grouped.at, `GROUP BY is not allowed with RETURN $${special}`);
  const which = special === 'matches' || special === 'elements' ? 'named' : 'all';
  if (special === 'matches' || special === 'paths') scope.row = builder.row(which);
  else elementsAsRows(analysis, scope, builder, which);
  const { isDistinct } = node.projection;
  return finishRows(analysis, scope, { shape: { kind: 'record' }, isDistinct }, node);
}

/** Each element of a match as a row of its own; what an optional node did not find is none. */
function elementsAsRows(
  analysis: Analysis,
  scope: QueryScope,
  builder: PatternBuilder,
  which: 'named' | 'all',
): void {
  const items = [...builder.elements(which).values()].map(
    (slot): Computed => ({ op: 'Slot', slot }),
  );
  const as = analysis.slots.next();
  const list: Computed = { op: 'List', items };
  scope.stage((input) => ({ op: 'Unwind', input, list, as, keepEmpty: false }));
  const predicate: Computed = {
    op: 'Not',
    operand: { op: 'IsNull', operand: { op: 'Slot', slot: as } },
  };
  scope.stage((input) => ({ op: 'Filter', input, predicate }));
  scope.row = { kind: 'value', slot: as };
}
