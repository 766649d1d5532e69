import type { PausingWork } from '#core/pausing-work.ts';
import type { ParseLimits } from '../../frontend.ts';
import { checkText } from '../../statement-text.ts';
import type { Clause, CypherAst, Inspect, Query, SingleQuery, Statement } from '../ast.ts';
import { clause } from './clause.ts';
import { command, startsCommand } from './command.ts';
import { expression } from './expression.ts';
import { isPause, LoopMemo, LoopSite } from './loops.ts';
import { type Grammar, Parser } from './parser.ts';
import { path } from './pattern.ts';

const grammar: Grammar = { expression, path, query, clause, inner };

/** @throws DatabaseError `Syntax` with the name of the fault, line and column; `TooLarge` */
export function parseStatement(text: string, limits: ParseLimits): CypherAst {
  checkText(text, limits);
  return whole(new Parser(text, limits, grammar));
}

/** Shorter texts are read at once. */
const longTextLength = 2_048;

/** As `parseStatement`, with places to pause (loops.ts). */
export function* parseInSteps(text: string, limits: ParseLimits): PausingWork<CypherAst> {
  if (text.length < longTextLength) return parseStatement(text, limits);
  checkText(text, limits);
  const parser = new Parser(text, limits, grammar, new LoopMemo());
  for (;;) {
    yield;
    try {
      return whole(parser);
    } catch (error) {
      if (!isPause(error)) throw error;
    }
    parser.restart();
  }
}

function whole(parser: Parser): CypherAst {
  const { text } = parser;
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

const unions = new LoopSite<{ readonly parts: SingleQuery[]; union: Query['union'] }>();

function query(parser: Parser): Query {
  parser.enter();
  const at = parser.start;
  const use = parser.atWords('USE') ? useClause(parser) : undefined;
  const loop = parser.resumed(unions) ?? parser.opened(unions, { parts: [], union: undefined });
  const { parts } = loop.state;
  if (parts.length === 0) {
    parts.push(single(parser, use));
    parser.took(loop);
  }
  while (parser.atWords('UNION')) {
    const { start } = parser;
    parser.advance();
    const isAll = parser.acceptWords('ALL');
    if (!isAll) parser.acceptWords('DISTINCT');
    const kind = isAll ? 'all' : 'distinct';
    if ((loop.state.union ?? kind) !== kind)
      throw parser.fault(start, 'InvalidClauseComposition', 'UNION and UNION ALL are mixed');
    loop.state.union = kind;
    parts.push(single(parser));
    parser.took(loop);
  }
  parser.leave();
  return { parts, union: loop.state.union, at, end: parser.lastEnd };
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

const clauseLists = new LoopSite<{ readonly clauses: Clause[]; stepCount: number }>();

function single(parser: Parser, use?: Clause): SingleQuery {
  const at = parser.start;
  const clauseCountMax = parser.depthMax * clausesPerLevel;
  const loop =
    parser.resumed(clauseLists) ??
    parser.opened(clauseLists, { clauses: use === undefined ? [] : [use], stepCount: 0 });
  const { clauses } = loop.state;
  while (!endsQuery(parser) || clauses.length === (use === undefined ? 0 : 1)) {
    const { start } = parser;
    const next = clause(parser);
    clauses.push(next);
    loop.state.stepCount += stepsOf(next);
    if (loop.state.stepCount > clauseCountMax)
      throw parser.fault(
        start,
        'UnexpectedSyntax',
        `the query has more than ${clauseCountMax} clauses that build on each other, ${clausesPerLevel} for each level of service.sql.maxExpressionDepth`,
      );
    parser.took(loop);
  }
  return { clauses, at, end: parser.lastEnd };
}

function endsQuery(parser: Parser): boolean {
  return parser.at('end') || parser.at(';') || parser.at('}') || parser.atWords('UNION');
}
