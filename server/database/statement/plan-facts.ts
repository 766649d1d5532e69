import type { PausingWork } from '#core/pausing-work.ts';
import type { BucketId } from '#core/value/rid.ts';
import type { Catalog } from '#catalog/catalog.ts';
import { constantOperations } from '#query/algebra/constant-operations.ts';
import type { LogicalPlan, QueryProgram } from '#query/algebra/plan.ts';
import { walkPlanInSteps } from '#query/algebra/plan-walk-in-steps.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import type { PlanFacts, PlannedSizes } from './planned-facts.ts';
import { WarningsFound } from './statement-warnings.ts';

const countedBucketsMax = 64;

/** @param catalog that of the view, or one that has more types: nothing is warned of then */
export function* factsOfPlan(
  program: QueryProgram,
  view: ReadView,
  catalog: Catalog,
): PausingWork<PlanFacts> {
  const { plan } = program;
  const buckets = new Set<BucketId>();
  const warnings = catalog === view.catalog ? new WarningsFound(program, view) : undefined;
  const traits = { commitsBatches: false, commitsPieces: false, setsLabels: false };
  let isPure = plan.op === 'Project' && plan.input.op === 'Argument';
  const look = (node: LogicalPlan): void => {
    if (node.op === 'TypeScan' || node.op === 'IndexSearch') {
      for (const type of node.types)
        for (const bucket of catalog.typeWithId(type).buckets) buckets.add(bucket);
    } else if (node.op === 'Filter') warnings?.look(node);
    else if (node.op === 'Apply' && node.transactions !== undefined) traits.commitsBatches = true;
    else if (node.op === 'CommitEvery') traits.commitsPieces = true;
    else if (node.op === 'SetLabels') traits.setsLabels = true;
  };
  yield* walkPlanInSteps(plan, {
    plan: look,
    // Who looks at nodes only is spared the expressions in them.
    ...(isPure && {
      expression(part) {
        if (part.op !== 'Slot' && !constantOperations.has(part.op)) isPure = false;
      },
    }),
  });
  return { ...traits, isPure, sizes: sizesSeen(buckets, view), warnings: warnings?.all() };
}

function sizesSeen(buckets: ReadonlySet<BucketId>, view: ReadView): PlannedSizes {
  const counted = [...buckets].slice(0, countedBucketsMax);
  const seen = counted.map((bucket) => view.recordCount(bucket));
  return {
    areStale: (now) =>
      counted.some((bucket, at) => hasMovedALot(seen[at] ?? 0, now.recordCount(bucket))),
  };
}

/** Small types grow fast and cost little: a factor alone would plan again and again. */
function hasMovedALot(before: number, now: number): boolean {
  const few = Math.min(before, now);
  return Math.max(before, now) > few * 4 + 1000;
}
