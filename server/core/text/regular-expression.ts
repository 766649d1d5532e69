import type { RE2JS } from 're2js';
import { DatabaseError } from '../errors.ts';
import { loadOnDemand } from '../load-on-demand.ts';
import { patternLengthMax } from './like-pattern.ts';
import { matchesInTurns } from './match-in-turns.ts';
import type { PausingWork, WorkMeter } from '../pausing-work.ts';
import type { Clock } from '../runtime.ts';

/**
 * Regular expressions on a linear-time engine (RE2 syntax: no back references, no look-around; inline flags such as `(?i)`
 * are fine). The worst cost of a match (characters times program size) is bounded beforehand, and matches that may take long are charged
 * to a budget shared by the whole statement; those that take milliseconds are done in turns where the statement can pause.
 */
export interface RegularExpression {
  /**
   * True when the WHOLE text matches.
   * @throws DatabaseError `Timeout` naming `command.regexTimeout` when the budget is used up or the text too long for the pattern
   */
  matchesWhole(text: string, budget: RegexBudget, clock: Clock): boolean;
  /** `matchesWhole` would take milliseconds. */
  isLongFor(text: string): boolean;
  /** As `matchesWhole`, in turns. */
  matchesInTurns(
    text: string,
    budget: RegexBudget,
    clock: Clock,
    meter: WorkMeter,
  ): PausingWork<boolean>;
  /** The engine's own object, for replacing and splitting. */
  readonly engine: RE2JS;
}

export interface RegexBudget {
  /** Milliseconds left for one statement. */
  remainingMs: number;
  /** The engine had not run yet when the statement began: it is made ready in turns (`preparedEngine`) before it is used. */
  readonly isEngineNew?: boolean;
}

const library = loadOnDemand<typeof import('re2js')>(import.meta.url, 're2js');
const expressions = new Map<string, RegularExpression>();
const cachedExpressionCountMax = 500;
const cachedPatternLengthMax = 4_096;
/** Characters times program size. One unit takes at most some 12 ns, so that the longest match ends within 0.3 s. */
const workMax = 25_000_000;
/** Above this it takes milliseconds. */
const workAtOnce = 200_000;
/** Below this a match takes microseconds, less than its share of a time slice, and is not charged. */
const workFree = 4_000;

let isPrepared = false;

export function isEnginePrepared(): boolean {
  return isPrepared;
}

const firstPattern = '(a|[^b-d]+)*\\w';

/** Loads the engine, compiles and matches for the first time: each is a step, and takes some milliseconds. */
export function* prepareEngine(): PausingWork<null> {
  const { RE2JS } = library();
  yield;
  const first = RE2JS.compile(firstPattern);
  yield;
  first.testExact('aab');
  isPrepared = true;
  yield;
  return null;
}

/**
 * Compiles a pattern; recently used ones are kept.
 * @throws DatabaseError `IllegalArgument` for a pattern above 64 K characters or with an error in it, `NotSupported` for what
 *   only an engine can do that goes back over the text
 */
export function compileRegularExpression(pattern: string): RegularExpression {
  const known = expressions.get(pattern);
  if (known) return known;
  if (pattern.length > patternLengthMax)
    throw new DatabaseError(
      'IllegalArgument',
      `regular expression longer than ${patternLengthMax} characters`,
    );
  const expression = wrap(compileEngine(pattern));
  if (pattern.length <= cachedPatternLengthMax) {
    if (expressions.size >= cachedExpressionCountMax) expressions.clear();
    expressions.set(pattern, expression);
  }
  return expression;
}

function compileEngine(pattern: string): RE2JS {
  isPrepared = true;
  try {
    return library().RE2JS.compile(pattern);
  } catch (cause) {
    const construct = backtrackingConstruct(pattern);
    if (construct !== undefined)
      throw new DatabaseError(
        'NotSupported',
        `not supported: ${construct} in a regular expression, since matching takes linear time`,
        { cause },
      );
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new DatabaseError(
      'IllegalArgument',
      `invalid regular expression: ${reason.slice(0, 200)}`,
      { cause },
    );
  }
}

const backtracking = [
  { construct: 'look-around', syntax: /\(\?<?[=!]/ },
  { construct: 'an atomic group', syntax: /\(\?>/ },
  { construct: 'a back reference', syntax: /\\[1-9k]|\(\?P=/ },
  { construct: 'a possessive quantifier', syntax: /[*+?}]\+/ },
] as const;

/** What a refused pattern asks for that no linear-time engine has. */
function backtrackingConstruct(pattern: string): string | undefined {
  // Neither what is escaped nor the members of classes are syntax.
  const looked = pattern.slice(0, cachedPatternLengthMax);
  const syntax = looked.replace(/\\[^1-9k]/gs, '').replace(/\[\^?\]?[^\]]*\]/g, '');
  return backtracking.find((each) => each.syntax.test(syntax))?.construct;
}

function wrap(engine: RE2JS): RegularExpression {
  const size = engine.programSize();
  return {
    engine,
    matchesWhole(text, budget, clock) {
      const work = text.length * size;
      if (work <= workFree) return engine.testExact(text);
      requireShort(text, work, budget);
      return charged(budget, clock, () => engine.testExact(text));
    },
    isLongFor: (text) => text.length * size > workAtOnce,
    *matchesInTurns(text, budget, clock, meter) {
      requireShort(text, text.length * size, budget);
      const work = matchesInTurns(engine, text, meter);
      for (;;) {
        const step = charged(budget, clock, () => work.next());
        if (step.done === true) return step.value;
        yield;
      }
    },
  };
}

function requireShort(text: string, work: number, budget: RegexBudget): void {
  if (work > workMax) throw tooLong(`a text of ${text.length} characters is too long for it`);
  if (budget.remainingMs <= 0) throw tooLong('the statement has used its time for them');
}

function charged<T>(budget: RegexBudget, clock: Clock, match: () => T): T {
  const startMs = clock.monotonicMs();
  const matched = match();
  budget.remainingMs -= clock.monotonicMs() - startMs;
  if (budget.remainingMs < 0) throw tooLong('the statement has used its time for them');
  return matched;
}

function tooLong(reason: string): DatabaseError {
  return new DatabaseError(
    'Timeout',
    `regular expression stopped (command.regexTimeout): ${reason}`,
  );
}
