import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { StatementSplitter } from '#cli/statement-splitter.ts';

function split(text: string, language = 'sql'): readonly string[] {
  const splitter = new StatementSplitter();
  splitter.language = language;
  const statements = text.split('\n').flatMap((line) => splitter.add(`${line}\n`));
  const rest = splitter.end();
  return (rest === undefined ? statements : [...statements, rest]).map((part) => part.text);
}

test('a semicolon ends a statement where it stands in nothing', () => {
  assert.deepEqual(split("a; b 'x;\\';' ; `c;d`; \"e;\"; f"), [
    'a',
    "b 'x;\\';'",
    '`c;d`',
    '"e;"',
    'f',
  ]);
  assert.deepEqual(split('a /* ; */ b; c -- ; d\n; e'), ['a /* ; */ b', 'c -- ; d', 'e']);
  assert.deepEqual(split('IF (x) { a; b; } ; c'), ['IF (x) { a; b; }', 'c']);
  assert.deepEqual(split('MATCH {as: a}--{as: b}; IMPORT DATABASE http://h/x; y'), [
    'MATCH {as: a}--{as: b}',
    'IMPORT DATABASE http://h/x',
    'y',
  ]);
  assert.deepEqual(split("RETURN 1 // it's; one\n; RETURN 2", 'cypher'), [
    "RETURN 1 // it's; one",
    'RETURN 2',
  ]);
  assert.deepEqual(split(';;\n ; -- comments\n/* only */'), []);
  assert.deepEqual(split('/* why */ a; -- b'), ['/* why */ a']);
});

test('statements that are quoted well come back as they were', () => {
  const word = fc.constantFrom('SELECT', '1', "'a;b'", '"c;d"', '`e;f`', '{g;h}', '/*;*/', '\n');
  const statement = fc
    .array(word, { maxLength: 8 })
    .map((words) => ['x', ...words].join(' ').trim());
  fc.assert(
    fc.property(fc.array(statement, { maxLength: 6 }), (statements) => {
      assert.deepEqual(split(statements.join(';')), statements);
    }),
  );
});
