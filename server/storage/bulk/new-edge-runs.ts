import type { PendingMeta } from '../commit/pending-meta.ts';
import { type EdgeRun, type EdgeRuns, edgeRunsName, encodeEdgeRuns } from '../format/edge-runs.ts';

/** The runs that a commit adds to those that wait. */
export class NewEdgeRuns {
  readonly #before: EdgeRuns;
  readonly #added: EdgeRun[] = [];

  constructor(before: EdgeRuns) {
    this.#before = before;
  }

  /** @returns the number of the run */
  begin({ type, count }: { readonly type: EdgeRun['type']; readonly count: number }): number {
    const number = this.#before.lastNumber + this.#added.length + 1;
    this.#added.push({ number, type, edgeCount: count });
    return number;
  }

  /** Their pages are part of the commit. */
  end(meta: PendingMeta): void {
    const lastNumber = this.#added.at(-1)?.number;
    if (lastNumber === undefined) return;
    meta.use('edgeRuns');
    const waiting = [...this.#before.waiting, ...this.#added];
    meta.set(edgeRunsName, encodeEdgeRuns({ lastNumber, waiting }));
  }
}
