import type { Expression } from '../ast.ts';
import type {
  LetItem,
  OrderItem,
  Projection,
  ProjectionItem,
  ResultClauses,
  Select,
  Statement,
  TimeLimit,
  Traverse,
  UnwoundColumn,
} from '../statements.ts';
import { conditionOrExpression } from './condition.ts';
import { parameter } from './expression.ts';
import type { Parser } from './parser.ts';
import { nestedOfAll } from './postfix.ts';
import { target } from './target.ts';

/** SELECT and TRAVERSE (sql.md 7.1, 12), and the clauses that other statements share with them. */

export function select(parser: Parser): Select {
  const at = parser.start;
  parser.expectKeyword('SELECT');
  const projection = parser.atKeyword('FROM') ? undefined : projectionList(parser);
  const source = parser.acceptKeyword('FROM') ? target(parser) : undefined;
  const lets = parser.acceptKeyword('LET') ? letItems(parser) : [];
  if (source === undefined) requireFrom(parser);
  const where = parser.acceptKeyword('WHERE') ? parser.grammar.condition(parser) : undefined;
  const clauses = resultClauses(parser);
  parser.acceptKeyword('PARALLEL');
  return {
    kind: 'select',
    projection,
    target: source,
    lets,
    where,
    ...clauses,
    at,
    end: parser.lastEnd,
  };
}

/** WHERE, GROUP BY and ORDER BY without FROM. */
function requireFrom(parser: Parser): void {
  const { keyword } = parser;
  if (keyword === 'WHERE') parser.fail(parser.start, 'WHERE clause requires FROM clause');
  if (keyword !== 'GROUP' && keyword !== 'ORDER') return;
  if (parser.peekKeyword(1, 'BY'))
    parser.fail(parser.start, `${keyword} BY clause requires FROM clause`);
}

/** `[DISTINCT] item, ...` */
export function projectionList(parser: Parser): Projection {
  const at = parser.start;
  const isDistinct = acceptDistinct(parser);
  const items = [projectionItem(parser)];
  while (parser.accept(',')) items.push(projectionItem(parser));
  return { isDistinct, items, at, end: parser.lastEnd };
}

/** `distinct` is the keyword unless it is a column of that name or, with the bracket right behind it, the function. */
function acceptDistinct(parser: Parser): boolean {
  if (!parser.atKeyword('DISTINCT')) return false;
  const next = parser.peek(1);
  const isFunction = next.kind === '(' && next.start === parser.token.end;
  const isName =
    next.kind === 'end' ||
    next.kind === ',' ||
    next.kind === '.' ||
    next.kind === ')' ||
    next.keyword === 'FROM' ||
    next.keyword === 'AS';
  if (isFunction || isName) return false;
  parser.advance();
  return true;
}

export function projectionItem(parser: Parser): ProjectionItem {
  if (parser.accept('*')) return { kind: 'all', nested: nestedOfAll(parser) };
  if (parser.accept('!')) return { kind: 'exclude', name: parser.propertyName() };
  const value = parser.grammar.expression(parser);
  return { kind: 'value', value, alias: parser.alias() };
}

export function letItems(parser: Parser): readonly LetItem[] {
  const items = [letItem(parser)];
  while (parser.accept(',')) items.push(letItem(parser));
  return items;
}

const reservedVariables: ReadonlySet<string> = new Set([
  'parent',
  'current',
  'depth',
  'path',
  'stack',
  'history',
]);

/** The name of a variable that is declared, without `$`. */
export function variableName(parser: Parser): string {
  const at = parser.start;
  const written = parser.name('a variable');
  const name = written.startsWith('$') ? written.slice(1) : written;
  if (reservedVariables.has(name)) parser.fail(at, `${name} is a reserved variable`);
  return name;
}

function letItem(parser: Parser): LetItem {
  const name = variableName(parser);
  parser.expect('=');
  return { name, value: expressionOrStatement(parser) };
}

/** An expression, or a statement with or without parentheses. */
export function expressionOrStatement(parser: Parser): Expression {
  if (!parser.grammar.startsStatement(parser)) return parser.grammar.expression(parser);
  const at = parser.start;
  parser.enter();
  const statement: Statement = parser.grammar.statement(parser);
  parser.leave();
  return { kind: 'subQuery', statement, at, end: parser.lastEnd };
}

/** GROUP BY to TIMEOUT, in this order. */
export function resultClauses(parser: Parser): ResultClauses {
  const groupBy: Expression[] = [];
  if (parser.acceptKeyword('GROUP')) {
    parser.expectKeyword('BY');
    do groupBy.push(parser.grammar.expression(parser));
    while (parser.accept(','));
  }
  const orderBy: OrderItem[] = [];
  if (parser.acceptKeyword('ORDER')) {
    parser.expectKeyword('BY');
    do orderBy.push(orderItem(parser));
    while (parser.accept(','));
  }
  const unwind: UnwoundColumn[] = [];
  if (parser.acceptKeyword('UNWIND')) {
    do {
      // Each builds on the rows of the one before it, as nested expressions do.
      if (unwind.length === parser.depthMax)
        parser.fail(
          parser.start,
          `UNWIND has more than ${parser.depthMax} columns (service.sql.maxExpressionDepth)`,
        );
      const name = parser.name('a column');
      unwind.push({ name, alias: parser.alias() ?? name });
    } while (parser.accept(','));
  }
  return { groupBy, orderBy, unwind, ...skipAndLimit(parser), timeout: timeLimit(parser) };
}

function skipAndLimit(parser: Parser): Pick<ResultClauses, 'skip' | 'limit'> {
  let skip = acceptSkip(parser);
  const limit = parser.acceptKeyword('LIMIT') ? parser.grammar.expression(parser) : undefined;
  if (skip === undefined) skip = acceptSkip(parser);
  return { skip, limit };
}

function acceptSkip(parser: Parser): Expression | undefined {
  if (!parser.acceptKeyword('SKIP') && !parser.acceptKeyword('OFFSET')) return undefined;
  return parser.grammar.expression(parser);
}

function orderItem(parser: Parser): OrderItem {
  if (!parser.at('(')) {
    const value = parser.grammar.expression(parser);
    return { value, descending: direction(parser) };
  }
  // The direction may stand inside the parentheses.
  const at = parser.start;
  parser.advance();
  if (parser.grammar.startsStatement(parser)) {
    parser.rewind(at);
    const value = parser.grammar.expression(parser);
    return { value, descending: direction(parser) };
  }
  parser.enter();
  const inner = conditionOrExpression(parser);
  parser.leave();
  const isDirected = parser.keyword !== undefined;
  const descending = direction(parser);
  parser.expect(')');
  const paren: Expression = { kind: 'paren', inner, at, end: parser.lastEnd };
  if (isDirected) return { value: paren, descending };
  const value = parser.grammar.expressionAfter(parser, paren);
  return { value, descending: direction(parser) };
}

function direction(parser: Parser): boolean | Expression {
  if (parser.acceptKeyword('ASC')) return false;
  if (parser.acceptKeyword('DESC')) return true;
  if (parser.keyword === 'TRUE' || parser.keyword === 'FALSE') {
    const isDescending = parser.keyword === 'FALSE';
    parser.advance();
    return isDescending;
  }
  if (parser.at('?') || parser.at('positional') || parser.at(':')) return parameter(parser);
  return false;
}

/** `TIMEOUT ms [EXCEPTION | RETURN]` */
export function timeLimit(parser: Parser): TimeLimit | undefined {
  if (!parser.acceptKeyword('TIMEOUT')) return undefined;
  const ms = parser.integer('milliseconds');
  if (parser.acceptKeyword('RETURN')) return { ms, onTimeout: 'end' };
  parser.acceptKeyword('EXCEPTION');
  return { ms, onTimeout: 'fail' };
}

export function traverse(parser: Parser): Traverse {
  const at = parser.start;
  parser.expectKeyword('TRAVERSE');
  const fields = traverseFields(parser);
  parser.expectKeyword('FROM');
  const source = target(parser);
  const maxDepth = parser.acceptKeyword('MAXDEPTH') ? parser.integer('a depth') : undefined;
  const condition = parser.acceptKeyword('WHILE') ? parser.grammar.condition(parser) : undefined;
  const limit = parser.acceptKeyword('LIMIT') ? parser.grammar.expression(parser) : undefined;
  return {
    kind: 'traverse',
    fields,
    target: source,
    maxDepth,
    while: condition,
    limit,
    strategy: strategy(parser),
    timeout: timeLimit(parser),
    at,
    end: parser.lastEnd,
  };
}

function strategy(parser: Parser): Traverse['strategy'] {
  if (!parser.acceptKeyword('STRATEGY')) return 'depth-first';
  if (parser.acceptKeyword('BREADTH_FIRST')) return 'breadth-first';
  parser.expectKeyword('DEPTH_FIRST');
  return 'depth-first';
}

function traverseFields(parser: Parser): readonly Expression[] | 'all' {
  if (parser.atKeyword('FROM')) return 'all';
  const fields: Expression[] = [];
  let hasStar = false;
  do {
    if (parser.accept('*')) {
      hasStar = true;
    } else {
      fields.push(parser.grammar.expression(parser));
      parser.alias();
    }
  } while (parser.accept(','));
  return hasStar ? 'all' : fields;
}
