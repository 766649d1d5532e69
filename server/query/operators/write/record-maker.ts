import type { TypeDefinition } from '#catalog/catalog.ts';
import type { StoredRecord } from '#core/value/record.ts';
import type { ValueMap } from '#core/value/value.ts';
import { vetoed } from '#transaction/trigger/trigger-runner.ts';
import type { Dialect, Slot } from '../../algebra/expression.ts';
import { LiveRecord } from '../../evaluate/live-record.ts';
import { LongCalls } from '../../evaluate/turns/long-calls.ts';
import type { ExecutionContext } from '../operator.ts';
import {
  applyDefaults,
  type CompiledAssignment,
  defaultsOf,
  runAssignments,
} from './assignments.ts';
import { runCypherAssignments } from './cypher-assignments.ts';
import { DraftWork } from './draft-work.ts';
import type { RecordDraft } from './record-draft.ts';

export interface RecordMakerOptions {
  readonly assignments: readonly CompiledAssignment[];
  readonly as: Slot;
  readonly dialect?: Dialect | undefined;
}

/** Where a new record comes from and goes to. */
export interface RecordPlace {
  begin(): RecordDraft;
  write(properties: ValueMap): StoredRecord;
}

/** Makes records of one type during one statement: computes each, then writes it, both in as many turns as they take. */
export class RecordMaker {
  readonly calls = new LongCalls();
  readonly #options: RecordMakerOptions;
  readonly #context: ExecutionContext;
  readonly #defaults: ReturnType<typeof defaultsOf>;
  #ordinal = 0;
  /** Computed and not yet written. */
  #draft: RecordDraft | undefined;
  /** Where its assignments are very many: those that are made. */
  #work: DraftWork | undefined;
  #written: StoredRecord = vetoed;
  readonly #begin: () => RecordDraft;
  readonly #compute: () => void;
  readonly #write: () => void;

  constructor(
    options: RecordMakerOptions,
    context: ExecutionContext,
    type: TypeDefinition,
    place: RecordPlace,
  ) {
    this.#options = options;
    this.#context = context;
    this.#defaults = defaultsOf(context, type.id);
    this.#begin = () => {
      const draft = place.begin();
      context.frame[options.as] = draft;
      return draft;
    };
    this.#compute = () => {
      const { assignments, dialect } = options;
      const draft = this.#begin();
      if (dialect === 'cypher') runCypherAssignments(draft, assignments, context);
      else runAssignments(draft, assignments, context, this.#ordinal);
      applyDefaults(draft, this.#defaults, context);
      this.#draft = draft;
    };
    this.#write = () => {
      this.#written = place.write((this.#draft as RecordDraft).content());
    };
  }

  /** The record at hand is computed and not yet written. */
  get isComputed(): boolean {
    return this.#draft !== undefined;
  }

  /** To be asked before each row: the work of this turn is done. */
  isTurnSpent(): boolean {
    if (!this.calls.isExhausted) return false;
    this.calls.newTurn();
    return true;
  }

  /** @returns false when it goes on in the next turn, with another call */
  compute(): boolean {
    const { dialect, assignments } = this.#options;
    if (DraftWork.isDueFor(dialect, assignments)) return this.#computeLong(assignments);
    if (!this.calls.attempt(this.#context, this.#compute)) return false;
    this.#ordinal += 1;
    return true;
  }

  #computeLong(assignments: readonly CompiledAssignment[]): boolean {
    const context = this.#context;
    this.#work ??= new DraftWork(assignments, this.#begin(), context);
    const { draft } = this.#work;
    if (!this.#work.goOn(this.calls)) return false;
    const complete = () => applyDefaults(draft, this.#defaults, context);
    if (!this.calls.attempt(context, complete)) return false;
    this.#work = undefined;
    this.#draft = draft;
    this.#ordinal += 1;
    return true;
  }

  /**
   * Leaves the computed record in the frame, unless a trigger vetoes it.
   * @returns undefined when it goes on in the next turn, with another call
   */
  write(): StoredRecord | undefined {
    const context = this.#context;
    if (!this.calls.attempt(context, this.#write)) return undefined;
    const record = this.#written;
    if (record !== vetoed) {
      const { as, dialect } = this.#options;
      context.frame[as] = dialect === 'cypher' ? new LiveRecord(record, context) : record;
      context.statistics.propertiesSet += this.#draft?.properties.size ?? 0;
    }
    this.#draft = undefined;
    return record;
  }

  /** No record is begun any more. */
  close(): void {
    this.calls.reset();
    this.#work = undefined;
    this.#draft = undefined;
  }
}
