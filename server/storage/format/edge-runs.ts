import type { TypeId } from '#core/value/rid.ts';

/** Edges of one type that a commit of a load has sorted and laid into pages, in both directions. */
export interface EdgeRun {
  /** Never used again. A list says up to which number it holds the runs of its type. */
  readonly number: number;
  readonly type: TypeId;
  readonly edgeCount: number;
}

/** The runs whose edges are not in the lists of their vertices yet, or not in all of them; the oldest first. */
export interface EdgeRuns {
  /** The highest number that was given to a run. */
  readonly lastNumber: number;
  readonly waiting: readonly EdgeRun[];
}

/** Name in `meta`. */
export const edgeRunsName = 'edgeRuns';

export const noEdgeRuns: EdgeRuns = { lastNumber: 0, waiting: [] };

export function encodeEdgeRuns(runs: EdgeRuns): Uint8Array {
  return Buffer.from(JSON.stringify(runs));
}

export function decodeEdgeRuns(stored: Uint8Array | undefined): EdgeRuns {
  if (stored === undefined) return noEdgeRuns;
  return JSON.parse(Buffer.from(stored).toString('latin1')) as EdgeRuns;
}
