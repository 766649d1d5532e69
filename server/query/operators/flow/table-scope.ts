import type { Value } from '#core/value/value.ts';
import type { EdgeTables } from '../graph/edge-tables.ts';
import type { ExecutionContext, PhysicalOperator, Pulled } from '../operator.ts';

/** Stands for the operator on top of a plan, as which it shows itself, and gives up the tables of edges at the end. */
export class TableScopeOperator implements PhysicalOperator {
  readonly #top: PhysicalOperator;
  readonly #tables: EdgeTables;
  readonly fill: PhysicalOperator['fill'];
  #context: ExecutionContext | undefined;

  constructor(top: PhysicalOperator, tables: EdgeTables) {
    this.#top = top;
    this.#tables = tables;
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
    if (this.#context !== undefined) this.#tables.release(this.#context);
    this.#context = undefined;
  }

  #fill(values: Value[], rowCountMax: number): Pulled {
    return this.#top.fill?.(values, rowCountMax) as Pulled;
  }
}
