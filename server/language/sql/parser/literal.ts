import type { Value } from '#core/value/value.ts';
import type { Expression } from '../ast.ts';
import type { TokenKind } from '../lexer.ts';
import type { Parser } from './parser.ts';

/** Fast paths for literals, which are most of what very long statements consist of. */

/**
 * The literals of a list up to and with `close`, when it holds nothing else; otherwise nothing is consumed. Costs no syntax
 * node per literal.
 * @param options `keepsWidths`: a number that is written as a LONG is more than its value, so nothing is consumed
 */
export function constantsUntil(
  parser: Parser,
  close: TokenKind,
  { keepsWidths = false }: { readonly keepsWidths?: boolean } = {},
): readonly Value[] | undefined {
  const start = parser.start;
  const counted = parser.countsTokens;
  parser.countsTokens = false;
  const values = literalsUntil(parser, close, keepsWidths);
  parser.countsTokens = counted;
  if (values === undefined) parser.rewind(start);
  return values;
}

function literalsUntil(
  parser: Parser,
  close: TokenKind,
  keepsWidths: boolean,
): readonly Value[] | undefined {
  const values: Value[] = [];
  if (parser.accept(close)) return values;
  while (atLiteral(parser)) {
    values.push(takeLiteral(parser));
    if (keepsWidths && writtenWidth(parser) !== undefined) return undefined;
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
  const value = takeLiteral(parser);
  return { kind: 'literal', value, width: writtenWidth(parser), at, end: parser.lastEnd };
}

/** By the suffix of the number that was just taken; strings and words end otherwise. */
export function writtenWidth(parser: Parser): 'LONG' | undefined {
  const last = parser.text.charCodeAt(parser.lastEnd - 1);
  if (last !== upperL && last !== lowerL) return undefined;
  // `NULL` ends so, too.
  const before = parser.text.charCodeAt(parser.lastEnd - 2);
  return before >= digit0 && before <= digit9 ? 'LONG' : undefined;
}

const upperL = 76;
const lowerL = 108;
const digit0 = 48;
const digit9 = 57;

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
