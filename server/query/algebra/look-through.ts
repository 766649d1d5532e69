import type { PausingWork } from '#core/pausing-work.ts';
import { stepped } from '#core/replayed-loops.ts';
import type { Expression } from './expression.ts';
import { operandsOf } from './walk.ts';

/** Parts that are looked at without a pause, and between two pauses. */
const partsAtOnce = 1_000;
const partsPerStep = 4_000;

/**
 * What `result` gives after `look` has seen all parts of the expressions, parents first, left to right; plans of sub-plans are left to
 * `look`. In work that is done in stretches (`#core/replayed-loops.ts`) many parts have places to pause, and are looked at once however
 * often the work around them begins anew.
 */
export function lookedThrough<T>(
  expressions: readonly Expression[],
  look: (part: Expression) => void,
  result: () => T,
): T {
  const walk = new Walk(expressions);
  if (walk.goOn(partsAtOnce, look)) return result();
  return stepped(function* (): PausingWork<T> {
    while (!walk.goOn(partsPerStep, look)) yield;
    return result();
  });
}

/** Goes through expressions without a list of all that is still to come. */
class Walk {
  /** Operands of the parts on the way down, and how many of each were looked at. */
  readonly #operands: (readonly Expression[])[] = [];
  readonly #counts: number[] = [];
  #depth = 0;

  constructor(expressions: readonly Expression[]) {
    this.#enter(expressions);
  }

  /** @returns false when there are more parts */
  goOn(partCountMax: number, look: (part: Expression) => void): boolean {
    let left = partCountMax;
    while (this.#depth > 0) {
      const top = this.#depth - 1;
      const operands = this.#operands[top] as readonly Expression[];
      const count = this.#counts[top] as number;
      if (count === operands.length) {
        this.#depth = top;
        continue;
      }
      if (left === 0) return false;
      left -= 1;
      this.#counts[top] = count + 1;
      const part = operands[count] as Expression;
      look(part);
      this.#enter(operandsOf(part));
    }
    return true;
  }

  #enter(operands: readonly Expression[]): void {
    if (operands.length === 0) return;
    this.#operands[this.#depth] = operands;
    this.#counts[this.#depth] = 0;
    this.#depth += 1;
  }
}
