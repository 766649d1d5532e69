import { compileRegularExpression } from '#core/text/regular-expression.ts';

/** @throws DatabaseError `IllegalArgument` for text that is no regular expression of the linear-time engine, or too long */
export function requirePattern(pattern: string): void {
  compileRegularExpression(pattern);
}

/** Validation is not charged to a statement's time for regular expressions: the engine's own bound of one match is enough. */
const clock = { now: () => 0, monotonicMs: () => 0 };
const budget = { remainingMs: Number.POSITIVE_INFINITY };

/** True when the whole text matches. Patterns are compiled once; time is linear in the text. */
export function matchesWhole(pattern: string, text: string): boolean {
  return compileRegularExpression(pattern).matchesWhole(text, budget, clock);
}
