// Goal: the grammar of cypher.md 2 to 4, and its faults by name and place.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DatabaseError } from '#core/errors.ts';
import { parseStatement } from '#language/cypher/parser/statement.ts';

const limits = { expressionDepthMax: 200, statementBytesMax: 4 * 1024 * 1024 };

function faultOf(text: string): string {
  try {
    parseStatement(text, limits);
  } catch (error) {
    assert.ok(error instanceof DatabaseError, String(error));
    return error.message;
  }
  return 'none';
}

test('faults have the name of the suite, a place and a caret', () => {
  for (const [text, message] of [
    ['RETURN 9223372036854775808', /^IntegerOverflow: line 1, column 8: .*\^9223372036854775808/],
    ['RETURN 1a', /^InvalidNumberLiteral: /],
    ['RETURN 1e400', /^FloatingPointOverflow: /],
    ["RETURN '\\uH'", /^InvalidUnicodeLiteral: /],
    ['RETURN 1 \u2014 2', /^InvalidUnicodeCharacter: /],
    ['MATCH (a)-[*-1]->() RETURN a', /^InvalidRelationshipPattern: /],
    ['RETURN 1 UNION RETURN 2 UNION ALL RETURN 3', /^InvalidClauseComposition: /],
    ['MTCH (n) RETURN n', /^UnexpectedSyntax: line 1, column 1: .*did you mean 'MATCH'\?$/],
    ['RETURN', /unexpected end of statement, expected an expression/],
  ] as const)
    assert.match(faultOf(text), message, text);
});

test('brackets with an arrow behind them are patterns, others are not', () => {
  for (const text of [
    'MATCH (a) WHERE (a)-->() RETURN (a.x)-1, (1)-(2), [(a)-->(b) | b.x], [(1) - 2]',
    'MATCH ((a)-[r:T]->(b) WHERE a.x > 1){1,3} (c) RETURN r',
    'MATCH (a:A&!B|%) WHERE a:X:Y OR a IS Z RETURN a {.*, .b, c: 1}',
    'RETURN case, match, `a b` AS `with`, -9223372036854775808, 0x1F, 0o17, .5, 1e9 ;',
    'CALL { WITH a RETURN 1 AS b } IN TRANSACTIONS OF 10 ROWS ON ERROR CONTINUE REPORT STATUS AS s RETURN b',
  ])
    assert.equal(faultOf(text), 'none', text);
});

test('nesting has a bound, chains have none', () => {
  assert.equal(faultOf(`RETURN ${'1 + '.repeat(50_000)}1`), 'none');
  assert.equal(faultOf(`RETURN ${'['.repeat(150)}${']'.repeat(150)}`), 'none');
  assert.match(faultOf(`RETURN ${'('.repeat(201)}1${')'.repeat(201)}`), /maxExpressionDepth/);
  assert.match(faultOf(`RETURN ${'NOT '.repeat(100_000)}true`), /maxExpressionDepth/);
  assert.match(faultOf(`RETURN n${'.a'.repeat(100_000)}`), /maxExpressionDepth/);
  assert.match(faultOf(`MATCH ${'(),'.repeat(200)}() RETURN 1`), /201 nodes.*maxExpressionDepth/);
  assert.equal(faultOf(`MATCH ${'(),'.repeat(199)}() RETURN 1`), 'none');
  assert.equal(faultOf(`RETURN [${'1,'.repeat(400_000)}1]`), 'none');
});

test('clauses that build on each other have a bound, those that create have none', () => {
  const refusal = /more than 800 clauses.*maxExpressionDepth/;
  for (const clause of ['MATCH (a:A) ', 'OPTIONAL MATCH (a:A) ', 'WITH 1 AS x ', 'MERGE (:A) ']) {
    assert.equal(faultOf(`${clause.repeat(799)}RETURN 1`), 'none', clause);
    assert.match(faultOf(`${clause.repeat(800)}RETURN 1`), refusal, clause);
    // Nothing behind the bound is looked at.
    assert.match(faultOf(`${clause.repeat(50_000)}MTCH`), refusal, clause);
  }
  // Rows in order are a step of their own.
  assert.equal(faultOf(`${'WITH 1 AS x LIMIT 1 '.repeat(399)}RETURN 1`), 'none');
  assert.match(faultOf(`${'WITH 1 AS x LIMIT 1 '.repeat(400)}RETURN 1`), refusal);
  assert.match(faultOf(`CALL { ${'MATCH (a) '.repeat(1001)} RETURN a } RETURN 1`), refusal);
  assert.equal(faultOf('CREATE (:A {k: 1}) '.repeat(5000)), 'none');
  assert.equal(faultOf(Array(5000).fill('RETURN 1').join(' UNION ')), 'none');
});
