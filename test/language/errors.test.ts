import assert from 'node:assert/strict';
import { test } from 'node:test';
import { closestWord } from '#language/suggestion.ts';
import { syntaxError } from '#language/syntax-error.ts';
import { excerptAt, positionAt } from '#language/text-cursor.ts';
import { LanguageRegistry } from '#language/registry.ts';
import { sqlFrontend } from '#language/sql/frontend.ts';

test('positions count lines and characters from 1', () => {
  assert.deepEqual(positionAt('ab\ncd', 0), { line: 1, column: 1 });
  assert.deepEqual(positionAt('ab\ncd', 4), { line: 2, column: 2 });
  assert.deepEqual(positionAt('ab\ncd', 5), { line: 2, column: 3 });
  // One character of two code units.
  assert.deepEqual(positionAt('\u{1f600}x', 2), { line: 1, column: 2 });
});

test('excerpts show the line with a caret, cut and on one line', () => {
  assert.equal(excerptAt('a\nSELECT x\nb', 9), 'SELECT ^x');
  assert.equal(excerptAt('a\tb', 2), 'a ^b');
  const long = `${'x'.repeat(100)}!${'y'.repeat(100)}`;
  assert.equal(excerptAt(long, 100), `...${'x'.repeat(60)}^!${'y'.repeat(59)}...`);
});

test('a syntax error names place, problem, excerpt, expectations and suggestion', () => {
  const error = syntaxError({
    text: 'SELECT 1 +* 2',
    offset: 10,
    problem: "unexpected '*'",
    expected: ['a', 'b', 'c'],
    suggestion: 'b',
  });
  assert.equal(
    error.message,
    `line 1, column 11: unexpected '*' in "SELECT 1 +^* 2", expected a, b or c; did you mean 'b'?`,
  );
  assert.equal(error.code, 'Syntax');
  assert.equal(error.help, "did you mean 'b'?");
});

test('suggestions allow two slips, letters swapped counting as one', () => {
  assert.equal(closestWord('FORM', ['WHERE', 'FROM']), 'FROM');
  assert.equal(closestWord('whre', ['WHERE', 'FROM']), 'WHERE');
  assert.equal(closestWord('st', ['SET', 'LET']), 'SET');
  assert.equal(closestWord('banana', ['WHERE', 'FROM']), undefined);
});

test('languages are found by name in any letter case, and missing ones are named', () => {
  const registry = new LanguageRegistry([sqlFrontend]);
  assert.equal(registry.frontend('SQL').name, 'sql');
  assert.deepEqual(registry.names(), ['sql']);
  assert.throws(
    () => registry.frontend('cobol'),
    /language 'cobol' is not available; available: sql/,
  );
});
