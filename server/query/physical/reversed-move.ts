import { type Catalog, isListedAtTargets } from '#catalog/catalog.ts';
import type { Move } from '../algebra/plan.ts';

/**
 * The move that leads from the elements a move reaches back to those it started from, once per time it reaches them.
 * @returns undefined when it cannot be walked backwards: links, and edges of types that only their source knows
 */
export function reversedMove(move: Move, catalog: Catalog): Move | undefined {
  switch (move.kind) {
    case 'vertex':
      return isKnownAtBothEnds(move, catalog)
        ? { ...move, direction: opposite(move.direction) }
        : undefined;
    // outE leads from the source of the edges; back from the edge to its source. Types are not part of the way back.
    case 'edge':
      return move.direction === 'out' || isKnownAtBothEnds(move, catalog)
        ? { kind: 'end', direction: move.direction }
        : undefined;
    case 'end': {
      const back: Move = { kind: 'edge', direction: move.direction, types: undefined };
      return move.direction === 'out' || isKnownAtBothEnds(back, catalog) ? back : undefined;
    }
    default:
      return undefined;
  }
}

function isKnownAtBothEnds(
  move: Move & { readonly kind: 'vertex' | 'edge' },
  catalog: Catalog,
): boolean {
  const types = move.types?.map((type) => catalog.typeWithId(type)) ?? catalog.types();
  return types.every((type) => type.kind !== 'edge' || isListedAtTargets(type));
}

function opposite(direction: 'out' | 'in' | 'both'): 'out' | 'in' | 'both' {
  if (direction === 'both') return 'both';
  return direction === 'out' ? 'in' : 'out';
}
