import type { Value } from '#core/value.ts';
import type { Expression } from '../ast.ts';
import type { TokenKind } from '../lexer.ts';
import type { Parser } from './parser.ts';

/** Fast paths for literals, which are most of what very long statements consist of. */

/**
 * The literals of a list up to and with `close`, when it holds nothing else; otherwise nothing is consumed. Costs no syntax
 * node per literal.
 */
export function constantsUntil(parser: Parser, close: TokenKind): readonly Value[] | undefined {
  const start = parser.start;
  const counted = parser.countsTokens;
  parser.countsTokens = false;
  const values = literalsUntil(parser, close);
  parser.countsTokens = counted;
  if (values === undefined) parser.rewind(start);
  return values;
}

function literalsUntil(parser: Parser, close: TokenKind): readonly Value[] | undefined {
  const values: Value[] = [];
  if (parser.accept(close)) return values;
  while (atLiteral(parser)) {
    values.push(takeLiteral(parser));
    if (parser.at(close)) {
      parser.advance();
      return values;
    }
    if (!parser.at(',')) break;
    parser.advance();
  }
  return undefined;
}

/** A literal that is the whole expression, as told by what follows it. */
export function literalOf(parser: Parser): Expression | undefined {
  if (!atLiteral(parser)) return undefined;
  const isNegative = parser.at('-');
  const after = parser.peek(isNegative ? 2 : 1).kind;
  if (after !== ',' && after !== '}' && after !== ')') return undefined;
  const at = parser.start;
  return { kind: 'literal', value: takeLiteral(parser), at, end: parser.lastEnd };
}

function atLiteral(parser: Parser): boolean {
  switch (parser.kind) {
    case 'number':
    case 'string':
      return true;
    case '-':
      return parser.peek(1).kind === 'number';
    case 'word':
      return parser.keyword === 'TRUE' || parser.keyword === 'FALSE' || parser.keyword === 'NULL';
    default:
      return false;
  }
}

function takeLiteral(parser: Parser): Value {
  if (parser.at('string')) return parser.stringLiteral();
  if (parser.at('word')) {
    const value = parser.keyword === 'NULL' ? null : parser.keyword === 'TRUE';
    parser.advance();
    return value;
  }
  const isNegative = parser.at('-');
  if (isNegative) parser.advance();
  return parser.numberLiteral(isNegative);
}
