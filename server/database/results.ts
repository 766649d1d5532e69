import type { LogIndex, Rid } from '#core/rid.ts';
import type { StoredRecord } from '#core/record.ts';
import type { Runtime } from '#core/runtime.ts';
import type { ReadView } from '#transaction/read-view.ts';
import type { ActiveStatement } from './active-statements.ts';
import { batchRowsMax, type PlanCursor, type RowBuffer, sliceMs } from './plan-cursor.ts';
import type {
  ExplainedPlan,
  RecordLookup,
  ResultBatch,
  ResultShape,
  ResultStream,
  ResultSummary,
} from './session.ts';

/** Looks records up in a view. */
class ViewLookup implements RecordLookup {
  readonly #view: () => ReadView;

  constructor(view: () => ReadView) {
    this.#view = view;
  }

  record(rid: Rid): StoredRecord | undefined {
    return this.#view().record(rid);
  }

  degree(vertex: Rid, direction: 'out' | 'in'): number {
    const view = this.#view();
    let degree = 0;
    for (const type of view.catalog.types()) {
      if (type.kind === 'edge') degree += view.degree(vertex, direction, type.id);
    }
    return degree;
  }
}

/** What is known of a statement when its rows are given out. */
export interface ResultFacts {
  readonly shape: ResultShape;
  readonly isReadOnly: boolean;
  readonly statementLimit: number | undefined;
  readonly index: LogIndex;
  readonly stats: Readonly<Record<string, number | boolean>> | undefined;
  readonly explain: () => ExplainedPlan | undefined;
}

/** All rows of a statement that has ended, given out in batches. */
export class FinishedResult implements ResultStream {
  readonly shape: ResultShape;
  readonly statementLimit: number | undefined;
  readonly records: RecordLookup;
  readonly complete: ResultBatch;
  readonly #facts: ResultFacts;
  readonly #release: () => void;
  #givenCount = 0;
  #isClosed = false;

  /** @param options `view` opens what `records` reads, at its first use; `release` is called once, by `close` */
  constructor(
    facts: ResultFacts,
    batch: ResultBatch,
    options: { view: () => ReadView; release: () => void },
  ) {
    this.#facts = facts;
    this.shape = facts.shape;
    this.statementLimit = facts.statementLimit;
    this.complete = batch;
    this.records = new ViewLookup(options.view);
    this.#release = options.release;
  }

  async nextBatch(): Promise<ResultBatch | undefined> {
    const { rowCount, values } = this.complete;
    const first = this.#givenCount;
    if (first >= rowCount) return undefined;
    const count = Math.min(batchRowsMax, rowCount - first);
    this.#givenCount += count;
    if (count === rowCount) return this.complete;
    const width = values.length / rowCount;
    return { rowCount: count, values: values.slice(first * width, (first + count) * width) };
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#release();
  }

  summary(): ResultSummary {
    return summaryOf(this.#facts);
  }
}

/** Rows of a reading statement that goes on while they are taken: pulling is what drives it. */
export class StreamingResult implements ResultStream {
  readonly shape: ResultShape;
  readonly statementLimit: number | undefined;
  readonly records: RecordLookup;
  readonly complete = undefined;
  readonly #facts: ResultFacts;
  readonly #cursor: PlanCursor;
  readonly #active: ActiveStatement;
  readonly #runtime: Runtime;
  readonly #end: (error: unknown) => void;
  #first: ResultBatch | undefined;
  #turnStartMs: number;
  #isPulling = false;
  #isEnded = false;
  #hasAllRows = false;
  #wasClosed = false;

  /**
   * @param options `first` are the rows of the first slice; `end` closes plan and view, and is called once, with the error if
   *   there was one
   */
  constructor(
    facts: ResultFacts,
    options: {
      cursor: PlanCursor;
      first: ResultBatch | undefined;
      active: ActiveStatement;
      runtime: Runtime;
      view: () => ReadView;
      end: (error: unknown) => void;
    },
  ) {
    this.#facts = facts;
    this.shape = facts.shape;
    this.statementLimit = facts.statementLimit;
    this.records = new ViewLookup(options.view);
    this.#cursor = options.cursor;
    this.#first = options.first;
    this.#active = options.active;
    this.#runtime = options.runtime;
    this.#end = options.end;
    this.#turnStartMs = options.runtime.clock.monotonicMs();
    // Ended from outside while nobody pulls: what it holds is let go of at once, and the next pull throws.
    this.#active.onEnd(() => {
      if (!this.#isPulling) this.#finish(undefined);
    });
  }

  async nextBatch(): Promise<ResultBatch | undefined> {
    this.#active.check();
    if (this.#first !== undefined) {
      const first = this.#first;
      this.#first = undefined;
      return first;
    }
    if (this.#isEnded || this.#hasAllRows) return undefined;
    this.#isPulling = true;
    try {
      return await this.#pull();
    } catch (error) {
      this.#finish(error);
      throw error;
    } finally {
      this.#isPulling = false;
      if (this.#wasClosed) this.#finish(undefined);
    }
  }

  close(): void {
    this.#wasClosed = true;
    if (!this.#isPulling) this.#finish(undefined);
  }

  summary(): ResultSummary {
    return summaryOf(this.#facts);
  }

  async #pull(): Promise<ResultBatch | undefined> {
    const { clock, timers } = this.#runtime;
    const rows: RowBuffer = { rowCount: 0, values: [] };
    while (!this.#wasClosed) {
      if (clock.monotonicMs() - this.#turnStartMs >= sliceMs) {
        await timers.yield();
        this.#turnStartMs = clock.monotonicMs();
        this.#active.check();
      }
      const outcome = this.#cursor.pull(rows, batchRowsMax, this.#turnStartMs + sliceMs);
      if (outcome === 'pending') await this.#cursor.resolvePending();
      if (outcome === 'end') this.#hasAllRows = true;
      if (rows.rowCount > 0) return rows;
      if (outcome === 'end') return undefined;
    }
    return undefined;
  }

  #finish(error: unknown): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#first = undefined;
    this.#end(error);
  }
}

function summaryOf(facts: ResultFacts): ResultSummary {
  const { isReadOnly, statementLimit, index, stats, explain } = facts;
  return { isReadOnly, statementLimit, index, stats, explain: explain() };
}
