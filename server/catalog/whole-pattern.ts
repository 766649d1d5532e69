import { RE2JS } from 're2js';
import { DatabaseError } from '#core/errors.ts';

/** limits.md 10. */
const patternLengthMax = 65_536;

const compiled = new Map<string, RE2JS>();

/** @throws DatabaseError `IllegalArgument` for text that is no regular expression of the linear-time engine, or too long */
export function requirePattern(pattern: string): void {
  patternFor(pattern);
}

/** True when the whole text matches. Patterns are compiled once; time is linear in the text. */
export function matchesWhole(pattern: string, text: string): boolean {
  return patternFor(pattern).matches(text);
}

function patternFor(pattern: string): RE2JS {
  const known = compiled.get(pattern);
  if (known !== undefined) return known;
  if (pattern.length > patternLengthMax) {
    throw new DatabaseError(
      'IllegalArgument',
      `regular expression has ${pattern.length} characters; the limit is ${patternLengthMax}`,
    );
  }
  try {
    const made = RE2JS.compile(pattern);
    if (compiled.size >= 1_000) compiled.clear();
    compiled.set(pattern, made);
    return made;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new DatabaseError('IllegalArgument', `'${pattern}' is no regular expression: ${reason}`, {
      cause,
    });
  }
}
