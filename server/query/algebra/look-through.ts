import type { PausingWork } from '#core/pausing-work.ts';
import { stepped } from '#core/replayed-loops.ts';
import { LookShare } from '#core/turn-end.ts';
import type { Expression } from './expression.ts';
import { operandsOf } from './walk.ts';

/** Parts that are looked at without a pause. */
const partsAtOnce = 256;
/** Between two pauses. */
const partsPerStep = { first: 1_000, most: 1_000 };
const partsPerCount = 64;

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
    yield* goneThrough(walk, look);
    return result();
  });
}

/**
 * How many parts the expressions consist of, those of sub-plans left out, with the pauses of `lookedThrough`. Counting ends above
 * `countMax`.
 */
export function partCountLookedThrough(
  expressions: readonly Expression[],
  countMax: number,
): number {
  let count = 0;
  const walk = new Walk(expressions);
  const look = (): void => {
    count += 1;
    if (count > countMax) walk.end();
  };
  if (walk.goOn(partsAtOnce, look)) return count;
  return stepped(function* (): PausingWork<number> {
    yield* goneThrough(walk, look);
    return count;
  });
}

/**
 * Whether one of the parts passes, looked for with the pauses of `lookedThrough`; no further than to the first that is found.
 * @param test looks at nothing but the part
 */
export function someLookedThrough(
  expression: Expression,
  test: (part: Expression) => boolean,
): boolean {
  if (test(expression)) return true;
  let operands = operandsOf(expression);
  if (operands.length === 0) return false;
  const waiting: (readonly Expression[])[] = [];
  let left = partsAtOnce;
  for (;;) {
    left -= operands.length;
    if (left < 0) return stepped(() => searched(expression, test));
    for (let at = 0; at < operands.length; at += 1) {
      const operand = operands[at] as Expression;
      if (test(operand)) return true;
      const inner = operandsOf(operand);
      if (inner.length > 0) waiting.push(inner);
    }
    const next = waiting.pop();
    if (next === undefined) return false;
    operands = next;
  }
}

function* searched(
  expression: Expression,
  test: (part: Expression) => boolean,
): PausingWork<boolean> {
  let isFound = false;
  const walk = new Walk([expression]);
  const look = (part: Expression): void => {
    if (!test(part)) return;
    isFound = true;
    walk.end();
  };
  yield* goneThrough(walk, look);
  return isFound;
}

function* goneThrough(walk: Walk, look: (part: Expression) => void): PausingWork<void> {
  const share = new LookShare(partsPerStep);
  while (!walk.goOn(partsPerCount, look)) if (share.isSpent(partsPerCount)) yield;
}

/** Goes through expressions without a list of all that is still to come. */
class Walk {
  /** Operands of the parts on the way down, and how many of each were looked at. */
  readonly #operands: (readonly Expression[])[] = [];
  readonly #counts: number[] = [];
  #depth = 0;
  #isEnded = false;

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
      if (this.#isEnded) return true;
      this.#enter(operandsOf(part));
    }
    return true;
  }

  /** Nothing more is wanted. */
  end(): void {
    this.#isEnded = true;
  }

  #enter(operands: readonly Expression[]): void {
    if (operands.length === 0) return;
    this.#operands[this.#depth] = operands;
    this.#counts[this.#depth] = 0;
    this.#depth += 1;
  }
}
