import type { Expression, Slot } from '#query/algebra/expression.ts';
import type { ApplyMode, LogicalPlan } from '#query/algebra/plan.ts';
import { walkPlan } from '#query/algebra/plan-walk.ts';
import type { ClauseOf } from '../ast.ts';
import { notSupported } from '../failures.ts';
import type { CompiledQuery, Compiler } from './compiler.ts';
import type { Binding } from './scope.ts';

/** `CALL { } IN TRANSACTIONS` (cypher.md 3.1). */

type Call = ClauseOf<'callSubquery'>;

const rowsPerBatch: Expression = { op: 'Constant', value: 1_000 };

/** @throws DatabaseError `NotSupported` where a commit would be one of more than the sub-query */
export function requireOutermost(where: { isOutermost: boolean; hasWritten: boolean }): void {
  if (!where.isOutermost) throw notSupported('CALL { } IN TRANSACTIONS inside of another query');
  if (where.hasWritten) throw notSupported('CALL { } IN TRANSACTIONS after a clause that writes');
}

/** @param row what stands before the call */
export function batchedCall(
  compiler: Compiler,
  { inTransactions, isOptional }: Call,
  row: { readonly called: CompiledQuery; readonly input: LogicalPlan },
): { readonly plan: LogicalPlan; readonly bindings: readonly (readonly [string, Binding])[] } {
  const { called, input } = row;
  const { rows, onError = 'FAIL', status: name } = inTransactions ?? {};
  const columns = called.columns ?? [];
  const slots = columns.map(({ slot }) => slot);
  const status: Slot | undefined = name === undefined ? undefined : compiler.newSlot();
  const plan: LogicalPlan = {
    op: 'Apply',
    outer: input,
    inner: called.plan,
    mode: modeOf(called, isOptional),
    isPerRow: true,
    transactions: {
      count: rows === undefined ? rowsPerBatch : compiler.expression(rows, new Map()),
      onError,
      slots,
      status,
    },
  };
  const bindings = columns.map(({ name: column, slot, kind }): readonly [string, Binding] => [
    column,
    { slot, kind },
  ]);
  if (name !== undefined && status !== undefined)
    bindings.push([name, { slot: status, kind: 'value' }]);
  return { plan, bindings };
}

function modeOf({ columns }: CompiledQuery, isOptional: boolean): ApplyMode {
  if (columns === undefined) return { kind: 'unit' };
  if (!isOptional) return { kind: 'cross' };
  return { kind: 'optional', slots: columns.map(({ slot }) => slot) };
}

const rowSources: ReadonlySet<LogicalPlan['op']> = new Set<LogicalPlan['op']>([
  'Argument',
  'Unwind',
  'Project',
  'Filter',
  'Skip',
  'Limit',
]);

/** Its rows come from lists, parameters and files: they need not be gathered before the graph is written. */
export function readsNothing(plan: LogicalPlan): boolean {
  let reads = false;
  walkPlan(plan, {
    plan(node) {
      const isFile = node.op === 'Call' && node.procedure === '#load.csv';
      if (!rowSources.has(node.op) && !isFile) reads = true;
    },
    expression(part) {
      if (part.op === 'SubPlan') reads = true;
    },
  });
  return !reads;
}
