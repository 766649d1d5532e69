import type { Rid } from '#core/rid.ts';
import type { AdjacencyList } from '#storage/engine.ts';

/** What one transaction did to the edges of one vertex, direction and edge type. */
export class EdgeDelta {
  readonly #edges: Rid[] = [];
  readonly #vertices: Rid[] = [];
  /** Stored edges that are gone. */
  readonly #removed = new Set<Rid>();
  #merged: { readonly base: AdjacencyList; readonly list: AdjacencyList } | undefined;

  /** Change of the degree. */
  get degreeDelta(): number {
    return this.#edges.length - this.#removed.size;
  }

  get removedCount(): number {
    return this.#removed.size;
  }

  add(edge: Rid, neighbour: Rid): void {
    this.#edges.push(edge);
    this.#vertices.push(neighbour);
    this.#merged = undefined;
  }

  /** Takes back an edge added before, or hides a stored one. @returns where it stood; -1 for a stored one */
  remove(edge: Rid): number {
    this.#merged = undefined;
    const at = this.#edges.lastIndexOf(edge);
    if (at < 0) {
      this.#removed.add(edge);
      return at;
    }
    this.#edges.splice(at, 1);
    this.#vertices.splice(at, 1);
    return at;
  }

  /** Undoes `remove`, which gave `at`. */
  putBack(edge: Rid, neighbour: Rid, at: number): void {
    this.#merged = undefined;
    if (at < 0) {
      this.#removed.delete(edge);
      return;
    }
    this.#edges.splice(at, 0, edge);
    this.#vertices.splice(at, 0, neighbour);
  }

  /** `base` without the removed edges, then the added ones; remembered until the next change. */
  mergedWith(base: AdjacencyList): AdjacencyList {
    if (this.#merged?.base === base) return this.#merged.list;
    const list = this.#merge(base);
    this.#merged = { base, list };
    return list;
  }

  #merge(base: AdjacencyList): AdjacencyList {
    const edges = new Float64Array(base.count + this.#edges.length);
    const vertices = new Float64Array(edges.length);
    let count = 0;
    for (let i = 0; i < base.count; i++) {
      const edge = base.edges[i] as Rid;
      if (this.#removed.has(edge)) continue;
      edges[count] = edge;
      vertices[count] = base.vertices[i] as Rid;
      count += 1;
    }
    for (let i = 0; i < this.#edges.length; i++) {
      edges[count] = this.#edges[i] as Rid;
      vertices[count] = this.#vertices[i] as Rid;
      count += 1;
    }
    return { count, edges, vertices };
  }
}
