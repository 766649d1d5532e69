import { DatabaseError } from '#core/errors.ts';
import { type IntegerWidth, valuesOf } from '#core/value/integer-width.ts';
import { Link, type StoredRecord } from '#core/value/record.ts';
import type { TypeId } from '#core/value/rid.ts';
import { isRecord, type ReadProperties, type Value } from '#core/value/value.ts';
import { ChangedRecord, type ValueWidths } from '#transaction/write/changed-record.ts';
import { PropertyPatch } from '#transaction/write/property-patch.ts';
import type { Transaction } from '#transaction/transaction.ts';
import { vetoed } from '#transaction/trigger/trigger-runner.ts';
import type { Dialect, Slot } from '../../algebra/expression.ts';
import { LiveRecord } from '../../evaluate/live-record.ts';
import { idOf } from '../../evaluate/navigation.ts';
import { runCypherAssignments } from './cypher-assignments.ts';
import { LongCalls, pausingValue } from '../../evaluate/turns/long-calls.ts';
import {
  applyDefaults,
  assignedValue,
  assignedWidth,
  defaultsOf,
  runAssignments,
  type CompiledAssignment,
  type PlainAssignment,
  plainAssignments,
} from './assignments.ts';
import {
  END,
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';
import { DraftWork } from './draft-work.ts';
import { rebased, RecordDraft } from './record-draft.ts';
import { describeValue, ridOf } from '../record-identity.ts';
import { transactionOf } from './writing.ts';
import { doneWork, unitsAtOnce } from '../../evaluate/turns/done-work.ts';
import { rowsPerTurn } from '../hold/work-share.ts';

export interface UpdateOptions {
  readonly input: PhysicalOperator;
  readonly record: Slot;
  readonly assignments: readonly CompiledAssignment[];
  readonly applyDefaults: boolean;
  readonly before: Slot | undefined;
  /** Rows in which this slot is true pass unchanged. */
  readonly unless: Slot | undefined;
  readonly dialect: Dialect | undefined;
  readonly description: string;
}

/** Unique keys judged between two turns of the event loop: a millisecond. */
const keysPerTurn = 256;

/**
 * Changes the record of each row. It reads the record again, so a row that meets a record which this statement changed before
 * goes on from there; a record that is gone by then gives no row. Equal values write nothing. Unique keys need to be unique when
 * all rows are done.
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
  readonly #calls = new LongCalls();
  #context: ExecutionContext | undefined;
  #ordinal = 0;
  /** The input has ended. */
  #isDrained = false;
  /** As it was read; being changed. */
  #record: StoredRecord | undefined;
  /** Its properties, where they are so many that they are read with pauses. */
  #stored: ReadProperties | undefined;
  /** Where assignments are very many: those that are made. */
  #work: DraftWork | undefined;
  /** Of the transaction, when the record was read. */
  #changesBefore = 0;
  /** What it is to be, computed and not yet written: values of the patch, or all properties. */
  #values: Value[] | undefined;
  /** Of the values; undefined when they all tell their types themselves, or their declarations do. */
  #widths: ValueWidths | undefined;
  #draft: RecordDraft | undefined;
  #changeCount = 0;
  #written: StoredRecord = vetoed;
  readonly #compute = (): void => this.#computeChange(this.#record as StoredRecord);
  readonly #write = (): void => this.#writeTo(this.#record as StoredRecord);

  constructor(options: UpdateOptions) {
    this.inputs = [options.input];
    this.description = options.description;
    this.#options = options;
    this.#plain = options.dialect === 'cypher' ? undefined : plainAssignments(options.assignments);
    this.#patch = new PropertyPatch(this.#plain?.map(({ property }) => property) ?? []);
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#ordinal = 0;
    this.#isDrained = false;
    this.#forget();
    this.#calls.reset();
    // An empty map is cleared by making a new table.
    if (this.#defaults.size > 0) this.#defaults.clear();
    this.#options.input.open(context);
  }

  next(): Pulled {
    const { frame } = this.#context as ExecutionContext;
    const { input, record, before, unless } = this.#options;
    const calls = this.#calls;
    if (calls.isExhausted) {
      calls.newTurn();
      return PAUSE;
    }
    if (this.#record !== undefined) {
      const isChanged = this.#change();
      if (isChanged === undefined) return PAUSE;
      if (isChanged) return ROW;
    }
    const unitsMax = doneWork.units + unitsAtOnce;
    for (let count = 0; count < rowsPerTurn && doneWork.units < unitsMax; count += 1) {
      const pulled = this.#isDrained ? END : input.next();
      if (pulled === END) return this.#settleKeys();
      if (pulled !== ROW) return pulled;
      const isKept = unless !== undefined && frame[unless] === true;
      if (isKept || frame[record] === null) {
        if (before !== undefined) frame[before] = null;
        return ROW;
      }
      const isChanged = this.#update(frame[record] as Value);
      if (isChanged === undefined) return PAUSE;
      if (isChanged) return ROW;
    }
    return PAUSE;
  }

  #update(target: Value): boolean | undefined {
    const context = this.#context as ExecutionContext;
    const { before } = this.#options;
    const transaction = transactionOf(context);
    const rid = ridOf(target);
    if (rid === undefined || rid < 0)
      throw new DatabaseError(
        'IllegalArgument',
        `Cannot update what is not a record: ${describeValue(target)}`,
      );
    const record = transaction.record(rid);
    if (record === undefined) return this.#passGone(target);
    context.requireWrite?.('update', record.typeName);
    if (before !== undefined) context.frame[before] = rowOf(record);
    this.#record = record;
    this.#changesBefore = transaction.changeCount;
    return this.#change();
  }

  /** A record that is gone gives no row; in openCypher it is an error. */
  #passGone(target: Value): boolean {
    if (this.#options.dialect !== 'cypher') return false;
    const { view, transaction } = this.#context as ExecutionContext;
    if (isRecord(target)) new LiveRecord(target, { view, transaction }).propertyNames();
    return true;
  }

  /**
   * Unique keys are on their way while values are computed, too, by functions that update, and while triggers run.
   * @returns whether there is a row, or undefined when it goes on in the next turn
   */
  #change(): boolean | undefined {
    const transaction = transactionOf(this.#context as ExecutionContext);
    const { defersKeys } = transaction;
    transaction.defersKeys = true;
    try {
      return this.#computeAndWrite(transaction);
    } finally {
      transaction.defersKeys = defersKeys;
    }
  }

  #computeAndWrite(transaction: Transaction): boolean | undefined {
    const context = this.#context as ExecutionContext;
    const calls = this.#calls;
    if (this.#values === undefined && this.#draft === undefined) {
      if (!this.#hasRead(context)) return undefined;
      const { dialect, assignments } = this.#options;
      // A copy of very many properties for each turn took most of them.
      const isWide = dialect === 'cypher' && this.#stored !== undefined;
      const isLong = isWide || DraftWork.isDueFor(dialect, assignments);
      const isComputed = isLong ? this.#computeLong() : calls.attempt(context, this.#compute);
      if (!isComputed) return undefined;
      context.statistics.propertiesSet += this.#changeCount;
      this.#ordinal += 1;
      if (transaction.changeCount !== this.#changesBefore) this.#readAgain(transaction);
      // What is computed for thousands of properties takes as long to be written, and that as long as what is done with the row.
      if (calls.isSpent(propertyCountOf(this.#draft))) return undefined;
    }
    if (!calls.attempt(context, this.#write)) return undefined;
    calls.isSpent(propertyCountOf(this.#draft));
    const { record, dialect } = this.#options;
    if (dialect === 'cypher') {
      context.frame[record] = new LiveRecord(this.#record as StoredRecord, context);
      this.#forget();
      return true;
    }
    context.frame[record] = this.#written;
    this.#forget();
    return this.#written !== vetoed;
  }

  /** @returns false when reading many properties goes on in the next turn */
  #hasRead(context: ExecutionContext): boolean {
    if (this.#plain !== undefined || this.#stored !== undefined) return true;
    const read = this.#record?.manyRead?.();
    if (read === undefined) return true;
    return this.#calls.attempt(context, () => {
      this.#stored = pausingValue(context, this, read);
    });
  }

  #computeLong(): boolean {
    const context = this.#context as ExecutionContext;
    const { record: slot, assignments } = this.#options;
    if (this.#work === undefined) {
      const draft = RecordDraft.of(this.#record as StoredRecord, this.#stored);
      context.frame[slot] = draft;
      this.#work = new DraftWork(assignments, draft, context);
    }
    if (!this.#work.goOn(this.#calls)) return false;
    const { draft, changeCount } = this.#work;
    this.#complete(draft);
    this.#changeCount = changeCount;
    this.#work = undefined;
    this.#draft = draft;
    return true;
  }

  /** Changes nothing yet; may be done more than once for a record. */
  #computeChange(record: StoredRecord): void {
    const context = this.#context as ExecutionContext;
    const { record: slot, assignments } = this.#options;
    const hasDefaults = this.#options.applyDefaults && this.#defaultsOf(record.type).length > 0;
    if (this.#plain !== undefined && !hasDefaults) {
      this.#values = this.#assigned(this.#plain, record, context);
      return;
    }
    const draft = RecordDraft.of(record, copyOf(this.#stored));
    context.frame[slot] = draft;
    this.#changeCount =
      this.#options.dialect === 'cypher'
        ? runCypherAssignments(draft, assignments, context)
        : runAssignments(draft, assignments, context, this.#ordinal);
    this.#complete(draft);
    this.#draft = draft;
  }

  #complete(draft: RecordDraft): void {
    if (!this.#options.applyDefaults) return;
    applyDefaults(draft, this.#defaultsOf(draft.type), this.#context as ExecutionContext);
  }

  /** Where nothing but properties is assigned; the others need not be read. */
  #assigned(
    plain: readonly PlainAssignment[],
    record: StoredRecord,
    context: ExecutionContext,
  ): Value[] {
    const { record: slot } = this.#options;
    const { names } = this.#patch;
    context.frame[slot] = record;
    this.#changeCount = plain.length;
    this.#widths = undefined;
    if (plain.length === 1) {
      const only = plain[0] as PlainAssignment;
      const value = assignedValue(record.type, only, context);
      const width = assignedWidth(record.type, only, value, context);
      if (width !== undefined) this.#widths = [width];
      // Made with its value, the array has room for no other; one that grows takes room for seventeen.
      return [value];
    }
    const values: Value[] = [];
    let widths: (IntegerWidth | undefined)[] | undefined;
    for (let at = 0; at < plain.length; at += 1) {
      // Right sides see what was assigned before.
      if (at === 1)
        context.frame[slot] = new ChangedRecord(record, names, values, record.version, widths);
      const assignment = plain[at] as PlainAssignment;
      const value = assignedValue(record.type, assignment, context);
      const width = assignedWidth(record.type, assignment, value, context);
      if (width !== undefined && widths === undefined) {
        widths = new Array<IntegerWidth | undefined>(plain.length);
        this.#widths = widths;
        if (at > 0)
          context.frame[slot] = new ChangedRecord(record, names, values, record.version, widths);
      }
      if (widths !== undefined) widths[at] = width;
      values.push(value);
    }
    return values;
  }

  /**
   * What was called to compute the values has written: perhaps to this record, whose other properties stay as they are now. When
   * it has deleted the record, the write tells.
   */
  #readAgain(transaction: Transaction): void {
    const before = this.#record as StoredRecord;
    const now = transaction.record(before.rid);
    if (now === undefined) return;
    this.#record = now;
    const replacesAll = this.#options.assignments.some(({ kind }) => kind === 'content');
    if (this.#draft !== undefined && !replacesAll) this.#draft = rebased(this.#draft, before, now);
  }

  /** Where a trigger or function of another update does this one, the keys of that one are still on their way. */
  #settleKeys(): Pulled {
    this.#isDrained = true;
    const transaction = transactionOf(this.#context as ExecutionContext);
    return transaction.defersKeys || transaction.settleKeys(keysPerTurn) ? END : PAUSE;
  }

  #writeTo(record: StoredRecord): void {
    const transaction = transactionOf(this.#context as ExecutionContext);
    const values = this.#values;
    if (values === undefined) {
      const { rid } = record;
      this.#written = transaction.update(rid, (this.#draft as RecordDraft).content());
      return;
    }
    const patched = transaction.patch(record, this.#patch, values, this.#widths);
    if (patched !== undefined) {
      this.#written = patched;
      return;
    }
    const { names } = this.#patch;
    const draft = RecordDraft.of(record);
    for (let at = 0; at < names.length; at += 1)
      draft.assign(names[at] as string, values[at] as Value, this.#widths?.[at]);
    this.#written = transaction.update(record.rid, draft.content());
  }

  #forget(): void {
    this.#record = undefined;
    this.#stored = undefined;
    this.#work = undefined;
    this.#values = undefined;
    this.#widths = undefined;
    this.#draft = undefined;
  }

  #defaultsOf(type: TypeId): ReturnType<typeof defaultsOf> {
    const known = this.#defaults.get(type);
    if (known !== undefined) return known;
    const defaults = defaultsOf(this.#context as ExecutionContext, type);
    this.#defaults.set(type, defaults);
    return defaults;
  }

  close(): void {
    this.#forget();
    this.#calls.reset();
    this.#context = undefined;
    this.#options.input.close();
  }
}

function copyOf(read: ReadProperties | undefined): ReadProperties | undefined {
  return read && { ...read, values: new Map(read.values) };
}

/** Of what is written whole. */
function propertyCountOf(draft: RecordDraft | undefined): number {
  return draft?.properties.size ?? 0;
}

/** A copy of the record as a row map: `@rid`, `@type` (for edges their ends) and the properties. */
function rowOf(record: StoredRecord): Value {
  const row = new Map<string, Value>([
    ['@rid', idOf(record)],
    ['@type', record.typeName],
  ]);
  if (record.kind === 'edge') {
    row.set('@out', new Link(record.out));
    row.set('@in', new Link(record.in));
  }
  for (const [name, value] of valuesOf(record)) row.set(name, value);
  return row;
}
