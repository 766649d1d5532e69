import { Path, type PathElement } from './value.ts';
import type { Rid } from './rid.ts';

export { Path, type PathElement };

/** Nodes and relationships in turns, from the first node on. */
export function pathElements(path: Path): readonly PathElement[] {
  const elements: PathElement[] = [];
  path.nodes.forEach((node, at) => {
    elements.push(node);
    const next = path.relationships[at];
    if (next !== undefined) elements.push(next);
  });
  return elements;
}

/** The ids of its elements in turns. */
export function pathRids(path: Path): readonly Rid[] {
  return pathElements(path).map(({ rid }) => rid);
}

/** Element by element by record id, a shorter one first. */
export function comparePaths(a: Path, b: Path): number {
  const xs = pathRids(a);
  const ys = pathRids(b);
  const length = Math.min(xs.length, ys.length);
  for (let at = 0; at < length; at++) {
    const order = (xs[at] as number) - (ys[at] as number);
    if (order !== 0) return order;
  }
  return xs.length - ys.length;
}
