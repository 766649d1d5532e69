import type { Clause, Command, EntityKind, TypeName } from '../ast.ts';
import { notSupported } from '../failures.ts';
import { yieldItems } from './call.ts';
import { typeName } from './expression.ts';
import type { Parser } from './parser.ts';

/** Schema, users, transactions and SHOW (cypher.md 12). */

const indexTypes: ReadonlySet<string> = new Set([
  'RANGE',
  'TEXT',
  'FULLTEXT',
  'VECTOR',
  'POINT',
  'LOOKUP',
  'BTREE',
]);
const unknownThings: ReadonlySet<string> = new Set([
  'DATABASE',
  'ROLE',
  'ALIAS',
  'COMPOSITE',
  'SERVER',
  'PRIVILEGE',
]);

export function startsCommand(parser: Parser): boolean {
  const first = parser.word();
  const second = parser.word(1);
  switch (first) {
    case 'CREATE':
    case 'DROP':
    case 'ALTER':
      return (
        parser.peek(1) === 'word' &&
        (second === 'INDEX' ||
          second === 'CONSTRAINT' ||
          second === 'USER' ||
          indexTypes.has(second) ||
          second === 'OR' ||
          unknownThings.has(second))
      );
    case 'SHOW':
    case 'START':
    case 'COMMIT':
    case 'ROLLBACK':
    case 'SESSION':
    case 'GRANT':
    case 'DENY':
    case 'REVOKE':
      return true;
    default:
      return false;
  }
}

export function command(parser: Parser): Command {
  const at = parser.start;
  const first = parser.word();
  parser.advance();
  switch (first) {
    case 'CREATE':
      return creation(parser, at);
    case 'DROP':
      return drop(parser, at);
    case 'ALTER':
      if (parser.acceptWords('USER')) return user(parser, at, 'alterUser');
      throw notSupported(`ALTER ${parser.word()}`);
    case 'SHOW':
      return show(parser, at);
    case 'START':
      return transaction(parser, at);
    case 'COMMIT':
    case 'ROLLBACK': {
      const operation = first === 'COMMIT' ? 'commit' : 'rollback';
      return { kind: 'transaction', operation, isolation: undefined, at, end: parser.lastEnd };
    }
    case 'SESSION':
      return session(parser, at);
    default:
      throw notSupported(first);
  }
}

function creation(parser: Parser, at: number): Command {
  if (parser.acceptWords('OR')) throw notSupported('CREATE OR REPLACE');
  if (parser.acceptWords('USER')) return user(parser, at, 'createUser');
  if (parser.acceptWords('CONSTRAINT')) return constraint(parser, at);
  if (unknownThings.has(parser.word())) throw notSupported(`CREATE ${parser.word()}`);
  const indexType = indexTypes.has(parser.word()) ? parser.word() : 'RANGE';
  if (indexTypes.has(parser.word())) parser.advance();
  parser.expectWords('INDEX');
  if (indexType === 'LOOKUP') throw notSupported('CREATE LOOKUP INDEX');
  return index(parser, at, indexType);
}

function ifNotExists(parser: Parser): boolean {
  return parser.acceptWords('IF', 'NOT', 'EXISTS');
}

function index(parser: Parser, at: number, indexType: string): Command {
  const isNamed = parser.atName() && !parser.atWords('FOR') && !parser.atWords('IF', 'NOT');
  const name = isNamed ? parser.name() : undefined;
  const isIfNotExists = ifNotExists(parser);
  parser.expectWords('FOR');
  const { entity, type, variable } = target(parser);
  parser.expectWords('ON');
  const isEach = parser.acceptWords('EACH');
  const properties =
    isEach || parser.at('(')
      ? propertyList(parser, variable, isEach ? '[' : '(')
      : [property(parser, variable)];
  const options = parser.acceptWords('OPTIONS') ? parser.grammar.expression(parser) : undefined;
  const span = { at, end: parser.lastEnd };
  return {
    kind: 'createIndex',
    indexType,
    name,
    ifNotExists: isIfNotExists,
    entity,
    type,
    properties,
    options,
    ...span,
  };
}

/** `(n:Label)` or `()-[r:TYPE]-()` */
function target(parser: Parser): { entity: EntityKind; type: string; variable: string } {
  parser.expect('(');
  if (!parser.at(')')) {
    const variable = parser.name('a variable');
    parser.expect(':');
    const type = parser.name('a label');
    if (parser.at('|')) throw notSupported('an index on several labels');
    parser.expect(')');
    return { entity: 'node', type, variable };
  }
  parser.expect(')');
  parser.accept('<');
  parser.expect('-');
  parser.expect('[');
  const variable = parser.name('a variable');
  parser.expect(':');
  const type = parser.name('a relationship type');
  parser.expect(']');
  parser.expect('-');
  parser.accept('>');
  parser.expect('(');
  parser.expect(')');
  return { entity: 'relationship', type, variable };
}

function propertyList(parser: Parser, variable: string, open: '(' | '['): readonly string[] {
  parser.expect(open);
  const properties: string[] = [];
  do properties.push(property(parser, variable));
  while (parser.accept(','));
  parser.expect(open === '(' ? ')' : ']');
  return properties;
}

function property(parser: Parser, variable: string): string {
  const { start } = parser;
  const of = parser.name('a variable');
  if (of !== variable)
    throw parser.fault(start, 'UndefinedVariable', `variable '${of}' not defined`);
  parser.expect('.');
  return parser.name('a property');
}

function constraint(parser: Parser, at: number): Command {
  const isNamed =
    parser.atName() &&
    !parser.atWords('FOR') &&
    !parser.atWords('IF', 'NOT') &&
    !parser.atWords('ON');
  const name = isNamed ? parser.name() : undefined;
  const isIfNotExists = ifNotExists(parser);
  if (!parser.acceptWords('FOR')) parser.expectWords('ON');
  const { entity, type, variable } = target(parser);
  if (!parser.acceptWords('REQUIRE')) parser.expectWords('ASSERT');
  const properties = parser.at('(')
    ? propertyList(parser, variable, '(')
    : [property(parser, variable)];
  const rule = constraintRule(parser);
  const span = { at, end: parser.lastEnd };
  return {
    kind: 'createConstraint',
    name,
    ifNotExists: isIfNotExists,
    entity,
    type,
    properties,
    rule,
    ...span,
  };
}

function constraintRule(parser: Parser): 'unique' | 'key' | 'notNull' | TypeName {
  if (parser.accept('::')) return typeName(parser);
  parser.expectWords('IS');
  if (parser.acceptWords('TYPED') || parser.accept('::')) return typeName(parser);
  if (parser.acceptWords('NOT', 'NULL')) return 'notNull';
  if (parser.acceptWords('UNIQUE')) return 'unique';
  if (!parser.acceptWords('NODE'))
    if (!parser.acceptWords('RELATIONSHIP')) parser.acceptWords('REL');
  if (parser.acceptWords('UNIQUE')) return 'unique';
  parser.expectWords('KEY');
  return 'key';
}

function drop(parser: Parser, at: number): Command {
  const thing = parser.word();
  if (thing !== 'INDEX' && thing !== 'CONSTRAINT' && thing !== 'USER')
    throw notSupported(`DROP ${thing}`);
  parser.advance();
  const name = parser.name();
  const ifExists = parser.acceptWords('IF', 'EXISTS');
  const kind =
    thing === 'INDEX' ? 'dropIndex' : thing === 'CONSTRAINT' ? 'dropConstraint' : 'dropUser';
  return { kind, name, ifExists, at, end: parser.lastEnd };
}

function user(parser: Parser, at: number, kind: 'createUser' | 'alterUser'): Command {
  const name = parser.name('a user');
  const isIfNotExists =
    kind === 'createUser' ? ifNotExists(parser) : parser.acceptWords('IF', 'EXISTS');
  parser.expectWords('SET');
  parser.acceptWords('PLAINTEXT');
  parser.expectWords('PASSWORD');
  if (!parser.at('string') && !parser.at('parameter')) parser.unexpected('a password');
  const password = parser.grammar.expression(parser);
  if (parser.acceptWords('CHANGE')) {
    if (parser.acceptWords('REQUIRED')) throw notSupported('CHANGE REQUIRED');
    parser.expectWords('NOT', 'REQUIRED');
  }
  return { kind, name, password, ifNotExists: isIfNotExists, at, end: parser.lastEnd };
}

const shown = new Map<string, Extract<Command, { kind: 'show' }>['what']>([
  ['INDEX', 'indexes'],
  ['INDEXES', 'indexes'],
  ['CONSTRAINT', 'constraints'],
  ['CONSTRAINTS', 'constraints'],
  ['PROCEDURE', 'procedures'],
  ['PROCEDURES', 'procedures'],
  ['FUNCTION', 'functions'],
  ['FUNCTIONS', 'functions'],
  ['USER', 'users'],
  ['USERS', 'users'],
  ['DATABASE', 'databases'],
  ['DATABASES', 'databases'],
  ['TRANSACTION', 'transactions'],
  ['TRANSACTIONS', 'transactions'],
]);

/** SHOW, with YIELD, WHERE and RETURN behind it. */
function show(parser: Parser, at: number): Command {
  let filter: string | undefined;
  if (parser.acceptWords('CURRENT', 'USER'))
    return { kind: 'show', what: 'currentUser', filter, ...tail(parser), at, end: parser.lastEnd };
  let what = shown.get(parser.word());
  while (what === undefined && parser.atName() && shown.size > 0) {
    const word = parser.word();
    if (['ROLES', 'PRIVILEGES', 'ALIASES', 'SERVERS', 'SETTINGS', 'SUPPORTED'].includes(word))
      throw notSupported(`SHOW ${word}`);
    filter = filter === undefined ? word : `${filter} ${word}`;
    parser.advance();
    what = shown.get(parser.word());
  }
  if (what === undefined)
    return parser.unexpected('INDEXES, CONSTRAINTS, PROCEDURES, FUNCTIONS, USERS or DATABASES');
  parser.advance();
  parser.acceptWords('EXECUTABLE');
  return { kind: 'show', what, filter, ...tail(parser), at, end: parser.lastEnd };
}

function tail(parser: Parser): Pick<Extract<Command, { kind: 'show' }>, 'yields' | 'tail'> {
  const yields = parser.acceptWords('YIELD') ? yieldItems(parser) : undefined;
  const clauses: Clause[] = [];
  while (!parser.at('end') && !parser.at(';')) {
    const { start: at } = parser;
    if (parser.acceptWords('WHERE')) {
      const where = parser.grammar.expression(parser);
      clauses.push({ kind: 'filter', where, at, end: parser.lastEnd });
    } else clauses.push(parser.grammar.clause(parser));
  }
  return { yields, tail: clauses };
}

function transaction(parser: Parser, at: number): Command {
  parser.expectWords('TRANSACTION');
  let isolation: string | undefined;
  if (parser.acceptWords('ISOLATION')) {
    parser.acceptWords('LEVEL');
    isolation = parser.name('READ_COMMITTED or REPEATABLE_READ').toUpperCase();
    if (parser.atName()) isolation += `_${parser.name().toUpperCase()}`;
  }
  return { kind: 'transaction', operation: 'begin', isolation, at, end: parser.lastEnd };
}

function session(parser: Parser, at: number): Command {
  if (parser.acceptWords('SET')) {
    parser.acceptWords('VALUE');
    if (!parser.at('parameter')) parser.unexpected('a parameter');
    const name = parser.parameterName();
    parser.expect('=');
    const value = parser.grammar.expression(parser);
    return { kind: 'session', operation: 'set', name, value, at, end: parser.lastEnd };
  }
  const operation = parser.acceptWords('RESET') ? 'reset' : 'close';
  if (operation === 'close') parser.expectWords('CLOSE');
  return { kind: 'session', operation, name: undefined, value: undefined, at, end: parser.lastEnd };
}
