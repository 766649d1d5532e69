import type { Slot } from '../../algebra/expression.ts';
import { isList, isMap, isRecord, type EmbeddedDocument, type Value } from '#core/value/value.ts';
import type { Evaluator } from '../../evaluate/evaluator.ts';
import { Patience } from '../../evaluate/turns/patience.ts';
import {
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';
import { ridOf } from '../record-identity.ts';
import { WorkShare } from '../hold/work-share.ts';

export interface ExpandValueOptions {
  readonly input: PhysicalOperator;
  readonly value: Evaluator;
  readonly as: Slot;
  readonly scalarName: string;
  readonly description: string;
}

/**
 * SQL `expand()` (sql.md 7.9): each value becomes rows. Records and record ids give the record (a gone one gives nothing), maps
 * and embedded documents a row of their keys, lists one row per element, where scalars and null stand under
 * `scalarName`; a scalar or null that is no element gives nothing.
 */
export class ExpandValueOperator implements PhysicalOperator {
  readonly name = 'Expand value';
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly #options: ExpandValueOptions;
  #context: ExecutionContext | undefined;
  #list: readonly Value[] = [];
  #position = 0;
  /** The value of a row is being computed. */
  #isEntering = false;
  #value: Value = null;
  readonly #share = new WorkShare();
  readonly #patience = new Patience();
  readonly #compute = (): void => {
    this.#value = this.#options.value(this.#context as ExecutionContext);
  };

  constructor(options: ExpandValueOptions) {
    this.inputs = [options.input];
    this.description = options.description;
    this.#options = options;
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#list = [];
    this.#position = 0;
    this.#isEntering = false;
    this.#patience.reset();
    this.#options.input.open(context);
  }

  next(): Pulled {
    const context = this.#context as ExecutionContext;
    const { input } = this.#options;
    for (;;) {
      if (this.#share.isSpent()) return PAUSE;
      if (this.#position < this.#list.length) {
        const element = this.#list[this.#position] as Value;
        this.#position += 1;
        if (this.#give(element, 'element')) return ROW;
        continue;
      }
      if (!this.#isEntering) {
        const pulled = input.next();
        if (pulled !== ROW) return pulled;
      }
      this.#isEntering = !this.#patience.evaluate(context, this.#compute);
      if (this.#isEntering) return PAUSE;
      const expanded = this.#value;
      this.#value = null;
      if (isList(expanded)) {
        this.#list = expanded;
        this.#position = 0;
      } else if (this.#give(expanded, 'whole')) return ROW;
    }
  }

  #give(value: Value, place: 'element' | 'whole'): boolean {
    const context = this.#context as ExecutionContext;
    const { as, scalarName } = this.#options;
    if (value === null && place === 'whole') return false;
    if (isRecord(value) || isMap(value)) {
      context.frame[as] = value;
      return true;
    }
    const tagged = typeof value === 'object' ? (value as EmbeddedDocument) : undefined;
    if (tagged?.valueKind === 'embedded') {
      context.frame[as] = new Map<string, Value>([
        ['@type', tagged.typeName],
        ['@cat', 'd'],
        ...tagged.properties,
      ]);
      return true;
    }
    // Text that looks like a record id is text here: a list of strings gives rows of strings.
    const rid = typeof value === 'string' ? undefined : ridOf(value);
    if (rid !== undefined) {
      const record = context.view.record(rid);
      if (record === undefined) return false;
      context.frame[as] = record;
      return true;
    }
    if (place === 'whole') return false;
    context.frame[as] = new Map([[scalarName, value]]);
    return true;
  }

  close(): void {
    this.#list = [];
    this.#value = null;
    this.#patience.reset();
    this.#context = undefined;
    this.#options.input.close();
  }
}
