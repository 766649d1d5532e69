import { madeBytes } from '#core/value/made-bytes.ts';
import type { Value } from '#core/value/value.ts';
import type { EvaluationContext, LongWork, WorkMeter } from '../context.ts';
import { approximateBytes } from './held-bytes.ts';
import { suspended, unitsPerLookup } from './long-calls.ts';
import { requireTurn } from './value-size.ts';

/** Something of each element of a list, in turns where the statement can pause: elements may be records with large properties. */

/** So many elements are gone through in slices where the statement can pause. */
export const shortListLength = 64;
/** What they may make where nobody has asked for turns yet. */
const madeAtOnceMax = 1024 * 1024;
/** Bytes of large values that count as a unit of work. */
const bytesPerUnit = 1_024;

/**
 * @param site tells the calls of an expression apart
 * @throws DatabaseError `TooLarge` when the turn has made too much, or the statement holds too much
 */
export function valuesOfElements(
  list: readonly Value[],
  context: EvaluationContext,
  site: object,
  project: (element: Value) => Value,
): Value[] {
  const { longCalls } = context;
  if (longCalls !== undefined && list.length > shortListLength)
    return longCalls.result(site, () =>
      stepwise(list, context, longCalls, project),
    ) as unknown as Value[];
  longCalls?.isSpent(list.length * unitsPerLookup);
  const madeMax = madeBytes.total + madeAtOnceMax;
  const values: Value[] = new Array(list.length);
  for (let i = 0; i < list.length; i++) {
    values[i] = project(list[i] as Value);
    if (madeBytes.total <= madeMax) continue;
    if (context.mayBeSuspended === true) throw suspended;
    requireTurn(context);
  }
  return values;
}

/** What it holds is accounted while it grows; who remembers the list accounts it. */
function* stepwise(
  list: readonly Value[],
  context: EvaluationContext,
  meter: WorkMeter,
  project: (element: Value) => Value,
): LongWork {
  const values: Value[] = [];
  let heldBytes = 0;
  try {
    for (let i = 0; i < list.length; i++) {
      const before = madeBytes.total;
      const value = project(list[i] as Value);
      values.push(value);
      const made = madeBytes.total - before;
      if (made > 0) {
        const bytes = approximateBytes(value);
        context.memory.reserve(bytes);
        heldBytes += bytes;
      }
      if (meter.isSpent(unitsPerLookup + Math.ceil(made / bytesPerUnit))) yield;
    }
    return values;
  } finally {
    context.memory.release(heldBytes);
  }
}
