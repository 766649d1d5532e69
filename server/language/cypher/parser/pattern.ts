import type {
  Expression,
  LabelExpression,
  NodePattern,
  PathMode,
  PathPattern,
  PathSelector,
  PathStep,
  QuantifiedPart,
  RelationshipPattern,
  Repetition,
} from '../ast.ts';
import { notSupported } from '../failures.ts';
import { labelExpression } from './label.ts';
import type { Parser } from './parser.ts';

/** Path patterns (cypher.md 4): nodes, relationships, repetitions, path variables, shortest paths. */

/** More repetitions than that are as good as no bound. */
const repetitionMax = 1_000_000_000;

export function path(parser: Parser): PathPattern {
  parser.enter();
  const at = parser.start;
  // The mode may stand before the variable, too.
  const isModeFirst = parser.peek(1) === 'word' && parser.peek(2) === '=';
  const modeBefore = isModeFirst ? pathMode(parser) : undefined;
  const variable = parser.atName() && parser.peek(1) === '=' ? parser.name() : undefined;
  if (variable !== undefined) parser.expect('=');
  const chosen = selectorWords(parser);
  const mode = modeBefore ?? pathMode(parser);
  const called = selectorFunction(parser);
  const selector = chosen ?? called;
  const isWrapped = called === undefined && isWrappedPath(parser);
  if (called !== undefined || isWrapped) parser.expect('(');
  const parts = elements(parser);
  if (called !== undefined || isWrapped) parser.expect(')');
  parser.leave();
  const mayReturn = chosen !== undefined;
  return { variable, selector, mayReturn, mode, ...parts, at, end: parser.lastEnd };
}

/** A path that rows are matched with, alone. */
export function matchedPath(parser: Parser): PathPattern {
  const found = parser.grammar.path(parser);
  requireSmallPattern(parser, [found], found.at);
  return found;
}

/** Steps nest in the plan like expressions do, and ordering them takes the square of their number (limits.md 8). */
export function requireSmallPattern(
  parser: Parser,
  found: readonly PathPattern[],
  at: number,
): void {
  const nodeCount = nodeCountOf(found);
  if (nodeCount > parser.depthMax)
    throw parser.fault(
      at,
      'UnexpectedSyntax',
      `the pattern has ${nodeCount} nodes, more than ${parser.depthMax} (service.sql.maxExpressionDepth)`,
    );
}

/** With those of its quantified parts. */
function nodeCountOf(paths: readonly PathPattern[]): number {
  let count = 0;
  for (const { steps } of paths) {
    count += steps.length + 1;
    for (const { group } of steps) if (group !== undefined) count += nodeCountOf([group.path]);
  }
  return count;
}

function pathMode(parser: Parser): PathMode | undefined {
  const word = parser.word();
  if (word !== 'WALK' && word !== 'TRAIL' && word !== 'ACYCLIC') return undefined;
  parser.advance();
  return word;
}

/** The selectors that ask for one path or all of one length: any path is as good as a shortest one where ANY is asked for. */
function selectorWords(parser: Parser): PathSelector | undefined {
  const word = parser.word();
  if (!['ANY', 'ALL', 'SHORTEST'].includes(word)) return undefined;
  parser.advance();
  if (word !== 'SHORTEST' && parser.acceptWords('SHORTEST'))
    return word === 'ANY' ? 'shortest' : 'allShortest';
  if (word === 'ALL') throw notSupported('path selector ALL');
  const count = parser.at('integer') ? parser.count(repetitionMax) : 1;
  for (const filler of ['PATHS', 'PATH']) if (parser.acceptWords(filler)) break;
  const isGroups = parser.acceptWords('GROUPS') || parser.acceptWords('GROUP');
  if (count !== 1) throw notSupported(`path selector ${word} ${count}${isGroups ? ' GROUPS' : ''}`);
  return isGroups ? 'allShortest' : 'shortest';
}

function selectorFunction(parser: Parser): PathSelector | undefined {
  if (parser.peek(1) !== '(') return undefined;
  if (parser.acceptWords('SHORTESTPATH')) return 'shortest';
  if (parser.acceptWords('ALLSHORTESTPATHS')) return 'allShortest';
  return undefined;
}

/** `((a)-->(b))` without a quantifier is the path in it. What nests too deep is refused by what reads it, so it is not gone through. */
function isWrappedPath(parser: Parser): boolean {
  if (!parser.at('(') || parser.peek(1) !== '(') return false;
  const before = parser.index;
  skipBrackets(parser);
  const isWrapped = !isQuantifier(parser) && !parser.at('-') && !parser.at('<');
  parser.moveTo(before);
  return isWrapped;
}

function skipBrackets(parser: Parser): void {
  let depth = 0;
  let { index } = parser;
  do {
    const { kind } = parser;
    if (kind === 'end' || kind === 'invalid' || depth > parser.depthMax) return;
    if (kind === '(') depth += 1;
    else if (kind === ')') depth -= 1;
    index += 1;
    parser.moveTo(index);
  } while (depth > 0);
}

function isQuantifier(parser: Parser): boolean {
  return parser.at('+') || parser.at('*') || parser.at('{');
}

function elements(parser: Parser): {
  readonly first: NodePattern;
  readonly steps: readonly PathStep[];
} {
  const steps: PathStep[] = [];
  const first = startsGroup(parser) ? emptyNode(parser) : node(parser);
  for (;;) {
    if (startsGroup(parser)) steps.push(groupStep(parser));
    else if (parser.at('-') || parser.at('<')) {
      const step = relationship(parser);
      steps.push({ relationship: step, node: node(parser), group: undefined });
    } else return { first, steps };
  }
}

function startsGroup(parser: Parser): boolean {
  return parser.at('(') && parser.peek(1) === '(';
}

function emptyNode(parser: Parser): NodePattern {
  const { start } = parser;
  return {
    variable: undefined,
    labels: undefined,
    properties: undefined,
    where: undefined,
    at: start,
    end: start,
  };
}

/** `((a)-[r]->(b) WHERE p){1,3}` and the node behind it, which may be left out. */
function groupStep(parser: Parser): PathStep {
  const at = parser.start;
  parser.expect('(');
  const inner = path(parser);
  const where = parser.acceptWords('WHERE') ? parser.grammar.expression(parser) : undefined;
  parser.expect(')');
  const repetition = quantifier(parser);
  if (repetition === undefined) parser.unexpected('a quantifier');
  const group: QuantifiedPart = { path: inner, where, repetition, at, end: parser.lastEnd };
  const span = { at, end: parser.lastEnd };
  const relationship: RelationshipPattern = {
    variable: undefined,
    types: undefined,
    properties: undefined,
    where: undefined,
    direction: 'both',
    repetition,
    hasBothArrows: false,
    ...span,
  };
  const next = parser.at('(') && !startsGroup(parser) ? node(parser) : emptyNode(parser);
  return { relationship, node: next, group };
}

export function node(parser: Parser): NodePattern {
  const at = parser.start;
  parser.expect('(');
  const filler = filling(parser, ')', false);
  parser.expect(')');
  const { variable, labels, properties, where } = filler;
  return { variable, labels, properties, where, at, end: parser.lastEnd };
}

interface Filling {
  readonly variable: string | undefined;
  readonly labels: LabelExpression | undefined;
  readonly repetition: Repetition | undefined;
  readonly properties: Expression | undefined;
  readonly where: Expression | undefined;
}

function filling(parser: Parser, close: ')' | ']', mayRepeat: boolean): Filling {
  const startsWithWhere =
    parser.word() === 'WHERE' && parser.peek(1) !== close && parser.peek(1) !== ':';
  const startsWithIs = parser.word() === 'IS' && parser.atName(1);
  const variable = parser.atName() && !startsWithWhere && !startsWithIs ? parser.name() : undefined;
  const hasLabels = parser.accept(':') || parser.acceptWords('IS');
  const labels = hasLabels ? labelExpression(parser) : undefined;
  const repetition = mayRepeat && parser.at('*') ? star(parser) : undefined;
  const properties =
    parser.at('{') || parser.at('parameter') ? parser.grammar.expression(parser) : undefined;
  const where = parser.acceptWords('WHERE') ? parser.grammar.expression(parser) : undefined;
  return { variable, labels, repetition, properties, where };
}

function relationship(parser: Parser): RelationshipPattern {
  const at = parser.start;
  const pointsLeft = parser.accept('<');
  parser.expect('-');
  const filler = parser.accept('[') ? bracketed(parser) : undefined;
  parser.expect('-');
  const pointsRight = parser.accept('>');
  const isBothOrNone = pointsLeft === pointsRight;
  const direction = isBothOrNone ? 'both' : pointsRight ? 'out' : 'in';
  const repetition = quantifier(parser) ?? filler?.repetition;
  return {
    variable: filler?.variable,
    types: filler?.labels,
    properties: filler?.properties,
    where: filler?.where,
    direction,
    repetition,
    hasBothArrows: pointsLeft && pointsRight,
    at,
    end: parser.lastEnd,
  };
}

function bracketed(parser: Parser): Filling {
  const filler = filling(parser, ']', true);
  if (parser.at('..'))
    throw parser.fault(parser.start, 'InvalidRelationshipPattern', 'a length begins with *');
  parser.expect(']');
  return filler;
}

/** `*`, `*2`, `*2..`, `*..3`, `*2..3` */
function star(parser: Parser): Repetition {
  const { start } = parser;
  parser.expect('*');
  refuseNegative(parser, start);
  const low = parser.at('integer') ? parser.count(repetitionMax) : undefined;
  if (!parser.accept('..'))
    return low === undefined ? { min: 1, max: undefined } : { min: low, max: low };
  refuseNegative(parser, start);
  const high = parser.at('integer') ? parser.count(repetitionMax) : undefined;
  return { min: low ?? 1, max: high };
}

function refuseNegative(parser: Parser, start: number): void {
  if (parser.at('-'))
    throw parser.fault(start, 'InvalidRelationshipPattern', 'a length is not negative');
}

/** `+`, `*`, `{3}`, `{1,3}`, `{,3}`, `{1,}` behind an arrow or a group. */
function quantifier(parser: Parser): Repetition | undefined {
  const { start } = parser;
  if (parser.accept('+')) return { min: 1, max: undefined };
  if (parser.accept('*')) return { min: 0, max: undefined };
  if (!parser.accept('{')) return undefined;
  const low = parser.at('integer') ? parser.count(repetitionMax) : undefined;
  const hasComma = parser.accept(',');
  const high = hasComma && parser.at('integer') ? parser.count(repetitionMax) : undefined;
  parser.expect('}');
  if (!hasComma && low === undefined) parser.unexpected('a number');
  const repetition = { min: low ?? 0, max: hasComma ? high : low };
  if (repetition.max === 0 || (repetition.max !== undefined && repetition.min > repetition.max))
    throw parser.fault(
      start,
      'InvalidRelationshipPattern',
      'the upper bound is below the lower one, or 0',
    );
  return repetition;
}
