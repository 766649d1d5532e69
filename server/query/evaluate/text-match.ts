import { compileLike } from '#core/like-pattern.ts';
import type { LikePattern } from '#core/like-pattern.ts';
import { compileRegularExpression } from '#core/regular-expression.ts';
import type { RegularExpression } from '#core/regular-expression.ts';
import { textOf } from '#core/text-form.ts';
import type { Value } from '#core/value.ts';
import type { EvaluationContext } from './context.ts';
import type { Condition, Evaluator } from './evaluator.ts';

/** LIKE, ILIKE and MATCHES. The pattern is usually the same for every row, so the last one stays compiled. */

/** A list on the left matches when any element does; what is no text is matched by its text form; null is unknown. */
export function compileLikeMatch(
  text: Evaluator,
  pattern: Evaluator,
  options: { readonly ignoreCase: boolean },
): Condition {
  let lastText: string | undefined;
  let last: LikePattern | undefined;
  return (context) => {
    const value = text(context);
    const wanted = pattern(context);
    if (value === null || wanted === null) return null;
    const wantedText = typeof wanted === 'string' ? wanted : textOf(wanted, context.formats);
    if (last === undefined || lastText !== wantedText) {
      last = compileLike(wantedText, options);
      lastText = wantedText;
    }
    return typeof value === 'string' ? last.matches(value) : likeAny(value, last, context);
  };
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
  let lastText: string | undefined;
  let last: RegularExpression | undefined;
  return (context) => {
    const value = text(context);
    const wanted = pattern(context);
    if (value === null || wanted === null) return null;
    const wantedText = typeof wanted === 'string' ? wanted : textOf(wanted, context.formats);
    if (last === undefined || lastText !== wantedText) {
      last = compileRegularExpression(wantedText);
      lastText = wantedText;
    }
    return matchesAny(value, last, context);
  };
}

function matchesAny(value: Value, pattern: RegularExpression, context: EvaluationContext): boolean {
  const { regexBudget, runtime } = context;
  if (typeof value === 'string') return pattern.matchesWhole(value, regexBudget, runtime.clock);
  if (!Array.isArray(value)) return false;
  for (let i = 0; i < value.length; i++) {
    const item = value[i] as Value;
    if (typeof item === 'string' && pattern.matchesWhole(item, regexBudget, runtime.clock))
      return true;
  }
  return false;
}
