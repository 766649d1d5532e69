import type { Expression } from '../algebra/expression.ts';
import type { Column, LogicalPlan, PlanNode } from '../algebra/plan.ts';
import { conjunctionOf, conjunctsOf } from '../algebra/walk.ts';
import type { ScanBound } from '../evaluate/generated/block-scan.ts';
import { compileScan } from '../evaluate/generated/compile-scan.ts';
import { CountRowsOperator } from '../operators/row/count-rows.ts';
import {
  CountScanOperator,
  FusedScanOperator,
  type FusedScanOptions,
} from '../operators/scan/fused-scan.ts';
import { fusedPartCountMax, partCountOfAll, rowsInTurn } from './row-work.ts';
import { scanPath } from './lower-source.ts';
import { neededColumns } from './needed-columns.ts';
import {
  descriptionOf,
  type Lowering,
  type OperatorFactory,
  type RequiredSlots,
} from './lowering.ts';

/** A chain of scan, filters and at most one projection on top, of a length that is worth generating code for. */
interface ScanChain {
  readonly scan: PlanNode<'TypeScan' | 'BucketScan'>;
  readonly predicate: Expression | undefined;
  readonly columns: readonly Column[];
  /** Of predicate and columns. */
  readonly partCount: number;
}

/**
 * One operator for a scan with its filters and projection.
 * @param bound of a sort above, when it has one
 * @returns undefined when the plan is no such chain
 */
export function fuseScan(
  plan: LogicalPlan,
  required: RequiredSlots,
  lowering: Lowering,
  bound?: ScanBound,
): OperatorFactory | undefined {
  const chain = chainOf(plan);
  if (chain === undefined) return undefined;
  const { columns } = neededColumns(chain.columns, required);
  const options = optionsOf({ ...chain, columns, bound }, plan, required, lowering);
  return () => new FusedScanOperator(options);
}

/**
 * `count(*)` without groups: counted block by block over a filtered scan, else row by row without looking at them.
 * @returns undefined when the plan is something else
 */
export function fuseCount(plan: LogicalPlan, lowering: Lowering): OperatorFactory | undefined {
  if (plan.op !== 'Aggregate' || plan.keys.length > 0 || plan.first.length > 0) return undefined;
  const countsRows = plan.aggregates.every(
    (aggregate) =>
      aggregate.function.toLowerCase() === 'count' &&
      aggregate.arguments.length === 0 &&
      !aggregate.distinct,
  );
  if (!countsRows) return undefined;
  const slots = plan.aggregates.map((aggregate) => aggregate.slot);
  const chain = chainOf(plan.input);
  if (chain === undefined || chain.columns.length > 0) {
    const input = lowering.lower(plan.input, new Set());
    return () => new CountRowsOperator(input(), slots);
  }
  const options = optionsOf(chain, plan.input, new Set(), lowering);
  return () => new CountScanOperator(options, slots);
}

function optionsOf(
  chain: ScanChain & { readonly bound?: ScanBound | undefined },
  plan: LogicalPlan,
  required: RequiredSlots,
  lowering: Lowering,
): FusedScanOptions {
  const spec = {
    record: chain.scan.as,
    predicate: chain.predicate,
    columns: chain.columns,
    keepsRecord: required.has(chain.scan.as),
    order: chain.scan.order ?? 'ascending',
  } as const;
  const { bound } = chain;
  return {
    scan: compileScan(spec, lowering.environment),
    bounded: bound && {
      scan: compileScan({ ...spec, bound }, lowering.environment),
      slot: bound.slot,
    },
    path: scanPath(chain.scan, lowering),
    rowsPerTurn: rowsInTurn(chain.partCount),
    description: describeChain(chain, plan, lowering),
  };
}

function chainOf(plan: LogicalPlan): ScanChain | undefined {
  if (plan.op === 'Project' && plan.isLong === true) return undefined;
  const columns = plan.op === 'Project' ? plan.columns : [];
  let current = plan.op === 'Project' ? plan.input : plan;
  let conjuncts: readonly Expression[] = [];
  while (current.op === 'Filter') {
    // No spread into arguments: there may be more conjuncts than a call takes.
    conjuncts = [...conjunctsOf(current.predicate), ...conjuncts];
    current = current.input;
  }
  if (current.op !== 'TypeScan' && current.op !== 'BucketScan') return undefined;
  if (current.range) return undefined;
  const values = columns.map(({ value }) => value);
  const partCount = partCountOfAll([...conjuncts, ...values], fusedPartCountMax);
  if (partCount > fusedPartCountMax) return undefined;
  return { scan: current, predicate: conjunctionOf(conjuncts), columns, partCount };
}

function describeChain(chain: ScanChain, plan: LogicalPlan, lowering: Lowering): string {
  if (!lowering.areDescribed) return '';
  const parts = [descriptionOf(lowering, chain.scan)];
  if (chain.predicate)
    parts.push(
      `where ${descriptionOf(lowering, { op: 'Filter', input: plan, predicate: chain.predicate })}`,
    );
  if (chain.columns.length > 0)
    parts.push(
      `give ${descriptionOf(lowering, { op: 'Project', input: plan, columns: chain.columns })}`,
    );
  return parts.join('; ');
}
