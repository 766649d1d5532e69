import { DatabaseError } from '#core/errors.ts';
import type { PausingWork, WorkMeter } from '#core/pausing-work.ts';
import { mapLong, someLong } from '#core/replayed-loops.ts';
import { madeBytes } from '#core/value/made-bytes.ts';
import type { Value } from '#core/value/value.ts';
import type { Expression } from '../../algebra/expression.ts';
import { walkExpression } from '../../algebra/walk.ts';
import type { EvaluationContext } from '../context.ts';
import type { FunctionRegistry } from '../function-definition.ts';
import { doneWork } from './done-work.ts';
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
/** Elements that loops in loops go through where nobody can pause. */
const stepsInPlaceMax = 1_048_576;

export function takesTurns(
  list: readonly Value[],
  context: EvaluationContext,
  { isWeighty }: LoopBody,
): boolean {
  return list.length >= longList ? canPause(context) : isWeighty && context.longCalls !== undefined;
}

/** What a loop does for each element. */
export interface LoopBody {
  /** It holds loops. */
  readonly isNested: boolean;
  /** It holds loops, or operations that are long on large values: a few elements may be the work of a turn. */
  readonly isWeighty: boolean;
  /** It holds calls that may write, or work long: it is never begun anew without a memory of what they did. */
  readonly holdsLongCalls: boolean;
}

/** As `bodyOf`, for very many expressions that stand side by side. */
export function bodyOfMany<T>(
  parts: readonly T[],
  functions: FunctionRegistry,
  expressionOf: (part: T) => Expression,
): LoopBody {
  const bodies = mapLong(parts, (part) => {
    const expression = expressionOf(part);
    return isPlain(expression) ? plainBody : bodyOf([expression], functions);
  });
  return {
    isNested: someLong(bodies, ({ isNested }) => isNested),
    isWeighty: someLong(bodies, ({ isWeighty }) => isWeighty),
    holdsLongCalls: someLong(bodies, ({ holdsLongCalls }) => holdsLongCalls),
  };
}

const plainBody: LoopBody = { isNested: false, isWeighty: false, holdsLongCalls: false };

/** What most operands are: a value, or a property of one. */
function isPlain(expression: Expression): boolean {
  const { op } = expression.op === 'Property' ? expression.of : expression;
  return op === 'Slot' || op === 'Constant' || op === 'Parameter';
}

export function bodyOf(
  expressions: readonly (Expression | undefined)[],
  functions: FunctionRegistry,
): LoopBody {
  let isNested = false;
  let isWeighty = false;
  let holdsLongCalls = false;
  for (const expression of expressions)
    if (expression !== undefined)
      walkExpression(expression, (part) => {
        const { op } = part;
        isNested ||= op === 'Comprehension' || op === 'Quantifier' || op === 'Reduce';
        isWeighty ||= isNested || mayBeLong(part);
        holdsLongCalls ||=
          op === 'SubPlan' ||
          (op === 'Call' && functions.scalar(part.function)?.mayTakeLong === true);
      });
  return { isNested, isWeighty, holdsLongCalls };
}

function mayBeLong(part: Expression): boolean {
  // What stands beside a number or a short text is compared with it in a moment.
  if (part.op === 'Compare') return part.left.op !== 'Constant' && part.right.op !== 'Constant';
  return longOnLargeValues.has(part.op);
}

const longOnLargeValues: ReadonlySet<Expression['op']> = new Set([
  'Call',
  'SubPlan',
  'In',
  'TextPart',
  'Like',
  'Matches',
  'Contains',
  'StrictEquals',
  'Concatenate',
  'Slice',
]);

/**
 * For loops that are done at once, after an element with which more than `unitsAtOnce` was done.
 * @param stepsBefore `doneWork.steps` when the loop began
 * @throws `suspended` when it is to be done in turns; DatabaseError `TooLarge` where nobody can pause
 */
export function requireTurns(
  stepsBefore: number,
  { isNested }: LoopBody,
  context: EvaluationContext,
): void {
  if (context.mayBeSuspended === true) throw suspended;
  if (isNested && doneWork.steps - stepsBefore > stepsInPlaceMax)
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
export function goneThrough<T>(
  list: readonly T[],
  place: LoopPlace,
  visit: (element: T) => boolean,
): PausingWork<void> {
  const { isNested, isWeighty, holdsLongCalls } = place.body;
  // Of a long list each call is done at once, whatever it takes: patience for each of its elements costs a tenth of quick ones.
  return isNested || holdsLongCalls || (isWeighty && list.length < longList)
    ? longElements(list, place, visit)
    : shortElements(list, place, visit);
}

/** Each element is done at once. */
function* shortElements<T>(
  list: readonly T[],
  { meter }: LoopPlace,
  visit: (element: T) => boolean,
): PausingWork<void> {
  for (let at = 0; at < list.length; at += 1) {
    const before = madeBytes.total;
    const unitsBefore = doneWork.units;
    if (!visit(list[at] as T)) return;
    const made = madeBytes.total - before;
    if (meter.isSpent(1 + doneWork.units - unitsBefore + Math.ceil(made / bytesPerUnit))) yield;
  }
}

function* longElements<T>(
  list: readonly T[],
  { context, meter, body }: LoopPlace,
  visit: (element: T) => boolean,
): PausingWork<void> {
  const patience = new Patience();
  let at = 0;
  let goesOn = true;
  const look = (): void => {
    goesOn = visit(list[at] as T);
  };
  try {
    for (; at < list.length; at += 1) {
      const before = madeBytes.total;
      const unitsBefore = doneWork.units;
      let isOver = body.holdsLongCalls
        ? patience.attempt(context, look)
        : patience.evaluate(context, look);
      while (!isOver) {
        yield context.pending?.wait;
        isOver = patience.attempt(context, look);
      }
      if (!goesOn) return;
      const made = madeBytes.total - before;
      const units = doneWork.units - unitsBefore;
      if (meter.isSpent(1 + units + Math.ceil(made / bytesPerUnit))) yield;
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
