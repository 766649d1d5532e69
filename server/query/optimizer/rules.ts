import type { OptimizerRule } from './rule.ts';
import { boundedSort } from './rules/bounded-sort.ts';
import { countBranches } from './rules/graph/count-branches.ts';
import { countDegrees } from './rules/graph/count-degrees.ts';
import { countRecords } from './rules/count-records.ts';
import { distinctSteps } from './rules/graph/distinct-steps.ts';
import { edgeEnds } from './rules/graph/edge-ends.ts';
import { edgeScan } from './rules/graph/edge-scan.ts';
import { existsApply } from './rules/graph/exists-apply.ts';
import { expandMoves } from './rules/graph/expand-moves.ts';
import { filterIntoMatch } from './rules/graph/filter-into-match.ts';
import { foldConstants } from './rules/fold-constants.ts';
import { hashJoin } from './rules/hash-join.ts';
import { indexDependentEquality } from './rules/index-access/index-dependent-equality.ts';
import { indexExtreme } from './rules/index-access/index-extreme.ts';
import { indexOrder } from './rules/index-access/index-order.ts';
import { bestScores, fullTextSearch } from './rules/index-access/full-text.ts';
import { geoSearch, nearestPlaces } from './rules/index-access/geo.ts';
import { indexSearch } from './rules/index-access/index-search.ts';
import { limitGroups, limitSort } from './rules/limit-sort.ts';
import { limitedSearch } from './rules/index-access/limited-search.ts';
import { longCalls } from './rules/long-calls.ts';
import { mergeFilters } from './rules/merge-filters.ts';
import { mergeMatches } from './rules/graph/merge-matches.ts';
import { comparisonsToIn } from './rules/index-access/comparisons-to-in.ts';
import { pathLength } from './rules/graph/path-length.ts';
import { planMatches } from './rules/graph/plan-match.ts';
import { pushDistinct } from './rules/push-distinct.ts';
import { pushFilters } from './rules/push-filters.ts';
import { ridOrder } from './rules/index-access/rid-order.ts';
import { ridLookup } from './rules/index-access/rid-lookup.ts';
import { ridRange } from './rules/index-access/rid-range.ts';
import { sizeAsDegree } from './rules/graph/size-as-degree.ts';
import { sortColumns } from './rules/sort-columns.ts';

/** What is done to every plan whatever is switched off: it decides what the plan means, or makes it runnable. */
export const mandatoryRules: ReadonlySet<string> = new Set([
  indexDependentEquality.name,
  planMatches.name,
  ridRange.name,
]);

/**
 * All rules in the order in which they go through a plan, each once, from the sources up. First what brings conditions to the
 * sources, then what the conditions become there, then what counting, ordering and distinctness save.
 */
export const rules: readonly OptimizerRule[] = [
  foldConstants,
  mergeFilters,
  pushFilters,
  mergeMatches,
  // What stood between two patterns stands above both.
  mergeFilters,
  filterIntoMatch,
  edgeScan,
  countBranches,
  planMatches,
  // Again: patterns have brought filters of their own, and pushed ones stand above others.
  pushFilters,
  mergeFilters,
  existsApply,
  indexDependentEquality,
  comparisonsToIn,
  expandMoves,
  pushDistinct,
  distinctSteps,
  countDegrees,
  sizeAsDegree,
  pathLength,
  countRecords,
  limitSort,
  limitGroups,
  indexExtreme,
  ridLookup,
  fullTextSearch,
  bestScores,
  geoSearch,
  nearestPlaces,
  ridRange,
  ridOrder,
  indexOrder,
  indexSearch,
  limitedSearch,
  edgeEnds,
  hashJoin,
  sortColumns,
  boundedSort,
  // Last: what it makes of an expression no other rule knows.
  longCalls,
];
