import type {
  Clause,
  Expression,
  PathPattern,
  Projection,
  RemoveItem,
  ReturnItem,
  SetItem,
  SortItem,
} from '../ast.ts';
import { notSupported } from '../failures.ts';
import { callClause, loadCsv } from './call.ts';
import { labelExpression } from './label.ts';
import { LoopSite } from './loops.ts';
import type { Parser } from './parser.ts';
import { matchedPath, requireSmallPattern } from './pattern.ts';

/** The clauses of a query (cypher.md 3). */
export function clause(parser: Parser): Clause {
  const at = parser.start;
  if (parser.atWords('OPTIONAL', 'CALL')) return callClause(parser);
  if (parser.atWords('OPTIONAL') || parser.atWords('MATCH')) return match(parser);
  if (parser.acceptWords('UNWIND')) return unwind(parser, at);
  if (parser.acceptWords('WITH')) return withClause(parser, at);
  if (parser.acceptWords('RETURN'))
    return { kind: 'return', projection: projection(parser), at, end: parser.lastEnd };
  if (parser.acceptWords('CREATE') || parser.acceptWords('INSERT'))
    return { kind: 'create', paths: paths(parser), at, end: parser.lastEnd };
  if (parser.acceptWords('MERGE')) return merge(parser, at);
  if (parser.acceptWords('SET'))
    return { kind: 'set', items: setItems(parser), at, end: parser.lastEnd };
  if (parser.acceptWords('REMOVE')) return remove(parser, at);
  if (['DELETE', 'DETACH', 'NODETACH'].some((word) => parser.atWords(word)))
    return deletion(parser);
  if (parser.acceptWords('FOREACH')) return foreach(parser, at);
  if (parser.atWords('CALL')) return callClause(parser);
  return otherClause(parser, at);
}

/** Clauses beyond openCypher 9. */
function otherClause(parser: Parser, at: number): Clause {
  if (parser.atWords('LOAD')) return loadCsv(parser);
  if (parser.acceptWords('FINISH')) return { kind: 'finish', at, end: parser.lastEnd };
  if (parser.acceptWords('FILTER')) {
    parser.acceptWords('WHERE');
    const where = parser.grammar.expression(parser);
    return { kind: 'filter', where, at, end: parser.lastEnd };
  }
  if (parser.acceptWords('LET')) return letClause(parser, at);
  if (parser.acceptWords('FOR')) {
    const variable = parser.name();
    parser.expectWords('IN');
    const list = parser.grammar.expression(parser);
    return { kind: 'unwind', list, variable, at, end: parser.lastEnd };
  }
  if (['ORDER', 'SKIP', 'OFFSET', 'LIMIT'].some((word) => parser.atWords(word)))
    return { kind: 'order', ...ordering(parser), at, end: parser.lastEnd };
  if (parser.atWords('USING', 'PERIODIC'))
    throw notSupported('USING PERIODIC COMMIT; use CALL { ... } IN TRANSACTIONS');
  if (parser.atWords('NEXT') || parser.atWords('WHEN')) throw notSupported(parser.word());
  return parser.unexpected('a clause');
}

function match(parser: Parser): Clause {
  const at = parser.start;
  const isOptional = parser.acceptWords('OPTIONAL');
  parser.expectWords('MATCH');
  const isRepeatable = parser.acceptWords('REPEATABLE');
  if (isRepeatable && !parser.acceptWords('ELEMENTS')) parser.expectWords('ELEMENT', 'BINDINGS');
  if (!isRepeatable && parser.acceptWords('DIFFERENT') && !parser.acceptWords('RELATIONSHIPS'))
    parser.expectWords('RELATIONSHIP', 'BINDINGS');
  const found = paths(parser);
  requireSmallPattern(parser, found, at);
  while (parser.atWords('USING')) indexHint(parser);
  const where = parser.acceptWords('WHERE') ? parser.grammar.expression(parser) : undefined;
  return { kind: 'match', isOptional, isRepeatable, paths: found, where, at, end: parser.lastEnd };
}

/** Read and ignored: the optimizer decides. */
function indexHint(parser: Parser): void {
  parser.expectWords('USING');
  for (const word of ['RANGE', 'TEXT', 'POINT']) if (parser.acceptWords(word)) break;
  if (parser.acceptWords('JOIN')) {
    parser.expectWords('ON');
    parser.name();
    while (parser.accept(',')) parser.name();
    return;
  }
  if (!parser.acceptWords('SCAN')) {
    parser.expectWords('INDEX');
    parser.acceptWords('SEEK');
  }
  parser.name();
  parser.expect(':');
  parser.name();
  if (!parser.accept('(')) return;
  do parser.name();
  while (parser.accept(','));
  parser.expect(')');
}

const pathLists = new LoopSite<PathPattern[]>();

export function paths(parser: Parser): readonly PathPattern[] {
  return parser.separated(pathLists, parser.grammar.path);
}

function unwind(parser: Parser, at: number): Clause {
  const list = parser.grammar.expression(parser);
  parser.expectWords('AS');
  const variable = parser.name('a variable');
  return { kind: 'unwind', list, variable, at, end: parser.lastEnd };
}

function withClause(parser: Parser, at: number): Clause {
  const found = projection(parser);
  const where = parser.acceptWords('WHERE') ? parser.grammar.expression(parser) : undefined;
  return { kind: 'with', projection: found, where, at, end: parser.lastEnd };
}

const returnItems = new LoopSite<ReturnItem[]>();

function projection(parser: Parser): Projection {
  const at = parser.start;
  const isDistinct = parser.acceptWords('DISTINCT');
  if (!isDistinct && parser.word() === 'ALL' && parser.peek(1) !== '(') parser.acceptWords('ALL');
  const isAll = parser.accept('*');
  const items = !isAll || parser.accept(',') ? parser.separated(returnItems, returnItem) : [];
  return { isDistinct, isAll, items, ...ordering(parser), at, end: parser.lastEnd };
}

function returnItem(parser: Parser): ReturnItem {
  const at = parser.start;
  const value = parser.grammar.expression(parser);
  // The text of the expression names the column, brackets around it included.
  const { lastEnd: end } = parser;
  const alias = parser.acceptWords('AS') ? parser.name('a name') : undefined;
  return { value, alias, at, end };
}

const sortItems = new LoopSite<SortItem[]>();

function ordering(parser: Parser): Pick<Projection, 'orderBy' | 'skip' | 'limit'> {
  let orderBy: SortItem[] = [];
  if (parser.acceptWords('ORDER')) {
    parser.expectWords('BY');
    orderBy = parser.separated(sortItems, sortItem);
  }
  const hasSkip = parser.acceptWords('SKIP') || parser.acceptWords('OFFSET');
  const skip = hasSkip ? parser.grammar.expression(parser) : undefined;
  const limit = parser.acceptWords('LIMIT') ? parser.grammar.expression(parser) : undefined;
  return { orderBy, skip, limit };
}

function sortItem(parser: Parser): SortItem {
  const value = parser.grammar.expression(parser);
  const isDescending = parser.acceptWords('DESC') || parser.acceptWords('DESCENDING');
  if (!isDescending && !parser.acceptWords('ASC')) parser.acceptWords('ASCENDING');
  return { value, isDescending };
}

interface LetItem {
  readonly name: string;
  readonly value: Expression;
}
const letItems = new LoopSite<LetItem[]>();

function letClause(parser: Parser, at: number): Clause {
  const items = parser.separated(letItems, letItem);
  return { kind: 'let', items, at, end: parser.lastEnd };
}

function letItem(parser: Parser): LetItem {
  const name = parser.name('a variable');
  parser.expect('=');
  return { name, value: parser.grammar.expression(parser) };
}

function merge(parser: Parser, at: number): Clause {
  const path = matchedPath(parser);
  const onCreate: SetItem[] = [];
  const onMatch: SetItem[] = [];
  while (parser.acceptWords('ON')) {
    const items = parser.acceptWords('CREATE') ? onCreate : onMatch;
    if (items === onMatch) parser.expectWords('MATCH');
    parser.expectWords('SET');
    items.push(...setItems(parser));
  }
  return { kind: 'merge', path, onCreate, onMatch, at, end: parser.lastEnd };
}

const setLists = new LoopSite<SetItem[]>();

function setItems(parser: Parser): readonly SetItem[] {
  return parser.separated(setLists, setItem);
}

function setItem(parser: Parser): SetItem {
  const at = parser.start;
  if (parser.atName()) {
    const next = parser.peek(1);
    if (next === ':' || parser.word(1) === 'IS') {
      const variable = parser.name();
      parser.advance();
      const labels = labelExpression(parser);
      return { kind: 'labels', variable, labels, at, end: parser.lastEnd };
    }
    if (next === '=' || next === '+=') {
      const variable = parser.name();
      parser.advance();
      const value = parser.grammar.expression(parser);
      return { kind: next === '=' ? 'all' : 'merge', variable, value, at, end: parser.lastEnd };
    }
  }
  const target = settable(parser);
  parser.expect('=');
  const value = parser.grammar.expression(parser);
  const span = { at, end: parser.lastEnd };
  return target.kind === 'index'
    ? { kind: 'entry', of: target.of, key: target.key, value, ...span }
    : { kind: 'property', target, value, ...span };
}

/** `n.p`, `(expression).p` or `n[key]`, without an operator behind it. */
function settable(parser: Parser): Expression {
  const at = parser.start;
  let target: Expression;
  if (parser.accept('(')) {
    target = parser.grammar.expression(parser);
    parser.expect(')');
  } else target = { kind: 'variable', name: parser.name('a variable'), at, end: parser.lastEnd };
  do {
    if (parser.accept('[')) {
      const key = parser.grammar.expression(parser);
      parser.expect(']');
      target = { kind: 'index', of: target, key, at, end: parser.lastEnd };
    } else {
      parser.expect('.');
      const name = parser.name('a property');
      target = { kind: 'property', of: target, name, at, end: parser.lastEnd };
    }
  } while (parser.at('.') || parser.at('['));
  return target;
}

const removeItems = new LoopSite<RemoveItem[]>();

function remove(parser: Parser, at: number): Clause {
  const items = parser.separated(removeItems, removeItem);
  return { kind: 'remove', items, at, end: parser.lastEnd };
}

function removeItem(parser: Parser): RemoveItem {
  const at = parser.start;
  if (parser.atName() && (parser.peek(1) === ':' || parser.word(1) === 'IS')) {
    const variable = parser.name();
    parser.advance();
    const labels = labelExpression(parser);
    return { kind: 'labels', variable, labels, at, end: parser.lastEnd };
  }
  const target = settable(parser);
  const span = { at, end: parser.lastEnd };
  return target.kind === 'index'
    ? { kind: 'entry', of: target.of, key: target.key, ...span }
    : { kind: 'property', target, ...span };
}

const deleteTargets = new LoopSite<Expression[]>();

function deletion(parser: Parser): Clause {
  const at = parser.start;
  const isDetach = parser.acceptWords('DETACH');
  if (!isDetach) parser.acceptWords('NODETACH');
  parser.expectWords('DELETE');
  const targets = parser.separated(deleteTargets, parser.grammar.expression);
  return { kind: 'delete', isDetach, targets, at, end: parser.lastEnd };
}

const innerClauses = new LoopSite<Clause[]>();

function foreach(parser: Parser, at: number): Clause {
  parser.enter();
  parser.expect('(');
  const variable = parser.name('a variable');
  parser.expectWords('IN');
  const list = parser.grammar.expression(parser);
  parser.expect('|');
  const loop = parser.resumed(innerClauses) ?? parser.opened<Clause[]>(innerClauses, []);
  const clauses = loop.state;
  while (clauses.length === 0 || !parser.at(')')) {
    clauses.push(parser.grammar.clause(parser));
    parser.took(loop);
  }
  parser.expect(')');
  parser.leave();
  return { kind: 'foreach', variable, list, clauses, at, end: parser.lastEnd };
}
