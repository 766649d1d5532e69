import type { Slot } from '../algebra/expression.ts';
import type { IndexId } from '#core/rid.ts';
import { Link } from '#core/record.ts';
import type { Value } from '#core/value.ts';
import type { IndexCursor } from '#transaction/read-view.ts';
import {
  END,
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from './operator.ts';
import { WorkShare } from './work-share.ts';

/** `FROM index:name`: one row map `{key, rid}` per entry; the key is a list with one value per component. */
export class IndexEntriesOperator implements PhysicalOperator {
  readonly name = 'Index entries';
  readonly inputs: readonly PhysicalOperator[] = [];
  readonly description: string;
  readonly #index: IndexId;
  readonly #order: 'ascending' | 'descending';
  readonly #as: Slot;
  #context: ExecutionContext | undefined;
  #cursor: IndexCursor | undefined;
  readonly #share = new WorkShare();

  constructor(index: IndexId, order: 'ascending' | 'descending', as: Slot, description: string) {
    this.#index = index;
    this.#order = order;
    this.#as = as;
    this.description = description;
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#cursor = context.view.index(this.#index).range({ prefix: [] }, this.#order);
  }

  next(): Pulled {
    if (this.#share.isSpent()) return PAUSE;
    const cursor = this.#cursor;
    if (cursor?.next() !== true) return END;
    (this.#context as ExecutionContext).frame[this.#as] = new Map<string, Value>([
      ['key', cursor.keyValues().slice()],
      ['rid', new Link(cursor.rid)],
    ]);
    return ROW;
  }

  close(): void {
    this.#cursor = undefined;
    this.#context = undefined;
  }
}
