import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { DatabaseError } from '#core/errors.ts';
import { checkProgram } from '#query/algebra/invariants.ts';
import { canonicalText } from '#language/sql/print.ts';
import { parseExpression, parseStatement } from '#language/sql/parser/statement.ts';
import { sqlScriptFrontend } from '#language/sqlscript/frontend.ts';
import { isScriptStatement } from '#language/sql/statements.ts';
import { analyzed, sampleCatalog } from '#test/language/support/sample-catalog.ts';

// Hostile and random texts: nothing but DatabaseError comes out, plans keep their invariants, and the canonical text of an
// expression reads back as the same expression.

const limits = { expressionDepthMax: 200, statementBytesMax: 4 * 1024 * 1024 };
const catalog = sampleCatalog();

const words = [
  ...'SELECT FROM WHERE LET GROUP BY ORDER UNWIND SKIP LIMIT TIMEOUT INSERT INTO VALUES SET CONTENT'.split(
    ' ',
  ),
  ...'LET IF ELSE WHILE FOREACH BREAK BEGIN COMMIT ROLLBACK RETRY SLEEP CONSOLE LOCK GLOBAL'.split(
    ' ',
  ),
  ...'UPDATE UPSERT RETURN BEFORE AFTER DELETE VERTEX CREATE EDGE TYPE PROPERTY INDEX ON UNIQUE MATCH'.split(
    ' ',
  ),
  ...'TRAVERSE MAXDEPTH WHILE AND OR NOT IN IS NULL DEFINED BETWEEN LIKE CONTAINS CONTAINSALL AS DESC'.split(
    ' ',
  ),
  ...'CASE WHEN THEN ELSE END for where distinct true false Person Doc Friend name age x a b'.split(
    ' ',
  ),
  ...'$x $parent $current $matched count max sum out in expand if type as optional while maxDepth'.split(
    ' ',
  ),
];
const signs = [
  ...'( ) [ ] { } , . .. ... : ; ? ?? + - * / % & | || ^ ! = == != <> < <= > >= <=> << >> >>> += -='.split(
    ' ',
  ),
];
const literals = [
  '1',
  '2.5',
  "'t'",
  '"u"',
  '#1:0',
  '12:0',
  '@rid',
  '@this',
  '@type',
  '$1',
  ':p',
  '`q r`',
  '1e3',
  '0x1F',
  "'",
  '`',
  '/*',
  '-- ',
  '#',
  '@',
  '\u0000',
  '\ud800',
];

const token = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...words) },
  { weight: 4, arbitrary: fc.constantFrom(...signs) },
  { weight: 2, arbitrary: fc.constantFrom(...literals) },
);

/** Runs `action`; errors of the database are what bad texts are answered with, everything else is a fault. */
function allowingRefusal(text: string, action: () => void): void {
  try {
    action();
  } catch (error) {
    if (error instanceof DatabaseError) {
      assert.doesNotMatch(error.message, /[\u0000-\u001f]/, 'messages stand on one line');
      return;
    }
    throw new Error(`${JSON.stringify(text)} made ${String(error)}`, { cause: error });
  }
}

test('soups of tokens are refused or analyzed, never anything else', () => {
  fc.assert(
    fc.property(
      fc.array(token, { maxLength: 40 }),
      fc.constantFrom(' ', ''),
      (tokens, separator) => {
        const text = tokens.join(separator);
        allowingRefusal(text, () => void sqlScriptFrontend.parse(text, limits));
        allowingRefusal(text, () => {
          // Statements of scripts are analyzed when they are run.
          if (!isScriptStatement(parseStatement(text, limits)))
            checkProgram(analyzed(text, catalog));
        });
      },
    ),
    { numRuns: 2000 },
  );
});

test('texts of any characters are refused or parsed', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (text) => {
      allowingRefusal(text, () => void parseStatement(text, limits));
      allowingRefusal(text, () => void parseStatement(`SELECT ${text} FROM Person`, limits));
    }),
    { numRuns: 500 },
  );
});

// --- statements that are right

interface Levels {
  readonly value: string;
  readonly condition: string;
}

type Tie = fc.LetrecTypedTie<Levels>;
const nested = { depthSize: 'small', withCrossShrink: true } as const;
const { value, condition } = fc.letrec<Levels>((tie) => ({
  value: values(tie),
  condition: conditions(tie),
}));

function values(tie: Tie): fc.Arbitrary<string> {
  const inner = tie('value');
  const leaves = [
    ...['1', '2.5', "'t'", 'null', 'name', 'age', '`odd name`', '@rid', '@this', ':p', '?'],
    ...['#1:0', '$x', '$current.name', '$parent.$current.age', 'true', '[]', '[1, 2]', '{a: 1}'],
    ...["out('Friend')", 'out().name', 'count(*)', 'max(age)', 'sum(age) + 1'],
  ];
  const operator = fc.constantFrom(...'+ - * / % & | ^ << || ??'.split(' '));
  const modifier = fc.constantFrom(
    ...['.name', '.size()', '[0]', '[1..2]', '[@this > 1]', '[> 1]', ':{*}', ':{name, !x}'],
  );
  return fc.oneof(
    nested,
    fc.constantFrom(...leaves),
    fc.tuple(inner, operator, inner).map((parts) => `(${parts.join(' ')})`),
    fc.tuple(inner, fc.constantFrom('+', '-', '*'), inner).map((parts) => parts.join(' ')),
    inner.map((operand) => `-(${operand})`),
    fc.tuple(inner, modifier).map(([of, mod]) => `(${of})${mod}`),
    fc
      .tuple(fc.constantFrom('ifnull', 'coalesce', 'max', 'list'), inner, inner)
      .map(([name, a, b]) => `${name}(${a}, ${b})`),
    fc.array(inner, { minLength: 1, maxLength: 3 }).map((items) => `[${items.join(', ')}]`),
    fc
      .tuple(tie('condition'), inner, inner)
      .map(([when, a, b]) => `CASE WHEN ${when} THEN ${a} ELSE ${b} END`),
    tie('condition').map((test) => `(${test})`),
    fc
      .tuple(inner, tie('condition'))
      .map(([item, where]) => `(SELECT ${item} AS x FROM Person WHERE ${where})`),
  );
}

function conditions(tie: Tie): fc.Arbitrary<string> {
  const inner = tie('value');
  const leaves = ['true', 'age > 1', 'name IS NULL', 'name IS NOT DEFINED', 'age IN [1, 2]'];
  const operator = fc.constantFrom(
    ...['=', '<>', '<', '>=', '<=>', 'LIKE', 'IN', 'CONTAINS', 'NOT IN', 'MATCHES'],
  );
  return fc.oneof(
    nested,
    fc.constantFrom(...leaves),
    fc.tuple(inner, operator, inner).map((parts) => parts.join(' ')),
    fc
      .tuple(tie('condition'), fc.constantFrom('AND', 'OR'), tie('condition'))
      .map((parts) => `(${parts.join(' ')})`),
    tie('condition').map((test) => `NOT (${test})`),
    fc.tuple(inner, inner, inner).map(([a, b, c]) => `${a} BETWEEN ${b} AND ${c}`),
    tie('condition').map((test) => `tags CONTAINS (${test} AND @this = 1)`),
  );
}

const select = fc
  .record({
    items: fc.array(value, { minLength: 1, maxLength: 3 }),
    distinct: fc.boolean(),
    star: fc.boolean(),
    lets: fc.option(value, { nil: undefined }),
    where: fc.option(condition, { nil: undefined }),
    group: fc.option(fc.constantFrom('name', 'age, name', 'c0'), { nil: undefined }),
    order: fc.option(fc.constantFrom('name', 'c0 DESC', 'age + 1, c0'), { nil: undefined }),
    unwind: fc.option(fc.constantFrom('c0', 'name', 'tags'), { nil: undefined }),
    limit: fc.option(fc.constantFrom('1', '-1', ':n', '(SELECT 1)'), { nil: undefined }),
  })
  .map((parts) => {
    const items = parts.items.map((item, at) => `${item} AS c${at}`);
    if (parts.star) items.push('*', '!x');
    return [
      `SELECT ${parts.distinct ? 'DISTINCT ' : ''}${items.join(', ')} FROM Person`,
      parts.lets === undefined ? '' : `LET $x = ${parts.lets}`,
      parts.where === undefined ? '' : `WHERE ${parts.where}`,
      parts.group === undefined ? '' : `GROUP BY ${parts.group}`,
      parts.order === undefined ? '' : `ORDER BY ${parts.order}`,
      parts.unwind === undefined ? '' : `UNWIND ${parts.unwind}`,
      parts.limit === undefined ? '' : `LIMIT ${parts.limit}`,
    ].join(' ');
  });

const statement = fc.oneof(
  { weight: 3, arbitrary: select },
  fc
    .tuple(value, condition)
    .map(([a, where]) => `UPDATE Person SET age = ${a} RETURN AFTER WHERE ${where}`),
  value.map((a) => `INSERT INTO Doc (a, b) VALUES (${a}, 1), (2, ${a})`),
  fc.tuple(select, value).map(([inner, a]) => `SELECT ${a} AS v, * FROM (${inner})`),
  select.map((inner) => `INSERT INTO Doc FROM ${inner}`),
  condition.map(
    (where) =>
      `MATCH {type: Person, as: a, where: (${where})}-Friend->{as: b, where: (${where})} RETURN a, b.name AS n ORDER BY n`,
  ),
  condition.map((where) => `TRAVERSE out() FROM Person WHILE ${where}`),
  condition.map((where) => `DELETE FROM Person WHERE ${where} LIMIT 1`),
);

test('statements that are right parse, and their plans keep the invariants', () => {
  fc.assert(
    fc.property(statement, (text) => {
      parseStatement(text, limits);
      // Aggregates in the wrong place are refused at analysis.
      allowingRefusal(text, () => checkProgram(analyzed(text, catalog)));
    }),
    { numRuns: 1500 },
  );
});

test('the canonical text of an expression reads back as the same text', () => {
  fc.assert(
    fc.property(value, (text) => {
      const once = canonicalText(parseExpression(text, limits), text);
      const twice = canonicalText(parseExpression(once, limits), once);
      assert.equal(twice, once);
    }),
    { numRuns: 1500 },
  );
});
