import type { ParseLimits } from '../../frontend.ts';
import type { Expression } from '../ast.ts';
import type { Keyword } from '../keywords.ts';
import type { Inspect, Statement } from '../statements.ts';
import * as command from './command.ts';
import { condition } from './condition.ts';
import { expression, expressionAfter } from './expression.ts';
import { match } from './match.ts';
import { type Grammar, type Parser, parseWith } from './parser.ts';
import * as schema from './schema.ts';
import * as script from './script.ts';
import { select, traverse } from './select.ts';
import * as view from './view.ts';
import * as write from './write.ts';

/** The entry points of the parser, and which word starts which statement. */

/** One statement, which may end with `;`. @throws DatabaseError `Syntax`, `TooLarge` */
export function parseStatement(text: string, limits: ParseLimits): Statement {
  return parseWith(text, limits, grammar, (parser) => {
    const made = statement(parser);
    parser.accept(';');
    if (!parser.at('end')) parser.unexpected('end of statement');
    return made;
  });
}

/** A script: statements with `;` between them, which may be left out. @throws DatabaseError `Syntax`, `TooLarge` */
export function parseScript(text: string, limits: ParseLimits): readonly Statement[] {
  return parseWith(text, limits, grammar, (parser) => script.statementsUntil(parser, 'end'));
}

/** An expression that is the whole text (defaults of properties). @throws DatabaseError `Syntax`, `TooLarge` */
export function parseExpression(text: string, limits: ParseLimits): Expression {
  return parseWith(text, limits, grammar, (parser) => {
    const made = expression(parser);
    if (!parser.at('end')) parser.unexpected('end of expression');
    return made;
  });
}

const grammar: Grammar = {
  expression,
  expressionAfter,
  condition,
  statement,
  scriptStatement,
  startsStatement,
};

type StatementParser = (parser: Parser) => Statement;

const starts: ReadonlyMap<Keyword, StatementParser> = new Map<Keyword, StatementParser>([
  ['SELECT', select],
  ['MATCH', match],
  ['TRAVERSE', traverse],
  ['INSERT', write.insert],
  ['UPDATE', write.update],
  ['DELETE', remove],
  ['CREATE', create],
  ['ALTER', alter],
  ['DROP', drop],
  ['EXPLAIN', inspect],
  ['PROFILE', inspect],
  ['MOVE', command.moveVertex],
  ['TRUNCATE', truncate],
  ['REBUILD', command.rebuild],
  ['COMPACT', command.compactIndex],
  ['FIND', command.findReferences],
  ['CHECK', command.checkDatabase],
  ['BACKUP', command.databaseOperation],
  ['EXPORT', command.databaseOperation],
  ['IMPORT', command.databaseOperation],
  ['ALIGN', command.databaseOperation],
  ['RESTORE', command.restoreRecord],
  ['REFRESH', view.refresh],
  ['DEFINE', command.defineFunction],
  ['LET', script.letStatement],
  ['SET', script.setGlobal],
  ['RETURN', script.returnStatement],
  ['IF', script.ifStatement],
  ['BEGIN', script.begin],
  ['COMMIT', script.commit],
  ['ROLLBACK', (parser) => script.bareWord(parser, 'rollback')],
  ['LOCK', script.lock],
  ['SLEEP', script.sleep],
  ['CONSOLE', script.consoleStatement],
]);

const scriptOnlyStarts: ReadonlyMap<Keyword, StatementParser> = new Map<Keyword, StatementParser>([
  ['WHILE', script.whileStatement],
  ['FOREACH', script.forEach],
  ['BREAK', (parser) => script.bareWord(parser, 'break')],
]);

function statement(parser: Parser): Statement {
  const parse = parser.keyword && starts.get(parser.keyword);
  if (parse !== undefined) return parse(parser);
  // Tried one by one so that the error names them and finds the one that was misspelt.
  for (const keyword of starts.keys()) parser.acceptKeyword(keyword);
  return parser.unexpected();
}

function scriptStatement(parser: Parser): Statement {
  const parse = parser.keyword && scriptOnlyStarts.get(parser.keyword);
  if (parse !== undefined) return parse(parser);
  const isCall = parser.atName() && parser.keyword !== 'IF' && parser.peek(1).kind === '(';
  for (const keyword of scriptOnlyStarts.keys()) parser.acceptKeyword(keyword);
  return isCall ? script.callStatement(parser) : statement(parser);
}

/** What the second word must be for the word to start a statement, where the word may be a name as well. */
const followers: ReadonlyMap<Keyword, readonly Keyword[]> = new Map<Keyword, readonly Keyword[]>([
  ['ALTER', ['TYPE', 'PROPERTY', 'BUCKET', 'DATABASE', 'MATERIALIZED', 'GRAPH', 'TIMESERIES']],
  [
    'DROP',
    [
      'TYPE',
      'PROPERTY',
      'BUCKET',
      'INDEX',
      'TRIGGER',
      'MATERIALIZED',
      'GRAPH',
      'TIMESERIES',
      'CONTINUOUS',
    ],
  ],
  ['MOVE', ['VERTEX']],
  ['TRUNCATE', ['TYPE', 'BUCKET', 'RECORD']],
  ['REBUILD', ['INDEX', 'TYPE', 'GRAPH']],
  ['COMPACT', ['INDEX']],
  ['FIND', ['REFERENCES']],
  ['CHECK', ['DATABASE']],
  ['EXPORT', ['DATABASE']],
  ['IMPORT', ['DATABASE']],
  ['ALIGN', ['DATABASE']],
  ['RESTORE', ['DOCUMENT', 'VERTEX', 'EDGE']],
  ['REFRESH', ['MATERIALIZED', 'CONTINUOUS']],
]);

const alwaysStatements: ReadonlySet<Keyword> = new Set<Keyword>([
  'SELECT',
  'MATCH',
  'TRAVERSE',
  'INSERT',
  'UPDATE',
  'DELETE',
  'BACKUP',
  'DEFINE',
]);

/** True when a statement starts here, in a place where an expression may stand as well. */
function startsStatement(parser: Parser): boolean {
  const { keyword } = parser;
  if (keyword === undefined) return false;
  if (alwaysStatements.has(keyword)) return true;
  // `create.uuid()` is a call.
  if (keyword === 'CREATE') return parser.peek(1).kind !== '.';
  if (keyword === 'EXPLAIN' || keyword === 'PROFILE') {
    const next = parser.peek(1).keyword;
    return next !== undefined && starts.has(next);
  }
  const second = parser.peek(1).keyword;
  return second !== undefined && (followers.get(keyword)?.includes(second) ?? false);
}

function inspect(parser: Parser): Inspect {
  const at = parser.start;
  const mode = parser.atKeyword('EXPLAIN') ? 'explain' : 'profile';
  parser.advance();
  parser.enter();
  const inner = statement(parser);
  parser.leave();
  return { kind: 'inspect', mode, statement: inner, at, end: parser.lastEnd };
}

function remove(parser: Parser): Statement {
  const at = parser.start;
  if (!parser.peekKeyword(1, 'FUNCTION')) return write.remove(parser);
  parser.advance();
  parser.advance();
  return command.deleteFunction(parser, at);
}

function truncate(parser: Parser): Statement {
  const at = parser.start;
  parser.advance();
  return command.truncate(parser, at);
}

function create(parser: Parser): Statement {
  const at = parser.start;
  parser.advance();
  if (parser.acceptKeyword('DOCUMENT')) {
    parser.expectKeyword('TYPE');
    return schema.createType(parser, 'document', at);
  }
  if (parser.acceptKeyword('VERTEX'))
    return startsTypeName(parser)
      ? schema.createType(parser, 'vertex', at)
      : write.createVertex(parser, at);
  if (parser.acceptKeyword('EDGE'))
    return startsTypeName(parser)
      ? schema.createType(parser, 'edge', at)
      : write.createEdge(parser, at);
  if (parser.acceptKeyword('PROPERTY')) return schema.createProperty(parser, at);
  if (parser.acceptKeyword('INDEX')) return schema.createIndex(parser, at);
  if (parser.acceptKeyword('BUCKET')) return schema.createBucket(parser, at);
  return createOther(parser, at);
}

/** Consumes TYPE when it is the keyword: a vertex type of the name `Type` is not followed by a name. */
function startsTypeName(parser: Parser): boolean {
  if (!parser.atKeyword('TYPE')) return false;
  const next = parser.peek(1);
  const isKeyword =
    (next.kind === 'word' &&
      next.keyword !== 'SET' &&
      next.keyword !== 'CONTENT' &&
      next.keyword !== 'BUCKET' &&
      next.keyword !== 'FROM') ||
    next.kind === 'quoted' ||
    next.kind === 'end';
  if (isKeyword) parser.advance();
  return isKeyword;
}

function createOther(parser: Parser, at: number): Statement {
  if (parser.acceptKeyword('TRIGGER')) return command.createTrigger(parser, at);
  if (parser.acceptPhrase('MATERIALIZED', 'VIEW')) return view.createMaterializedView(parser, at);
  if (parser.acceptPhrase('GRAPH', 'ANALYTICAL', 'VIEW')) return view.createGraphView(parser, at);
  if (parser.acceptPhrase('TIMESERIES', 'TYPE')) return view.createTimeSeries(parser, at);
  if (parser.acceptPhrase('CONTINUOUS', 'AGGREGATE'))
    return view.createContinuousAggregate(parser, at);
  return parser.unexpected();
}

function alter(parser: Parser): Statement {
  const at = parser.start;
  parser.advance();
  if (parser.acceptKeyword('TYPE')) return schema.alterType(parser, at);
  if (parser.acceptKeyword('PROPERTY')) return schema.alterProperty(parser, at);
  if (parser.acceptKeyword('BUCKET')) return command.alterBucket(parser, at);
  if (parser.acceptKeyword('DATABASE')) return command.alterDatabase(parser, at);
  if (parser.acceptPhrase('MATERIALIZED', 'VIEW')) return view.alterMaterializedView(parser, at);
  if (parser.acceptPhrase('TIMESERIES', 'TYPE')) return view.alterTimeSeries(parser, at);
  parser.expectKeyword('GRAPH', 'ANALYTICAL', 'VIEW');
  return view.alterGraphView(parser, at);
}

function drop(parser: Parser): Statement {
  const at = parser.start;
  parser.advance();
  if (parser.acceptKeyword('TYPE')) return schema.dropType(parser, at);
  if (parser.acceptKeyword('PROPERTY')) return schema.dropProperty(parser, at);
  if (parser.acceptKeyword('BUCKET')) return schema.dropBucket(parser, at);
  if (parser.acceptKeyword('INDEX')) return schema.dropIndex(parser, at);
  return command.dropOther(parser, at);
}
