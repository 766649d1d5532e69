import { DatabaseError } from '#core/errors.ts';
import { Link, type StoredRecord } from '#core/record.ts';
import type { TypeId } from '#core/rid.ts';
import type { Value } from '#core/value.ts';
import { ChangedRecord } from '#transaction/changed-record.ts';
import { PropertyPatch } from '#transaction/property-patch.ts';
import { vetoed } from '#transaction/trigger-runner.ts';
import type { Slot } from '../algebra/expression.ts';
import {
  applyDefaults,
  assignedValue,
  defaultsOf,
  runAssignments,
  type CompiledAssignment,
  type PlainAssignment,
  plainAssignments,
} from './assignments.ts';
import {
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from './operator.ts';
import { propertiesOf, RecordDraft } from './record-draft.ts';
import { describeValue, ridOf } from './record-identity.ts';
import { transactionOf } from './writing.ts';
import { rowsPerTurn } from './work-share.ts';

export interface UpdateOptions {
  readonly input: PhysicalOperator;
  readonly record: Slot;
  readonly assignments: readonly CompiledAssignment[];
  readonly applyDefaults: boolean;
  readonly before: Slot | undefined;
  /** Rows in which this slot is true pass unchanged. */
  readonly unless: Slot | undefined;
  readonly description: string;
}

/**
 * Changes the record of each row. It reads the record again, so a row that meets a record which this statement changed before
 * goes on from there; a record that is gone by then gives no row. Equal values write nothing.
 */
export class UpdateOperator implements PhysicalOperator {
  readonly name = 'Update';
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly #options: UpdateOptions;
  readonly #defaults = new Map<TypeId, ReturnType<typeof defaultsOf>>();
  /** Set when nothing but properties is assigned, each once. */
  readonly #plain: readonly PlainAssignment[] | undefined;
  readonly #patch: PropertyPatch;
  #context: ExecutionContext | undefined;
  #ordinal = 0;

  constructor(options: UpdateOptions) {
    this.inputs = [options.input];
    this.description = options.description;
    this.#options = options;
    this.#plain = plainAssignments(options.assignments);
    this.#patch = new PropertyPatch(this.#plain?.map(({ property }) => property) ?? []);
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#ordinal = 0;
    this.#defaults.clear();
    this.#options.input.open(context);
  }

  next(): Pulled {
    const { frame } = this.#context as ExecutionContext;
    const { input, record, before, unless } = this.#options;
    for (let count = 0; count < rowsPerTurn; count += 1) {
      const pulled = input.next();
      if (pulled !== ROW) return pulled;
      const isKept = unless !== undefined && frame[unless] === true;
      if (isKept || frame[record] === null) {
        if (before !== undefined) frame[before] = null;
        return ROW;
      }
      if (this.#update(frame[record] as Value)) return ROW;
    }
    return PAUSE;
  }

  #update(target: Value): boolean {
    const context = this.#context as ExecutionContext;
    const { record: slot, assignments, before } = this.#options;
    const transaction = transactionOf(context);
    const rid = ridOf(target);
    if (rid === undefined || rid < 0)
      throw new DatabaseError(
        'IllegalArgument',
        `Cannot update what is not a record: ${describeValue(target)}`,
      );
    const record = transaction.record(rid);
    if (record === undefined) return false;
    if (before !== undefined) context.frame[before] = rowOf(record);
    const hasDefaults = this.#options.applyDefaults && this.#defaultsOf(record.type).length > 0;
    if (this.#plain !== undefined && !hasDefaults) {
      const written = this.#assign(this.#plain, record, context);
      context.frame[slot] = written;
      return written !== vetoed;
    }
    const draft = RecordDraft.of(record);
    context.frame[slot] = draft;
    context.statistics.propertiesSet += runAssignments(draft, assignments, context, this.#ordinal);
    this.#ordinal += 1;
    if (this.#options.applyDefaults) applyDefaults(draft, this.#defaultsOf(record.type), context);
    const written = transaction.update(rid, draft.properties);
    context.frame[slot] = written;
    return written !== vetoed;
  }

  /** Where nothing but properties is assigned; the others need not be read. */
  #assign(
    plain: readonly PlainAssignment[],
    record: StoredRecord,
    context: ExecutionContext,
  ): StoredRecord {
    const { record: slot } = this.#options;
    const { names } = this.#patch;
    const values: Value[] = [];
    context.frame[slot] = record;
    for (let at = 0; at < plain.length; at += 1) {
      // Right sides see what was assigned before.
      if (at === 1) context.frame[slot] = new ChangedRecord(record, names, values);
      values.push(assignedValue(record.type, plain[at] as PlainAssignment, context));
    }
    context.statistics.propertiesSet += plain.length;
    this.#ordinal += 1;
    const transaction = transactionOf(context);
    const written = transaction.patch(record, this.#patch, values);
    if (written !== undefined) return written;
    const properties = propertiesOf(record);
    for (let at = 0; at < names.length; at += 1)
      properties.set(names[at] as string, values[at] as Value);
    return transaction.update(record.rid, properties);
  }

  #defaultsOf(type: TypeId): ReturnType<typeof defaultsOf> {
    const known = this.#defaults.get(type);
    if (known !== undefined) return known;
    const defaults = defaultsOf(this.#context as ExecutionContext, type);
    this.#defaults.set(type, defaults);
    return defaults;
  }

  close(): void {
    this.#context = undefined;
    this.#options.input.close();
  }
}

/** A copy of the record as a row map: `@rid`, `@type` (for edges their ends) and the properties. */
function rowOf(record: StoredRecord): Value {
  const row = new Map<string, Value>([
    ['@rid', new Link(record.rid)],
    ['@type', record.typeName],
  ]);
  if (record.kind === 'edge') {
    row.set('@out', new Link(record.out));
    row.set('@in', new Link(record.in));
  }
  for (const [name, value] of propertiesOf(record)) row.set(name, value);
  return row;
}
