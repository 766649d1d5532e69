import type { Clause, Expression, InTransactions, Query, YieldItem } from '../ast.ts';
import type { Parser } from './parser.ts';

/** CALL of procedures and of sub-queries, and LOAD CSV (cypher.md 3.1, 3.2, 10). */
export function callClause(parser: Parser): Clause {
  const at = parser.start;
  const isOptional = parser.acceptWords('OPTIONAL');
  parser.expectWords('CALL');
  if (parser.at('{')) return subquery(parser, at, isOptional, undefined);
  if (parser.at('(')) return subquery(parser, at, isOptional, imports(parser));
  const name = parser.dottedName('a procedure');
  const args = parser.accept('(') ? callArguments(parser) : undefined;
  const yields = parser.acceptWords('YIELD') ? yieldItems(parser) : undefined;
  const where =
    yields !== undefined && parser.acceptWords('WHERE')
      ? parser.grammar.expression(parser)
      : undefined;
  const call = { kind: 'callProcedure', name, args, yields, where, isOptional } as const;
  const queries = queriesIn(parser, name, args);
  return { ...call, ...(queries && { queries }), at, end: parser.lastEnd };
}

/** `do.when` takes queries as texts. */
function queriesIn(
  parser: Parser,
  name: string,
  args: readonly Expression[] | undefined,
): readonly (Query | undefined)[] | undefined {
  if (!/^(apoc\.)?do\.when$/i.test(name) || args === undefined) return undefined;
  const texts = args.slice(1, 3).map((arg) => (arg.kind === 'literal' ? arg.value : 0));
  if (!texts.every((text) => typeof text === 'string' || text === null)) return undefined;
  return texts.map((text) =>
    text === null || String(text).trim() === ''
      ? undefined
      : parser.grammar.inner(parser, String(text)),
  );
}

function callArguments(parser: Parser): readonly Expression[] {
  const args: Expression[] = [];
  while (!parser.at(')')) {
    if (args.length > 0) parser.expect(',');
    args.push(parser.grammar.expression(parser));
  }
  parser.expect(')');
  return args;
}

export function yieldItems(parser: Parser): readonly YieldItem[] | 'all' {
  if (parser.at('-') || parser.accept('*')) {
    if (!parser.at('-')) return 'all';
    parser.advance();
    return [];
  }
  const items: YieldItem[] = [];
  do {
    const at = parser.start;
    const column = parser.name('a column');
    const alias = parser.acceptWords('AS') ? parser.name() : column;
    items.push({ column, alias, at, end: parser.lastEnd });
  } while (parser.accept(','));
  return items;
}

/** `(a, b)`, `(*)` or `()` before the braces. */
function imports(parser: Parser): readonly string[] | 'all' {
  parser.expect('(');
  const names: string[] = [];
  if (parser.accept('*')) {
    parser.expect(')');
    return 'all';
  }
  while (!parser.at(')')) {
    if (names.length > 0) parser.expect(',');
    names.push(parser.name('a variable'));
  }
  parser.expect(')');
  return names;
}

function subquery(
  parser: Parser,
  at: number,
  isOptional: boolean,
  imported: readonly string[] | 'all' | undefined,
): Clause {
  parser.enter();
  parser.expect('{');
  const query = parser.grammar.query(parser);
  parser.expect('}');
  parser.leave();
  const inTransactions = parser.acceptWords('IN') ? transactions(parser) : undefined;
  const span = { at, end: parser.lastEnd };
  return { kind: 'callSubquery', query, imports: imported, isOptional, inTransactions, ...span };
}

/** `[n CONCURRENT] TRANSACTIONS [OF n ROWS] [ON ERROR ...] [REPORT STATUS AS s]`, the last three in any order. */
function transactions(parser: Parser): InTransactions {
  if (!parser.atWords('TRANSACTIONS')) {
    if (!parser.atWords('CONCURRENT')) parser.grammar.expression(parser);
    parser.expectWords('CONCURRENT');
  }
  parser.expectWords('TRANSACTIONS');
  let rows: Expression | undefined;
  let onError: InTransactions['onError'] = 'FAIL';
  let status: string | undefined;
  for (;;) {
    if (parser.acceptWords('OF')) {
      rows = parser.grammar.expression(parser);
      if (!parser.acceptWords('ROWS')) parser.expectWords('ROW');
    } else if (parser.acceptWords('ON')) {
      parser.expectWords('ERROR');
      const word = parser.word();
      if (word !== 'CONTINUE' && word !== 'BREAK' && word !== 'FAIL')
        parser.unexpected('CONTINUE, BREAK or FAIL');
      parser.advance();
      onError = word as InTransactions['onError'];
    } else if (parser.acceptWords('REPORT')) {
      parser.expectWords('STATUS', 'AS');
      status = parser.name('a variable');
    } else return { rows, onError, status };
  }
}

export function loadCsv(parser: Parser): Clause {
  const at = parser.start;
  parser.expectWords('LOAD', 'CSV');
  const hasHeaders = parser.acceptWords('WITH', 'HEADERS');
  parser.expectWords('FROM');
  const url = parser.grammar.expression(parser);
  parser.expectWords('AS');
  const variable = parser.name('a variable');
  const terminator = parser.acceptWords('FIELDTERMINATOR') ? parser.string() : undefined;
  const span = { at, end: parser.lastEnd };
  return { kind: 'loadCsv', hasHeaders, url, variable, terminator, ...span };
}
