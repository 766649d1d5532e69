import type { ChainSign, ComparisonSign, Expression, StringOperator, TypeName } from '../ast.ts';
import type { TokenKind } from '../lexer.ts';
import { atom } from './atom.ts';
import { labelExpression } from './label.ts';
import { LoopSite } from './loops.ts';
import type { Parser } from './parser.ts';

/** Expressions by precedence, from the weakest operator to the strongest (cypher.md 2.3). */

export function expression(parser: Parser): Expression {
  // Most of a long text are values in lists and maps.
  if (parser.atLoneLiteral()) return atom(parser);
  parser.enter();
  const value = joined(parser, 'or', xor);
  parser.leave();
  return value;
}

function xor(parser: Parser): Expression {
  return joined(parser, 'xor', and);
}

function and(parser: Parser): Expression {
  return joined(parser, 'and', not);
}

const connectives = {
  or: { word: 'OR', site: new LoopSite<Expression[]>() },
  xor: { word: 'XOR', site: new LoopSite<Expression[]>() },
  and: { word: 'AND', site: new LoopSite<Expression[]>() },
};

function joined(
  parser: Parser,
  kind: keyof typeof connectives,
  operand: (parser: Parser) => Expression,
): Expression {
  const { word, site } = connectives[kind];
  let loop = parser.resumed(site);
  if (loop === undefined) {
    const { index } = parser;
    const first = operand(parser);
    if (!parser.atWords(word)) return first;
    loop = parser.opened(site, [first], index);
  }
  const operands = loop.state;
  while (parser.acceptWords(word)) {
    operands.push(operand(parser));
    parser.took(loop);
  }
  const [{ at }] = operands as [Expression];
  return { kind, operands, at, end: parser.lastEnd };
}

function not(parser: Parser): Expression {
  const at = parser.start;
  if (!parser.atWords('NOT')) return comparison(parser);
  parser.advance();
  parser.enter();
  const operand = not(parser);
  parser.leave();
  return { kind: 'not', operand, at, end: parser.lastEnd };
}

const comparisonSigns: ReadonlySet<TokenKind> = new Set(['=', '<>', '!=', '<', '<=', '>', '>=']);

/** Operands with signs between them. */
interface Signed<Sign> {
  readonly operands: Expression[];
  readonly signs: Sign[];
}

const comparisons = new LoopSite<Signed<ComparisonSign>>();

/** `a < b <= c`: each pair of neighbours is compared. */
function comparison(parser: Parser): Expression {
  let loop = parser.resumed(comparisons);
  if (loop === undefined) {
    const { index } = parser;
    const first = predicate(parser);
    if (!comparisonSigns.has(parser.kind)) return first;
    loop = parser.opened(comparisons, { operands: [first], signs: [] }, index);
  }
  const { operands, signs } = loop.state;
  while (comparisonSigns.has(parser.kind)) {
    const sign = parser.at('!=') ? '<>' : (parser.kind as ComparisonSign);
    parser.advance();
    operands.push(predicate(parser));
    signs.push(sign);
    parser.took(loop);
  }
  const [{ at }] = operands as [Expression];
  return { kind: 'comparison', signs, operands, at, end: parser.lastEnd };
}

const textOperators = new Map<string, StringOperator>([
  ['STARTS', 'STARTS WITH'],
  ['ENDS', 'ENDS WITH'],
  ['CONTAINS', 'CONTAINS'],
]);

function predicate(parser: Parser): Expression {
  let left = sum(parser);
  for (;;) {
    const next = predicateAfter(parser, left);
    if (next === undefined) return left;
    left = next;
  }
}

function predicateAfter(parser: Parser, left: Expression): Expression | undefined {
  const { at } = left;
  const operator = textOperators.get(parser.word());
  if (operator !== undefined) {
    parser.advance();
    if (operator !== 'CONTAINS') parser.expectWords('WITH');
    const right = sum(parser);
    return { kind: 'textTest', operator, left, right, at, end: parser.lastEnd };
  }
  if (parser.accept('=~')) {
    const right = sum(parser);
    return { kind: 'matches', left, right, at, end: parser.lastEnd };
  }
  if (parser.acceptWords('IN')) {
    const list = sum(parser);
    return { kind: 'in', element: left, list, at, end: parser.lastEnd };
  }
  if (parser.accept('::')) return typed(parser, left, false);
  if (!parser.atWords('IS')) return undefined;
  parser.advance();
  const isNegated = parser.acceptWords('NOT');
  if (parser.acceptWords('NULL'))
    return { kind: 'isNull', operand: left, isNegated, at, end: parser.lastEnd };
  if (parser.acceptWords('TYPED') || parser.accept('::')) return typed(parser, left, isNegated);
  const form = /^NF(?:C|D|KC|KD)$/.test(parser.word()) ? parser.name() : undefined;
  if (form !== undefined || parser.atWords('NORMALIZED')) {
    parser.expectWords('NORMALIZED');
    return normalized(parser, left, form ?? 'NFC', isNegated);
  }
  const labels = labelExpression(parser);
  const test: Expression = { kind: 'hasLabels', of: left, labels, at, end: parser.lastEnd };
  return isNegated ? { kind: 'not', operand: test, at, end: parser.lastEnd } : test;
}

function normalized(
  parser: Parser,
  left: Expression,
  form: string,
  isNegated: boolean,
): Expression {
  const span = { at: left.at, end: parser.lastEnd };
  const args: Expression[] = [left, { kind: 'literal', value: form.toUpperCase(), ...span }];
  const test: Expression = { kind: 'call', name: 'isNormalized', isDistinct: false, args, ...span };
  return isNegated ? { kind: 'not', operand: test, ...span } : test;
}

function typed(parser: Parser, operand: Expression, isNegated: boolean): Expression {
  const type = typeName(parser);
  return { kind: 'isTyped', operand, isNegated, type, at: operand.at, end: parser.lastEnd };
}

const twoWordTypes: ReadonlySet<string> = new Set(['LOCAL', 'ZONED', 'PROPERTY', 'ANY']);

export function typeName(parser: Parser): TypeName {
  parser.enter();
  let name = parser.name('a type').toUpperCase();
  if (
    twoWordTypes.has(name) &&
    /^(?:TIME|DATETIME|VALUE|NODE|RELATIONSHIP|VERTEX|EDGE|MAP)$/.test(parser.word())
  )
    name += ` ${parser.name().toUpperCase()}`;
  let of: TypeName | undefined;
  if (parser.accept('<')) {
    of = typeName(parser);
    parser.expect('>');
  }
  const isNotNull = parser.acceptWords('NOT', 'NULL') || parser.accept('!');
  parser.leave();
  return { name, isNotNull, of };
}

type ChainSite = LoopSite<Signed<ChainSign>>;
const sums: ChainSite = new LoopSite();
const products: ChainSite = new LoopSite();
const powers: ChainSite = new LoopSite();

function sum(parser: Parser): Expression {
  return chain(parser, sums, (kind) => kind === '+' || kind === '-' || kind === '||', product);
}

function product(parser: Parser): Expression {
  return chain(parser, products, (kind) => kind === '*' || kind === '/' || kind === '%', power);
}

function power(parser: Parser): Expression {
  return chain(parser, powers, (kind) => kind === '^', unary);
}

function chain(
  parser: Parser,
  site: ChainSite,
  isSign: (kind: TokenKind) => boolean,
  operand: (parser: Parser) => Expression,
): Expression {
  let loop = parser.resumed(site);
  if (loop === undefined) {
    const { index } = parser;
    const first = operand(parser);
    if (!isSign(parser.kind)) return first;
    loop = parser.opened(site, { operands: [first], signs: [] }, index);
  }
  const { operands, signs } = loop.state;
  while (isSign(parser.kind)) {
    const sign = parser.kind as ChainSign;
    parser.advance();
    operands.push(operand(parser));
    signs.push(sign);
    parser.took(loop);
  }
  const [{ at }] = operands as [Expression];
  return { kind: 'chain', signs, operands, at, end: parser.lastEnd };
}

function unary(parser: Parser): Expression {
  const { kind, start: at } = parser;
  if (kind !== '-' && kind !== '+') return postfix(parser, atom(parser));
  parser.advance();
  if (kind === '-' && (parser.at('integer') || parser.at('float'))) {
    const value = parser.number(true);
    return postfix(parser, { kind: 'literal', value, at, end: parser.lastEnd });
  }
  parser.enter();
  const operand = unary(parser);
  parser.leave();
  return { kind: 'sign', sign: kind, operand, at, end: parser.lastEnd };
}

/** `.name`, `[key]`, `[low..high]`, and labels as the last link. */
function postfix(parser: Parser, first: Expression): Expression {
  let of = first;
  const { at } = first;
  let depth = 0;
  for (;;) {
    if (parser.at('.')) {
      parser.advance();
      const name = parser.name('a property');
      of = { kind: 'property', of, name, at, end: parser.lastEnd };
    } else if (parser.at('[')) of = subscript(parser, of);
    else break;
    parser.enter();
    depth += 1;
  }
  for (; depth > 0; depth -= 1) parser.leave();
  if (!parser.at(':') || !canStartLabel(parser)) return of;
  parser.advance();
  const labels = labelExpression(parser);
  return { kind: 'hasLabels', of, labels, at, end: parser.lastEnd };
}

function canStartLabel(parser: Parser): boolean {
  return parser.atName(1) || ['!', '%', '(', '$'].includes(parser.peek(1));
}

function subscript(parser: Parser, of: Expression): Expression {
  const { at } = of;
  parser.expect('[');
  const low = parser.at('..') ? undefined : parser.grammar.expression(parser);
  if (low !== undefined && parser.accept(']'))
    return { kind: 'index', of, key: low, at, end: parser.lastEnd };
  parser.expect('..');
  const high = parser.at(']') ? undefined : parser.grammar.expression(parser);
  parser.expect(']');
  return { kind: 'slice', of, low, high, at, end: parser.lastEnd };
}
