import type { Value } from '#core/value/value.ts';
import type { ExecutionContext, PhysicalOperator, Pulled } from '../operator.ts';

/** Keeps something for executions of a plan. */
export interface Holder {
  /** The execution is over: nobody looks at what was kept for it any more. */
  release(context: ExecutionContext): void;
}

/** Stands for the operator on top of a plan, as which it shows itself, and gives up tables of edges and columns at the end. */
export class TableScopeOperator implements PhysicalOperator {
  readonly #top: PhysicalOperator;
  readonly #holders: readonly Holder[];
  readonly fill: PhysicalOperator['fill'];
  #context: ExecutionContext | undefined;

  constructor(top: PhysicalOperator, holders: readonly Holder[]) {
    this.#top = top;
    this.#holders = holders;
    this.fill =
      top.fill && ((values: Value[], rowCountMax: number) => this.#fill(values, rowCountMax));
  }

  get name(): string {
    return this.#top.name;
  }

  get inputs(): readonly PhysicalOperator[] {
    return this.#top.inputs;
  }

  get description(): string {
    return this.#top.description;
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#top.open(context);
  }

  next(): Pulled {
    return this.#top.next();
  }

  close(): void {
    this.#top.close();
    if (this.#context !== undefined)
      for (const holder of this.#holders) holder.release(this.#context);
    this.#context = undefined;
  }

  #fill(values: Value[], rowCountMax: number): Pulled {
    return this.#top.fill?.(values, rowCountMax) as Pulled;
  }
}
