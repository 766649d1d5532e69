import { Path, type PathElement, pathElements } from '#core/value/path.ts';
import type { Rid } from '#core/value/rid.ts';
import { isList, isRecord, type Value } from '#core/value/value.ts';
import type { EvaluationContext } from '../../evaluate/context.ts';
import { argumentError, notA } from '../../evaluate/cypher-failures.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import { integerArgument } from '../arguments.ts';
import { ANY_NUMBER, nullSafe } from '../define.ts';

/** Paths put together and taken apart (cypher.md 9.9, `path.*`). */

function pathIn(value: Value | undefined): Path {
  if (value instanceof Path) return value;
  throw notA('a path', value ?? null);
}

/** From the node on, relationship by relationship; each must hang on the end of the one before. */
function created([start, list = null]: readonly Value[], context: EvaluationContext): Value {
  if (start === undefined || start === null || !isRecord(start) || start.kind !== 'vertex')
    throw notA('a node', start ?? null);
  if (list === null) return new Path([start], []);
  if (!isList(list)) throw notA('a list of relationships', list);
  const nodes: PathElement[] = [start];
  const relationships: PathElement[] = [];
  let at: Rid = start.rid;
  for (const item of list) {
    if (item === null || !isRecord(item) || item.kind !== 'edge')
      throw notA('a relationship', item);
    if (item.out !== at && item.in !== at)
      throw argumentError(
        'InvalidArgumentValue',
        'path.create(): a relationship does not begin where the one before ends',
      );
    at = item.out === at ? item.in : item.out;
    const next = context.view.record(at);
    if (next === undefined) return null;
    relationships.push(item);
    nodes.push(next);
  }
  return new Path(nodes, relationships);
}

function combined(given: readonly Value[]): Value {
  const [first] = given;
  const list: readonly Value[] =
    given.length === 1 && first !== undefined && first !== null && isList(first) ? first : given;
  const paths = list.filter((item) => item !== null).map(pathIn);
  const [head, ...rest] = paths;
  if (head === undefined) return null;
  const nodes = [...head.nodes];
  const relationships = [...head.relationships];
  for (const path of rest) {
    if (path.nodes[0]?.rid !== nodes.at(-1)?.rid)
      throw argumentError(
        'InvalidArgumentValue',
        'path.combine(): a path does not begin where the one before ends',
      );
    nodes.push(...path.nodes.slice(1));
    relationships.push(...path.relationships);
  }
  return new Path(nodes, relationships);
}

/** Relationships `from` to `to`, the last one left out; the nodes between them. */
function sliced([given, start, end = null]: readonly Value[]): Value {
  const path = pathIn(given);
  const from = Math.min(Math.max(integerArgument(start, 'path.slice()'), 0), path.length);
  const wanted = end === null ? path.length : integerArgument(end, 'path.slice()');
  const to = Math.max(from, Math.min(wanted, path.length));
  return new Path(path.nodes.slice(from, to + 1), path.relationships.slice(from, to));
}

export const pathParts: readonly ScalarFunction[] = [
  nullSafe('path.create(node, relationships)', [1, 2], created),
  nullSafe('path.combine(paths, ...)', [1, ANY_NUMBER], combined),
  nullSafe('path.elements(path)', [1, 1], ([path]) => [...pathElements(pathIn(path))]),
  nullSafe('path.slice(path, from [, to])', [2, 3], sliced),
];
