import type { Adjacency } from './graph-view.ts';

/** Sorted neighbour lists side by side. */

/** How many neighbours both have, and how many at least one has; `each` is told of the shared ones. */
export function sharedNeighbours(
  { offsets, nodes }: Adjacency,
  a: number,
  b: number,
  each?: (node: number) => void,
): { readonly shared: number; readonly union: number } {
  let at = offsets[a] as number;
  let other = offsets[b] as number;
  const atEnd = offsets[a + 1] as number;
  const otherEnd = offsets[b + 1] as number;
  const all = atEnd - at + otherEnd - other;
  let shared = 0;
  while (at < atEnd && other < otherEnd) {
    const left = nodes[at] as number;
    const right = nodes[other] as number;
    if (left === right) {
      shared += 1;
      each?.(left);
      at += 1;
      other += 1;
    } else if (left < right) at += 1;
    else other += 1;
  }
  return { shared, union: all - shared };
}

export function degreeOf({ offsets }: Adjacency, node: number): number {
  return (offsets[node + 1] as number) - (offsets[node] as number);
}
