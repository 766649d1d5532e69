import { type LabelChange, missingForLabels, MissingTypes, relabelled } from '#catalog/labels.ts';
import type { SchemaChange } from '#catalog/change/changes.ts';
import type { StoredRecord } from '#core/value/record.ts';
import { bucketOf } from '#core/value/rid.ts';
import { isRecord, type Value } from '#core/value/value.ts';
import { setLabels } from '#transaction/write/set-labels.ts';
import type { Slot } from '../../algebra/expression.ts';
import { notA } from '../../evaluate/cypher-failures.ts';
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

  constructor(options: SetLabelsOptions) {
    this.inputs = [options.input];
    this.description = options.description;
    this.#options = options;
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#missing.clear();
    this.#options.input.open(context);
  }

  next(): Pulled {
    const { frame } = this.#context as ExecutionContext;
    const { input, record } = this.#options;
    for (let count = 0; count < rowsPerTurn; count += 1) {
      const pulled = input.next();
      if (pulled === PAUSE) return PAUSE;
      if (pulled === END) {
        this.#requireNothingMissing();
        return END;
      }
      this.#set(frame[record] as Value);
      if (this.#missing.size === 0) return ROW;
      if (this.#missing.size >= missingMax) this.#requireNothingMissing();
    }
    return PAUSE;
  }

  #requireNothingMissing(): void {
    if (this.#missing.size > 0) throw new MissingTypes([...this.#missing.values()]);
  }

  #set(value: Value): void {
    if (value === null) return;
    if (!isRecord(value) || value.kind !== 'vertex') throw notA('a node', value);
    const context = this.#context as ExecutionContext;
    const transaction = transactionOf(context);
    const stored = transaction.record(value.rid);
    // A deleted one has no labels that anybody could see.
    if (stored === undefined || this.#isMissing(stored)) return;
    context.requireWrite?.('update', stored.typeName);
    const { record, count } = setLabels(transaction, stored.rid, this.#options.change);
    if (count === 0) return;
    context.requireWrite?.('update', record.typeName);
    if (this.#options.change.mode === 'add') context.statistics.labelsAdded += count;
    else context.statistics.labelsRemoved += count;
  }

  #isMissing({ rid, type }: StoredRecord): boolean {
    const { catalog } = transactionOf(this.#context as ExecutionContext);
    const { labels, count } = relabelled(catalog, type, this.#options.change);
    if (count > 0)
      for (const change of missingForLabels(catalog, labels, bucketOf(rid)))
        this.#missing.set(keyOf(change), change);
    return this.#missing.size > 0;
  }

  close(): void {
    this.#missing.clear();
    this.#context = undefined;
    this.#options.input.close();
  }
}

function keyOf(change: SchemaChange): string {
  if (change.kind === 'create-type') return `type ${change.name}`;
  return change.kind === 'open-window' ? `window ${change.bucket} ${change.type}` : change.kind;
}
