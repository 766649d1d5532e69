import { smallSteps } from '#core/replayed-loops.ts';
import type { Expression } from '../algebra/expression.ts';
import { conjunctsOf } from '../algebra/walk.ts';

// Costs are in microseconds on a plain core; only their ratios matter. They come from the figures of storage.md 1 and 6.

/** One record of a scan, filter included. */
export const scanCost = 0.1;
/** One record fetched through an index in the order of record ids. */
export const fetchCost = 0.6;
/** One record fetched in key order, each from another block. */
export const randomFetchCost = 1.5;
/** One seek in an index. */
export const seekCost = 2;
/** One edge walked. */
export const expandCost = 0.03;

/** The share of records that words or a place are taken to find. */
export const searchedShare = 0.01;

/** Limits that are known only at run time are taken for this. */
export const assumedLimit = 100;

/** The share of rows that a condition without better knowledge keeps. */
export function selectivityOf(predicate: Expression | undefined): number {
  if (predicate === undefined) return 1;
  const conjuncts = conjunctsOf(predicate);
  if (conjuncts.length < manyConjuncts) return selectivityOfAll(1, conjuncts);
  const { selectivity } = smallSteps(
    () => ({ at: 0, selectivity: 1 }),
    (state) => {
      const some = conjuncts.slice(state.at, state.at + conjunctsPerStep);
      state.selectivity = selectivityOfAll(state.selectivity, some);
      state.at += conjunctsPerStep;
      return state.at >= conjuncts.length;
    },
  );
  return selectivity;
}

/** Fewer of them are gone through at once. */
const manyConjuncts = 1_024;
const conjunctsPerStep = 8;

function selectivityOfAll(before: number, conjuncts: readonly Expression[]): number {
  let selectivity = before;
  for (let at = 0; at < conjuncts.length; at += 1)
    selectivity *= conjunctSelectivity(conjuncts[at] as Expression);
  return selectivity;
}

function conjunctSelectivity(conjunct: Expression): number {
  switch (conjunct.op) {
    case 'Compare':
      if (conjunct.operator === '=' || conjunct.operator === '<=>') return 0.05;
      return conjunct.operator === '<>' ? 0.9 : 0.3;
    case 'Between':
      return 0.1;
    case 'In':
      return 0.1;
    case 'Like':
    case 'Matches':
    case 'Contains':
      return 0.1;
    case 'IsNull':
      return 0.1;
    case 'Or':
      return Math.min(1, conjunct.operands.length * 0.1);
    case 'Constant':
      return conjunct.value === true ? 1 : 0;
    default:
      return 0.5;
  }
}

/** The number that a LIMIT expression stands for, as far as it is known while planning. */
export function limitOf(count: Expression | undefined): number {
  if (count === undefined) return Number.POSITIVE_INFINITY;
  if (count.op !== 'Constant') return assumedLimit;
  return typeof count.value === 'number' && count.value >= 0
    ? count.value
    : Number.POSITIVE_INFINITY;
}
