import type { Rid } from '#core/rid.ts';
import {
  type GraphSearch,
  type PathDirection,
  type PathSteps,
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
export function* shortestPath(
  source: Rid,
  destination: Rid,
  search: GraphSearch,
  { direction, maxDepth, withEdges }: ShortestPathOptions,
): PathSteps {
  if (source === destination) return [source];
  const front = sideFrom(source, direction);
  const back = sideFrom(destination, reversed(direction));
  for (let depth = 0; depth < maxDepth; depth++) {
    if (front.frontier.length === 0 || back.frontier.length === 0) return [];
    const isFront = front.frontier.length <= back.frontier.length;
    const meeting: Rid | undefined = yield* isFront
      ? grow(front, back, search)
      : grow(back, front, search);
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
function* grow(
  side: Side,
  other: Side,
  search: GraphSearch,
): Generator<undefined, Rid | undefined, undefined> {
  const next: Rid[] = [];
  for (const vertex of side.frontier) {
    search.start(vertex, side.direction);
    while (search.next()) {
      if (search.isSpent()) yield;
      const { neighbour } = search;
      if (side.steps.has(neighbour)) continue;
      search.remember();
      side.steps.set(neighbour, { from: vertex, edge: search.edge });
      next.push(neighbour);
      if (other.steps.has(neighbour)) return neighbour;
    }
  }
  side.frontier = next;
  return undefined;
}
