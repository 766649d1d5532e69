import { noRid, type Rid } from '#core/value/rid.ts';
import type { GraphSearch, PathDirection } from '../../functions/paths/graph-search.ts';
import { VertexTable } from '../../functions/paths/vertex-table.ts';
import { routesTo, type Way } from './ways.ts';

export interface ClosedPathSearch {
  readonly source: Rid;
  readonly direction: PathDirection;
  /** Longest path in edges. */
  readonly max: number;
  /** A walk may go back by the edge that it came by; a trail uses no edge twice. */
  readonly isWalk: boolean;
  accepts(edge: Rid): boolean;
}

/** An edge that ends the search: with a way to each of its ends it is a path from the source to the source. */
interface Closing extends Way {
  readonly to: number;
}

type Routes = Generator<readonly Rid[] | 'pause', void, undefined>;

/**
 * The shortest paths of at least one edge from a vertex back to it, as the edges that are walked: breadth first, all ways into a
 * vertex from the level before it are kept. Where edges have a direction, the first that leads to the source closes the path.
 *
 * Without direction the way back is another way out. In a shortest path every vertex is as far from the source as the shorter
 * part of the path to it is long; else there were a shorter one. So two ways meet in the middle that began with different edges:
 * at an edge between vertices of one level (odd length) or at a vertex (even length). The first edge of the ways to a vertex,
 * its branch, is one and the same before that, which tells the ways apart.
 */
export function* closedPaths(wanted: ClosedPathSearch, search: GraphSearch): Routes {
  const { source, direction, max, isWalk } = wanted;
  const isUndirected = direction === 'BOTH';
  const vertices = new VertexTable();
  vertices.add(source);
  const ways: Way[][] = [[]];
  const depths: number[] = [0];
  const branches: Rid[] = [noRid];
  let frontier: readonly number[] = [0];
  for (let depth = 0; frontier.length > 0; depth += 1) {
    const closedLength = isUndirected ? depth * 2 + 1 : depth + 1;
    if (closedLength > max) return;
    const next: number[] = [];
    const closings: Closing[] = [];
    // A loop at the source stands in both of its lists.
    const loops = new Set<Rid>();
    const meetings = new Set<number>();
    for (const number of frontier) {
      search.start(vertices.ridOf(number), direction);
      while (search.next()) {
        if (search.isSpent()) yield 'pause';
        const { edge } = search;
        if (!wanted.accepts(edge)) continue;
        const met = vertices.add(search.neighbour);
        const branch = depth === 0 ? edge : (branches[number] as Rid);
        if (met === 0) {
          if ((isUndirected && depth > 0) || loops.has(edge)) continue;
          loops.add(edge);
          closings.push({ from: number, edge, to: 0 });
          search.remember();
          continue;
        }
        if (met === depths.length) {
          depths.push(depth + 1);
          ways.push([]);
          branches.push(branch);
          next.push(met);
        }
        if (isUndirected && depths[met] === depth && branches[met] !== branch) {
          closings.push({ from: number, edge, to: met });
          search.remember();
        }
        if (depths[met] !== depth + 1) continue;
        search.remember();
        (ways[met] as Way[]).push({ from: number, edge });
        if (isUndirected && (isWalk || branches[met] !== branch)) meetings.add(met);
      }
    }
    if (closings.length > 0) {
      yield* closedByEdges(closings, ways);
      return;
    }
    if (meetings.size > 0) {
      if (closedLength + 1 <= max)
        for (const vertex of meetings)
          yield* closedAt(branchesInto(ways[vertex] as Way[], branches), { ways, isWalk });
      return;
    }
    frontier = next;
  }
}

function* closedByEdges(closings: readonly Closing[], ways: readonly (readonly Way[])[]): Routes {
  for (const { from, edge, to } of closings)
    for (const out of routesTo(from, ways))
      for (const back of routesTo(to, ways)) yield [...out, edge, ...back.toReversed()];
}

/** Ways into a vertex by the branch that they belong to; those from the source itself are a branch each. */
function branchesInto(ways: readonly Way[], branches: readonly Rid[]): readonly (readonly Way[])[] {
  const groups = new Map<Rid, Way[]>();
  for (const way of ways) {
    const branch = way.from === 0 ? way.edge : (branches[way.from] as Rid);
    const group = groups.get(branch);
    if (group === undefined) groups.set(branch, [way]);
    else group.push(way);
  }
  return [...groups.values()];
}

/** Out by one branch and back by another. */
function* closedAt(
  groups: readonly (readonly Way[])[],
  { ways, isWalk }: { readonly ways: readonly (readonly Way[])[]; readonly isWalk: boolean },
): Routes {
  for (const outward of groups)
    for (const homeward of groups) {
      if (outward === homeward && !isWalk) continue;
      for (const out of routesOver(outward, ways))
        for (const back of routesOver(homeward, ways)) yield [...out, ...back.toReversed()];
    }
}

function* routesOver(
  last: readonly Way[],
  ways: readonly (readonly Way[])[],
): Generator<readonly Rid[], void, undefined> {
  for (const { from, edge } of last)
    for (const route of routesTo(from, ways)) yield [...route, edge];
}
