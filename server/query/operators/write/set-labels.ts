import { type LabelChange, missingForLabels, MissingTypes, relabelled } from '#catalog/labels.ts';
import type { SchemaChange } from '#catalog/change/changes.ts';
import type { StoredRecord } from '#core/value/record.ts';
import { bucketOf } from '#core/value/rid.ts';
import { isRecord, type Value } from '#core/value/value.ts';
import { vetoed } from '#transaction/trigger/trigger-runner.ts';
import { typeAfter } from '#transaction/write/set-labels.ts';
import type { Slot } from '../../algebra/expression.ts';
import { notA } from '../../evaluate/cypher-failures.ts';
import { LongCalls } from '../../evaluate/turns/long-calls.ts';
import {
  END,
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';
import { rowsPerTurn } from '../hold/work-share.ts';
import { transactionOf } from './writing.ts';

export interface SetLabelsOptions {
  readonly input: PhysicalOperator;
  readonly record: Slot;
  readonly change: LabelChange;
  readonly description: string;
}

/** What one execution may find missing before it ends: each row may need another type. */
const missingMax = 1_000;

/**
 * Adds labels to the vertex of each row, or removes them; null passes. When types are missing it looks through the other rows, too,
 * and changes nothing more: the statement is executed again once, and not for each type.
 */
export class SetLabelsOperator implements PhysicalOperator {
  readonly name = 'Set labels';
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly #options: SetLabelsOptions;
  #context: ExecutionContext | undefined;
  /** By what they make. */
  readonly #missing = new Map<string, SchemaChange>();
  readonly #calls = new LongCalls();
  /** Its labels are being set, which triggers may make last for more than one turn. */
  #record: StoredRecord | undefined;
  #after: ReturnType<typeof typeAfter> | undefined;
  #written: StoredRecord = vetoed;
  readonly #write = (): void => {
    const { rid } = this.#record as StoredRecord;
    const { type } = this.#after as ReturnType<typeof typeAfter>;
    this.#written = transactionOf(this.#context as ExecutionContext).setType(rid, type);
  };

  constructor(options: SetLabelsOptions) {
    this.inputs = [options.input];
    this.description = options.description;
    this.#options = options;
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#forget();
    this.#options.input.open(context);
  }

  next(): Pulled {
    const { frame } = this.#context as ExecutionContext;
    const { input, record } = this.#options;
    if (this.#calls.isExhausted) {
      this.#calls.newTurn();
      return PAUSE;
    }
    if (this.#record !== undefined) return this.#finish() ? ROW : PAUSE;
    for (let count = 0; count < rowsPerTurn; count += 1) {
      const pulled = input.next();
      if (pulled === PAUSE) return PAUSE;
      if (pulled === END) {
        this.#requireNothingMissing();
        return END;
      }
      if (!this.#begin(frame[record] as Value)) return PAUSE;
      if (this.#missing.size === 0) return ROW;
      if (this.#missing.size >= missingMax) this.#requireNothingMissing();
    }
    return PAUSE;
  }

  #requireNothingMissing(): void {
    if (this.#missing.size > 0) throw new MissingTypes([...this.#missing.values()]);
  }

  /** @returns false when it goes on in the next turn */
  #begin(value: Value): boolean {
    if (value === null) return true;
    if (!isRecord(value) || value.kind !== 'vertex') throw notA('a node', value);
    const context = this.#context as ExecutionContext;
    const transaction = transactionOf(context);
    const stored = transaction.record(value.rid);
    // A deleted one has no labels that anybody could see.
    if (stored === undefined || this.#isMissing(stored)) return true;
    context.requireWrite?.('update', stored.typeName);
    this.#after = typeAfter(transaction, stored, this.#options.change);
    if (this.#after.count === 0) return true;
    context.requireWrite?.('update', transaction.catalog.typeWithId(this.#after.type).name);
    this.#record = stored;
    return this.#finish();
  }

  #finish(): boolean {
    const { statistics } = this.#context as ExecutionContext;
    if (!this.#calls.attempt(this.#context as ExecutionContext, this.#write)) return false;
    this.#record = undefined;
    if (this.#written === vetoed) return true;
    const { count } = this.#after as ReturnType<typeof typeAfter>;
    if (this.#options.change.mode === 'add') statistics.labelsAdded += count;
    else statistics.labelsRemoved += count;
    return true;
  }

  #isMissing({ rid, type }: StoredRecord): boolean {
    const { catalog } = transactionOf(this.#context as ExecutionContext);
    const { labels, count } = relabelled(catalog, type, this.#options.change);
    if (count > 0)
      for (const change of missingForLabels(catalog, labels, bucketOf(rid)))
        this.#missing.set(keyOf(change), change);
    return this.#missing.size > 0;
  }

  #forget(): void {
    this.#missing.clear();
    this.#calls.reset();
    this.#record = undefined;
    this.#after = undefined;
    this.#written = vetoed;
  }

  close(): void {
    this.#forget();
    this.#context = undefined;
    this.#options.input.close();
  }
}

function keyOf(change: SchemaChange): string {
  if (change.kind === 'create-type') return `type ${change.name}`;
  return change.kind === 'open-window' ? `window ${change.bucket} ${change.type}` : change.kind;
}
