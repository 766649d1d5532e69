import { compareRids } from './hit.ts';

export const strategies = ['RRF', 'DBSF', 'LINEAR'] as const;
export type Strategy = (typeof strategies)[number];
export const legNames = ['vector', 'fulltext', 'expand'] as const;
export type LegName = (typeof legNames)[number];

/** What a leg brings: record ids in the order of their rank, and scores of which more is better. */
export interface FusionLeg {
  readonly name: LegName;
  readonly weight: number;
  readonly rids: readonly string[];
  /** Absent for a leg without scores. */
  readonly scores: readonly number[];
}

export interface Fused {
  readonly rid: string;
  readonly score: number;
  readonly sources: readonly LegName[];
}

const rankConstant = 60;
const deviations = 3;

/** All records that the legs found, the best first, ties by record id (mcp.md 4.8). */
export function fuse(legs: readonly FusionLeg[], strategy: Strategy): readonly Fused[] {
  const sums = new Map<string, { score: number; sources: LegName[] }>();
  for (const leg of legs) {
    const shares = sharesOf(leg, strategy);
    leg.rids.forEach((rid, at) => {
      const sum = sums.get(rid) ?? { score: 0, sources: [] };
      sum.score += leg.weight * (shares[at] ?? 0);
      sum.sources.push(leg.name);
      sums.set(rid, sum);
    });
  }
  return [...sums]
    .map(([rid, { score, sources }]) => ({ rid, score, sources }))
    .sort((a, b) => b.score - a.score || compareRids(a.rid, b.rid));
}

function sharesOf({ rids, scores }: FusionLeg, strategy: Strategy): readonly number[] {
  switch (strategy) {
    case 'RRF':
      return rids.map((_, at) => 1 / (rankConstant + at + 1));
    case 'LINEAR':
      return scaled(scores, Math.min(...scores), Math.max(...scores));
    case 'DBSF': {
      const mean = sumOf(scores) / scores.length;
      const variance = sumOf(scores.map((score) => (score - mean) ** 2)) / scores.length;
      const reach = deviations * Math.sqrt(variance);
      return scaled(scores, mean - reach, mean + reach);
    }
  }
}

/** To 0..1 between the bounds; 1 for all when there is nothing between them. */
function scaled(scores: readonly number[], low: number, high: number): readonly number[] {
  if (high <= low) return scores.map(() => 1);
  return scores.map((score) => Math.min(1, Math.max(0, (score - low) / (high - low))));
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}
