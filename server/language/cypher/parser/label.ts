import type { LabelExpression } from '../ast.ts';
import type { Parser } from './parser.ts';

/** Label expressions (cypher.md 4.1): `A:B`, `A|B`, `A&B`, `!A`, `%`, `$(expr)`. A colon joins like `&`. */
export function labelExpression(parser: Parser): LabelExpression {
  parser.enter();
  const at = parser.start;
  const operands = [conjunction(parser)];
  // The old form `:A|:B` has a colon behind the bar.
  while (parser.accept('|')) {
    parser.accept(':');
    operands.push(conjunction(parser));
  }
  parser.leave();
  return operands.length === 1
    ? (operands[0] as LabelExpression)
    : { kind: 'or', operands, at, end: parser.lastEnd };
}

function conjunction(parser: Parser): LabelExpression {
  const at = parser.start;
  const operands = [single(parser)];
  while (parser.at('&') || (parser.at(':') && startsLabel(parser))) {
    parser.advance();
    operands.push(single(parser));
  }
  return operands.length === 1
    ? (operands[0] as LabelExpression)
    : { kind: 'and', operands, at, end: parser.lastEnd };
}

function startsLabel(parser: Parser): boolean {
  return parser.atName(1) || ['!', '%', '(', '$'].includes(parser.peek(1));
}

function single(parser: Parser): LabelExpression {
  const at = parser.start;
  if (parser.accept('!')) {
    parser.enter();
    const operand = single(parser);
    parser.leave();
    return { kind: 'not', operand, at, end: parser.lastEnd };
  }
  if (parser.accept('%')) return { kind: 'any', at, end: parser.lastEnd };
  if (parser.accept('(')) {
    const inner = labelExpression(parser);
    parser.expect(')');
    return inner;
  }
  if (parser.accept('$')) {
    parser.expect('(');
    const value = parser.grammar.expression(parser);
    parser.expect(')');
    if (value.kind === 'literal' && typeof value.value === 'string')
      return { kind: 'label', name: value.value, at, end: parser.lastEnd };
    return { kind: 'computed', value, at, end: parser.lastEnd };
  }
  const name = parser.name('a label');
  return { kind: 'label', name, at, end: parser.lastEnd };
}
