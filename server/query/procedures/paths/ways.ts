import type { Rid } from '#core/value/rid.ts';

/** One way into a vertex from the level before it, by the number of the vertex that it comes from. */
export interface Way {
  readonly from: number;
  readonly edge: Rid;
}

/**
 * All ways from the source, which has number 0, to a vertex: their edges in the order in which they are walked. Found from the
 * end, on a stack of positions.
 *
 * @param ways those into each vertex, by its number
 */
export function* routesTo(
  target: number,
  ways: readonly (readonly Way[])[],
): Generator<readonly Rid[], void, undefined> {
  const stack: { readonly vertex: number; position: number }[] = [{ vertex: target, position: 0 }];
  const edges: Rid[] = [];
  for (;;) {
    const top = stack.at(-1);
    if (top === undefined) return;
    const way = ways[top.vertex]?.[top.position];
    if (top.vertex !== 0 && way !== undefined) {
      top.position += 1;
      edges.push(way.edge);
      stack.push({ vertex: way.from, position: 0 });
      continue;
    }
    if (top.vertex === 0) yield edges.toReversed();
    stack.pop();
    edges.pop();
  }
}
