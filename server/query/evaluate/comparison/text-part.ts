import { findText } from '#core/text/find-text.ts';
import type { Condition, Evaluator } from '../evaluator.ts';
import { largeText } from '../turns/large.ts';
import { rememberedValue } from '../turns/long-calls.ts';

/** `text STARTS WITH part`, `ENDS WITH`, `CONTAINS`: null when either side is no text (cypher.md 5.3). */
export function compileTextPart(
  kind: 'start' | 'end' | 'any',
  text: Evaluator,
  part: Evaluator,
): Condition {
  const test = tests[kind];
  return (context) => {
    const whole = text(context);
    const sought = part(context);
    if (typeof whole !== 'string' || typeof sought !== 'string') return null;
    return whole.length < largeText
      ? test(whole, sought)
      : rememberedValue(context, test, () => test(whole, sought));
  };
}

const tests: Readonly<Record<'start' | 'end' | 'any', (text: string, part: string) => boolean>> = {
  start: (text, part) => text.startsWith(part),
  end: (text, part) => text.endsWith(part),
  any: (text, part) => findText(text, part) >= 0,
};
