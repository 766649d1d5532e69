import type { IndexId } from '#core/value/rid.ts';
import type { Expression } from '../../../algebra/expression.ts';
import type { IndexSearchNode, LogicalPlan } from '../../../algebra/plan.ts';
import { conjunctionOf, conjunctsOf } from '../../../algebra/walk.ts';
import { indexCandidates, leftToCheck, type IndexCandidate } from '../../index-candidates.ts';
import type { OptimizerContext, OptimizerRule } from '../../rule.ts';

/** Branches of an OR that are looked up one by one. */
const unionBranchMax = 2048;
/**
 * Share of the index, where it is known, above which a scan is planned at once. What an equality finds is a guess: a search that
 * finds too much gives up by itself and scans.
 */
const shareMax = 0.25;
/** Fewer records are read in a millisecond or two either way, and the plan may as well name the index (sql.md 7.13). */
const recordsWorthScanning = 20_000;

/** A filtered scan becomes a search in the index that finds the fewest records; what the index does not answer stays. */
export const indexSearch: OptimizerRule = {
  name: 'index-search',
  needs: ['Filter'],
  why: 'WHERE name = :n would read the whole type',
  apply(plan, context) {
    if (plan.op !== 'Filter' || plan.input.op !== 'TypeScan') return undefined;
    const scan = plan.input;
    if (scan.range !== undefined || scan.order === 'descending') return undefined;
    const conjuncts = conjunctsOf(plan.predicate);
    const [best] = indexCandidates(conjuncts, scan.as, scan.types, context);
    const union =
      best !== undefined && best.rowCount <= 1 ? undefined : unionOf(conjuncts, scan, context);
    if (best !== undefined && (union === undefined || best.rowCount <= union.rowCount)) {
      const passed = passedOver(best.index.id, best.knownShare, scan, context);
      if (passed !== undefined) return { ...plan, input: { ...scan, passedOver: passed } };
      const search = { ...searchNode(best, scan), ...orderOf(scan) };
      return filtered(search, conjuncts, best.covered);
    }
    if (union === undefined) return undefined;
    const passed = passedOver(union.widest, union.knownShare, scan, context);
    if (passed !== undefined) return { ...plan, input: { ...scan, passedOver: passed } };
    return filtered(union.plan, conjuncts, [union.conjunct]);
  },
};

/** What the scan tells of the index where it is the better plan. */
function passedOver(
  index: IndexId,
  share: number | undefined,
  { types }: Scan,
  { statistics }: OptimizerContext,
): Scan['passedOver'] {
  if (share === undefined || share <= shareMax) return undefined;
  return statistics.recordCount(types) >= recordsWorthScanning ? { index, share } : undefined;
}

/** The search, with what it does not answer as a filter above. */
function filtered(
  search: LogicalPlan,
  conjuncts: readonly Expression[],
  covered: readonly Expression[],
): LogicalPlan {
  const predicate = conjunctionOf(leftToCheck(conjuncts, covered));
  return predicate === undefined ? search : { op: 'Filter', input: search, predicate };
}

type Scan = LogicalPlan & { readonly op: 'TypeScan' };

function orderOf({ order }: Scan): Pick<IndexSearchNode, 'ridOrder'> {
  return order === 'ascending' ? { ridOrder: order } : {};
}

function searchNode(candidate: IndexCandidate, scan: Scan): IndexSearchNode {
  const covers = conjunctionOf(candidate.covered);
  return {
    op: 'IndexSearch',
    index: candidate.index.id,
    bounds: candidate.bounds,
    types: scan.types,
    as: scan.as,
    ...(covers && { covers }),
    ...(candidate.needsEveryRecord && { needsEveryRecord: true }),
  };
}

interface Union {
  readonly plan: LogicalPlan;
  readonly conjunct: Expression;
  readonly rowCount: number;
  /** The sum of those that are known. */
  readonly knownShare: number;
  /** Where most of it is found, as far as is known. */
  readonly widest: IndexId;
}

/** An OR of which every branch can be looked up. */
function unionOf(
  conjuncts: readonly Expression[],
  scan: Scan,
  context: OptimizerContext,
): Union | undefined {
  for (const conjunct of conjuncts) {
    if (conjunct.op !== 'Or' || conjunct.operands.length > unionBranchMax) continue;
    const searches: IndexSearchNode[] = [];
    let rowCount = 0;
    let knownShare = 0;
    let widest: IndexCandidate | undefined;
    for (const branch of conjunct.operands) {
      const parts = conjunctsOf(branch);
      const [best] = indexCandidates(parts, scan.as, scan.types, context);
      if (best === undefined) break;
      const { covers, ...search } = searchNode(best, scan);
      // A search that stands for a part of its branch finds too much; without `covers` the whole OR is checked.
      const isWhole = parts.every((part) => best.covered.includes(part));
      searches.push(isWhole && covers ? { ...search, covers } : search);
      rowCount += best.rowCount;
      knownShare += best.knownShare ?? 0;
      if (widest === undefined || (best.knownShare ?? 0) > (widest.knownShare ?? 0)) widest = best;
    }
    if (widest === undefined || searches.length < conjunct.operands.length) continue;
    const { types, as } = scan;
    return {
      plan: { op: 'IndexUnion', searches, types, as, covers: conjunct, ...orderOf(scan) },
      conjunct,
      rowCount,
      knownShare,
      widest: widest.index.id,
    };
  }
  return undefined;
}
