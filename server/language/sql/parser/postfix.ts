import { type Expression, isPredicate, type NestedItem } from '../ast.ts';
import { compareSigns } from '../statements.ts';
import { conditionOrExpression } from './condition.ts';
import type { Parser } from './parser.ts';

/** What may be attached to an operand: properties, methods, selectors and nested projections (sql.md 5.1, 5.5, 7.5). */

/** Namespaces of functions that are written `ns.f(...)` without back-ticks (sql-functions.md 5.1 to 9). */
const namespaces: ReadonlySet<string> = new Set([
  'apoc',
  'agg',
  'coll',
  'convert',
  'create',
  'date',
  'fulltext',
  'geo',
  'map',
  'math',
  'node',
  'number',
  'path',
  'rel',
  'text',
  'ts',
  'util',
  'vector',
]);

export function isNamespace(word: string): boolean {
  return namespaces.has(word.toLowerCase());
}

export function postfix(parser: Parser, first: Expression): Expression {
  let value = first;
  for (let length = 1; ; length += 1) {
    switch (parser.kind) {
      case '.':
        value = member(parser, value);
        break;
      case '[':
        value = selector(parser, value);
        break;
      case ':':
        if (parser.peek(1).kind !== '{') return value;
        value = nested(parser, value);
        break;
      default:
        return value;
    }
    // Each link of the chain is one level when it is evaluated.
    parser.requireRoom(length);
  }
}

/** The call `name(...)` whose name stands already. */
export function functionCall(parser: Parser, name: string, at: number): Expression {
  parser.expect('(');
  if (parser.at('*')) {
    parser.advance();
    parser.expect(')');
    return { kind: 'call', name, arguments: [], isStar: true, at, end: parser.lastEnd };
  }
  const args = argumentsUntilClose(parser);
  return { kind: 'call', name, arguments: args, isStar: false, at, end: parser.lastEnd };
}

export function argumentsUntilClose(parser: Parser): readonly Expression[] {
  if (parser.accept(')')) return [];
  parser.enter();
  const args = [parser.grammar.expression(parser)];
  while (parser.accept(',')) args.push(parser.grammar.expression(parser));
  parser.leave();
  parser.expect(')');
  return args;
}

function member(parser: Parser, of: Expression): Expression {
  const { at } = of;
  parser.advance();
  if (parser.accept('*')) return { kind: 'allProperties', of, at, end: parser.lastEnd };
  const isQuoted = parser.at('quoted');
  const isCall = parser.peek(1).kind === '(';
  const path = namespacePath(of);
  // `coll.insert(...)`: reserved words need no back-ticks in the name of a function.
  const isWord = parser.kind === 'word' && (isCall || path !== undefined);
  const name = isWord ? parser.takeName() : parser.propertyName();
  if (!parser.at('(')) return { kind: 'property', of, name, isQuoted, at, end: parser.lastEnd };
  if (path !== undefined) return functionCall(parser, `${path}.${name}`, at);
  parser.advance();
  const args = argumentsUntilClose(parser);
  return { kind: 'method', of, name, arguments: args, at, end: parser.lastEnd };
}

/** `apoc.text` of `apoc.text.capitalize(...)`; undefined for what is no path of plain words that starts with a namespace. */
function namespacePath(expression: Expression): string | undefined {
  if (expression.kind === 'name' && !expression.isQuoted && isNamespace(expression.name))
    return expression.name;
  if (expression.kind !== 'property' || expression.isQuoted) return undefined;
  const path = namespacePath(expression.of);
  return path === undefined ? undefined : `${path}.${expression.name}`;
}

function selector(parser: Parser, of: Expression): Expression {
  parser.expect('[');
  parser.enter();
  const made = selectorBody(parser, of);
  parser.leave();
  parser.expect(']');
  return { ...made, end: parser.lastEnd };
}

function selectorBody(parser: Parser, of: Expression): Expression {
  const span = { at: of.at, end: parser.lastEnd };
  const test = selectorTest(parser);
  if (test !== undefined)
    return { kind: 'elementsThat', of, test, value: parser.grammar.expression(parser), ...span };
  if (parser.at('..') || parser.at('...')) return slice(parser, of, undefined);
  const first = conditionOrExpression(parser);
  if (parser.at('..') || parser.at('...')) return slice(parser, of, first);
  if (isPredicate(first)) return { kind: 'elementsWhere', of, condition: first, ...span };
  const keys = [first];
  while (parser.accept(',')) keys.push(parser.grammar.expression(parser));
  return { kind: 'element', of, keys, ...span };
}

type SelectorTest = (Expression & { readonly kind: 'elementsThat' })['test'];

/** `> 5`, `in [1, 2]`, `not in [1, 2]`, `like 'a%'` as the start of a selector. */
function selectorTest(parser: Parser): SelectorTest | undefined {
  const sign = compareSigns.get(parser.kind);
  if (sign !== undefined) {
    parser.advance();
    return sign;
  }
  if (parser.acceptKeyword('LIKE')) return 'like';
  if (parser.acceptKeyword('ILIKE')) return 'ilike';
  if (parser.acceptKeywords('NOT', 'IN')) return 'not in';
  if (!parser.atKeyword('IN')) return undefined;
  // A property may be named `in`.
  const after = parser.peek(1).kind;
  if (after === ']' || after === '.' || after === ',') return undefined;
  parser.advance();
  return 'in';
}

function slice(parser: Parser, of: Expression, low: Expression | undefined): Expression {
  if (low !== undefined) requireInteger(parser, low);
  const isInclusive = parser.at('...');
  parser.advance();
  const high = parser.at(']') ? undefined : parser.grammar.expression(parser);
  if (high !== undefined) requireInteger(parser, high);
  return { kind: 'slice', of, low, high, isInclusive, at: of.at, end: parser.lastEnd };
}

function requireInteger(parser: Parser, bound: Expression): void {
  if (bound.kind !== 'literal') return;
  const { value } = bound;
  if (typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value))) return;
  parser.fail(bound.at, 'the ends of a range must be integers');
}

function nested(parser: Parser, of: Expression): Expression {
  parser.advance();
  const items = nestedItems(parser);
  return { kind: 'nested', of, items, at: of.at, end: parser.lastEnd };
}

/** `{ *, name, !secret, pre*, city:{name} AS c }` */
export function nestedItems(parser: Parser): readonly NestedItem[] {
  parser.expect('{');
  parser.enter();
  const items = [nestedItem(parser)];
  while (parser.accept(',')) items.push(nestedItem(parser));
  parser.leave();
  parser.expect('}');
  return items;
}

function nestedItem(parser: Parser): NestedItem {
  if (parser.accept('*')) return { kind: 'all', nested: nestedOfAll(parser) };
  if (parser.accept('!')) {
    const name = parser.propertyName();
    return parser.accept('*') ? { kind: 'excludePrefix', prefix: name } : { kind: 'exclude', name };
  }
  if (parser.atName() && parser.peek(1).kind === '*') {
    const after = parser.peek(2).kind;
    if (after === ',' || after === '}') {
      const prefix = parser.takeName();
      parser.advance();
      return { kind: 'includePrefix', prefix };
    }
  }
  const value = parser.grammar.expression(parser);
  const alias = parser.acceptKeyword('AS') ? parser.name('an alias') : undefined;
  return { kind: 'include', value, alias };
}

/** The `:{...}` that may follow a `*`. */
export function nestedOfAll(parser: Parser): readonly NestedItem[] | undefined {
  if (!parser.at(':')) return undefined;
  parser.advance();
  return nestedItems(parser);
}
