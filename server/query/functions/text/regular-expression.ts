import type { Matcher } from 're2js';
import { DatabaseError } from '#core/errors.ts';
import { compileRegularExpression } from '#core/text/regular-expression.ts';
import type { EvaluationContext } from '../../evaluate/context.ts';
import { refusal } from '../arguments.ts';
import { boundedText, requireBytes } from '../number/bounds.ts';

const matchesPerCheck = 64;
/** Characters times program size of one search; the engine needs some 12 ns for a unit. */
const workMax = 25_000_000;

/**
 * Replaces every match; `$1` and `${name}` in the replacement stand for groups, a backslash takes the next character
 * literally. Time is taken from the statement's budget for regular expressions.
 *
 * @throws DatabaseError `Timeout` naming `command.regexTimeout`, `IllegalArgument` for a wrong pattern or replacement
 */
export function replacePattern(
  text: string,
  pattern: string,
  replacement: string,
  context: EvaluationContext,
): string {
  const { engine } = compileRegularExpression(pattern);
  const { clock } = context.runtime;
  if (text.length * engine.programSize() > workMax) throw stopped('the text is too long for it');
  const matcher = engine.matcher(text);
  const parts = parseReplacement(replacement, matcher);
  let result = '';
  let at = 0;
  let matchCount = 0;
  let start = clock.monotonicMs();
  while (matcher.find()) {
    result += text.slice(at, matcher.start()) + expanded(parts, matcher);
    at = matcher.end();
    requireBytes(result.length, context);
    if (++matchCount % matchesPerCheck !== 0) continue;
    const now = clock.monotonicMs();
    charge(now - start, context);
    start = now;
  }
  charge(clock.monotonicMs() - start, context);
  return boundedText(result + text.slice(at), context);
}

/** Literal text, or the group whose match stands there. */
type Part =
  | { readonly kind: 'literal'; readonly text: string }
  | { readonly kind: 'group'; readonly group: number | string };

const partShape = /\\(.)|\$(\d)|\$\{(\w+)\}|([^\\$]+)|./gs;

function parseReplacement(replacement: string, matcher: Matcher): readonly Part[] {
  const parts: Part[] = [];
  const named = matcher.namedGroups;
  for (const [whole, escaped, digit, name, plain] of replacement.matchAll(partShape)) {
    if (digit !== undefined) {
      const group = Number(digit);
      if (group > matcher.groupCount()) throw refusal(`invalid replacement: no group ${group}`);
      parts.push({ kind: 'group', group });
    } else if (name !== undefined) {
      if (!Object.hasOwn(named, name)) throw refusal(`invalid replacement: no group '${name}'`);
      parts.push({ kind: 'group', group: name });
    } else {
      const text = escaped ?? plain;
      if (text === undefined)
        throw refusal(`invalid replacement: '${whole}' must be followed by a group`);
      parts.push({ kind: 'literal', text });
    }
  }
  return parts;
}

function expanded(parts: readonly Part[], matcher: Matcher): string {
  let text = '';
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i] as Part;
    text += part.kind === 'literal' ? part.text : (matcher.group(part.group) ?? '');
  }
  return text;
}

function charge(ms: number, context: EvaluationContext): void {
  context.regexBudget.remainingMs -= ms;
  if (context.regexBudget.remainingMs < 0)
    throw stopped('the statement has used its time for them');
}

function stopped(reason: string): DatabaseError {
  return new DatabaseError(
    'Timeout',
    `regular expression stopped (command.regexTimeout): ${reason}`,
  );
}
