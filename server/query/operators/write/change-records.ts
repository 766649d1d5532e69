import { DatabaseError } from '#core/errors.ts';
import type { StoredRecord } from '#core/value/record.ts';
import type { Value } from '#core/value/value.ts';
import type { Slot } from '../../algebra/expression.ts';
import { LongCalls } from '../../evaluate/turns/long-calls.ts';
import {
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';
import { doneWork, unitsAtOnce } from '../../evaluate/turns/done-work.ts';
import { rowsPerTurn } from '../hold/work-share.ts';
import { describeValue, ridOf } from '../record-identity.ts';
import { transactionOf } from './writing.ts';

/** What is done to the record of each row, in as many turns as it takes. */
export interface RecordChange {
  /** For messages: what is done, and to what. */
  readonly verb: string;
  readonly object: string;
  /** Whether a null passes as a row; otherwise it is refused as what is no record. */
  readonly passesNull: boolean;
  open(context: ExecutionContext): void;
  /** A record that may be deleted. @throws DatabaseError when this cannot be done to it */
  begin(record: StoredRecord): void;
  /** @returns whether there is a row, or undefined when it goes on in the next turn */
  finish(record: StoredRecord, calls: LongCalls): boolean | undefined;
  close(): void;
}

export interface ChangeRecordsOptions {
  readonly input: PhysicalOperator;
  readonly record: Slot;
  readonly name: string;
  readonly description: string;
}

/** Changes the record of each row; one that is gone by then gives no row. */
export class ChangeRecordsOperator implements PhysicalOperator {
  readonly name: string;
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly #input: PhysicalOperator;
  readonly #slot: Slot;
  readonly #change: RecordChange;
  readonly #calls = new LongCalls();
  #context: ExecutionContext | undefined;
  /** As it was read; being changed. */
  #record: StoredRecord | undefined;

  constructor({ input, record, name, description }: ChangeRecordsOptions, change: RecordChange) {
    this.name = name;
    this.inputs = [input];
    this.description = description;
    this.#input = input;
    this.#slot = record;
    this.#change = change;
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#forget();
    this.#change.open(context);
    this.#input.open(context);
  }

  next(): Pulled {
    const { frame } = this.#context as ExecutionContext;
    if (this.#calls.isExhausted) {
      this.#calls.newTurn();
      return PAUSE;
    }
    if (this.#record !== undefined) {
      const isRow = this.#finish();
      if (isRow === undefined) return PAUSE;
      if (isRow) return ROW;
    }
    const unitsMax = doneWork.units + unitsAtOnce;
    for (let count = 0; count < rowsPerTurn && doneWork.units < unitsMax; count += 1) {
      const pulled = this.#input.next();
      if (pulled !== ROW) return pulled;
      const target = frame[this.#slot] as Value;
      if (target === null && this.#change.passesNull) return ROW;
      const isRow = this.#begin(target);
      if (isRow === undefined) return PAUSE;
      if (isRow) return ROW;
    }
    return PAUSE;
  }

  /** @returns as `RecordChange.finish` */
  #begin(target: Value): boolean | undefined {
    const context = this.#context as ExecutionContext;
    const { verb, object } = this.#change;
    const rid = ridOf(target);
    if (rid === undefined || rid < 0)
      throw new DatabaseError(
        'IllegalArgument',
        `Cannot ${verb} what is not a ${object}: ${describeValue(target)}`,
      );
    const record = transactionOf(context).record(rid);
    if (record === undefined) return false;
    context.requireWrite?.('delete', record.typeName);
    this.#change.begin(record);
    this.#record = record;
    return this.#finish();
  }

  #finish(): boolean | undefined {
    const isRow = this.#change.finish(this.#record as StoredRecord, this.#calls);
    if (isRow !== undefined) this.#record = undefined;
    return isRow;
  }

  #forget(): void {
    this.#calls.reset();
    this.#record = undefined;
  }

  close(): void {
    this.#forget();
    this.#change.close();
    this.#context = undefined;
    this.#input.close();
  }
}
