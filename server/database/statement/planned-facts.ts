import type { Warning } from '#core/warnings.ts';
import type { ReadView } from '#transaction/read/read-view.ts';

/** What one walk over an optimized plan finds out for the statement. */
export interface PlanFacts {
  /** The record counts that the plan was made for. */
  readonly sizes: PlannedSizes;
  /** Undefined for none. */
  readonly warnings: readonly Warning[] | undefined;
  readonly commitsBatches: boolean;
  readonly commitsPieces: boolean;
  readonly setsLabels: boolean;
  /** It looks at nothing but constants, parameters and variables. */
  readonly isPure: boolean;
}

export interface PlannedSizes {
  /** The sizes of things have changed so much that another plan may be the better one. */
  areStale(now: ReadView): boolean;
}
