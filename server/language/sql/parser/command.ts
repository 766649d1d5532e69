import type { Expression } from '../ast.ts';
import type { Keyword } from '../keywords.ts';
import type { Command, CommandArgument, Statement } from '../statements.ts';
import type { Parser } from './parser.ts';
import { ifExists, ifNotExists, namedValues } from './schema.ts';
import { bucketReference, ridExpression } from './target.ts';
import { updateOperation } from './write.ts';

/**
 * Statements whose execution is not a plan: maintenance, moves, triggers, functions, views, time series (sql.md 10.2, 10.3,
 * 13.4, 13.9, 13.11 to 16). They are parsed in full; what was written stands in the command's arguments by name.
 */
export class CommandBuilder {
  readonly #name: string;
  readonly #at: number;
  readonly #arguments = new Map<string, CommandArgument>();

  constructor(name: string, at: number) {
    this.#name = name;
    this.#at = at;
  }

  set(name: string, value: CommandArgument | undefined): this {
    if (value !== undefined) this.#arguments.set(name, value);
    return this;
  }

  expression(name: string, value: Expression | undefined): this {
    return this.set(name, value && { kind: 'expression', value });
  }

  names(name: string, value: readonly string[]): this {
    return this.set(name, { kind: 'names', value });
  }

  statement(name: string, value: Statement): this {
    return this.set(name, { kind: 'statement', value });
  }

  end(parser: Parser): Command {
    return {
      kind: 'command',
      name: this.#name,
      arguments: this.#arguments,
      at: this.#at,
      end: parser.lastEnd,
    };
  }
}

function withSettings(parser: Parser, made: CommandBuilder): CommandBuilder {
  if (!parser.acceptKeyword('WITH')) return made;
  return made.set('settings', { kind: 'settings', value: namedValues(parser) });
}

/** The words of `keywords` that stand here in this order, each optional, as flags of the command. */
function flags(parser: Parser, made: CommandBuilder, keywords: readonly Keyword[]): CommandBuilder {
  for (const keyword of keywords)
    if (parser.acceptKeyword(keyword)) made.set(keyword.toLowerCase(), true);
  return made;
}

/** After TRUNCATE. */
export function truncate(parser: Parser, at: number): Command {
  if (parser.acceptKeyword('TYPE')) {
    const made = new CommandBuilder('TRUNCATE TYPE', at).set('type', parser.name('a type'));
    return flags(parser, made, ['POLYMORPHIC', 'UNSAFE', 'POLYMORPHIC']).end(parser);
  }
  if (parser.acceptKeyword('BUCKET')) {
    const made = new CommandBuilder('TRUNCATE BUCKET', at).set('bucket', bucketReference(parser));
    return flags(parser, made, ['UNSAFE']).end(parser);
  }
  parser.expectKeyword('RECORD');
  return new CommandBuilder('TRUNCATE RECORD', at)
    .expression('records', ridOrList(parser))
    .end(parser);
}

function ridOrList(parser: Parser): Expression {
  if (!parser.at('[')) return ridExpression(parser);
  const at = parser.start;
  parser.advance();
  const items: Expression[] = [];
  if (!parser.at(']')) {
    do items.push(ridExpression(parser));
    while (parser.accept(','));
  }
  parser.expect(']');
  return { kind: 'list', items, at, end: parser.lastEnd };
}

/** MOVE VERTEX. */
export function moveVertex(parser: Parser): Command {
  const at = parser.start;
  parser.expectKeyword('MOVE', 'VERTEX');
  const made = new CommandBuilder('MOVE VERTEX', at);
  made.expression('source', parser.at('[') ? ridOrList(parser) : parser.grammar.expression(parser));
  parser.expectKeyword('TO');
  if (parser.atKeyword('TYPE') && parser.peek(1).kind === ':') {
    parser.advance();
    parser.advance();
    made.set('type', parser.name('a type'));
  } else if (parser.atKeyword('BUCKET')) {
    parser.advance();
    parser.expect(':');
    made.set('bucket', bucketReference(parser));
  } else {
    made.set('bucket', parser.name('a bucket'));
  }
  const operation = updateOperation(parser);
  if (operation !== undefined) made.set('operation', { kind: 'operation', value: operation });
  if (parser.acceptKeyword('BATCH')) made.expression('batch', parser.grammar.expression(parser));
  return made.end(parser);
}

/** After ALTER BUCKET. */
export function alterBucket(parser: Parser, at: number): Command {
  const made = new CommandBuilder('ALTER BUCKET', at).set('bucket', bucketReference(parser));
  made.set('attribute', parser.name('an attribute'));
  return made.expression('value', parser.grammar.expression(parser)).end(parser);
}

/** After ALTER DATABASE. */
export function alterDatabase(parser: Parser, at: number): Command {
  let key = parser.name('a setting');
  while (parser.accept('.')) key += `.${parser.propertyName()}`;
  return new CommandBuilder('ALTER DATABASE', at)
    .set('setting', key)
    .expression('value', parser.grammar.expression(parser))
    .end(parser);
}

/** REBUILD INDEX, TYPE or GRAPH ANALYTICAL VIEW. */
export function rebuild(parser: Parser): Command {
  const at = parser.start;
  parser.expectKeyword('REBUILD');
  if (parser.acceptKeyword('INDEX')) {
    const made = new CommandBuilder('REBUILD INDEX', at).set('index', nameOrStar(parser));
    return withSettings(parser, made).end(parser);
  }
  if (parser.acceptKeyword('TYPE')) {
    const made = new CommandBuilder('REBUILD TYPE', at).set('type', parser.name('a type'));
    return withSettings(parser, flags(parser, made, ['POLYMORPHIC'])).end(parser);
  }
  parser.expectKeyword('GRAPH', 'ANALYTICAL', 'VIEW');
  return new CommandBuilder('REBUILD GRAPH ANALYTICAL VIEW', at)
    .set('name', parser.name('a view'))
    .end(parser);
}

function nameOrStar(parser: Parser): string {
  return parser.accept('*') ? '*' : parser.name('an index');
}

/** COMPACT INDEX. */
export function compactIndex(parser: Parser): Command {
  const at = parser.start;
  parser.expectKeyword('COMPACT', 'INDEX');
  return new CommandBuilder('COMPACT INDEX', at).set('index', nameOrStar(parser)).end(parser);
}

/** A statement in parentheses; what follows it belongs to the command. */
function subQuery(parser: Parser): Expression {
  const at = parser.start;
  parser.expect('(');
  if (!parser.grammar.startsStatement(parser)) return parser.unexpected('a statement');
  parser.enter();
  const statement = parser.grammar.statement(parser);
  parser.leave();
  parser.expect(')');
  return { kind: 'subQuery', statement, at, end: parser.lastEnd };
}

/** FIND REFERENCES. */
export function findReferences(parser: Parser): Command {
  const at = parser.start;
  parser.expectKeyword('FIND', 'REFERENCES');
  const made = new CommandBuilder('FIND REFERENCES', at);
  made.expression('targets', parser.at('(') ? subQuery(parser) : ridExpression(parser));
  if (!parser.accept('[')) return made.end(parser);
  const places: string[] = [];
  do {
    if (parser.acceptKeyword('BUCKET')) {
      parser.expect(':');
      places.push(`bucket:${bucketReference(parser)}`);
    } else {
      places.push(parser.name('a type'));
    }
  } while (parser.accept(','));
  parser.expect(']');
  return made.names('places', places).end(parser);
}

/** CHECK DATABASE. */
export function checkDatabase(parser: Parser): Command {
  const at = parser.start;
  parser.expectKeyword('CHECK', 'DATABASE');
  const made = new CommandBuilder('CHECK DATABASE', at);
  const isDefault = !parser.atKeyword('TYPE') && !parser.atKeyword('BUCKET');
  if (parser.acceptKeyword('TYPE')) made.names('types', parser.nameList());
  if (parser.acceptKeyword('BUCKET')) {
    const buckets: string[] = [];
    do buckets.push(String(bucketReference(parser)));
    while (parser.accept(','));
    made.names('buckets', buckets);
  }
  if (isDefault && parser.acceptKeyword('RECORD')) {
    const recordsAt = parser.start;
    const items: Expression[] = [];
    do items.push(ridExpression(parser));
    while (parser.accept(','));
    made.expression('records', { kind: 'list', items, at: recordsAt, end: parser.lastEnd });
  }
  const fixes = parser.acceptKeyword('FIX');
  if (fixes) made.set('fix', true);
  const orphansAt = parser.start;
  if (parser.acceptKeyword('DELETE')) {
    parser.expectKeyword('ORPHANS');
    if (!fixes) parser.fail(orphansAt, 'DELETE ORPHANS needs FIX');
    made.set('deleteOrphans', true);
  }
  const reclaimAt = parser.start;
  if (parser.acceptKeyword('RECLAIM')) {
    parser.expectKeyword('UNREFERENCED', 'FILES');
    if (!fixes) parser.fail(reclaimAt, 'RECLAIM UNREFERENCED FILES needs FIX');
    made.set('reclaim', true);
  }
  return flags(parser, made, ['DEEP', 'COMPRESS']).end(parser);
}

/** BACKUP, EXPORT, IMPORT and ALIGN DATABASE. */
export function databaseOperation(parser: Parser): Command {
  const at = parser.start;
  const verb = parser.source().toUpperCase();
  parser.advance();
  parser.expectKeyword('DATABASE');
  const made = new CommandBuilder(`${verb} DATABASE`, at);
  if (verb === 'ALIGN') return made.end(parser);
  return withSettings(parser, made.set('url', optionalUrl(parser))).end(parser);
}

function optionalUrl(parser: Parser): string | undefined {
  if (parser.at('string')) return parser.stringLiteral();
  if (parser.at('end') || parser.at(';') || parser.at(')') || parser.atKeyword('WITH'))
    return undefined;
  return parser.rawWord(/[^\s;,()]+/y);
}

/** RESTORE DOCUMENT, VERTEX or EDGE. */
export function restoreRecord(parser: Parser): Command {
  const at = parser.start;
  parser.expectKeyword('RESTORE');
  const isEdge = parser.acceptKeyword('EDGE');
  const kind = isEdge ? 'EDGE' : parser.acceptKeyword('VERTEX') ? 'VERTEX' : 'DOCUMENT';
  if (kind === 'DOCUMENT') parser.expectKeyword('DOCUMENT');
  const made = new CommandBuilder(`RESTORE ${kind}`, at).set('type', parser.name('a type'));
  parser.expectKeyword('RID');
  made.expression('rid', ridExpression(parser));
  if (isEdge) {
    parser.expectKeyword('FROM');
    made.expression('from', ridExpression(parser));
    parser.expectKeyword('TO');
    made.expression('to', ridExpression(parser));
  }
  const operation = updateOperation(parser);
  if (operation !== undefined) made.set('operation', { kind: 'operation', value: operation });
  return made.end(parser);
}

/** After CREATE TRIGGER. */
export function createTrigger(parser: Parser, at: number): Command {
  const made = new CommandBuilder('CREATE TRIGGER', at).set('ifNotExists', ifNotExists(parser));
  made.set('name', parser.name('a trigger name'));
  made.set('timing', oneOf(parser, ['BEFORE', 'AFTER']));
  made.set('event', oneOf(parser, ['CREATE', 'READ', 'UPDATE', 'DELETE']));
  parser.expectKeyword('ON');
  if (parser.atKeyword('TYPE') && !parser.peekKeyword(1, 'EXECUTE')) parser.advance();
  made.set('type', parser.name('a type'));
  parser.expectKeyword('EXECUTE');
  made.set('language', oneOf(parser, ['SQL', 'JAVASCRIPT', 'JAVA']));
  return made.set('body', parser.stringLiteral()).end(parser);
}

function oneOf(parser: Parser, keywords: readonly Keyword[]): string {
  for (const keyword of keywords) if (parser.acceptKeyword(keyword)) return keyword;
  return parser.unexpected();
}

/** DEFINE FUNCTION. */
export function defineFunction(parser: Parser): Command {
  const at = parser.start;
  parser.expectKeyword('DEFINE', 'FUNCTION');
  const made = functionName(parser, new CommandBuilder('DEFINE FUNCTION', at));
  made.set('body', parser.stringLiteral('the body as a string'));
  if (parser.acceptKeyword('PARAMETERS')) {
    parser.expect('[');
    const names = parser.at(']') ? [] : parser.nameList();
    parser.expect(']');
    made.names('parameters', names);
  }
  made.set('language', parser.acceptKeyword('LANGUAGE') ? parser.name('a language') : 'sql');
  return made.end(parser);
}

function functionName(parser: Parser, made: CommandBuilder): CommandBuilder {
  made.set('library', parser.name('a library'));
  parser.expect('.');
  return made.set('name', parser.propertyName('a function name'));
}

/** After DELETE FUNCTION. */
export function deleteFunction(parser: Parser, at: number): Command {
  return functionName(parser, new CommandBuilder('DELETE FUNCTION', at)).end(parser);
}

/** What else is dropped, beside types and what belongs to them. */
const dropped: readonly (readonly [Keyword, ...Keyword[]])[] = [
  ['TRIGGER'],
  ['MATERIALIZED', 'VIEW'],
  ['GRAPH', 'ANALYTICAL', 'VIEW'],
  ['TIMESERIES', 'TYPE'],
  ['CONTINUOUS', 'AGGREGATE'],
];

/** After DROP: triggers, views, time series. */
export function dropOther(parser: Parser, at: number): Command {
  const words = dropped.find((phrase) => parser.acceptPhrase(...phrase)) ?? parser.unexpected();
  const made = new CommandBuilder(`DROP ${words.join(' ')}`, at).set('ifExists', ifExists(parser));
  made.set('name', parser.name());
  if (words[0] !== 'TIMESERIES') return made.end(parser);
  if (ifExists(parser)) made.set('ifExists', true);
  return flags(parser, made, ['UNSAFE']).end(parser);
}
