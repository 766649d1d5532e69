import { Link } from '#core/value/record.ts';
import type { Value } from '#core/value/value.ts';
import type { Case, CaseBranch, ChainSign, Expression, MapEntry, SystemAttribute } from '../ast.ts';
import type { TokenKind } from '../lexer.ts';
import { isBeyondRids, ridBounds } from '#core/value/rid.ts';
import { decodeRid } from '../literals.ts';
import { conditionOrExpression } from './condition.ts';
import { constantsUntil, literalOf, writtenWidth } from './literal.ts';
import type { Parser } from './parser.ts';
import { functionCall, isNamespace, postfix } from './postfix.ts';

/**
 * Expressions (sql.md 5.1). Binary operators are parsed by precedence climbing; operators of one level become one flat chain,
 * so that neither parsing nor the tree grows deep with the length of a chain.
 */

const concatenateLevel = 1;
const coalesceLevel = 2;

/** Binding strength of binary operators; absent: not one. */
const levels = new Map<TokenKind, number>([
  ['||', concatenateLevel],
  ['??', coalesceLevel],
  ['|', 3],
  ['^', 4],
  ['&', 5],
  ['<<', 6],
  ['>>', 6],
  ['>>>', 6],
  ['+', 7],
  ['-', 7],
  ['*', 8],
  ['/', 8],
  ['%', 8],
]);

export function expression(parser: Parser): Expression {
  return climb(parser, unary(parser), concatenateLevel);
}

/** The rest of an expression whose first operand stands already. */
export function expressionAfter(parser: Parser, first: Expression): Expression {
  return climb(parser, postfix(parser, first), concatenateLevel);
}

function climb(parser: Parser, first: Expression, levelMin: number): Expression {
  let left = first;
  for (;;) {
    const level = levels.get(parser.kind) ?? 0;
    if (level < levelMin) return left;
    const operands = [left];
    const signs: ChainSign[] = [];
    while ((levels.get(parser.kind) ?? 0) === level) {
      signs.push(parser.kind as ChainSign);
      parser.advance();
      operands.push(climb(parser, unary(parser), level + 1));
    }
    const span = { at: left.at, end: parser.lastEnd };
    if (level === concatenateLevel) left = { kind: 'concatenate', operands, ...span };
    else if (level === coalesceLevel) left = { kind: 'coalesce', operands, ...span };
    else left = { kind: 'chain', signs, operands, ...span };
  }
}

/** Signs before an operand; a minus before a number belongs to the number. */
function unary(parser: Parser): Expression {
  const { kind, start } = parser;
  if (kind !== '-' && kind !== '+') return operand(parser);
  parser.advance();
  if (parser.at('number') && kind === '-') return number(parser, start);
  parser.enter();
  const inner = unary(parser);
  parser.leave();
  return { kind: 'unary', sign: kind, operand: inner, at: start, end: parser.lastEnd };
}

function operand(parser: Parser): Expression {
  const at = parser.start;
  switch (parser.kind) {
    case 'number':
      return number(parser, undefined);
    case 'string': {
      const value = parser.stringLiteral();
      return postfix(parser, { kind: 'literal', value, at, end: parser.lastEnd });
    }
    case 'rid':
      return postfix(parser, rid(parser));
    case 'attribute':
      return postfix(parser, attribute(parser));
    case '?':
    case 'positional':
    case ':':
      return postfix(parser, parameter(parser));
    case '(':
      return postfix(parser, parenthesised(parser));
    case '[':
      return postfix(parser, list(parser));
    case '{':
      return postfix(parser, map(parser));
    default:
      return word(parser);
  }
}

function word(parser: Parser): Expression {
  const at = parser.start;
  switch (parser.keyword) {
    case 'TRUE':
    case 'FALSE': {
      const value = parser.keyword === 'TRUE';
      parser.advance();
      return { kind: 'literal', value, at, end: parser.lastEnd };
    }
    case 'NULL':
      parser.advance();
      return postfix(parser, { kind: 'literal', value: null, at, end: parser.lastEnd });
    case 'CASE':
      return postfix(parser, caseExpression(parser));
    default:
      break;
  }
  const isNamespaceWord =
    parser.kind === 'word' && parser.peek(1).kind === '.' && isNamespace(parser.source());
  if (!parser.atName() && !isNamespaceWord) return parser.unexpected('an expression');
  const isQuoted = parser.at('quoted');
  const name = parser.takeName();
  if (parser.at('(')) return postfix(parser, functionCall(parser, name, at));
  return postfix(parser, { kind: 'name', name, isQuoted, at, end: parser.lastEnd });
}

/** A number, or a record id written without `#`; `minusAt` is where a minus before it stood. */
function number(parser: Parser, minusAt: number | undefined): Expression {
  const at = minusAt ?? parser.start;
  if (parser.peek(1).kind === ':' && isRidPosition(parser)) {
    while (!parser.at(':')) parser.advance();
    parser.advance();
    if (parser.at('-')) parser.advance();
    parser.advance();
    const source = parser.text.slice(at, parser.lastEnd).replace(/\s/g, '');
    return postfix(parser, ridLiteral(parser, source, at));
  }
  const value = parser.numberLiteral(minusAt !== undefined);
  return { kind: 'literal', value, width: writtenWidth(parser), at, end: parser.lastEnd };
}

function isRidPosition(parser: Parser): boolean {
  if (!/^\d+$/.test(parser.source())) return false;
  const next = parser.peek(2);
  return next.kind === 'number' || (next.kind === '-' && parser.peek(3).kind === 'number');
}

/** `#12:0` as the current token. As a target it may be an id that no record can have, which gives no rows (sql.md 7.3). */
export function rid(parser: Parser, isTarget = false): Expression {
  const at = parser.start;
  const source = parser.source();
  parser.advance();
  return ridLiteral(parser, source, at, isTarget);
}

function ridLiteral(parser: Parser, source: string, at: number, isTarget = false): Expression {
  const value = decodeRid(source);
  if (value === undefined) return parser.fail(at, `'${source}' is not a record id`);
  if (!isTarget && isBeyondRids(source))
    return parser.fail(at, `record id ${source} is out of range: ${ridBounds}`);
  return { kind: 'rid', value: new Link(value), at, end: parser.lastEnd };
}

function attribute(parser: Parser): Expression {
  const at = parser.start;
  const name = parser.takeName();
  if (name === '@this') return { kind: 'this', at, end: parser.lastEnd };
  return { kind: 'attribute', attribute: name as SystemAttribute, at, end: parser.lastEnd };
}

/** `?`, `$1` or `:name`. */
export function parameter(parser: Parser): Expression & { readonly kind: 'parameter' } {
  const at = parser.start;
  let name: string;
  if (parser.accept('?')) {
    name = String(parser.positionalCount);
    parser.positionalCount += 1;
  } else if (parser.at('positional')) {
    const position = Number(parser.source().slice(1));
    if (position < 1) parser.fail(at, 'positional parameters are counted from $1');
    name = String(position - 1);
    parser.advance();
  } else {
    parser.expect(':');
    if (parser.kind !== 'word' && parser.kind !== 'quoted') parser.unexpected('a parameter name');
    name = parser.takeName();
  }
  return { kind: 'parameter', name, at, end: parser.lastEnd };
}

function parenthesised(parser: Parser): Expression {
  const at = parser.start;
  parser.enter();
  parser.advance();
  if (parser.grammar.startsStatement(parser)) {
    const statement = parser.grammar.statement(parser);
    parser.leave();
    parser.expect(')');
    return { kind: 'subQuery', statement, at, end: parser.lastEnd };
  }
  const inner = conditionOrExpression(parser);
  parser.leave();
  parser.expect(')');
  return { kind: 'paren', inner, at, end: parser.lastEnd };
}

/** A list literal or a list comprehension. */
export function list(parser: Parser): Expression {
  const at = parser.start;
  const count = parser.tokenCount;
  parser.expect('[');
  const constants = constantsUntil(parser, ']');
  if (constants) return { kind: 'constants', values: constants, at, end: parser.lastEnd };
  parser.enter();
  const first = expression(parser);
  if (parser.acceptKeyword('FOR')) {
    const variable = parser.name('a variable');
    parser.expectKeyword('IN');
    const source = expression(parser);
    const condition = parser.acceptKeyword('WHERE') ? parser.grammar.condition(parser) : undefined;
    parser.leave();
    parser.expect(']');
    return {
      kind: 'comprehension',
      result: first,
      variable,
      list: source,
      condition,
      at,
      end: parser.lastEnd,
    };
  }
  const items = [first];
  while (parser.accept(',')) items.push(expression(parser));
  parser.leave();
  parser.expect(']');
  const span = { at, end: parser.lastEnd };
  const values = constantValues(items);
  if (values === undefined) return { kind: 'list', items, ...span };
  parser.forgetTokensSince(count);
  return { kind: 'constants', values, ...span };
}

/** A map literal, or `{@rid: expr}`. A map of constants is one literal. */
export function map(parser: Parser): Expression {
  const at = parser.start;
  const count = parser.tokenCount;
  parser.expect('{');
  const entries: MapEntry[] = [];
  parser.enter();
  while (!parser.at('}')) {
    const key = mapKey(parser);
    parser.expect(':');
    entries.push({ key, value: literalOf(parser) ?? expression(parser) });
    if (!parser.accept(',')) break;
    if (parser.at('}')) parser.unexpected('a key');
  }
  parser.leave();
  parser.expect('}');
  const only = entries[0];
  const span = { at, end: parser.lastEnd };
  if (entries.length === 1 && only && only.key === '@rid')
    return { kind: 'ridOf', value: only.value, ...span };
  const values = constantValues(entries.map((entry) => entry.value));
  if (values === undefined) return { kind: 'map', entries, ...span };
  parser.forgetTokensSince(count);
  const value = new Map(entries.map((entry, at) => [entry.key, values[at] ?? null]));
  return { kind: 'literal', value, longKeys: longKeysOf(entries), ...span };
}

function longKeysOf(entries: readonly MapEntry[]): ReadonlySet<string> | undefined {
  let keys: Set<string> | undefined;
  for (const { key, value } of entries) {
    if (value.kind === 'literal' && value.width !== undefined) {
      keys ??= new Set();
      keys.add(key);
    } else keys?.delete(key);
  }
  return keys;
}

/**
 * A reserved word with a colon behind it can only be a key: options like `maxDepth` (sql-functions.md 4.1) need no
 * back-ticks.
 */
function mapKey(parser: Parser): string {
  if (parser.at('string')) return parser.stringLiteral();
  if (parser.kind === 'word' && parser.peek(1).kind === ':') return parser.takeName();
  return parser.propertyName('a key');
}

/** The values of expressions that are all literals; undefined otherwise. */
function constantValues(items: readonly Expression[]): readonly Value[] | undefined {
  const values: Value[] = [];
  for (const item of items) {
    if (item.kind === 'literal' && item.longKeys === undefined) values.push(item.value);
    else if (item.kind === 'constants') values.push(item.values);
    else return undefined;
  }
  return values;
}

function caseExpression(parser: Parser): Case {
  const at = parser.start;
  parser.enter();
  parser.expectKeyword('CASE');
  const subject = parser.atKeyword('WHEN') ? undefined : expression(parser);
  const branches: CaseBranch[] = [];
  do {
    parser.expectKeyword('WHEN');
    const when = subject === undefined ? parser.grammar.condition(parser) : expression(parser);
    parser.expectKeyword('THEN');
    branches.push({ when, result: expression(parser) });
  } while (parser.atKeyword('WHEN'));
  const otherwise = parser.acceptKeyword('ELSE') ? expression(parser) : undefined;
  parser.leave();
  parser.expectKeyword('END');
  return { kind: 'case', subject, branches, otherwise, at, end: parser.lastEnd };
}
