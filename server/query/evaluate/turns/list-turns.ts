import type { PausingWork, WorkMeter } from '#core/pausing-work.ts';
import { madeBytes } from '#core/value/made-bytes.ts';
import type { Value } from '#core/value/value.ts';
import type { EvaluationContext, MemoryAccount } from '../context.ts';
import { approximateBytes } from './held-bytes.ts';
import { canPause } from './long-calls.ts';

/** Comprehensions, quantifiers and folds over lists of many elements, in turns where the statement can pause. */

/** Shorter lists are gone through at once. */
const longList = 4_096;
/** Bytes of large values that count as a unit of work, as an element does. */
const bytesPerUnit = 1_024;

export function takesTurns(list: readonly Value[], context: EvaluationContext): boolean {
  return list.length >= longList && canPause(context);
}

/** @param visit false: the rest need not be looked at */
export function* goneThrough(
  list: readonly Value[],
  meter: WorkMeter,
  visit: (element: Value) => boolean,
): PausingWork<void> {
  for (let at = 0; at < list.length; at += 1) {
    const before = madeBytes.total;
    if (!visit(list[at] as Value)) return;
    const made = madeBytes.total - before;
    if (meter.isSpent(1 + Math.ceil(made / bytesPerUnit))) yield;
  }
}

/** The values that `visit` gives, those that were made accounted while the list grows; undefined is left out. */
export function* gathered(
  list: readonly Value[],
  memory: MemoryAccount,
  meter: WorkMeter,
  visit: (element: Value) => Value | undefined,
): PausingWork<Value[]> {
  const values: Value[] = [];
  let heldBytes = 0;
  try {
    yield* goneThrough(list, meter, (element) => {
      const before = madeBytes.total;
      const value = visit(element);
      if (value === undefined) return true;
      values.push(value);
      if (madeBytes.total === before) return true;
      const bytes = approximateBytes(value);
      memory.reserve(bytes);
      heldBytes += bytes;
      return true;
    });
    return values;
  } finally {
    memory.release(heldBytes);
  }
}
