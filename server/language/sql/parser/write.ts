import type { Expression } from '../ast.ts';
import type {
  CreateEdge,
  Delete,
  Destination,
  Insert,
  InsertBody,
  NameReference,
  PathStep,
  RemoveItem,
  SetItem,
  Statement,
  Update,
  UpdateOperation,
} from '../statements.ts';
import { list, map, parameter } from './expression.ts';
import { constantsUntil } from './literal.ts';
import type { Parser } from './parser.ts';
import { postfix } from './postfix.ts';
import { projectionList, timeLimit } from './select.ts';
import { bucketReference, ridExpression, target } from './target.ts';

/** INSERT, UPDATE, DELETE, CREATE VERTEX and CREATE EDGE (sql.md 8 to 10). */

export function insert(parser: Parser): Insert {
  const at = parser.start;
  parser.expectKeyword('INSERT', 'INTO');
  const into = destination(parser);
  if (into === undefined) return parser.unexpected('a type');
  const body = insertBody(parser, 'plain');
  const returning = parser.acceptKeyword('RETURN') ? projectionList(parser) : undefined;
  const source = insertSource(parser);
  parser.acceptKeyword('UNSAFE');
  return {
    kind: 'insert',
    command: 'INSERT',
    into,
    body,
    returning,
    source,
    at,
    end: parser.lastEnd,
  };
}

/** After CREATE VERTEX. */
export function createVertex(parser: Parser, at: number): Insert {
  const start = parser.start;
  const into = destination(parser);
  const body = insertBody(parser, 'any');
  if (into === undefined) return parser.fail(start, 'Missing target');
  return {
    kind: 'insert',
    command: 'CREATE VERTEX',
    into,
    body,
    returning: undefined,
    source: undefined,
    at,
    end: parser.lastEnd,
  };
}

/** `type [BUCKET name]` or `bucket:name`. */
function destination(parser: Parser): Destination | undefined {
  if (parser.atKeyword('BUCKET')) {
    parser.advance();
    parser.expect(':');
    if (parser.at('?') || parser.at(':') || parser.at('positional'))
      return { type: undefined, bucket: parameter(parser) };
    return { type: undefined, bucket: bucketReference(parser) };
  }
  if (!parser.atName() || parser.keyword === 'SET' || parser.keyword === 'CONTENT')
    return undefined;
  const type = nameReference(parser, 'a type');
  const bucket = parser.acceptKeyword('BUCKET') ? bucketReference(parser) : undefined;
  return { type, bucket };
}

/** A name, or an unquoted `$name` that stands for one. */
export function nameReference(parser: Parser, what: string): NameReference {
  return reference(parser, () => parser.name(what));
}

/** As `nameReference`, where a property stands. */
export function propertyReference(parser: Parser): NameReference {
  return reference(parser, () => parser.propertyName());
}

function reference(parser: Parser, take: () => string): NameReference {
  const at = parser.start;
  const isVariable = parser.kind === 'word' && parser.text.charCodeAt(at) === 36;
  const name = take();
  return { name: isVariable ? name.slice(1) : name, isVariable, at, end: parser.lastEnd };
}

function insertBody(parser: Parser, left: LeftSide): InsertBody | undefined {
  if (parser.at('(')) return startsSelect(parser) ? undefined : valuesBody(parser);
  if (parser.acceptKeyword('SET')) return { kind: 'set', items: setItems(parser, left) };
  if (parser.acceptKeyword('CONTENT')) return { kind: 'content', value: content(parser) };
  return undefined;
}

/** True when a statement in parentheses follows. */
function startsSelect(parser: Parser): boolean {
  const { keyword } = parser.peek(1);
  return (
    keyword === 'SELECT' ||
    keyword === 'MATCH' ||
    keyword === 'TRAVERSE' ||
    parser.peek(1).kind === '('
  );
}

function valuesBody(parser: Parser): InsertBody {
  parser.expect('(');
  const columns: string[] = [];
  const columnsAt: number[] = [];
  do {
    columnsAt.push(parser.start);
    columns.push(parser.propertyName());
  } while (parser.accept(','));
  parser.expect(')');
  parser.expectKeyword('VALUES');
  const tuples = [valueTuple(parser, columns)];
  while (parser.accept(',')) tuples.push(valueTuple(parser, columns));
  return { kind: 'values', columns, columnsAt, tuples };
}

function valueTuple(parser: Parser, columns: readonly string[]): Expression {
  const at = parser.start;
  parser.expect('(');
  const values = constantsUntil(parser, ')', { keepsWidths: true });
  let tuple: Expression;
  let width: number;
  if (values) {
    tuple = { kind: 'constants', values, at, end: parser.lastEnd };
    width = values.length;
  } else {
    parser.enter();
    const items = [parser.grammar.expression(parser)];
    while (parser.accept(',')) items.push(parser.grammar.expression(parser));
    parser.leave();
    parser.expect(')');
    tuple = { kind: 'list', items, at, end: parser.lastEnd };
    width = items.length;
  }
  if (width === columns.length) return tuple;
  return parser.fail(
    at,
    `Cannot execute INSERT, the number of fields is different from the number of expressions: ${columns.length} fields, ${width} expressions`,
  );
}

function insertSource(parser: Parser): Statement | undefined {
  if (!parser.acceptKeyword('FROM') && !parser.atKeyword('SELECT') && !parser.at('('))
    return undefined;
  return maybeParenthesised(parser);
}

function maybeParenthesised(parser: Parser): Statement {
  if (!parser.at('(')) {
    if (!parser.grammar.startsStatement(parser)) return parser.unexpected('SELECT');
    parser.enter();
    const statement = parser.grammar.statement(parser);
    parser.leave();
    return statement;
  }
  parser.advance();
  parser.enter();
  const statement = maybeParenthesised(parser);
  parser.leave();
  parser.expect(')');
  return statement;
}

/** A map, a list of maps, or a parameter or variable that holds one. */
export function content(parser: Parser): Expression {
  switch (parser.kind) {
    case '{':
      return postfix(parser, map(parser));
    case '[':
      return postfix(parser, list(parser));
    case '(':
      return parser.grammar.expression(parser);
    case '?':
    case 'positional':
    case ':':
      return postfix(parser, parameter(parser));
    default:
      if (parser.kind === 'word' && parser.text.charCodeAt(parser.start) === 36)
        return parser.grammar.expression(parser);
      return parser.unexpected('a map, a list of maps or a parameter');
  }
}

/** `plain`: names only, and `=` only. */
type LeftSide = 'plain' | 'any';

function setItems(parser: Parser, left: LeftSide): readonly SetItem[] {
  const items = [setItem(parser, left)];
  while (parser.accept(',')) items.push(setItem(parser, left));
  return items;
}

function setItem(parser: Parser, left: LeftSide): SetItem {
  const at = parser.start;
  const property = parser.propertyName();
  const path = left === 'plain' ? [] : assignedPath(parser);
  if (left === 'plain' && !parser.at('=')) parser.expect('=');
  const operator = assignmentOperator(parser);
  const value = parser.grammar.expression(parser);
  return { property, path, operator, value, at, end: parser.lastEnd };
}

const assignmentOperators = ['=', '+=', '-=', '*=', '/='] as const;

function assignmentOperator(parser: Parser): SetItem['operator'] {
  return assignmentOperators.find((operator) => parser.accept(operator)) ?? parser.unexpected();
}

/** `.city`, `[0]` or `['k']` behind the property that is assigned. */
function assignedPath(parser: Parser): readonly PathStep[] {
  const path: PathStep[] = [];
  for (;;) {
    if (parser.accept('.')) {
      path.push({ kind: 'property', name: parser.propertyName() });
    } else if (parser.accept('[')) {
      path.push({ kind: 'element', key: parser.grammar.expression(parser) });
      parser.expect(']');
    } else {
      return path;
    }
    parser.requireRoom(path.length);
  }
}

export function createEdge(parser: Parser, at: number): CreateEdge {
  const start = parser.start;
  const into = edgeDestination(parser);
  parser.expectKeyword('FROM');
  const from = edgeEnd(parser);
  parser.expectKeyword('TO');
  const to = edgeEnd(parser);
  const ifNotExists = parser.acceptKeyword('IF');
  if (ifNotExists) parser.expectKeyword('NOT', 'EXISTS');
  const items = parser.acceptKeyword('SET') ? setItems(parser, 'plain') : [];
  const body = parser.acceptKeyword('CONTENT') ? content(parser) : undefined;
  const isUnidirectional = parser.acceptKeyword('UNIDIRECTIONAL');
  if (parser.acceptKeyword('RETRY')) parser.integer();
  if (parser.acceptKeyword('WAIT')) parser.integer();
  if (into === undefined) return parser.fail(start, 'Missing target');
  return {
    kind: 'createEdge',
    into,
    from,
    to,
    ifNotExists,
    items,
    content: body,
    isUnidirectional,
    at,
    end: parser.lastEnd,
  };
}

function edgeDestination(parser: Parser): Destination | undefined {
  if (parser.atKeyword('FROM')) return undefined;
  if (parser.acceptKeyword('BUCKET')) {
    parser.accept(':');
    return { type: undefined, bucket: bucketReference(parser) };
  }
  return destination(parser) ?? parser.unexpected('an edge type');
}

/** Record ids, a sub-query, a variable, a parameter, or a list of these. */
function edgeEnd(parser: Parser): Expression {
  switch (parser.kind) {
    case 'rid':
    case 'number':
    case '-':
    case '{':
      return ridExpression(parser);
    case '[': {
      const at = parser.start;
      parser.advance();
      if (parser.accept(']')) return { kind: 'constants', values: [], at, end: parser.lastEnd };
      const items = [edgeEnd(parser)];
      while (parser.accept(',')) items.push(edgeEnd(parser));
      parser.expect(']');
      return { kind: 'list', items, at, end: parser.lastEnd };
    }
    case '(':
    case '?':
    case 'positional':
    case ':':
      return parser.grammar.expression(parser);
    default:
      if (parser.kind === 'word' && parser.text.charCodeAt(parser.start) === 36)
        return parser.grammar.expression(parser);
      return parser.unexpected('a vertex: a record id, a sub-query, a parameter or a $variable');
  }
}

export function update(parser: Parser): Update {
  const at = parser.start;
  parser.expectKeyword('UPDATE');
  const source = target(parser);
  const operations = updateOperations(parser);
  const isUpsert = parser.acceptKeyword('UPSERT');
  const appliesDefaults = parser.acceptKeyword('APPLY');
  if (appliesDefaults) parser.expectKeyword('DEFAULTS');
  const returning = updateReturn(parser);
  const where = parser.acceptKeyword('WHERE') ? parser.grammar.condition(parser) : undefined;
  const limit = parser.acceptKeyword('LIMIT') ? parser.grammar.expression(parser) : undefined;
  const batch = parser.acceptKeyword('BATCH') ? parser.grammar.expression(parser) : undefined;
  return {
    kind: 'update',
    target: source,
    operations,
    isUpsert,
    appliesDefaults,
    returning,
    where,
    limit,
    batch,
    timeout: timeLimit(parser),
    at,
    end: parser.lastEnd,
  };
}

const returnModes = ['BEFORE', 'AFTER', 'COUNT'] as const;

function updateReturn(parser: Parser): Update['returning'] {
  if (!parser.acceptKeyword('RETURN')) return { mode: 'count', projection: undefined };
  const mode = returnModes.find((word) => parser.acceptKeyword(word));
  if (mode === undefined) return parser.unexpected();
  const isEnd =
    parser.at('end') ||
    parser.at(';') ||
    parser.at(')') ||
    parser.at('}') ||
    parser.atKeyword('WHERE') ||
    parser.atKeyword('LIMIT') ||
    parser.atKeyword('BATCH') ||
    parser.atKeyword('TIMEOUT');
  const projection = isEnd ? undefined : projectionList(parser);
  // The count is one row whatever stands behind it (sql.md 9 rule 8): the projection is read as the grammar has it.
  if (mode === 'COUNT') return { mode: 'count', projection: undefined };
  return { mode: mode === 'BEFORE' ? 'before' : 'after', projection };
}

function updateOperations(parser: Parser): readonly UpdateOperation[] {
  const operations: UpdateOperation[] = [];
  for (;;) {
    const operation = updateOperation(parser);
    if (operation === undefined) break;
    operations.push(operation);
  }
  return operations.length === 0 ? parser.unexpected() : operations;
}

/** One SET, REMOVE, MERGE, CONTENT, ADD, PUT or INCREMENT; undefined when none follows. */
export function updateOperation(parser: Parser): UpdateOperation | undefined {
  if (parser.acceptKeyword('SET')) return { kind: 'set', items: setItems(parser, 'any') };
  if (parser.acceptKeyword('REMOVE')) return { kind: 'remove', items: removeItems(parser) };
  if (parser.acceptKeyword('MERGE'))
    return { kind: 'merge', value: parser.grammar.expression(parser) };
  if (parser.acceptKeyword('CONTENT')) return { kind: 'content', value: content(parser) };
  if (parser.acceptKeyword('ADD') || parser.acceptKeyword('INCREMENT')) return increments(parser);
  if (parser.acceptKeyword('PUT')) return puts(parser);
  return undefined;
}

function removeItems(parser: Parser): readonly RemoveItem[] {
  const items = [removeItem(parser)];
  while (parser.accept(',')) items.push(removeItem(parser));
  return items;
}

function removeItem(parser: Parser): RemoveItem {
  const at = parser.start;
  const property = parser.propertyName();
  const path = assignedPath(parser);
  const value = parser.accept('=') ? parser.grammar.expression(parser) : undefined;
  return { property, path, value, at, end: parser.lastEnd };
}

/** `INCREMENT p = n` and `ADD p = v` are `SET p += v`. */
function increments(parser: Parser): UpdateOperation {
  const items: SetItem[] = [];
  do {
    const at = parser.start;
    const property = parser.propertyName();
    const path = assignedPath(parser);
    parser.expect('=');
    const value = parser.grammar.expression(parser);
    items.push({ property, path, operator: '+=', value, at, end: parser.lastEnd });
  } while (parser.accept(','));
  return { kind: 'set', items };
}

/** `PUT m = k, v` is `SET m[k] = v`. */
function puts(parser: Parser): UpdateOperation {
  const items: SetItem[] = [];
  do {
    const at = parser.start;
    const property = parser.propertyName();
    parser.expect('=');
    const key = parser.grammar.expression(parser);
    parser.expect(',');
    const value = parser.grammar.expression(parser);
    items.push({
      property,
      path: [{ kind: 'element', key }],
      operator: '=',
      value,
      at,
      end: parser.lastEnd,
    });
  } while (parser.accept(','));
  return { kind: 'set', items };
}

export function remove(parser: Parser): Delete {
  const at = parser.start;
  parser.expectKeyword('DELETE');
  parser.acceptKeyword('VERTEX');
  parser.expectKeyword('FROM');
  const source = target(parser);
  const returnsBefore = parser.acceptKeyword('RETURN');
  if (returnsBefore) parser.expectKeyword('BEFORE');
  const where = parser.acceptKeyword('WHERE') ? parser.grammar.condition(parser) : undefined;
  const limit = parser.acceptKeyword('LIMIT') ? parser.grammar.expression(parser) : undefined;
  const batch = parser.acceptKeyword('BATCH') ? parser.grammar.expression(parser) : undefined;
  const isUnsafe = parser.acceptKeyword('UNSAFE');
  return {
    kind: 'delete',
    target: source,
    returnsBefore,
    where,
    limit,
    batch,
    isUnsafe,
    at,
    end: parser.lastEnd,
  };
}
