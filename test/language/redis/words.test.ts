import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Line, LineScanner } from '#language/redis/words.ts';

// Texts of megabytes come from outside: whatever they are made of, no step looks at more than some kilobytes of them.

const unitCount = 300_000;
const stepUnitsMax = 16 * 1024;

const texts: Readonly<Record<string, string>> = {
  'a plain word': `GET ${'a'.repeat(unitCount)}`,
  'brackets that are never closed': `HGET Doc${'['.repeat(unitCount)} 1`,
  'brackets that are closed': `HGET Doc${'[a]'.repeat(unitCount / 3)} 1`,
  'short words': `EXISTS${' a'.repeat(unitCount / 2)}`,
  braces: `HSET Doc ${'{'.repeat(unitCount / 2)}${'}'.repeat(unitCount / 2)}`,
  'a quoted word': `GET "${'a'.repeat(unitCount)}"`,
  'a text in an object': `HSET Doc {"a":"${'a'.repeat(unitCount)}"}`,
  lines: 'PING\n'.repeat(unitCount / 5),
};

for (const [name, text] of Object.entries(texts))
  test(`a long text is read in short steps: ${name}`, () => {
    const { lines, stepCount } = scanned(text);
    assert.ok(stepCount >= text.length / stepUnitsMax - 1, `${stepCount} steps`);
    assert.equal(lines.map(({ words }) => words.join(' ')).join('\n'), withoutQuotes(text));
  });

test('a word in steps is the word in one: blanks in brackets belong to it', () => {
  const first = 'x'.repeat(20_000);
  const address = `${first}[a, ${'b'.repeat(20_000)}]`;
  assert.deepEqual(scanned(`HGET ${address} 1`).lines[0]?.words, ['HGET', address, '1']);
});

function scanned(text: string) {
  const scanner = new LineScanner(text);
  const lines: Line[] = [];
  let stepCount = 0;
  for (;;) {
    const work = scanner.next();
    let step = work.next();
    for (; step.done !== true; step = work.next()) stepCount += 1;
    if (step.value === undefined) return { lines, stepCount };
    lines.push(step.value);
  }
}

/** As the words are joined again. */
function withoutQuotes(text: string): string {
  return text.trimEnd().replace(/^(GET )"(.*)"$/, '$1$2');
}
