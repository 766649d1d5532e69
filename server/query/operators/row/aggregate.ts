import type { Slot } from '../../algebra/expression.ts';
import type { Accumulator, AggregateFunction } from '../../evaluate/function-definition.ts';
import type { Value } from '#core/value/value.ts';
import type { Evaluator } from '../../evaluate/evaluator.ts';
import { approximateBytes } from '../../evaluate/turns/held-bytes.ts';
import type { WorkMeter } from '#core/pausing-work.ts';
import { unitsPerTurn } from '../../evaluate/turns/long-calls.ts';
import { isLarge } from '../../evaluate/turns/large.ts';
import { GroupTable, noGroup } from './group-table.ts';
import { HeldMemory } from '../hold/held-memory.ts';
import { KeySet } from '../index-read/key-set.ts';
import {
  END,
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';
import type { CompiledColumn } from './project.ts';
import { rowCountOf } from './row-count.ts';
import { doneWork, unitsAtOnce } from '../../evaluate/turns/done-work.ts';
import { rowsPerTurn, WorkShare } from '../hold/work-share.ts';

/** A key whose value stands in a slot of the input already when `from` says so. */
export interface CompiledKey extends CompiledColumn {
  readonly from: Slot | undefined;
}

export interface CompiledAggregate {
  readonly slot: Slot;
  /** The only argument stands in this slot of the input. */
  readonly from: Slot | undefined;
  readonly function: AggregateFunction;
  readonly arguments: readonly Evaluator[];
  readonly distinct: boolean;
}

export interface AggregateOptions {
  readonly input: PhysicalOperator;
  readonly keys: readonly CompiledKey[];
  readonly first: readonly CompiledColumn[];
  readonly aggregates: readonly CompiledAggregate[];
  /** Only this many groups are wanted. */
  readonly limit: Evaluator | undefined;
  readonly description: string;
}

/** What is kept of one group, column by column, in arrays indexed by the group's number. */
interface Groups {
  readonly keys: Value[];
  readonly first: Value[];
  readonly accumulators: Accumulator[];
  /** Of aggregates with DISTINCT; undefined for the others. */
  readonly seen: (KeySet | undefined)[];
}

/**
 * Hash aggregation; groups come out in first-seen order. Without keys there is one group, also over zero rows. `first` columns are
 * evaluated on the first row of each group.
 */
export class AggregateOperator implements PhysicalOperator {
  readonly name = 'Aggregate';
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly #options: AggregateOptions;
  readonly #keyValues: Value[];
  readonly #arguments: readonly Value[][];
  #context: ExecutionContext | undefined;
  #memory: HeldMemory | undefined;
  /** The context as accumulators see it: what they reserve is given back with the groups. */
  #accounted: ExecutionContext | undefined;
  #table = new GroupTable();
  #groups: Groups = emptyGroups();
  #isFull = false;
  #position = 0;
  readonly #share = new WorkShare();
  /** Adding what the row at hand holds: a large list is added in turns. */
  #adding: Generator<undefined, void, undefined> | undefined;
  #unitsLeft = 0;
  readonly #meter: WorkMeter = {
    isSpent: (units) => {
      this.#unitsLeft -= units;
      return this.#unitsLeft <= 0;
    },
  };

  constructor(options: AggregateOptions) {
    this.inputs = [options.input];
    this.description = options.description;
    this.#options = options;
    this.#keyValues = options.keys.map(() => null);
    this.#arguments = options.aggregates.map((aggregate) => aggregate.arguments.map(() => null));
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#memory = new HeldMemory(context, 'GROUP BY');
    this.#accounted = Object.create(context, { memory: { value: this.#memory.account } });
    const { limit } = this.#options;
    this.#table = new GroupTable(limit && rowCountOf(limit(context), 'LIMIT'));
    this.#groups = emptyGroups();
    this.#isFull = false;
    this.#position = 0;
    this.#adding = undefined;
    this.#options.input.open(context);
  }

  next(): Pulled {
    if (!this.#isFull) {
      if (this.#fill() !== END) return PAUSE;
      this.#isFull = true;
      if (this.#options.keys.length === 0 && this.#table.size === 0) this.#addEmptyGroup();
    }
    if (this.#position === this.#table.size) return END;
    if (this.#share.isSpent()) return PAUSE;
    this.#give(this.#position);
    this.#position += 1;
    return ROW;
  }

  #fill(): Pulled {
    const context = this.#context as ExecutionContext;
    const { frame } = context;
    const { input, keys } = this.#options;
    const values = this.#keyValues;
    if (this.#adding !== undefined && !this.#addMore(this.#adding)) return PAUSE;
    const unitsMax = doneWork.units + unitsAtOnce;
    for (let count = 0; count < rowsPerTurn && doneWork.units < unitsMax; count += 1) {
      const pulled = input.next();
      if (pulled !== ROW) return pulled;
      for (let at = 0; at < keys.length; at += 1) {
        const key = keys[at] as CompiledKey;
        if (key.from === undefined) values[at] = key.value(context);
        else values[at] = frame[key.from] as Value;
        if (key.from !== key.slot) frame[key.slot] = values[at] as Value;
      }
      const groupCountBefore = this.#table.size;
      const group = this.#table.groupOf(values);
      if (group === noGroup) continue;
      if (group === groupCountBefore) this.#addGroup(values);
      if (!this.#accumulate(group)) return PAUSE;
    }
    return PAUSE;
  }

  /** @returns false when it is not over */
  #addMore(adding: Generator<undefined, void, undefined>): boolean {
    this.#unitsLeft = unitsPerTurn;
    if (adding.next().done !== true) return false;
    // Behind it the next aggregate may have begun with a large value of its own.
    if (this.#adding !== adding) return this.#adding === undefined;
    this.#adding = undefined;
    return true;
  }

  /** @returns false when a large value is added in the next turns */
  #accumulate(group: number, first = 0): boolean {
    const context = this.#context as ExecutionContext;
    const accounted = this.#accounted as ExecutionContext;
    const { aggregates } = this.#options;
    const from = group * aggregates.length;
    for (let at = first; at < aggregates.length; at += 1) {
      const aggregate = aggregates[at] as CompiledAggregate;
      const args = this.#arguments[at] as Value[];
      if (aggregate.from !== undefined) args[0] = context.frame[aggregate.from] as Value;
      else
        for (let part = 0; part < args.length; part += 1)
          args[part] = (aggregate.arguments[part] as Evaluator)(context);
      // Aggregates skip nulls, so a null needs no place among the distinct values.
      if (aggregate.distinct && this.#groups.seen[from + at]?.add(args) === false) continue;
      const accumulator = this.#groups.accumulators[from + at] as Accumulator;
      if (accumulator.addInTurns !== undefined && isLarge(args[0])) {
        this.#adding = this.#addInTurns(accumulator, args.slice(), { group, next: at + 1 });
        return this.#addMore(this.#adding);
      }
      accumulator.add(args, accounted);
    }
    return true;
  }

  /** One accumulator, then those after it. */
  *#addInTurns(
    accumulator: Accumulator,
    args: readonly Value[],
    { group, next }: { readonly group: number; readonly next: number },
  ): Generator<undefined, void, undefined> {
    const accounted = this.#accounted as ExecutionContext;
    const adding = accumulator.addInTurns?.(args, accounted, this.#meter);
    while (adding !== undefined && adding.next().done !== true) yield;
    this.#accumulate(group, next);
  }

  #addGroup(values: readonly Value[]): void {
    const context = this.#context as ExecutionContext;
    const { first, aggregates } = this.#options;
    let bytes = 64 + aggregates.length * 96;
    for (let at = 0; at < values.length; at += 1) {
      const value = values[at] as Value;
      this.#groups.keys.push(value);
      bytes += approximateBytes(value);
    }
    for (let at = 0; at < first.length; at += 1) {
      const column = first[at] as CompiledColumn;
      const value = column.value(context);
      context.frame[column.slot] = value;
      this.#groups.first.push(value);
      bytes += approximateBytes(value);
    }
    this.#createAccumulators();
    this.#memory?.addElement(bytes);
  }

  #createAccumulators(): void {
    const { aggregates } = this.#options;
    for (let at = 0; at < aggregates.length; at += 1) {
      const aggregate = aggregates[at] as CompiledAggregate;
      this.#groups.accumulators.push(aggregate.function.create());
      this.#groups.seen.push(
        aggregate.distinct && this.#memory ? new KeySet(this.#memory) : undefined,
      );
    }
  }

  #addEmptyGroup(): void {
    this.#table.groupOf([]);
    for (let at = 0; at < this.#options.first.length; at += 1) this.#groups.first.push(null);
    this.#createAccumulators();
  }

  #give(group: number): void {
    const context = this.#context as ExecutionContext;
    const { frame } = context;
    const { keys, first, aggregates } = this.#options;
    for (let at = 0; at < keys.length; at += 1)
      frame[(keys[at] as CompiledColumn).slot] = this.#groups.keys[
        group * keys.length + at
      ] as Value;
    for (let at = 0; at < first.length; at += 1)
      frame[(first[at] as CompiledColumn).slot] = this.#groups.first[
        group * first.length + at
      ] as Value;
    for (let at = 0; at < aggregates.length; at += 1) {
      const place = group * aggregates.length + at;
      const accumulator = this.#groups.accumulators[place] as Accumulator;
      frame[(aggregates[at] as CompiledAggregate).slot] = accumulator.result(
        this.#accounted as ExecutionContext,
      );
    }
  }

  close(): void {
    this.#adding = undefined;
    this.#memory?.release();
    this.#memory = undefined;
    this.#accounted = undefined;
    this.#context = undefined;
    this.#table = new GroupTable();
    this.#groups = emptyGroups();
    this.#options.input.close();
  }
}

function emptyGroups(): Groups {
  return { keys: [], first: [], accumulators: [], seen: [] };
}
