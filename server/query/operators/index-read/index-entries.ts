import type { Slot } from '../../algebra/expression.ts';
import type { IndexId } from '#core/value/rid.ts';
import { Link } from '#core/value/record.ts';
import type { Value } from '#core/value/value.ts';
import type { IndexCursor, KeyBounds } from '#transaction/read/read-view.ts';
import { bindBounds, type CompiledBounds } from './index-bounds.ts';
import {
  END,
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';
import { WorkShare } from '../hold/work-share.ts';

export interface IndexEntriesOptions {
  readonly index: IndexId;
  readonly order: 'ascending' | 'descending';
  readonly as: Slot;
  readonly bounds: CompiledBounds | undefined;
  readonly description: string;
}

const everything: readonly KeyBounds[] = [{ prefix: [] }];

/** `FROM index:name`: one row map `{key, rid}` per entry; the key is a list with one value per component. */
export class IndexEntriesOperator implements PhysicalOperator {
  readonly name = 'Index entries';
  readonly inputs: readonly PhysicalOperator[] = [];
  readonly description: string;
  readonly #options: IndexEntriesOptions;
  #context: ExecutionContext | undefined;
  #ranges: readonly KeyBounds[] = [];
  #rangeAt = 0;
  #cursor: IndexCursor | undefined;
  readonly #share = new WorkShare();

  constructor(options: IndexEntriesOptions) {
    this.#options = options;
    this.description = options.description;
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#ranges = rangesOf(this.#options.bounds, context);
    this.#rangeAt = 0;
    this.#cursor = undefined;
  }

  next(): Pulled {
    const { view, frame } = this.#context as ExecutionContext;
    const { index, order, as } = this.#options;
    for (;;) {
      if (this.#share.isSpent()) return PAUSE;
      if (this.#cursor?.next() === true) break;
      const range = this.#ranges[this.#rangeAt];
      if (range === undefined) return END;
      this.#rangeAt += 1;
      this.#cursor = view.index(index).range(range, order);
    }
    frame[as] = new Map<string, Value>([
      ['key', this.#cursor.keyValues().slice()],
      ['rid', new Link(this.#cursor.rid)],
    ]);
    return ROW;
  }

  close(): void {
    this.#cursor = undefined;
    this.#ranges = [];
    this.#context = undefined;
  }
}

function rangesOf(
  bounds: CompiledBounds | undefined,
  context: ExecutionContext,
): readonly KeyBounds[] {
  if (bounds === undefined) return everything;
  const bound = bindBounds(bounds, context);
  if (bound.kind === 'search') return bound.ranges;
  return bound.kind === 'nothing' ? [] : everything;
}
