import { isMap, isList, isRecord, type Value } from '#core/value/value.ts';
import { Path } from '#core/value/path.ts';
import { type StoredRecord, Link } from '#core/value/record.ts';
import type { Rid, TypeId } from '#core/value/rid.ts';
import type { Direction } from '#storage/engine.ts';
import { edgeTypesNamed } from '../../functions/graph/edge-types.ts';
import type { ExecutionContext } from '../../operators/operator.ts';
import { argumentFault } from '../define.ts';
import { Work } from '../algorithms/work.ts';

/** What `path.*` may walk, and what it may give (cypher.md 10). */
export interface ExpansionRules {
  /** Edge types in one direction; `KNOWS>` is out, `<KNOWS` in, a bare name both. */
  readonly moves: readonly { readonly direction: Direction; readonly type: TypeId }[];
  readonly labels: LabelRules;
  readonly minLevel: number;
  readonly maxLevel: number;
  readonly isBreadthFirst: boolean;
  readonly limit: number;
}

/** `+A` or `A`: only these; `-A`: not these; `/A`: ends there; `>A`: ends there, and may go on. */
interface LabelRules {
  readonly only: readonly string[];
  readonly never: readonly string[];
  readonly last: readonly string[];
  readonly ends: readonly string[];
}

/** A step: what stands before it is found by its number. */
interface Step {
  readonly node: Rid;
  readonly edge: Rid;
  readonly before: Step | undefined;
  readonly depth: number;
}

const bytesPerStep = 96;

export function rulesOf(
  options: Readonly<Record<string, Value | undefined>>,
  context: ExecutionContext,
): ExpansionRules {
  return {
    moves: movesOf(textOf(options['relationshipFilter'], 'relationshipFilter'), context),
    labels: labelRules(textOf(options['labelFilter'], 'labelFilter')),
    minLevel: countOf(options['minLevel'], 'minLevel', 0),
    maxLevel: countOf(options['maxLevel'], 'maxLevel', Number.POSITIVE_INFINITY),
    isBreadthFirst: options['bfs'] !== false,
    limit: countOf(options['limit'], 'limit', Number.POSITIVE_INFINITY),
  };
}

export function rulesOfConfig(value: Value, context: ExecutionContext): ExpansionRules {
  if (value !== null && !isMap(value)) throw argumentFault('the options of path.* must be a map');
  const given = value === null ? {} : Object.fromEntries(value);
  return rulesOf(given, context);
}

function textOf(value: Value | undefined, name: string): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'string') return value;
  if (isList(value) && value.every((item) => typeof item === 'string')) return value.join('|');
  throw argumentFault(`'${name}' must be a text`);
}

/** Below 0: no bound. */
function countOf(value: Value | undefined, name: string, fallback: number): number {
  if (value === null || value === undefined) return fallback;
  if (typeof value === 'number' && Number.isInteger(value))
    return value < 0 ? Number.POSITIVE_INFINITY : value;
  throw argumentFault(`'${name}' must be an integer`);
}

function movesOf(filter: string, { view }: ExecutionContext): ExpansionRules['moves'] {
  const parts = filter
    .split(/[|,]/)
    .map((part) => part.trim())
    .filter((part) => part !== '');
  return (parts.length === 0 ? [''] : parts).flatMap((part) => {
    const isOut = part.endsWith('>');
    const isIn = part.startsWith('<');
    const name = part.replace(/^<?:?/, '').replace(/>$/, '');
    const types = edgeTypesNamed(name === '' ? [] : [name], view.catalog);
    const directions: Direction[] =
      isOut && !isIn ? ['out'] : isIn && !isOut ? ['in'] : ['out', 'in'];
    return directions.flatMap((direction) => types.map((type) => ({ direction, type })));
  });
}

function labelRules(filter: string): LabelRules {
  const parts = filter
    .split(/[|,]/)
    .map((part) => part.trim().replace(':', ''))
    .filter((part) => part !== '');
  const of = (sign: string): readonly string[] =>
    parts.filter((part) => part.startsWith(sign)).map((part) => part.slice(1));
  const bare = parts.filter((part) => !/^[-+/>]/.test(part));
  return { only: [...of('+'), ...bare], never: of('-'), last: of('/'), ends: of('>') };
}

function hasLabel(
  names: readonly string[],
  node: StoredRecord,
  { view }: ExecutionContext,
): boolean {
  return names.some((name) => {
    const type = view.catalog.typeNamed(name);
    return type !== undefined && view.catalog.isSubtype(node.type, type.id);
  });
}

/** Start nodes: one, or a list of them. */
export function startsOf(value: Value): readonly Rid[] {
  const values = value !== null && isList(value) ? value : [value];
  return values.map((item) => {
    if (item !== null && isRecord(item) && item.kind === 'vertex') return item.rid;
    throw argumentFault('path.* begins at a node or a list of nodes');
  });
}

/**
 * Steps to what is reached: with `isOnce` each node once, else each path that uses no relationship twice. The labels of the start are
 * not looked at.
 */
export function* expansion(
  starts: readonly Rid[],
  rules: ExpansionRules,
  isOnce: boolean,
  context: ExecutionContext,
): Generator<Step | 'pause', void, undefined> {
  const work = new Work();
  const met = new Set<Rid>(starts);
  const open: Step[] = starts.map((node) => ({
    node,
    edge: -1 as Rid,
    before: undefined,
    depth: 0,
  }));
  let head = 0;
  let given = 0;
  let reserved = 0;
  try {
    while (head < open.length && given < rules.limit) {
      const step = rules.isBreadthFirst ? (open[head++] as Step) : (open.pop() as Step);
      if (work.isSpent(8)) yield 'pause';
      const { isEnd, isFollowed } = judged(step, rules, context);
      if (isEnd) {
        given += 1;
        yield step;
      }
      if (!isFollowed || step.depth >= rules.maxLevel) continue;
      const next: Step[] = [];
      for (const { direction, type } of rules.moves) {
        const list = context.view.adjacency(step.node, direction, type);
        for (let at = 0; at < list.count; at += 1) {
          if (work.isSpent(1 + (isOnce ? 0 : step.depth))) yield 'pause';
          const node = list.vertices[at] as Rid;
          const edge = list.edges[at] as Rid;
          if (direction === 'in' && node === step.node) continue;
          if (isOnce ? met.has(node) : isWalked(step, edge)) continue;
          if (isOnce) met.add(node);
          next.push({ node, edge, before: step, depth: step.depth + 1 });
        }
      }
      context.memory.reserve(next.length * bytesPerStep);
      reserved += next.length * bytesPerStep;
      for (const one of rules.isBreadthFirst ? next : next.reverse()) open.push(one);
    }
  } finally {
    if (reserved > 0) context.memory.release(reserved);
  }
}

function isWalked(step: Step, edge: Rid): boolean {
  for (let at: Step | undefined = step; at !== undefined; at = at.before)
    if (at.edge === edge) return true;
  return false;
}

function judged(
  { node, depth }: Step,
  { labels, minLevel }: ExpansionRules,
  context: ExecutionContext,
): { readonly isEnd: boolean; readonly isFollowed: boolean } {
  const record = context.view.record(node);
  if (record === undefined) return { isEnd: false, isFollowed: false };
  const has = (names: readonly string[]): boolean => hasLabel(names, record, context);
  const isChosen = labels.last.length + labels.ends.length > 0;
  if (depth === 0) return { isEnd: minLevel === 0 && !isChosen, isFollowed: true };
  if (has(labels.never)) return { isEnd: false, isFollowed: false };
  const isLast = has(labels.last);
  const isChosenEnd = isLast || has(labels.ends);
  if (labels.only.length > 0 && !has(labels.only) && !isChosenEnd)
    return { isEnd: false, isFollowed: false };
  return { isEnd: depth >= minLevel && (!isChosen || isChosenEnd), isFollowed: !isLast };
}

/** The path from the start to the step. */
export function pathTo(step: Step, { view }: ExecutionContext): Value {
  const nodes: (StoredRecord | Link)[] = [];
  const edges: (StoredRecord | Link)[] = [];
  for (let at: Step | undefined = step; at !== undefined; at = at.before) {
    nodes.push(view.record(at.node) ?? new Link(at.node));
    if (at.before !== undefined) edges.push(view.record(at.edge) ?? new Link(at.edge));
  }
  return new Path(nodes.reverse(), edges.reverse());
}

/** Relationships between the nodes by the moves, each once. */
export function* edgesBetween(
  nodes: ReadonlySet<Rid>,
  rules: ExpansionRules,
  { view }: ExecutionContext,
): Generator<'pause', readonly Value[], undefined> {
  const work = new Work();
  const types = new Set(rules.moves.map(({ type }) => type));
  const edges: Value[] = [];
  for (const node of nodes)
    for (const type of types) {
      const list = view.adjacency(node, 'out', type);
      for (let at = 0; at < list.count; at += 1) {
        if (work.isSpent(4)) yield 'pause';
        if (!nodes.has(list.vertices[at] as Rid)) continue;
        edges.push(view.record(list.edges[at] as Rid) ?? null);
      }
    }
  return edges;
}
