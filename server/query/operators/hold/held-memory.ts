import { DatabaseError } from '#core/errors.ts';
import type { MemoryAccount } from '../../evaluate/context.ts';
import type { ExecutionContext } from '../operator.ts';

/** Bytes asked for at once, so that the account is not called for every row. */
const reserveStep = 64 * 1024;

/**
 * What one operator holds: rows, groups, sets. It reserves in steps from the account of the statement and counts elements
 * against `queryMaxHeapElementsAllowedPerOp`. `release` gives everything back.
 */
export class HeldMemory {
  readonly #context: ExecutionContext;
  readonly #what: string;
  #bytes = 0;
  #reserved = 0;
  #elementCount = 0;

  /** @param what as it reads in the error: `ORDER BY`, `DISTINCT` */
  constructor(context: ExecutionContext, what: string) {
    this.#context = context;
    this.#what = what;
  }

  /** @throws DatabaseError `TooLarge` when the statement's memory is used up */
  addBytes(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes <= this.#reserved) return;
    const step = Math.max(reserveStep, this.#bytes - this.#reserved);
    this.#context.memory.reserve(step);
    this.#reserved += step;
  }

  /** As the account of a statement, for functions that keep values on behalf of the operator. */
  get account(): MemoryAccount {
    return {
      reserve: (bytes) => {
        this.addBytes(bytes);
      },
      release: (bytes) => {
        this.#bytes -= bytes;
      },
    };
  }

  /** One row, group or distinct value more. @throws DatabaseError `IllegalArgument` naming the setting */
  addElement(bytes: number): void {
    this.#elementCount += 1;
    const { elementCountMax } = this.#context.limits;
    if (this.#elementCount > elementCountMax)
      throw new DatabaseError(
        'IllegalArgument',
        `${this.#what} holds more than ${elementCountMax} elements; use a filter or LIMIT, or raise 'queryMaxHeapElementsAllowedPerOp'`,
      );
    this.addBytes(bytes);
  }

  release(): void {
    if (this.#reserved > 0) this.#context.memory.release(this.#reserved);
    this.#bytes = 0;
    this.#reserved = 0;
    this.#elementCount = 0;
  }
}
