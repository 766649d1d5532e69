import { DatabaseError } from '#core/errors.ts';
import type { PausingWork, WorkMeter } from '#core/pausing-work.ts';
import { madeBytes } from '#core/value/made-bytes.ts';
import type { Value } from '#core/value/value.ts';
import type { Expression } from '../../algebra/expression.ts';
import { walkExpression } from '../../algebra/walk.ts';
import type { EvaluationContext } from '../context.ts';
import type { FunctionRegistry } from '../function-definition.ts';
import { approximateBytes } from './held-bytes.ts';
import { canPause, suspended } from './long-calls.ts';
import { Patience } from './patience.ts';

/**
 * Comprehensions, quantifiers and folds over lists of many elements, in turns where the statement can pause. Loops in loops take turns
 * at each level: a loop of few elements is long when what it does for each is.
 */

/** Shorter lists are gone through at once. */
const longList = 4_096;
/** Bytes of large values that count as a unit of work, as an element does. */
const bytesPerUnit = 1_024;
/** Elements that loops in loops go through before they ask for turns; some milliseconds. */
const stepsAtOnce = 16_384;
/** The same where nobody can pause. */
const stepsInPlaceMax = 1_048_576;

/** Elements that loops have gone through at once, of all statements: it only grows. */
export const loopSteps = { total: 0 };

export function takesTurns(
  list: readonly Value[],
  context: EvaluationContext,
  { isNested }: LoopBody,
): boolean {
  return list.length >= longList ? canPause(context) : isNested && context.longCalls !== undefined;
}

/** What a loop does for each element. */
export interface LoopBody {
  /** It holds loops. */
  readonly isNested: boolean;
  /** It holds calls that may write, or work long: it is never begun anew without a memory of what they did. */
  readonly holdsLongCalls: boolean;
}

export function bodyOf(
  expressions: readonly (Expression | undefined)[],
  functions: FunctionRegistry,
): LoopBody {
  let isNested = false;
  let holdsLongCalls = false;
  for (const expression of expressions)
    if (expression !== undefined)
      walkExpression(expression, (part) => {
        const { op } = part;
        isNested ||= op === 'Comprehension' || op === 'Quantifier' || op === 'Reduce';
        holdsLongCalls ||=
          op === 'SubPlan' ||
          (op === 'Call' && functions.scalar(part.function)?.mayTakeLong === true);
      });
  return { isNested, holdsLongCalls };
}

/**
 * For loops in loops that are done at once, after each element.
 * @param before `loopSteps.total` when the outer one began
 * @throws `suspended` when it is to be done in turns; DatabaseError `TooLarge` where nobody can pause
 */
export function requireFewSteps(before: number, context: EvaluationContext): void {
  const steps = loopSteps.total - before;
  if (steps <= stepsAtOnce) return;
  if (context.mayBeSuspended === true) throw suspended;
  if (steps > stepsInPlaceMax)
    throw new DatabaseError(
      'TooLarge',
      `lists in lists are gone through for more than ${stepsInPlaceMax} steps, which they may not where the statement cannot pause; compute it in WITH or LET`,
    );
}

/** Where a loop takes turns. */
export interface LoopPlace {
  readonly context: EvaluationContext;
  readonly meter: WorkMeter;
  readonly body: LoopBody;
}

/**
 * What is long about an element goes on in the next turn, too: `visit` is called again then, and does nothing but evaluate before it
 * is over.
 * @param visit false: the rest need not be looked at
 */
export function goneThrough(
  list: readonly Value[],
  place: LoopPlace,
  visit: (element: Value) => boolean,
): PausingWork<void> {
  const { isNested, holdsLongCalls } = place.body;
  return isNested || holdsLongCalls
    ? longElements(list, place, visit)
    : shortElements(list, place, visit);
}

/** Each element is done in a moment. */
function* shortElements(
  list: readonly Value[],
  { meter }: LoopPlace,
  visit: (element: Value) => boolean,
): PausingWork<void> {
  for (let at = 0; at < list.length; at += 1) {
    const before = madeBytes.total;
    if (!visit(list[at] as Value)) return;
    const made = madeBytes.total - before;
    if (meter.isSpent(1 + Math.ceil(made / bytesPerUnit))) yield;
  }
}

function* longElements(
  list: readonly Value[],
  { context, meter, body }: LoopPlace,
  visit: (element: Value) => boolean,
): PausingWork<void> {
  const patience = new Patience();
  let at = 0;
  let goesOn = true;
  const look = (): void => {
    goesOn = visit(list[at] as Value);
  };
  try {
    for (; at < list.length; at += 1) {
      const before = madeBytes.total;
      const stepsBefore = loopSteps.total;
      let isOver = body.holdsLongCalls
        ? patience.attempt(context, look)
        : patience.evaluate(context, look);
      while (!isOver) {
        yield context.pending?.wait;
        isOver = patience.attempt(context, look);
      }
      if (!goesOn) return;
      const made = madeBytes.total - before;
      const steps = loopSteps.total - stepsBefore;
      if (meter.isSpent(1 + steps + Math.ceil(made / bytesPerUnit))) yield;
    }
  } finally {
    patience.reset();
  }
}

/** The values that `visit` gives, those that were made accounted while the list grows; undefined is left out. */
export function* gathered(
  list: readonly Value[],
  place: LoopPlace,
  visit: (element: Value) => Value | undefined,
): PausingWork<Value[]> {
  const { memory } = place.context;
  const values: Value[] = [];
  let heldBytes = 0;
  try {
    yield* goneThrough(list, place, (element) => {
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
