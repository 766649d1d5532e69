import type { Value } from '#core/value/value.ts';
import type {
  CaseBranch,
  ComparisonSign,
  Expression,
  MapEntry,
  PathPattern,
  ProjectedEntry,
  Query,
  QuantifierKind,
} from '../ast.ts';
import { notSupported } from '../failures.ts';
import type { TokenKind } from '../lexer.ts';
import { isPatternAhead } from './look-ahead.ts';
import { LoopSite } from './loops.ts';
import type { Parser } from './parser.ts';
import { matchedPath, requireSmallPattern } from './pattern.ts';

/** The smallest expressions: literals, names, calls, brackets of all kinds, CASE, sub-queries. */
export function atom(parser: Parser): Expression {
  const at = parser.start;
  switch (parser.kind) {
    case 'integer':
    case 'float': {
      const value = parser.number(false);
      return { kind: 'literal', value, at, end: parser.lastEnd };
    }
    case 'string': {
      const value = parser.string();
      return { kind: 'literal', value, at, end: parser.lastEnd };
    }
    case 'parameter': {
      const name = parser.parameterName();
      return { kind: 'parameter', name, at, end: parser.lastEnd };
    }
    case '(':
      return parenthesised(parser);
    case '[':
      return bracketed(parser);
    case '{':
      return map(parser);
    case 'word':
    case 'quoted':
      return word(parser);
    default:
      return parser.unexpected('an expression');
  }
}

function parenthesised(parser: Parser): Expression {
  const at = parser.start;
  if (isPatternAhead(parser)) {
    const path = matchedPath(parser);
    return { kind: 'pattern', path, at, end: parser.lastEnd };
  }
  parser.advance();
  const inner = parser.grammar.expression(parser);
  parser.expect(')');
  return inner;
}

const literalWords = new Map<string, Value>([
  ['TRUE', true],
  ['FALSE', false],
  ['NULL', null],
  ['NAN', Number.NaN],
  ['INF', Number.POSITIVE_INFINITY],
  ['INFINITY', Number.POSITIVE_INFINITY],
]);
const quantifiers = new Map<string, QuantifierKind>([
  ['ALL', 'all'],
  ['ANY', 'any'],
  ['NONE', 'none'],
  ['SINGLE', 'single'],
]);

function word(parser: Parser): Expression {
  const at = parser.start;
  const upper = parser.word();
  const next = parser.peek(1);
  const literal = literalWords.get(upper);
  // The words for numbers are names of variables, too: `inf.start`.
  const isNamed = next === '.' && parser.atName(2) && typeof literal === 'number';
  if (literal !== undefined && next !== '(' && !isNamed) {
    parser.advance();
    return { kind: 'literal', value: literal, at, end: parser.lastEnd };
  }
  if (upper === 'CASE' && !endsOperand(parser)) return caseExpression(parser);
  if (next === '{') {
    if (upper === 'EXISTS' || upper === 'COUNT' || upper === 'COLLECT') return subquery(parser);
    return projection(parser);
  }
  if (next === '(') {
    const quantifier = quantifiers.get(upper);
    if (quantifier !== undefined && parser.atName(2) && parser.word(3) === 'IN')
      return quantified(parser, quantifier);
    if (upper === 'REDUCE' && parser.atName(2) && parser.peek(3) === '=') return reduce(parser);
    if (upper === 'ALLREDUCE' && parser.atName(2) && parser.peek(3) === '=')
      throw notSupported('allReduce');
    if (upper === 'SHORTESTPATH' || upper === 'ALLSHORTESTPATHS') {
      const path = matchedPath(parser);
      return { kind: 'pattern', path, at, end: parser.lastEnd };
    }
    if (upper === 'COUNT' && parser.peek(2) === '*' && parser.peek(3) === ')') {
      for (let count = 0; count < 4; count += 1) parser.advance();
      return { kind: 'countAll', at, end: parser.lastEnd };
    }
    if (upper === 'TRIM') return trim(parser);
    return call(parser, parser.name(), at);
  }
  if (next === '.' && parser.atName(2) && isDottedCall(parser)) {
    const name = parser.dottedName('a function');
    return call(parser, name, at);
  }
  const name = parser.name('an expression');
  return { kind: 'variable', name, at, end: parser.lastEnd };
}

/** A variable may be called `case`. */
function endsOperand(parser: Parser): boolean {
  const next = parser.peek(1);
  return next === 'end' || next === ',' || next === ')' || next === '.' || next === ']';
}

/** `a.b.c(`: otherwise the dots are property accesses. */
function isDottedCall(parser: Parser): boolean {
  let distance = 1;
  while (parser.peek(distance) === '.' && parser.atName(distance + 1)) distance += 2;
  return parser.peek(distance) === '(';
}

/** Second names of functions that the analysis knows by their first (cypher.md 9.1, 9.5). */
const otherNames: ReadonlyMap<string, string> = new Map([
  ['path_length', 'length'],
  ['collect_list', 'collect'],
  ['stdev_samp', 'stDev'],
  ['stdev_pop', 'stDevP'],
  ['percentile_cont', 'percentileCont'],
  ['percentile_disc', 'percentileDisc'],
]);

function call(parser: Parser, name: string, at: number): Expression {
  parser.expect('(');
  const isDistinct = parser.peek(1) !== ')' && parser.acceptWords('DISTINCT');
  if (!isDistinct) parser.acceptWords('ALL');
  const args = parser.at(')') ? [] : list(parser);
  parser.expect(')');
  const span = { at, end: parser.lastEnd };
  return {
    kind: 'call',
    name: otherNames.get(name.toLowerCase()) ?? name,
    isDistinct,
    args,
    ...span,
  };
}

/** `trim([BOTH | LEADING | TRAILING] [characters] FROM text)` besides the plain call. */
/** After FROM: it is no variable then. */
const startsText: ReadonlySet<TokenKind> = new Set(['string', 'word', 'quoted', 'parameter']);

function trim(parser: Parser): Expression {
  const at = parser.start;
  const name = parser.name();
  const side = /^(?:BOTH|LEADING|TRAILING)$/.exec(parser.word(1))?.[0];
  if (side !== undefined && parser.peek(2) !== ')' && parser.peek(2) !== ',') {
    parser.advance();
    parser.advance();
    const args: Expression[] = [];
    if (!parser.acceptWords('FROM')) {
      args.push(parser.grammar.expression(parser));
      parser.expectWords('FROM');
    }
    args.unshift(parser.grammar.expression(parser));
    return trimCall(parser, side, args, at);
  }
  const before = parser.index;
  parser.expect('(');
  if (parser.atWords('FROM') && startsText.has(parser.peek(1))) {
    parser.advance();
    return trimCall(parser, 'BOTH', [parser.grammar.expression(parser)], at);
  }
  const first = parser.at(')') ? undefined : parser.grammar.expression(parser);
  if (first !== undefined && parser.acceptWords('FROM'))
    return trimCall(parser, 'BOTH', [parser.grammar.expression(parser), first], at);
  parser.moveTo(before);
  return call(parser, name, at);
}

function trimCall(
  parser: Parser,
  side: string,
  args: readonly Expression[],
  at: number,
): Expression {
  parser.expect(')');
  const name = side === 'LEADING' ? 'lTrim' : side === 'TRAILING' ? 'rTrim' : 'btrim';
  return { kind: 'call', name, isDistinct: false, args, at, end: parser.lastEnd };
}

const lists = new LoopSite<Expression[]>();

function list(parser: Parser): Expression[] {
  return parser.separated(lists, parser.grammar.expression);
}

function bracketed(parser: Parser): Expression {
  const at = parser.start;
  if (parser.atName(1) && parser.word(2) === 'IN') return comprehension(parser);
  if (isComprehensionOfPatterns(parser)) return patternComprehension(parser);
  const nodesBefore = parser.nodeCount;
  parser.expect('[');
  const { items, values } = parser.at(']') ? { items: [], values: [] } : listItems(parser);
  parser.expect(']');
  const span = { at, end: parser.lastEnd };
  if (values === undefined) return { kind: 'list', items, ...span };
  parser.forgetNodesSince(nodesBefore);
  return { kind: 'literal', value: values, ...span };
}

interface ListItems {
  readonly items: Expression[];
  /** Undefined as soon as one is no literal. */
  values: Value[] | undefined;
}

const listLiterals = new LoopSite<ListItems>();

/** As long as the items are literals they count as one word. */
function listItems(parser: Parser): ListItems {
  const before = parser.nodeCount;
  const loop =
    parser.resumed(listLiterals) ?? parser.opened(listLiterals, { items: [], values: [] });
  const { items } = loop.state;
  while (items.length === 0 || parser.accept(',')) {
    const item = parser.grammar.expression(parser);
    items.push(item);
    if (item.kind !== 'literal') loop.state.values = undefined;
    else loop.state.values?.push(item.value);
    if (loop.state.values !== undefined) parser.forgetNodesSince(before);
    parser.took(loop);
  }
  return loop.state;
}

function isComprehensionOfPatterns(parser: Parser): boolean {
  const before = parser.index;
  parser.advance();
  if (parser.atName() && parser.peek(1) === '=' && parser.peek(2) === '(') {
    parser.advance();
    parser.advance();
  }
  const is = parser.at('(') && isPatternAhead(parser);
  parser.moveTo(before);
  return is;
}

function patternComprehension(parser: Parser): Expression {
  const at = parser.start;
  const before = parser.index;
  parser.expect('[');
  const path = matchedPath(parser);
  const where = parser.acceptWords('WHERE') ? parser.grammar.expression(parser) : undefined;
  if (!parser.at('|') && where === undefined) {
    // A list whose first item is a pattern.
    parser.moveTo(before);
    parser.expect('[');
    const items = list(parser);
    parser.expect(']');
    return { kind: 'list', items, at, end: parser.lastEnd };
  }
  parser.expect('|');
  const result = parser.grammar.expression(parser);
  parser.expect(']');
  return { kind: 'patternComprehension', path, where, result, at, end: parser.lastEnd };
}

function comprehension(parser: Parser): Expression {
  const at = parser.start;
  parser.expect('[');
  const variable = parser.name();
  parser.expectWords('IN');
  const over = parser.grammar.expression(parser);
  const where = parser.acceptWords('WHERE') ? parser.grammar.expression(parser) : undefined;
  const result = parser.accept('|') ? parser.grammar.expression(parser) : undefined;
  parser.expect(']');
  return { kind: 'comprehension', variable, list: over, where, result, at, end: parser.lastEnd };
}

function quantified(parser: Parser, quantifier: QuantifierKind): Expression {
  const at = parser.start;
  parser.advance();
  parser.expect('(');
  const variable = parser.name();
  parser.expectWords('IN');
  const over = parser.grammar.expression(parser);
  const where = parser.acceptWords('WHERE') ? parser.grammar.expression(parser) : undefined;
  parser.expect(')');
  return { kind: 'quantifier', quantifier, variable, list: over, where, at, end: parser.lastEnd };
}

function reduce(parser: Parser): Expression {
  const at = parser.start;
  parser.advance();
  parser.expect('(');
  const accumulator = parser.name();
  parser.expect('=');
  const initial = parser.grammar.expression(parser);
  parser.expect(',');
  const variable = parser.name();
  parser.expectWords('IN');
  const over = parser.grammar.expression(parser);
  parser.expect('|');
  const step = parser.grammar.expression(parser);
  parser.expect(')');
  const span = { at, end: parser.lastEnd };
  return { kind: 'reduce', accumulator, initial, variable, list: over, step, ...span };
}

interface MapEntries {
  readonly entries: MapEntry[];
  /** Undefined as soon as one is no literal. */
  values: Map<string, Value> | undefined;
}

const mapEntries = new LoopSite<MapEntries>();

function map(parser: Parser): Expression {
  const at = parser.start;
  const nodesBefore = parser.nodeCount;
  parser.expect('{');
  const loop =
    parser.resumed(mapEntries) ?? parser.opened(mapEntries, { entries: [], values: new Map() });
  const { entries } = loop.state;
  while (!parser.at('}')) {
    if (entries.length > 0) parser.expect(',');
    const key = mapKey(parser);
    if (entries.length === 0 && parser.at('}'))
      throw parser.fault(at, 'UnexpectedSyntax', `parameters are written $${key}, not {${key}}`);
    parser.expect(':');
    const value = parser.grammar.expression(parser);
    entries.push({ key, value });
    if (value.kind !== 'literal') loop.state.values = undefined;
    else loop.state.values?.set(key, value.value);
    parser.took(loop);
  }
  parser.expect('}');
  const span = { at, end: parser.lastEnd };
  const { values } = loop.state;
  if (values === undefined) return { kind: 'map', entries, ...span };
  parser.forgetNodesSince(nodesBefore);
  return { kind: 'literal', value: values, ...span };
}

function mapKey(parser: Parser): string {
  if (!parser.atName()) throw parser.fault(parser.start, 'UnexpectedSyntax', 'expected a key');
  return parser.name();
}

const projectedEntries = new LoopSite<ProjectedEntry[]>();

/** `n {.a, .*, b, c: expression}` */
function projection(parser: Parser): Expression {
  const at = parser.start;
  const name = parser.name();
  const of: Expression = { kind: 'variable', name, at, end: parser.lastEnd };
  parser.expect('{');
  const loop =
    parser.resumed(projectedEntries) ?? parser.opened<ProjectedEntry[]>(projectedEntries, []);
  const items = loop.state;
  while (!parser.at('}')) {
    if (items.length > 0) parser.expect(',');
    items.push(projectedEntry(parser, of));
    parser.took(loop);
  }
  parser.expect('}');
  return { kind: 'projection', of, items, at, end: parser.lastEnd };
}

function projectedEntry(parser: Parser, of: Expression): ProjectedEntry {
  const at = parser.start;
  if (parser.accept('.')) {
    if (parser.accept('*')) return { kind: 'all' };
    const key = parser.name('a property');
    const value: Expression = { kind: 'property', of, name: key, at, end: parser.lastEnd };
    return { kind: 'entry', key, value };
  }
  const key = parser.name('a key');
  if (parser.accept(':')) return { kind: 'entry', key, value: parser.grammar.expression(parser) };
  return { kind: 'entry', key, value: { kind: 'variable', name: key, at, end: parser.lastEnd } };
}

const caseBranches = new LoopSite<CaseBranch[]>();

function caseExpression(parser: Parser): Expression {
  const at = parser.start;
  parser.expectWords('CASE');
  const subject = parser.atWords('WHEN') ? undefined : parser.grammar.expression(parser);
  const loop = parser.resumed(caseBranches) ?? parser.opened<CaseBranch[]>(caseBranches, []);
  const branches = loop.state;
  while (parser.acceptWords('WHEN')) {
    const whens = [caseValue(parser, subject)];
    while (subject !== undefined && parser.accept(',')) whens.push(caseValue(parser, subject));
    parser.expectWords('THEN');
    const then = parser.grammar.expression(parser);
    for (const when of whens) branches.push({ when, then });
    parser.took(loop);
  }
  if (branches.length === 0) parser.unexpected('WHEN');
  const otherwise = parser.acceptWords('ELSE') ? parser.grammar.expression(parser) : undefined;
  parser.expectWords('END');
  // Branches of the simple form are comparisons with the subject.
  return { kind: 'case', subject, branches, otherwise, at, end: parser.lastEnd };
}

/** A condition, or in the simple form what the subject is compared with (`WHEN 5`, `WHEN > 5`). */
function caseValue(parser: Parser, subject: Expression | undefined): Expression {
  if (subject === undefined) return parser.grammar.expression(parser);
  const at = parser.start;
  if (parser.atWords('IS', 'NULL') || parser.atWords('IS', 'NOT', 'NULL')) {
    parser.advance();
    const isNegated = parser.acceptWords('NOT');
    parser.expectWords('NULL');
    return { kind: 'isNull', operand: subject, isNegated, at, end: parser.lastEnd };
  }
  const { kind } = parser;
  const isSigned = ['<', '<=', '>', '>=', '<>', '='].includes(kind);
  if (isSigned) parser.advance();
  const value = parser.grammar.expression(parser);
  const signs: ComparisonSign[] = [isSigned ? (kind as ComparisonSign) : '='];
  return { kind: 'comparison', signs, operands: [subject, value], at, end: parser.lastEnd };
}

function subquery(parser: Parser): Expression {
  const at = parser.start;
  const form = parser.word().toLowerCase() as 'exists' | 'count' | 'collect';
  parser.advance();
  parser.expect('{');
  const query =
    parser.at('(') || startsBarePattern(parser) ? bareMatch(parser) : parser.grammar.query(parser);
  parser.expect('}');
  return { kind: 'subquery', form, query, at, end: parser.lastEnd };
}

function startsBarePattern(parser: Parser): boolean {
  return parser.atName() && parser.peek(1) === '=' && parser.peek(2) === '(';
}

const barePaths = new LoopSite<PathPattern[]>();

/** `{ pattern [WHERE condition] }` */
function bareMatch(parser: Parser): Query {
  const at = parser.start;
  const paths = parser.separated(barePaths, parser.grammar.path);
  requireSmallPattern(parser, paths, at);
  const where = parser.acceptWords('WHERE') ? parser.grammar.expression(parser) : undefined;
  const span = { at, end: parser.lastEnd };
  const clause = {
    kind: 'match',
    isOptional: false,
    isRepeatable: false,
    paths,
    where,
    ...span,
  } as const;
  return { parts: [{ clauses: [clause], ...span }], union: undefined, ...span };
}
