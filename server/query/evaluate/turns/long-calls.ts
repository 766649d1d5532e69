import { DatabaseError } from '#core/errors.ts';
import type { PausingWork, Replay, Wait } from '#core/pausing-work.ts';
import type { Clock } from '#core/runtime.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import type { Value } from '#core/value/value.ts';
import type { EvaluationContext, LongWork, MemoryAccount, WorkMeter } from '../context.ts';
import { timed } from './done-work.ts';
import { textBytes } from './held-bytes.ts';
import { RememberedView } from './remembered-view.ts';
import { byteEstimateOf, isUnmeasured, measuredInTurns, requireTurn } from './value-size.ts';

/**
 * Calls inside expressions that may work long: searches for paths, moves from many vertices, sub-plans, functions of users; and
 * writes that set off triggers. An expression is a tree of closures that cannot stop half-way, so the operator that evaluates it
 * does this instead: when the work of a turn is done, the evaluation ends with `suspended`, the operator answers PAUSE, and
 * evaluates the expression once more from its beginning. Calls that are over give the value they had, the one that was stopped
 * goes on. So an expression must give the same calls each time: deterministic functions do, what others gave is remembered
 * (`once`), and so is what was read where calls may write (`remembered-view.ts`); laziness (CASE, AND, ??) stays what it is.
 */

/** Thrown through an expression whose work goes on in the next turn; no error, and cheap, since it has no stack. */
export const suspended = Object.freeze({ reason: 'the expression goes on in the next turn' });

/** Work in one turn: edges looked at, 16 for each record or list that must be looked up (10 us when nothing is cached). */
export const unitsPerTurn = 2_048;
export const unitsPerLookup = 16;
const unitsPerMs = 1_600;
/** Units between two looks at the clock; what was never run before takes several times as long as it will. */
const unitsPerClock = 256;
/** A turn is over so long after its first look, however little it has counted. */
const turnMsMax = 1.5;
/** One run of the body of a function or trigger, beside what its plan counts itself. */
export const unitsPerBody = 256;

/** Work of a call where nobody can pause: conditions of paths, values of conditions that an index answers, DEFAULT. */
const turnsInPlaceMax = 512;

interface LongCall {
  readonly site: object;
  /** Undefined for what was over at once. */
  work: PausingWork<unknown> | undefined;
  isOver: boolean;
  value: unknown;
  /** What the value is accounted with until the evaluation is over. */
  heldBytes: number;
}

/** What runs in turns: an evaluation, or the write of a record. Usually the context of a statement. */
export interface ReplayedPlace {
  longCalls?: EvaluationContext['longCalls'];
  view?: ReadView;
  /** Values of calls that are over are accounted here. */
  readonly memory?: MemoryAccount;
  /** The transaction, where writes are part of it. */
  readonly transaction?: { replay: Replay | undefined } | undefined;
  /** Told what the next turn waits for. */
  readonly pending?: { wait: Wait | undefined } | undefined;
  /** Where it has a clock, that ends turns, too. */
  readonly runtime?: { readonly clock: Pick<Clock, 'monotonicMs'> };
}

/** Evaluations begun or done anew so far, of all statements. */
let passCount = 0;

/** The long calls of one evaluation, in the order in which they are met. */
export class LongCalls implements WorkMeter, Replay {
  readonly #calls: LongCall[] = [];
  #position = 0;
  evaluation = 0;
  pass = 0;
  #unitsLeft = unitsPerTurn;
  /** At which it is time to look at the clock. */
  #unitsAtLook = unitsPerTurn;
  #endMs: number | undefined;
  /** A call has gone on in this turn. */
  #hasGoneOn = false;
  #place: ReplayedPlace | undefined;
  /** The account in which values are held. */
  #memory: MemoryAccount | undefined;
  #wait: Wait | undefined;
  /** What the place had, and what the evaluation reads through. */
  #view: ReadView | undefined;
  #remembered: RememberedView | undefined;

  /** The work of this turn is done. */
  get isExhausted(): boolean {
    return this.#unitsLeft <= 0;
  }

  /** An evaluation was interrupted and is to go on. */
  get isUnderway(): boolean {
    return this.#calls.length > 0;
  }

  newTurn(): void {
    this.#beginUnits();
    this.#hasGoneOn = false;
  }

  isSpent(units: number): boolean {
    this.#unitsLeft -= units;
    if (this.#unitsLeft <= this.#unitsAtLook) this.#look();
    return this.#unitsLeft <= 0;
  }

  #beginUnits(): void {
    this.#unitsLeft = unitsPerTurn;
    this.#unitsAtLook = unitsPerTurn;
    this.#endMs = undefined;
  }

  #look(): void {
    this.#unitsAtLook = this.#unitsLeft - unitsPerClock;
    const nowMs = this.#place?.runtime?.clock.monotonicMs();
    if (nowMs === undefined) return;
    this.#endMs ??= nowMs + turnMsMax;
    if (nowMs >= this.#endMs) this.#unitsLeft = Math.min(this.#unitsLeft, 0);
  }

  /**
   * Does the job, which is synchronous and may come to long calls; after an answer of false the caller pauses and tries the same
   * job again.
   * @returns false when it goes on in the next turn
   */
  attempt(place: ReplayedPlace, job: () => void): boolean {
    const { transaction } = place;
    const outerCalls = place.longCalls;
    const outerReplay = transaction?.replay;
    const outerPlace = this.#place;
    this.#place = place;
    this.#position = 0;
    passCount += 1;
    if (this.#calls.length === 0) this.evaluation = passCount;
    this.pass = passCount;
    this.#view = place.view;
    if (transaction !== undefined) this.#remember(place.view);
    let isSuspended = false;
    this.#enter(this, this);
    try {
      job();
      if (this.#position < this.#calls.length) this.#requireLeft(this.#position);
    } catch (error) {
      isSuspended = error === suspended;
      if (!isSuspended) throw error;
    } finally {
      this.#enter(outerCalls, outerReplay);
      this.#place = outerPlace;
      if (!isSuspended) this.#end();
    }
    if (!isSuspended) return true;
    if (place.pending !== undefined) place.pending.wait = this.#wait;
    this.newTurn();
    return false;
  }

  result<T>(site: object, begin: () => PausingWork<T>): T {
    const at = this.#position;
    this.#position += 1;
    let call = this.#calls[at];
    if (call?.site !== site) {
      if (call !== undefined) this.#requireLeft(at);
      this.#abandonFrom(at);
      call = { site, work: this.#apart(begin), isOver: false, value: undefined, heldBytes: 0 };
      this.#calls.push(call);
    }
    if (call.isOver) return call.value as T;
    if (this.isExhausted) {
      if (this.#hasGoneOn) throw suspended;
      // What stands around the calls is done anew each time: it may not take from them all that a turn has.
      this.#beginUnits();
    }
    this.#hasGoneOn = true;
    let step = this.#apart(() => (call.work as PausingWork<T>).next());
    if (step.done === true && isUnmeasured(step.value)) {
      call.work = this.#measuring(call, step.value);
      step = this.#apart(() => (call.work as PausingWork<T>).next());
    }
    this.#wait = step.done === true ? undefined : step.value;
    if (step.done !== true) throw suspended;
    call.isOver = true;
    call.value = step.value;
    this.#account(call);
    return step.value;
  }

  once<T>(site: object, compute: () => T): T {
    const at = this.#position;
    this.#position += 1;
    const known = this.#calls[at];
    if (known?.site === site) return known.value as T;
    if (known !== undefined) this.#requireLeft(at);
    this.#abandonFrom(at);
    const value = this.#apart(compute);
    const call = { site, work: undefined, isOver: true, value, heldBytes: 0 };
    this.#calls.push(call);
    this.#account(call);
    return value;
  }

  remembered<T>(site: object, compute: () => T, clock: Pick<Clock, 'monotonicMs'>): T {
    if (this.#calls[this.#position]?.site === site) return this.once(site, compute);
    if (this.isExhausted && this.#hasGoneOn) throw suspended;
    const startMs = clock.monotonicMs();
    const value = this.once(site, compute);
    this.#unitsLeft -= (clock.monotonicMs() - startMs) * unitsPerMs;
    this.#hasGoneOn = true;
    return value;
  }

  /** What was begun is not wanted any more. */
  reset(): void {
    this.#end();
    this.#wait = undefined;
    this.#remembered = undefined;
    this.#view = undefined;
  }

  /** The evaluation is over. */
  #end(): void {
    if (this.#calls.length > 0) this.#abandonFrom(0);
    this.#position = 0;
    const view = this.#view;
    if (view === undefined || this.#remembered?.isUnusedOn(view) === true) return;
    this.#remembered?.forget();
    this.#remembered = undefined;
  }

  #remember(view: ReadView | undefined): void {
    if (view === undefined || this.#calls.length > 0) return;
    if (this.#remembered?.isUnusedOn(view) !== true)
      this.#remembered = new RememberedView(view, this.#callCount);
  }

  /** Calls from here on are left though the evaluation before had come to them: what they wrote must not stand, or be done again. */
  #requireLeft(at: number): void {
    if (this.#remembered === undefined) return;
    for (let number = at; number < this.#calls.length; number += 1)
      if ((this.#calls[number] as LongCall).work !== undefined)
        throw new DatabaseError(
          'Internal',
          'an expression whose calls may write took another way when it was continued',
        );
  }

  readonly #callCount = (): number => this.#position;

  /** What is met inside of calls is none of the evaluation's own calls and reads. */
  #apart<T>(work: () => T): T {
    this.#enter(undefined, undefined);
    try {
      return work();
    } finally {
      this.#enter(this, this);
    }
  }

  #enter(longCalls: EvaluationContext['longCalls'], replay: Replay | undefined): void {
    const place = this.#place as ReplayedPlace;
    place.longCalls = longCalls;
    if (this.#remembered !== undefined)
      place.view = longCalls === this ? this.#remembered : (this.#view as ReadView);
    if (place.transaction !== undefined) place.transaction.replay = replay;
  }

  /** What it takes to account a long list, which is accounted by its length meanwhile. */
  #measuring(call: LongCall, list: readonly Value[]): PausingWork<unknown> {
    this.#hold(call, list.length * bytesPerElement);
    return measuredInTurns(list, this);
  }

  /** @throws DatabaseError `TooLarge` when the statement holds too much */
  #account(call: LongCall): void {
    this.#hold(call, rememberedBytes(call.value));
  }

  #hold(call: LongCall, bytes: number): void {
    const { memory } = this.#place as ReplayedPlace;
    if (memory === undefined || bytes === call.heldBytes) return;
    memory.reserve(bytes);
    memory.release(call.heldBytes);
    call.heldBytes = bytes;
    this.#memory = memory;
  }

  #abandonFrom(at: number): void {
    for (let number = at; number < this.#calls.length; number += 1) {
      const { isOver, work, heldBytes } = this.#calls[number] as LongCall;
      if (!isOver) work?.return(undefined);
      if (heldBytes > 0) this.#memory?.release(heldBytes);
    }
    this.#calls.length = at;
  }
}

/** The place of one in a list. */
const bytesPerElement = 8;
/** Texts of fewer characters are not accounted. */
const accountedText = 4_096;

/** What is held by remembering a value: large texts and bytes, lists with what is in them. */
function rememberedBytes(value: unknown): number {
  if (typeof value === 'string') return value.length < accountedText ? 0 : textBytes(value);
  if (typeof value !== 'object' || value === null) return 0;
  if (Array.isArray(value)) return byteEstimateOf(value as readonly Value[]);
  return value instanceof Uint8Array ? value.byteLength : 0;
}

/**
 * The value of a call that may work long, now or after some turns.
 * @param site tells the calls of an expression apart
 * @param what as it reads in the error
 * @throws DatabaseError `Timeout`, and `TooLarge` where nobody can pause and the call is too long for one turn
 */
export function longValue(
  context: EvaluationContext,
  site: object,
  what: string,
  begin: (meter: WorkMeter) => LongWork,
): Value {
  const { longCalls } = context;
  if (longCalls !== undefined) return longCalls.result(site, () => begin(longCalls));
  let unitsLeft = unitsPerTurn;
  const work = begin({
    isSpent(units) {
      unitsLeft -= units;
      return unitsLeft <= 0;
    },
  });
  try {
    for (let turn = 0; turn < turnsInPlaceMax; turn += 1) {
      unitsLeft = unitsPerTurn;
      const step = work.next();
      if (step.done === true) return step.value;
      checkTime(context, what);
    }
  } finally {
    work.return(null);
  }
  throw new DatabaseError(
    'TooLarge',
    `${what} takes more than ${turnsInPlaceMax * unitsPerTurn} steps, which it may not where the statement cannot pause; compute it in LET or in the projection`,
  );
}

/**
 * As `longValue` for what works long on large arguments only, which nobody knows before the call: callers ask for it when they see
 * such an argument. Where the evaluation cannot pause but may be done anew (`patience.ts`), that happens; elsewhere the work is
 * done at once, as it is bounded by the size of a value.
 */
export function pausingValue<T>(
  context: EvaluationContext,
  site: object,
  begin: (meter: WorkMeter) => PausingWork<T>,
): T {
  const { longCalls } = context;
  if (longCalls !== undefined) return longCalls.result(site, () => begin(longCalls));
  if (context.mayBeSuspended === true) throw suspended;
  const value = timed(context.runtime.clock, () => doneAtOnce(begin(inPlace), context));
  requireTurn(context);
  return value;
}

/**
 * The value of an operation on a large operand that is done at once, in milliseconds. Where the evaluation is in turns it is not done
 * again in each of them.
 */
export function rememberedValue<T>(context: EvaluationContext, site: object, compute: () => T): T {
  const { longCalls } = context;
  return longCalls === undefined
    ? timed(context.runtime.clock, compute)
    : longCalls.remembered(site, compute, context.runtime.clock);
}

/** Whether `pausingValue` would do its work in turns. */
export function canPause(context: EvaluationContext): boolean {
  return context.mayBeSuspended === true || context.longCalls !== undefined;
}

const inPlace: WorkMeter = { isSpent: () => false };

function doneAtOnce<T>(work: PausingWork<T>, context: EvaluationContext): T {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    checkTime(context, 'a call on a large value');
  }
}

function checkTime({ deadlineMs, runtime }: EvaluationContext, what: string): void {
  if (deadlineMs !== undefined && runtime.clock.monotonicMs() > deadlineMs)
    throw new DatabaseError('Timeout', `the statement ran out of time in ${what}`);
}
