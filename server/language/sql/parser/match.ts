import { closestWord } from '../../suggestion.ts';
import type { Expression } from '../ast.ts';
import type {
  Match,
  MatchMove,
  MatchNode,
  MatchPath,
  MatchStep,
  TypeReference,
} from '../statements.ts';
import { parameter } from './expression.ts';
import type { Parser } from './parser.ts';
import { argumentsUntilClose } from './postfix.ts';
import { projectionList, resultClauses } from './select.ts';
import { bucketReference, ridExpression } from './target.ts';

/** MATCH (sql.md 11.1). */
export function match(parser: Parser): Match {
  const at = parser.start;
  parser.expectKeyword('MATCH');
  const outerNodeCount = parser.patternNodeCount;
  parser.patternNodeCount = 0;
  const paths = [matchPath(parser)];
  while (parser.accept(',')) paths.push(matchPath(parser));
  parser.patternNodeCount = outerNodeCount;
  parser.expectKeyword('RETURN');
  const projection = projectionList(parser);
  return { kind: 'match', paths, projection, ...resultClauses(parser), at, end: parser.lastEnd };
}

function matchPath(parser: Parser): MatchPath {
  const isNegated = parser.acceptKeyword('NOT');
  countNode(parser);
  const first = parser.at('{') ? node(parser) : emptyNode(parser.start);
  const steps: MatchStep[] = [];
  while (atStep(parser)) steps.push(step(parser));
  if (first.end === first.at && steps.length === 0)
    return parser.unexpected('a pattern like {type: T, as: a}');
  return { isNegated, first, steps };
}

function atStep(parser: Parser): boolean {
  return parser.at('.') || parser.at('-') || parser.at('<');
}

/** Steps build on each other like nested expressions do, and finding their order takes the square of their number. */
function countNode(parser: Parser): void {
  parser.patternNodeCount += 1;
  if (parser.patternNodeCount <= parser.depthMax) return;
  parser.fail(
    parser.start,
    `Pattern has more than ${parser.depthMax} nodes (service.sql.maxExpressionDepth)`,
  );
}

function step(parser: Parser): MatchStep {
  const at = parser.start;
  countNode(parser);
  const { move, needsNode } = parser.at('.') ? dotMove(parser) : arrow(parser);
  if (needsNode && !parser.at('{')) parser.unexpected("'{'");
  const to = parser.at('{') ? node(parser) : emptyNode(parser.start);
  return { move, node: to, at, end: parser.lastEnd };
}

/** The first step of a group may leave its dot out: `.(out('E').in('E'))`. */
function firstOfGroup(parser: Parser): MatchStep {
  if (parser.at('.') || parser.at('-') || parser.at('<')) return step(parser);
  const at = parser.start;
  const { move } = namedMove(parser);
  const to = parser.at('{') ? node(parser) : emptyNode(parser.start);
  return { move, node: to, at, end: parser.lastEnd };
}

interface ParsedMove {
  readonly move: MatchMove;
  /** An arrow without a type must be followed by a node. */
  readonly needsNode: boolean;
}

function dotMove(parser: Parser): ParsedMove {
  parser.expect('.');
  if (parser.at('(')) {
    parser.advance();
    parser.enter();
    const steps = [firstOfGroup(parser)];
    while (atStep(parser)) steps.push(step(parser));
    parser.leave();
    parser.expect(')');
    return { move: { kind: 'group', steps }, needsNode: false };
  }
  return namedMove(parser);
}

/** The steps that 11.1 lists. */
const methods = ['out', 'in', 'both', 'outE', 'inE', 'bothE', 'outV', 'inV', 'bothV'] as const;

function namedMove(parser: Parser): ParsedMove {
  const at = parser.start;
  const name = parser.propertyName('a method or property');
  if (!parser.accept('(')) return { move: { kind: 'property', name }, needsNode: false };
  if (!methods.some((method) => method.toLowerCase() === name.toLowerCase()))
    parser.fail(
      at,
      `'${name}' is no step of MATCH, expected one of ${methods.join(', ')}`,
      closestWord(name, methods),
    );
  return { move: { kind: 'call', name, arguments: argumentsUntilClose(parser) }, needsNode: false };
}

/** `-E->`, `<-E-`, `-E-`, `-->`, `<--`, `--` */
function arrow(parser: Parser): ParsedMove {
  const pointsLeft = parser.accept('<');
  parser.expect('-');
  if (parser.accept('-')) {
    const pointsRight = !pointsLeft && parser.accept('>');
    const direction = pointsLeft ? 'in' : pointsRight ? 'out' : 'both';
    const move = { kind: 'arrow', direction, type: undefined, typeAt: parser.start } as const;
    return { move, needsNode: direction !== 'both' };
  }
  const typeAt = parser.start;
  const type = parser.name('an edge type');
  parser.expect('-');
  const pointsRight = !pointsLeft && parser.accept('>');
  const direction = pointsLeft ? 'in' : pointsRight ? 'out' : 'both';
  return { move: { kind: 'arrow', direction, type, typeAt }, needsNode: false };
}

interface NodeParts {
  alias: string | undefined;
  types: TypeReference[];
  buckets: (string | number)[];
  rid: Expression | undefined;
  where: Expression | undefined;
  while: Expression | undefined;
  maxDepth: number | undefined;
  isOptional: boolean;
  depthAlias: string | undefined;
  pathAlias: string | undefined;
}

function emptyParts(): NodeParts {
  return {
    alias: undefined,
    types: [],
    buckets: [],
    rid: undefined,
    where: undefined,
    while: undefined,
    maxDepth: undefined,
    isOptional: false,
    depthAlias: undefined,
    pathAlias: undefined,
  };
}

function emptyNode(at: number): MatchNode {
  return { ...emptyParts(), at, end: at };
}

function node(parser: Parser): MatchNode {
  const at = parser.start;
  const parts = emptyParts();
  const given = new Set<string>();
  parser.expect('{');
  while (!parser.at('}')) {
    nodeItem(parser, parts, given);
    if (!parser.accept(',')) break;
    if (parser.at('}')) parser.unexpected('a key: type, as, where, ...');
  }
  parser.expect('}');
  return { ...parts, at, end: parser.lastEnd };
}

/** A key that stands twice would silently lose what one of the two says. */
function nodeItem(parser: Parser, parts: NodeParts, given: Set<string>): void {
  const start = parser.start;
  // Keys are keywords here, reserved ones too; they may be quoted like keys of JSON.
  const key = parser.at('string') ? parser.stringLiteral().toUpperCase() : nodeKey(parser);
  if (!isNodeKey(key)) {
    parser.fail(
      start,
      `unknown key '${key.toLowerCase()}' of a node, expected one of ${nodeKeys.join(', ')}`,
      closestWord(key, nodeKeys),
    );
  }
  if (given.has(key)) parser.fail(start, `the key '${key.toLowerCase()}' of a node stands twice`);
  given.add(key);
  parser.expect(':');
  readers[key](parser, parts);
}

function nodeKey(parser: Parser): string {
  if (parser.kind !== 'word') return parser.unexpected('a key: type, as, where, ...');
  const key = parser.source().toUpperCase();
  parser.advance();
  return key;
}

type NodeKey = keyof typeof readers;

const readers = {
  TYPE: (parser, parts) => parts.types.push(typeReference(parser)),
  TYPES: (parser, parts) => {
    parser.expect('[');
    do parts.types.push(typeReference(parser));
    while (parser.accept(','));
    parser.expect(']');
  },
  BUCKET: (parser, parts) => parts.buckets.push(bucketReference(parser)),
  RID: (parser, parts) => {
    parts.rid = parser.at('{') ? ridExpression(parser) : parser.grammar.expression(parser);
  },
  AS: (parser, parts) => {
    parts.alias = parser.name('an alias');
  },
  WHERE: (parser, parts) => {
    parts.where = conditionInParentheses(parser);
  },
  WHILE: (parser, parts) => {
    parts.while = conditionInParentheses(parser);
  },
  MAXDEPTH: (parser, parts) => {
    parts.maxDepth = parser.integer('a depth');
  },
  OPTIONAL: (parser, parts) => {
    parser.grammar.expression(parser);
    parts.isOptional = true;
  },
  DEPTHALIAS: (parser, parts) => {
    parts.depthAlias = parser.name('an alias');
  },
  PATHALIAS: (parser, parts) => {
    parts.pathAlias = parser.name('an alias');
  },
} as const satisfies Record<string, (parser: Parser, parts: NodeParts) => void>;

const nodeKeys = [
  'type',
  'types',
  'bucket',
  'rid',
  'as',
  'where',
  'while',
  'maxDepth',
  'optional',
  'depthAlias',
  'pathAlias',
];

function isNodeKey(key: string): key is NodeKey {
  return Object.hasOwn(readers, key);
}

function conditionInParentheses(parser: Parser): Expression {
  parser.expect('(');
  parser.enter();
  const made = parser.grammar.condition(parser);
  parser.leave();
  parser.expect(')');
  return made;
}

function typeReference(parser: Parser): TypeReference {
  const at = parser.start;
  if (parser.at('?') || parser.at('positional') || parser.at(':'))
    return { kind: 'parameter', parameter: parameter(parser) };
  if (parser.at('string')) return { kind: 'name', name: parser.stringLiteral(), at };
  return { kind: 'name', name: parser.name('a type'), at };
}
