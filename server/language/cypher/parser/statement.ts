import type { ParseLimits } from '../../frontend.ts';
import { checkText } from '../../statement-text.ts';
import type { Clause, CypherAst, Inspect, Query, SingleQuery, Statement } from '../ast.ts';
import { clause } from './clause.ts';
import { command, startsCommand } from './command.ts';
import { expression } from './expression.ts';
import { type Grammar, Parser } from './parser.ts';
import { path } from './pattern.ts';

const grammar: Grammar = { expression, path, query, clause, inner };

/** @throws DatabaseError `Syntax` with the name of the fault, line and column; `TooLarge` */
export function parseStatement(text: string, limits: ParseLimits): CypherAst {
  checkText(text, limits);
  const parser = new Parser(text, limits, grammar);
  const inspect = inspected(parser);
  const statement = statementOf(parser);
  parser.accept(';');
  if (!parser.at('end')) parser.unexpected('end of statement');
  return { text, inspect, statement };
}

/** Nothing in it may stand deeper than in the statement around it. */
function inner(outer: Parser, text: string): Query {
  const parser = new Parser(text, outer.limits, grammar);
  outer.enter();
  const found = query(parser);
  parser.accept(';');
  if (!parser.at('end')) parser.unexpected('end of statement');
  outer.leave();
  return found;
}

function inspected(parser: Parser): Inspect | undefined {
  if (parser.acceptWords('EXPLAIN')) return 'explain';
  return parser.acceptWords('PROFILE') ? 'profile' : undefined;
}

function statementOf(parser: Parser): Statement {
  if (startsCommand(parser)) return { kind: 'command', command: command(parser) };
  return { kind: 'query', query: query(parser) };
}

function query(parser: Parser): Query {
  parser.enter();
  const at = parser.start;
  const use = parser.atWords('USE') ? useClause(parser) : undefined;
  const parts = [single(parser, use)];
  let union: Query['union'];
  while (parser.atWords('UNION')) {
    const { start } = parser;
    parser.advance();
    const isAll = parser.acceptWords('ALL');
    if (!isAll) parser.acceptWords('DISTINCT');
    const kind = isAll ? 'all' : 'distinct';
    if (union !== undefined && union !== kind)
      throw parser.fault(start, 'InvalidClauseComposition', 'UNION and UNION ALL are mixed');
    union = kind;
    parts.push(single(parser));
  }
  parser.leave();
  return { parts, union, at, end: parser.lastEnd };
}

/** `USE graph`: a condition that holds in that database and is refused in others. */
function useClause(parser: Parser): Clause {
  const at = parser.start;
  parser.expectWords('USE');
  const name = parser.dottedName('a database');
  const span = { at, end: parser.lastEnd };
  const args = [{ kind: 'literal', value: name, ...span }] as const;
  const where = { kind: 'call', name: '#useDatabase', isDistinct: false, args, ...span } as const;
  return { kind: 'filter', where, ...span };
}

/** Each clause stands on the one before it in the plan, at less cost than what is nested in a text. */
const clausesPerLevel = 4;

/** CREATE after CREATE is one step of the plan, so texts of data may be as long as they like. */
function stepsOf(next: Clause): number {
  if (next.kind === 'create') return 0;
  if (next.kind !== 'with') return 1;
  const { orderBy, skip, limit } = next.projection;
  return orderBy.length > 0 || skip !== undefined || limit !== undefined ? 2 : 1;
}

function single(parser: Parser, use?: Clause): SingleQuery {
  const at = parser.start;
  const clauses: Clause[] = use === undefined ? [] : [use];
  const clauseCountMax = parser.depthMax * clausesPerLevel;
  let clauseCount = 0;
  while (!endsQuery(parser) || clauses.length === (use === undefined ? 0 : 1)) {
    const { start } = parser;
    const next = clause(parser);
    clauses.push(next);
    clauseCount += stepsOf(next);
    if (clauseCount > clauseCountMax)
      throw parser.fault(
        start,
        'UnexpectedSyntax',
        `the query has more than ${clauseCountMax} clauses that build on each other, ${clausesPerLevel} for each level of service.sql.maxExpressionDepth`,
      );
  }
  return { clauses, at, end: parser.lastEnd };
}

function endsQuery(parser: Parser): boolean {
  return parser.at('end') || parser.at(';') || parser.at('}') || parser.atWords('UNION');
}
