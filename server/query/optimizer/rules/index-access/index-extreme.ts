import type { Expression, Slot } from '../../../algebra/expression.ts';
import type { IndexDefinition } from '#catalog/catalog.ts';
import type { AggregateColumn, IndexBounds, LogicalPlan } from '../../../algebra/plan.ts';
import { conjunctsOf, mapExpression } from '../../../algebra/walk.ts';
import {
  type IndexCandidate,
  indexCandidates,
  isComponent,
  isOfCypher,
  usableIndexes,
} from '../../index-candidates.ts';
import type { OptimizerContext, OptimizerRule } from '../../rule.ts';

/** Types whose order in an index is the order that min() and max() use. */
const orderedTypes: ReadonlySet<string> = new Set([
  'INTEGER',
  'SHORT',
  'LONG',
  'BYTE',
  'FLOAT',
  'DOUBLE',
  'DECIMAL',
  'STRING',
  'DATE',
  'DATETIME',
  'DATETIME_SECOND',
  'DATETIME_MICROS',
  'DATETIME_NANOS',
]);

/**
 * min() and max() of an indexed property are the first entry from one end that is not null, among those that equalities and
 * bounds on components before it leave.
 */
export const indexExtreme: OptimizerRule = {
  name: 'index-extreme',
  needs: ['Aggregate'],
  why: 'SELECT max(created) FROM Post would read every record',
  apply(plan, context) {
    if (plan.op !== 'Aggregate' || plan.keys.length > 0 || plan.first.length > 0) return undefined;
    const predicate = plan.input.op === 'Filter' ? plan.input.predicate : undefined;
    const scan = plan.input.op === 'Filter' ? plan.input.input : plan.input;
    if (scan.op !== 'TypeScan' || scan.range !== undefined) return undefined;
    const [only, ...others] = plan.aggregates;
    if (only === undefined) return undefined;
    if (others.length === 0) {
      const input = extremeOf(only, { scan, predicate }, context);
      return input && { ...plan, input };
    }
    // Each of several has an end of its own to look at; all of them give one row.
    let whole: LogicalPlan | undefined;
    for (const aggregate of plan.aggregates) {
      const as = context.newSlot();
      const move = moved(scan.as, as);
      const own = { ...aggregate, arguments: aggregate.arguments.map(move) };
      const source = { scan: { ...scan, as }, predicate: predicate && move(predicate) };
      const input = extremeOf(own, source, context);
      if (input === undefined) return undefined;
      const row: LogicalPlan = { ...plan, input, aggregates: [own] };
      whole = whole ? { op: 'Apply', outer: whole, inner: row, mode: { kind: 'cross' } } : row;
    }
    return whole;
  },
};

/** The records that are aggregated. */
interface Source {
  readonly scan: LogicalPlan & { readonly op: 'TypeScan' };
  readonly predicate: Expression | undefined;
}

/** The expression with one slot in place of another. */
function moved(from: Slot, to: Slot): (value: Expression) => Expression {
  return (value) =>
    mapExpression(value, (part) =>
      part.op === 'Slot' && part.slot === from ? { op: 'Slot', slot: to } : part,
    );
}

function extremeOf(
  aggregate: AggregateColumn,
  source: Source,
  context: OptimizerContext,
): LogicalPlan | undefined {
  const name = aggregate.function.toLowerCase();
  const [value] = aggregate.arguments;
  if ((name !== 'min' && name !== 'max') || value === undefined) return undefined;
  if (aggregate.arguments.length !== 1) return undefined;
  return firstOf(source, value, name === 'min' ? 'ascending' : 'descending', context);
}

/** The record with the extreme value; all others could not change the result. */
function firstOf(
  { scan, predicate }: Source,
  value: Expression,
  order: 'ascending' | 'descending',
  context: OptimizerContext,
): LogicalPlan | undefined {
  // Records without the value matter to nobody here, so the index need not hold them.
  const isThere: Expression = { op: 'Not', operand: { op: 'IsNull', operand: value } };
  const conjuncts = predicate ? conjunctsOf(predicate) : [];
  const candidates =
    conjuncts.length > 0
      ? indexCandidates([...conjuncts, isThere], scan.as, scan.types, context)
      : [];
  for (const index of usableIndexes(scan.types, context)) {
    const component = index.components.at(-1);
    if (index.kind !== 'LSM_TREE' || component === undefined) continue;
    if (component.by !== 'value' || component.caseInsensitive) continue;
    if (!isComponent(value, component, scan.as)) continue;
    const isOrdered = scan.types.every((type) =>
      orderedTypes.has(context.catalog.property(type, component.property)?.type ?? ''),
    );
    if (!isOrdered) continue;
    const bounds = boundsOn(index, conjuncts, candidates);
    if (bounds === undefined) continue;
    const search: LogicalPlan = {
      op: 'IndexSearch',
      index: index.id,
      bounds,
      types: scan.types,
      as: scan.as,
      order,
      covers: predicate ? { op: 'And', operands: [...conjuncts, isThere] } : isThere,
      skipsNulls: true,
      limit: { op: 'Constant', value: 1 },
    };
    return { op: 'Limit', input: search, count: { op: 'Constant', value: 1 } };
  }
  return undefined;
}

/** Bounds that stand for all of the conjuncts and leave one run of entries, in the order of the last component. */
function boundsOn(
  index: IndexDefinition,
  conjuncts: readonly Expression[],
  candidates: readonly IndexCandidate[],
): IndexBounds | undefined {
  const openCount = 1;
  if (conjuncts.length === 0)
    return index.components.length === openCount ? { equals: [] } : undefined;
  const candidate = candidates.find((found) => found.index.id === index.id);
  if (candidate === undefined || candidate.covered.length !== conjuncts.length) return undefined;
  // Of what a search finds openCypher leaves some out.
  if (conjuncts.some(isOfCypher)) return undefined;
  const { equals } = candidate.bounds;
  if (equals.length !== index.components.length - openCount) return undefined;
  return equals.every((part) => part.kind === 'equals') ? candidate.bounds : undefined;
}
