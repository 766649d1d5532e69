import { isList, type Value } from '#core/value/value.ts';
import type { Slot } from '../../algebra/expression.ts';
import { NumberRange } from '../../evaluate/number-range.ts';
import { Patience } from '../../evaluate/turns/patience.ts';
import {
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';
import { WorkShare } from '../hold/work-share.ts';

/** Puts into the frame what a value gives: as an element of a list, as no list, or as an empty one. @returns false: no row */
export type RowOfValue = (
  value: Value,
  place: 'element' | 'whole' | 'empty',
  context: ExecutionContext,
) => boolean;

export interface UnwindOptions {
  readonly name: string;
  readonly input: PhysicalOperator;
  /** Of a list that is nothing but numbers in a row those are enough. */
  readonly value: (context: ExecutionContext) => Value | NumberRange;
  readonly rowOf: RowOfValue;
  readonly description: string;
}

/** A value of each row becomes rows: one per element of a list, one of what is no list, or none. */
export class UnwindOperator implements PhysicalOperator {
  readonly name: string;
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly #options: UnwindOptions;
  readonly #rowOf: RowOfValue;
  #context: ExecutionContext | undefined;
  #list: readonly Value[] = [];
  /** In place of a list. */
  #range: NumberRange | undefined;
  #length = 0;
  #position = 0;
  /** The value of a row is being computed. */
  #isEntering = false;
  #value: Value | NumberRange = null;
  readonly #share = new WorkShare();
  readonly #patience = new Patience();
  readonly #compute = (): void => {
    this.#value = this.#options.value(this.#context as ExecutionContext);
  };

  constructor(options: UnwindOptions) {
    this.name = options.name;
    this.inputs = [options.input];
    this.description = options.description;
    this.#options = options;
    this.#rowOf = options.rowOf;
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#leave();
    this.#isEntering = false;
    this.#patience.reset();
    this.#options.input.open(context);
  }

  next(): Pulled {
    const context = this.#context as ExecutionContext;
    const { input } = this.#options;
    for (;;) {
      if (this.#share.isSpent()) return PAUSE;
      if (this.#position < this.#length) {
        const place = this.#position;
        const element = this.#range?.at(place) ?? (this.#list[place] as Value);
        this.#position += 1;
        if (this.#rowOf(element, 'element', context)) return ROW;
        continue;
      }
      if (!this.#isEntering) {
        const pulled = input.next();
        if (pulled !== ROW) return pulled;
      }
      this.#isEntering = !this.#patience.evaluate(context, this.#compute);
      if (this.#isEntering) return PAUSE;
      if (this.#enter(context)) return ROW;
    }
  }

  /** Takes the value of a new row. @returns whether it is a row already */
  #enter(context: ExecutionContext): boolean {
    const value = this.#value;
    this.#leave();
    if (value instanceof NumberRange) {
      this.#range = value;
      this.#length = value.length;
      return value.length === 0 && this.#rowOf(null, 'empty', context);
    }
    if (isList(value)) {
      this.#list = value;
      this.#length = value.length;
    }
    if (!isList(value)) return this.#rowOf(value, 'whole', context);
    return value.length === 0 && this.#rowOf(null, 'empty', context);
  }

  #leave(): void {
    this.#list = [];
    this.#range = undefined;
    this.#value = null;
    this.#length = 0;
    this.#position = 0;
  }

  close(): void {
    this.#leave();
    this.#patience.reset();
    this.#context = undefined;
    this.#options.input.close();
  }
}

/** @param keepEmpty SQL: an empty list gives one row with null, what is no list passes unchanged. Otherwise null and empty give no row. */
export function elementRow(as: Slot, keepEmpty: boolean): RowOfValue {
  return (value, place, { frame }) => {
    if (value === null && place !== 'element' && !keepEmpty) return false;
    frame[as] = value;
    return true;
  };
}
