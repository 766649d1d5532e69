import type { Slot } from '../../algebra/expression.ts';
import type { ValueMap } from '#core/value/value.ts';
import {
  END,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';

/** `schema:<kind>[:<name>]`: one map per schema object, made by the layer that knows storage and settings. */
export class SchemaScanOperator implements PhysicalOperator {
  readonly name = 'Scan schema';
  readonly inputs: readonly PhysicalOperator[] = [];
  readonly description: string;
  readonly #kind: string;
  readonly #objectName: string | undefined;
  readonly #as: Slot;
  #context: ExecutionContext | undefined;
  #objects: Iterator<ValueMap> | undefined;

  constructor(kind: string, objectName: string | undefined, as: Slot) {
    this.#kind = kind;
    this.#objectName = objectName;
    this.#as = as;
    this.description = objectName === undefined ? kind : `${kind}:${objectName}`;
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#objects = context.schemaSource(this.#kind, this.#objectName)[Symbol.iterator]();
  }

  next(): Pulled {
    const object = this.#objects?.next();
    if (object === undefined || object.done === true) return END;
    (this.#context as ExecutionContext).frame[this.#as] = object.value;
    return ROW;
  }

  close(): void {
    this.#objects = undefined;
    this.#context = undefined;
  }
}
