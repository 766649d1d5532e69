import type { LogIndex, Rid } from '#core/value/rid.ts';
import type { Warning } from '#core/warnings.ts';
import type { StoredRecord } from '#core/value/record.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import type { ActiveStatement } from '../bounds/active-statements.ts';
import type { StatementMemory } from '../bounds/memory-accounts.ts';
import { type PlanExecution, rowsPerBatch } from './plan-execution.ts';
import { RenderedBatches } from './rendered-rows.ts';
import type { ChosenRows, Move } from '../threads/moved-rows.ts';
import type {
  ExplainedPlan,
  LeavingEdges,
  RecordLookup,
  RenderedRows,
  ResultBatch,
  ResultShape,
  ResultStream,
  ResultSummary,
  RowRenderer,
} from '../session.ts';

/** A view, or how to open one when it is first needed. */
type LazyView = ReadView | (() => ReadView);

/** Looks records up in a view. */
class ViewLookup implements RecordLookup {
  readonly #view: LazyView;
  readonly #facts: ResultFacts;

  constructor(view: LazyView, facts: ResultFacts) {
    this.#view = view;
    this.#facts = facts;
  }

  record(rid: Rid): StoredRecord | undefined {
    const view = this.#opened();
    const { isShown } = this.#facts;
    return isShown === undefined || isShown(view, rid) ? view.record(rid) : undefined;
  }

  degree(vertex: Rid, direction: 'out' | 'in'): number {
    const view = this.#opened();
    let degree = 0;
    for (const type of view.catalog.types()) {
      if (type.kind === 'edge') degree += view.degree(vertex, direction, type.id);
    }
    return degree;
  }

  *outgoing(vertex: Rid): Generator<LeavingEdges> {
    const view = this.#opened();
    for (const type of view.catalog.types())
      if (type.kind === 'edge') yield view.adjacency(vertex, 'out', type.id);
  }

  /** A result that is still being written out may outlive its database. */
  #opened(): ReadView {
    this.#facts.requireOpen();
    return typeof this.#view === 'function' ? this.#view() : this.#view;
  }
}

/** What is known of a statement when its rows are given out. */
export interface ResultFacts {
  /** What was written; of openCypher alone (house decision 54), and only when something was. */
  readonly stats?: ResultSummary['stats'];
  readonly shape: ResultShape;
  readonly isReadOnly: boolean;
  readonly statementLimit: number | undefined;
  readonly index: LogIndex;
  readonly explain: (() => ExplainedPlan) | undefined;
  readonly warnings?: readonly Warning[] | undefined;
  /** @throws DatabaseError when the database was closed or dropped */
  readonly requireOpen: () => void;
  /** What the caller may see of records that rows only name; undefined: any. */
  readonly isShown: ((view: ReadView, rid: Rid) => boolean) | undefined;
}

/** All rows of a statement that has ended, given out in batches. */
export class FinishedResult implements ResultStream {
  readonly shape: ResultShape;
  readonly isReadOnly: boolean;
  whenClosed: ((error: unknown) => void) | undefined = undefined;
  readonly statementLimit: number | undefined;
  readonly complete: ResultBatch;
  readonly memoryBytes = 0;
  readonly #facts: ResultFacts;
  readonly #view: LazyView;
  readonly #release: (error: undefined) => void;
  #records: RecordLookup | undefined;
  #givenCount = 0;
  #isClosed = false;

  /**
   * @param view what `records` reads
   * @param release called once, by `close`
   */
  constructor(
    facts: ResultFacts,
    batch: ResultBatch,
    view: LazyView,
    release: (error: undefined) => void,
  ) {
    this.#facts = facts;
    this.shape = facts.shape;
    this.isReadOnly = facts.isReadOnly;
    this.statementLimit = facts.statementLimit;
    this.complete = batch;
    this.#view = view;
    this.#release = release;
  }

  get records(): RecordLookup {
    this.#records ??= new ViewLookup(this.#view, this.#facts);
    return this.#records;
  }

  async nextBatch(): Promise<ResultBatch | undefined> {
    const { rowCount, values } = this.complete;
    const first = this.#givenCount;
    if (first >= rowCount) return undefined;
    const count = Math.min(rowsPerBatch, rowCount - first);
    this.#givenCount += count;
    if (count === rowCount) return this.complete;
    const width = values.length / rowCount;
    return { rowCount: count, values: values.slice(first * width, (first + count) * width) };
  }

  rendered(renderer: RowRenderer, rowCountMax: number): RenderedRows {
    return new RenderedBatches(this, renderer, rowCountMax);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#release(undefined);
    this.whenClosed?.(undefined);
  }

  summary(): ResultSummary {
    return summaryOf(this.#facts);
  }
}

/** Lets a statement go on elsewhere, or by `here`; undefined: here. */
export type MoveOn = (
  move: Omit<Move, 'moved'>,
  here: () => RenderedRows,
) => ChosenRows | undefined;

/** Rows of a reading statement that goes on while they are taken: pulling is what drives it. */
export class StreamingResult implements ResultStream {
  readonly shape: ResultShape;
  readonly isReadOnly: boolean;
  whenClosed: ((error: unknown) => void) | undefined = undefined;
  readonly statementLimit: number | undefined;
  readonly records: RecordLookup;
  readonly complete = undefined;
  readonly #facts: ResultFacts;
  readonly #execution: PlanExecution;
  readonly #active: ActiveStatement;
  readonly #end: (error: unknown) => void;
  readonly #told: (error: unknown) => unknown;
  readonly #memory: StatementMemory;
  readonly #move: MoveOn | undefined;
  #chosen: ChosenRows | undefined;
  #first: ResultBatch | undefined;
  #isEnded = false;

  /**
   * @param options `first` are the rows of the first slice; `end` closes plan and view, and is called once, with the error if
   *   there was one
   */
  constructor(
    facts: ResultFacts,
    options: {
      execution: PlanExecution;
      first: ResultBatch;
      active: ActiveStatement;
      view: ReadView;
      end: (error: unknown) => void;
      /** The error as the client is told of it. */
      told: (error: unknown) => unknown;
      memory: StatementMemory;
      move?: MoveOn | undefined;
    },
  ) {
    this.#facts = facts;
    this.shape = facts.shape;
    this.isReadOnly = facts.isReadOnly;
    this.statementLimit = facts.statementLimit;
    this.records = new ViewLookup(options.view, facts);
    this.#execution = options.execution;
    this.#first = options.first.rowCount > 0 ? options.first : undefined;
    this.#active = options.active;
    this.#end = options.end;
    this.#told = options.told;
    this.#memory = options.memory;
    this.#move = options.move;
    // What it holds is let go of as soon as somebody ends it, also while nobody pulls; the next pull throws the reason.
    this.#active.onEnd(() => this.#finish(undefined));
  }

  get memoryBytes(): number {
    return this.#memory.grantedBytes;
  }

  async nextBatch(): Promise<ResultBatch | undefined> {
    this.#active.check();
    if (this.#first !== undefined) {
      const first = this.#first;
      this.#first = undefined;
      return first;
    }
    if (this.#isEnded) return undefined;
    try {
      const batch = await this.#execution.nextBatch();
      // Ended from outside meanwhile: the plan was closed, which must not look like the end of the rows.
      this.#active.check();
      return batch;
    } catch (error) {
      const told = this.#told(error);
      this.#finish(told);
      throw told;
    }
  }

  rendered(renderer: RowRenderer, rowCountMax: number): RenderedRows {
    const here = () => new RenderedBatches(this, renderer, rowCountMax);
    const check = () => this.#active.check();
    const failed = (error: unknown) => this.#finish(error);
    this.#chosen = this.#move?.({ renderer, rowCountMax, check, failed }, here);
    return this.#chosen ?? here();
  }

  close(): void {
    this.#finish(undefined);
  }

  summary(): ResultSummary {
    const index = this.#chosen?.index;
    return summaryOf(index === undefined ? this.#facts : { ...this.#facts, index });
  }

  #finish(error: unknown): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#first = undefined;
    this.#chosen?.close();
    this.#end(error);
    this.whenClosed?.(error);
  }
}

function summaryOf(facts: ResultFacts): ResultSummary {
  const { isReadOnly, statementLimit, index, explain } = facts;
  const { stats, warnings } = facts;
  return { isReadOnly, statementLimit, index, stats, explain: explain?.(), warnings };
}
