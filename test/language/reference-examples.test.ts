import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { comparable, examplesIn, isCovered } from './support/reference-examples.ts';

// Every example of sql.md and sql-functions.md stands in some test, so that none is forgotten when the texts change. The texts are
// no part of the product: where they are not beside the checkout, there is nothing to compare with.

const texts = new URL('../../../shared/reference/', import.meta.url);
const tests = new URL('../', import.meta.url);

/** Examples that no test shows, and why. */
const exceptions: ReadonlyMap<string, string> = new Map([
  ['ALTER DATABASE `service.<key>` expr', 'placeholders; forms of it are in maintenance.txt'],
]);

/** How many examples each text has; fewer found means that finding them is broken. */
const counts = [
  { name: 'sql.md', atLeast: 70 },
  { name: 'sql-functions.md', atLeast: 65 },
];

for (const { name, atLeast } of counts) {
  const file = new URL(name, texts);
  const skip = existsSync(file) ? false : 'the reference texts are not here';
  test(`every example of ${name} stands in a test`, { skip }, () => {
    const examples = examplesIn(file, name);
    assert.ok(examples.length >= atLeast, `only ${examples.length} examples found`);
    const shown = testTexts();
    const missing = examples.filter(
      (example) => !exceptions.has(example.text) && !isCovered(example, shown),
    );
    assert.deepEqual(missing, []);
  });
}

test('exceptions are examples that no test shows', { skip: !existsSync(texts) }, () => {
  const examples = counts.flatMap(({ name }) => examplesIn(new URL(name, texts), name));
  const shown = testTexts();
  for (const [text, reason] of exceptions) {
    const example = examples.find((found) => found.text === text);
    assert.ok(example !== undefined, `no example any more: ${text} (${reason})`);
    assert.ok(!isCovered(example, shown), `shown by a test now: ${text}`);
  }
});

/** Every golden file and test but this one, in comparable form. */
function testTexts(): readonly string[] {
  return readdirSync(tests, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(txt|test\.ts)$/.test(path) && !path.includes('reference-examples'))
    .map((path) => comparable(readFileSync(new URL(path, tests), 'utf8')));
}
