import type { Condition, Evaluator } from '../evaluator.ts';

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
    return typeof whole === 'string' && typeof sought === 'string' ? test(whole, sought) : null;
  };
}

const tests: Readonly<Record<'start' | 'end' | 'any', (text: string, part: string) => boolean>> = {
  start: (text, part) => text.startsWith(part),
  end: (text, part) => text.endsWith(part),
  any: (text, part) => text.includes(part),
};
