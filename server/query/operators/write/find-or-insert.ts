import type { TypeId } from '#core/value/rid.ts';
import { vetoed } from '#transaction/trigger/trigger-runner.ts';
import type { Slot } from '../../algebra/expression.ts';
import type { CompiledAssignment } from './assignments.ts';
import { RecordInserter } from './insert.ts';
import {
  END,
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';

export interface FindOrInsertOptions {
  readonly find: PhysicalOperator;
  readonly type: TypeId;
  readonly initial: readonly CompiledAssignment[];
  readonly as: Slot;
  readonly inserted: Slot;
  readonly description: string;
}

/** The rows of `find`; when there are none, one new record. `inserted` tells which. */
export class FindOrInsertOperator implements PhysicalOperator {
  readonly name = 'Find or insert';
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly #options: FindOrInsertOptions;
  #context: ExecutionContext | undefined;
  #rowCount = 0;
  #hasEnded = false;
  #inserter: RecordInserter | undefined;

  constructor(options: FindOrInsertOptions) {
    this.inputs = [options.find];
    this.description = options.description;
    this.#options = options;
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#rowCount = 0;
    this.#hasEnded = false;
    this.#options.find.open(context);
  }

  next(): Pulled {
    const context = this.#context as ExecutionContext;
    const { find, inserted } = this.#options;
    if (this.#inserter !== undefined) return this.#insert(this.#inserter);
    if (this.#hasEnded) return END;
    const pulled = find.next();
    if (pulled === ROW) {
      this.#rowCount += 1;
      context.frame[inserted] = false;
    }
    if (pulled !== END) return pulled;
    this.#hasEnded = true;
    if (this.#rowCount > 0) return END;
    const { type, initial, as } = this.#options;
    const options = { type, bucket: undefined, assignments: initial, as };
    this.#inserter = new RecordInserter(options, context);
    return this.#insert(this.#inserter);
  }

  #insert(inserter: RecordInserter): Pulled {
    const record = inserter.insert();
    if (record === undefined) return PAUSE;
    this.#inserter = undefined;
    if (record === vetoed) return END;
    (this.#context as ExecutionContext).frame[this.#options.inserted] = true;
    return ROW;
  }

  close(): void {
    this.#inserter?.close();
    this.#inserter = undefined;
    this.#context = undefined;
    this.#options.find.close();
  }
}
