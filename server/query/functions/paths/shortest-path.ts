import type { Rid } from '#core/rid.ts';
import {
  type GraphSearch,
  type PathDirection,
  reversed,
  routeTo,
  type Step,
} from './graph-search.ts';

export interface ShortestPathOptions {
  readonly direction: PathDirection;
  /** Longest path in edges. */
  readonly maxDepth: number;
  readonly withEdges: boolean;
}

/** What one end of the search has seen, and the vertices it reached last. */
interface Side {
  readonly steps: Map<Rid, Step | undefined>;
  readonly direction: PathDirection;
  frontier: Rid[];
}

/**
 * A path of fewest edges, by a breadth-first search from both ends that always grows the smaller frontier by a whole level.
 * Vertices that both sides know are first met at the least total depth, so the first meeting decides.
 *
 * @returns record ids from source to destination, `[]` when it is not reachable
 */
export function shortestPath(
  source: Rid,
  destination: Rid,
  search: GraphSearch,
  { direction, maxDepth, withEdges }: ShortestPathOptions,
): Rid[] {
  if (source === destination) return [source];
  const front = sideFrom(source, direction);
  const back = sideFrom(destination, reversed(direction));
  for (let depth = 0; depth < maxDepth; depth++) {
    if (front.frontier.length === 0 || back.frontier.length === 0) return [];
    const isFront = front.frontier.length <= back.frontier.length;
    const meeting = isFront ? grow(front, back, search) : grow(back, front, search);
    if (meeting === undefined) continue;
    const there = routeTo(meeting, front.steps, withEdges);
    const rest = routeTo(meeting, back.steps, withEdges).reverse();
    for (let i = 1; i < rest.length; i++) there.push(rest[i] as Rid);
    return there;
  }
  return [];
}

function sideFrom(rid: Rid, direction: PathDirection): Side {
  return { steps: new Map([[rid, undefined]]), direction, frontier: [rid] };
}

/** One level further; a vertex that the other side knows ends the search. */
function grow(side: Side, other: Side, search: GraphSearch): Rid | undefined {
  const next: Rid[] = [];
  let meeting: Rid | undefined;
  for (const vertex of side.frontier) {
    search.eachEdge(vertex, side.direction, (edge, neighbour) => {
      if (meeting !== undefined || side.steps.has(neighbour)) return;
      search.remember();
      side.steps.set(neighbour, { from: vertex, edge });
      next.push(neighbour);
      if (other.steps.has(neighbour)) meeting = neighbour;
    });
    if (meeting !== undefined) return meeting;
  }
  side.frontier = next;
  return undefined;
}
