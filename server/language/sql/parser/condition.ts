import { type Expression, isCondition } from '../ast.ts';
import type { TokenKind } from '../lexer.ts';
import { compareSigns } from '../statements.ts';
import { constantsUntil } from './literal.ts';
import { comparison, type Parser } from './parser.ts';

/** Conditions (sql.md 6.1). Chains of AND and OR are flat. */

export function condition(parser: Parser): Expression {
  return or(parser, false);
}

/** What stands in parentheses or brackets: a condition, or an expression alone. */
export function conditionOrExpression(parser: Parser): Expression {
  return or(parser, true);
}

function or(parser: Parser, mayBeBare: boolean): Expression {
  const first = and(parser, mayBeBare);
  if (!parser.atKeyword('OR') || !isCondition(first)) return first;
  const operands = [first];
  while (parser.acceptKeyword('OR')) operands.push(and(parser, false));
  return { kind: 'or', operands, at: first.at, end: parser.lastEnd };
}

function and(parser: Parser, mayBeBare: boolean): Expression {
  const first = not(parser, mayBeBare);
  if (!parser.atKeyword('AND') || !isCondition(first)) return first;
  const operands = [first];
  while (parser.acceptKeyword('AND')) operands.push(not(parser, false));
  return { kind: 'and', operands, at: first.at, end: parser.lastEnd };
}

function not(parser: Parser, mayBeBare: boolean): Expression {
  if (!parser.atKeyword('NOT')) return atom(parser, mayBeBare);
  const at = parser.start;
  parser.advance();
  parser.enter();
  const operand = not(parser, false);
  parser.leave();
  return { kind: 'not', operand, at, end: parser.lastEnd };
}

function atom(parser: Parser, mayBeBare: boolean): Expression {
  const left = parser.grammar.expression(parser);
  const sign = compareSigns.get(parser.kind);
  if (sign !== undefined) {
    parser.advance();
    const right = parser.grammar.expression(parser);
    return { kind: 'compare', sign, left, right, at: left.at, end: parser.lastEnd };
  }
  const tested = wordTest(parser, left);
  if (tested !== undefined) return tested;
  if (mayBeBare || isCondition(left)) return left;
  return parser.unexpected(comparison);
}

function wordTest(parser: Parser, left: Expression): Expression | undefined {
  const { at } = left;
  switch (parser.keyword) {
    case 'IS':
      return isTest(parser, left);
    case 'NOT':
      return negatedTest(parser, left);
    case 'IN':
    case 'BETWEEN':
    case 'LIKE':
    case 'ILIKE':
      return negatable(parser, left, false);
    case 'MATCHES': {
      parser.advance();
      const pattern = parser.grammar.expression(parser);
      return { kind: 'matches', text: left, pattern, at, end: parser.lastEnd };
    }
    case 'INSTANCEOF': {
      parser.advance();
      const type = parser.at('string') ? parser.stringLiteral() : parser.name('a type');
      return { kind: 'instanceOf', operand: left, type, at, end: parser.lastEnd };
    }
    case 'NEAR':
    case 'WITHIN':
      return parser.fail(
        parser.start,
        `${parser.keyword} is not an operator here; use geo.distance(), geo.dWithin() or geo.within()`,
      );
    default:
      return containment(parser, left);
  }
}

const containmentModes = {
  CONTAINS: 'element',
  CONTAINSALL: 'all',
  CONTAINSANY: 'any',
  CONTAINSKEY: 'key',
  CONTAINSVALUE: 'value',
  CONTAINSTEXT: 'text',
} as const;

function containment(parser: Parser, collection: Expression): Expression | undefined {
  const { keyword } = parser;
  if (keyword === undefined || !(keyword in containmentModes)) return undefined;
  const mode = containmentModes[keyword as keyof typeof containmentModes];
  parser.advance();
  const takesList = mode === 'element' || mode === 'all' || mode === 'any';
  const value = takesList ? membershipList(parser) : parser.grammar.expression(parser);
  return { kind: 'contains', mode, collection, value, at: collection.at, end: parser.lastEnd };
}

function isTest(parser: Parser, operand: Expression): Expression {
  parser.advance();
  const isNegated = parser.acceptKeyword('NOT');
  if (parser.acceptKeyword('NULL'))
    return { kind: 'isNull', operand, isNegated, at: operand.at, end: parser.lastEnd };
  parser.expectKeyword('DEFINED');
  return { kind: 'isDefined', operand, isNegated, at: operand.at, end: parser.lastEnd };
}

function negatedTest(parser: Parser, left: Expression): Expression {
  parser.advance();
  const tested = negatable(parser, left, true);
  return tested ?? parser.unexpected('IN, BETWEEN, LIKE or ILIKE');
}

function negatable(parser: Parser, left: Expression, isNegated: boolean): Expression | undefined {
  const { at } = left;
  switch (parser.keyword) {
    case 'IN': {
      parser.advance();
      const list = membershipList(parser);
      return { kind: 'in', element: left, list, isNegated, at, end: parser.lastEnd };
    }
    case 'BETWEEN': {
      parser.advance();
      const low = parser.grammar.expression(parser);
      parser.expectKeyword('AND');
      const high = parser.grammar.expression(parser);
      return { kind: 'between', operand: left, low, high, isNegated, at, end: parser.lastEnd };
    }
    case 'LIKE':
    case 'ILIKE': {
      const ignoresCase = parser.keyword === 'ILIKE';
      parser.advance();
      const pattern = parser.grammar.expression(parser);
      return { kind: 'like', text: left, pattern, ignoresCase, isNegated, at, end: parser.lastEnd };
    }
    default:
      return undefined;
  }
}

/** What continues an expression behind a closing bracket. */
const continuing: ReadonlySet<TokenKind> = new Set<TokenKind>([
  '.',
  '[',
  '+',
  '-',
  '*',
  '/',
  '%',
  '<<',
  '>>',
  '>>>',
  '&',
  '|',
  '^',
  '||',
  '??',
]);

/**
 * The right side of IN and CONTAINS. `(1, 2)` is a list; `(x)` with one expression that is no literal is that expression, so
 * that `IN (:ids)` and `IN (tags)` look into the list they name, and `CONTAINS (cond)` finds its condition.
 */
function membershipList(parser: Parser): Expression {
  const at = parser.start;
  if (!parser.at('(')) return parser.grammar.expression(parser);
  parser.advance();
  if (parser.grammar.startsStatement(parser)) {
    parser.rewind(at);
    return parser.grammar.expression(parser);
  }
  const constants = constantsUntil(parser, ')');
  if (constants) {
    const span = { at, end: parser.lastEnd };
    const [value = null] = constants;
    // `('5').asInteger()` and `(2) + 1` are values: only what ends behind the bracket is a list.
    const list: Expression =
      constants.length === 1 && continuing.has(parser.kind)
        ? { kind: 'paren', inner: { kind: 'literal', value, ...span }, ...span }
        : { kind: 'constants', values: constants, ...span };
    return parser.grammar.expressionAfter(parser, list);
  }
  parser.enter();
  const items = [conditionOrExpression(parser)];
  while (parser.accept(',')) items.push(parser.grammar.expression(parser));
  parser.leave();
  parser.expect(')');
  const [only] = items;
  const span = { at, end: parser.lastEnd };
  if (items.length > 1 || only === undefined) return { kind: 'list', items, ...span };
  return parser.grammar.expressionAfter(parser, { kind: 'paren', inner: only, ...span });
}
