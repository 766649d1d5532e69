import { DatabaseError } from '#core/errors.ts';
import { compileLike } from '#core/text/like-pattern.ts';
import type { LikePattern } from '#core/text/like-pattern.ts';
import {
  compileRegularExpression,
  isEnginePrepared,
  prepareEngine,
  type RegularExpression,
} from '#core/text/regular-expression.ts';
import { textOf } from '#core/text/text-form.ts';
import type { Value } from '#core/value/value.ts';
import type { EvaluationContext } from '../context.ts';
import type { Condition, Evaluator } from '../evaluator.ts';
import { countMs } from '../turns/done-work.ts';
import { canPause, pausingValue } from '../turns/long-calls.ts';

/** LIKE, ILIKE and MATCHES. The pattern is usually the same for every row, so the last one stays compiled. */

/** A list on the left matches when any element does; what is no text is matched by its text form; null is unknown. */
export function compileLikeMatch(
  text: Evaluator,
  pattern: Evaluator,
  options: { readonly ignoreCase: boolean },
): Condition {
  const last = new LastPattern((wanted) => compileLike(wanted, options));
  return (context) => {
    const value = text(context);
    const wanted = pattern(context);
    if (value === null || wanted === null) return null;
    const compiled = last.compiled(wanted, context);
    return typeof value === 'string' ? compiled.matches(value) : likeAny(value, compiled, context);
  };
}

/**
 * The last pattern that a plan has seen, compiled. Plans live long, so one whose compiled form may be large is kept for its
 * execution only.
 */
class LastPattern<Compiled extends object> {
  readonly #compile: (pattern: string) => Compiled;
  readonly #large = new WeakMap<object, { readonly text: string; readonly compiled: Compiled }>();
  #text: string | undefined;
  #compiled: Compiled | undefined;

  constructor(compile: (pattern: string) => Compiled) {
    this.#compile = compile;
  }

  compiled(pattern: Value, context: EvaluationContext): Compiled {
    const text = typeof pattern === 'string' ? pattern : textOf(pattern, context.formats);
    if (this.#compiled !== undefined && this.#text === text) return this.#compiled;
    const { patternLengthMax = Infinity } = context.limits;
    if (text.length > patternLengthMax) throw patternTooLong(text.length, patternLengthMax);
    if (text.length > keptPatternLength) return this.#compileLarge(text, context.regexBudget);
    this.#compiled = this.#compile(text);
    this.#text = text;
    return this.#compiled;
  }

  #compileLarge(text: string, execution: object): Compiled {
    const kept = this.#large.get(execution);
    if (kept?.text === text) return kept.compiled;
    const compiled = this.#compile(text);
    this.#large.set(execution, { text, compiled });
    return compiled;
  }
}

const keptPatternLength = 1_024;

function patternTooLong(length: number, lengthMax: number): DatabaseError {
  return new DatabaseError(
    'IllegalArgument',
    `pattern of ${length} characters, more than the limit of ${lengthMax} (service.command.regexMaxSize)`,
  );
}

function likeAny(value: Value, pattern: LikePattern, context: EvaluationContext): boolean {
  if (!Array.isArray(value)) return pattern.matches(textOf(value, context.formats));
  for (let i = 0; i < value.length; i++) {
    const item = value[i] as Value;
    if (item !== null && pattern.matches(textOf(item, context.formats))) return true;
  }
  return false;
}

/** The whole text must match; a list on the left matches when any element does; what is no text never matches. */
export function compileMatches(text: Evaluator, pattern: Evaluator): Condition {
  const last = new LastPattern(compileRegularExpression);
  return (context) => {
    const value = text(context);
    const wanted = pattern(context);
    if (value === null || wanted === null) return null;
    requireEngine(context);
    return matchesAny(value, last.compiled(wanted, context), context);
  };
}

/** `text =~ pattern`: null when either side is no text. */
export function compileCypherMatches(text: Evaluator, pattern: Evaluator): Condition {
  const last = new LastPattern(compileRegularExpression);
  return (context) => {
    const value = text(context);
    const wanted = pattern(context);
    if (typeof value !== 'string' || typeof wanted !== 'string') return null;
    requireEngine(context);
    return matches(value, last.compiled(wanted, context), context);
  };
}

/**
 * The first use of the engine takes some turns. A statement that began before it does so in each evaluation in turns, since that must come
 * by the same calls whenever it is begun anew.
 */
function requireEngine(context: EvaluationContext): void {
  if (context.regexBudget.isEngineNew !== true || !canPause(context)) return;
  if (context.longCalls === undefined && isEnginePrepared()) return;
  pausingValue(context, requireEngine, prepareEngine);
}

function matchesAny(value: Value, pattern: RegularExpression, context: EvaluationContext): boolean {
  if (typeof value === 'string') return matches(value, pattern, context);
  if (!Array.isArray(value)) return false;
  for (let i = 0; i < value.length; i++) {
    const item = value[i] as Value;
    if (typeof item === 'string' && matches(item, pattern, context)) return true;
  }
  return false;
}

function matches(text: string, pattern: RegularExpression, context: EvaluationContext): boolean {
  const { regexBudget, runtime } = context;
  if (pattern.isLongFor(text) && canPause(context))
    return pausingValue(context, matches, (meter) =>
      pattern.matchesInTurns(text, regexBudget, runtime.clock, meter),
    );
  const leftMs = regexBudget.remainingMs;
  const matched = pattern.matchesWhole(text, regexBudget, runtime.clock);
  if (regexBudget.remainingMs < leftMs) countMs(leftMs - regexBudget.remainingMs);
  return matched;
}
