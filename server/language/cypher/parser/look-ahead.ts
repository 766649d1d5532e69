import type { Parser } from './parser.ts';

/**
 * Whether the `(` here begins a path pattern rather than an expression in parentheses: what is in it looks like a node, and an
 * arrow follows. The parser stands where it stood.
 */
export function isPatternAhead(parser: Parser): boolean {
  const before = parser.index;
  const is = skipNode(parser) && isArrow(parser);
  parser.moveTo(before);
  return is;
}

/** Steps over `(...)` if its beginning is that of a node. */
function skipNode(parser: Parser): boolean {
  let distance = 1;
  if (parser.atName(distance)) distance += 1;
  const next = parser.peek(distance);
  const isNode =
    next === ')' ||
    next === ':' ||
    next === '{' ||
    next === 'parameter' ||
    isWord(parser, distance);
  if (!isNode) return false;
  let depth = 0;
  let index = parser.index;
  for (;;) {
    const kind = parser.kind;
    if (kind === 'end' || kind === 'invalid') return false;
    if (kind === '(' || kind === '{' || kind === '[') depth += 1;
    else if (kind === ')' || kind === '}' || kind === ']') depth -= 1;
    index += 1;
    parser.moveTo(index);
    if (depth === 0) return true;
  }
}

function isWord(parser: Parser, distance: number): boolean {
  const word = parser.word(distance);
  return (
    word === 'WHERE' ||
    (word === 'IS' &&
      parser.atName(distance + 1) &&
      !['NULL', 'NOT', 'TYPED'].includes(parser.word(distance + 1)))
  );
}

/** `--`, `-[`, `<-` followed by `-` or `[`. */
function isArrow(parser: Parser): boolean {
  const first = parser.at('<') ? 1 : 0;
  if (parser.peek(first) !== '-') return false;
  const next = parser.peek(first + 1);
  return next === '-' || next === '[';
}
