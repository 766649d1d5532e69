import type { Expression } from '../ast.ts';
import type { Keyword } from '../keywords.ts';
import type { Target } from '../statements.ts';
import { map, parameter, rid } from './expression.ts';
import type { Parser } from './parser.ts';
import { functionCall, postfix } from './postfix.ts';

/** What a statement reads from or changes (sql.md 7.3). */
export function target(parser: Parser): Target {
  switch (parser.kind) {
    case 'rid':
    case 'number':
    case '-':
    case '{':
      return { kind: 'rids', rids: ridsUntilNoComma(parser) };
    case '[':
      return bracketed(parser);
    case '?':
    case 'positional':
    case ':':
      return { kind: 'value', value: postfix(parser, parameter(parser)) };
    case '(':
      return parenthesised(parser);
    default:
      return named(parser);
  }
}

function named(parser: Parser): Target {
  if (parser.kind === 'word' && (!parser.atName() || parser.peek(1).kind === ':')) {
    const special = specialTarget(parser);
    if (special !== undefined) return special;
  }
  if (!parser.atName())
    return parser.unexpected(
      'a target: a type, record ids, bucket:..., a parameter or a sub-query',
    );
  const at = parser.start;
  const isVariable = parser.kind === 'word' && parser.text.charCodeAt(at) === 36;
  const name = parser.takeName();
  if (parser.at('('))
    return { kind: 'value', value: postfix(parser, functionCall(parser, name, at)) };
  if (isVariable) {
    const variable: Expression = { kind: 'name', name, isQuoted: false, at, end: parser.lastEnd };
    const value = postfix(parser, variable);
    parser.alias();
    return { kind: 'value', value };
  }
  parser.alias();
  return { kind: 'type', name, at };
}

function specialTarget(parser: Parser): Target | undefined {
  const { keyword } = parser;
  switch (keyword) {
    case 'BUCKET':
      afterColon(parser);
      return bucketTarget(parser);
    case 'INDEX':
      afterColon(parser);
      return { kind: 'index', name: looseName(parser) };
    case 'INDEXVALUES':
    case 'INDEXVALUESASC':
    case 'INDEXVALUESDESC':
      return indexValues(parser, keyword);
    case 'SCHEMA':
      afterColon(parser);
      return schemaTarget(parser);
    default:
      return undefined;
  }
}

/** Behind the word of a special target and its colon; behind BUCKET and SCHEMA, which are reserved, nothing else may stand. */
function afterColon(parser: Parser): void {
  parser.advance();
  parser.expect(':');
}

function indexValues(parser: Parser, keyword: Keyword): Target {
  afterColon(parser);
  const order = keyword === 'INDEXVALUESDESC' ? 'descending' : 'ascending';
  return { kind: 'indexValues', name: looseName(parser), order };
}

function schemaTarget(parser: Parser): Target {
  if (parser.kind !== 'word')
    return parser.unexpected('what of the schema: types, indexes, buckets, database, ...');
  const object = parser.source().toLowerCase();
  parser.advance();
  const name = parser.accept(':') ? looseName(parser) : undefined;
  return { kind: 'schema', object, name };
}

/** A name that may hold dots, dashes and brackets although it is not quoted. */
function looseName(parser: Parser): string {
  if (parser.at('quoted')) return parser.takeName();
  return parser.rawWord(/[A-Za-z0-9_.$@-]+(?:\[[^\]\s]*\])?/y);
}

/** After `bucket:`. */
function bucketTarget(parser: Parser): Target {
  if (parser.at('?') || parser.at(':') || parser.at('positional'))
    return { kind: 'bucketParameter', parameter: parameter(parser) };
  if (!parser.accept('[')) {
    const bucket = bucketReference(parser);
    parser.alias();
    return { kind: 'buckets', buckets: [bucket] };
  }
  const buckets = [bucketReference(parser)];
  while (parser.accept(',')) buckets.push(bucketReference(parser));
  parser.expect(']');
  return { kind: 'buckets', buckets };
}

/** The name or number of a bucket. */
export function bucketReference(parser: Parser): string | number {
  if (parser.at('number')) return parser.integer('a bucket');
  return parser.name('a bucket');
}

function ridsUntilNoComma(parser: Parser): readonly Expression[] {
  const rids = [ridExpression(parser)];
  while (parser.accept(',')) rids.push(ridExpression(parser));
  return rids;
}

/** `#12:0`, `12:0` or `{@rid: expr}`. */
export function ridExpression(parser: Parser): Expression {
  if (parser.at('rid')) return rid(parser, true);
  const at = parser.start;
  if (parser.at('{')) {
    const made = map(parser);
    return made.kind === 'ridOf' ? made : parser.fail(at, 'expected a record id');
  }
  if (!parser.at('number') && !parser.at('-')) return parser.unexpected('a record id');
  const made = parser.grammar.expression(parser);
  if (made.kind === 'rid') return made;
  return parser.fail(at, 'expected a record id like #12:0');
}

function bracketed(parser: Parser): Target {
  parser.advance();
  if (parser.accept(']')) return { kind: 'rids', rids: [] };
  const rids = [ridOrParameter(parser)];
  while (parser.accept(',')) rids.push(ridOrParameter(parser));
  parser.expect(']');
  return { kind: 'rids', rids };
}

function ridOrParameter(parser: Parser): Expression {
  if (parser.at('?') || parser.at('positional') || parser.at(':')) return parameter(parser);
  return ridExpression(parser);
}

function parenthesised(parser: Parser): Target {
  const at = parser.start;
  parser.advance();
  if (!parser.grammar.startsStatement(parser)) return parser.unexpected('a statement');
  parser.enter();
  const statement = parser.grammar.statement(parser);
  parser.leave();
  parser.expect(')');
  const query: Expression = { kind: 'subQuery', statement, at, end: parser.lastEnd };
  const value = postfix(parser, query);
  parser.alias();
  return value === query ? { kind: 'subQuery', statement } : { kind: 'value', value };
}
