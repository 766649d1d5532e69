import { noRid, type Rid } from '#core/value/rid.ts';
import type { AdjacencyList } from '#storage/engine.ts';

/** Added edges from which on they are found by a table. */
const placesMin = 32;

/** What one transaction did to the edges of one vertex, direction and edge type. */
export class EdgeDelta {
  /** Added ones; `noRid` in place of those that were taken back. */
  readonly #edges: Rid[] = [];
  readonly #vertices: Rid[] = [];
  #holeCount = 0;
  /** Where added edges stand, once one of many was looked for. */
  #places: Map<Rid, number> | undefined;
  /** Stored edges that are gone. */
  readonly #removed = new Set<Rid>();
  #merged: { readonly base: AdjacencyList; readonly list: AdjacencyList } | undefined;

  /** Change of the degree. */
  get degreeDelta(): number {
    return this.#edges.length - this.#holeCount - this.#removed.size;
  }

  get removedCount(): number {
    return this.#removed.size;
  }

  add(edge: Rid, neighbour: Rid): void {
    this.#places?.set(edge, this.#edges.length);
    this.#edges.push(edge);
    this.#vertices.push(neighbour);
    this.#merged = undefined;
  }

  /** Takes back an edge added before, or hides a stored one. @returns where it stood; -1 for a stored one */
  remove(edge: Rid): number {
    this.#merged = undefined;
    const at = this.#placeOf(edge);
    if (at < 0) {
      this.#removed.add(edge);
      return at;
    }
    this.#edges[at] = noRid;
    this.#holeCount += 1;
    this.#places?.delete(edge);
    return at;
  }

  /** A vertex may get a hundred thousand edges in one transaction, and each be looked for. */
  #placeOf(edge: Rid): number {
    const edges = this.#edges;
    if (this.#places === undefined && edges.length < placesMin) return edges.lastIndexOf(edge);
    if (this.#places === undefined) {
      const places = new Map<Rid, number>();
      for (let at = 0; at < edges.length; at += 1)
        if (edges[at] !== noRid) places.set(edges[at] as Rid, at);
      this.#places = places;
    }
    return this.#places.get(edge) ?? -1;
  }

  /** Undoes `remove`, which gave `at`. */
  putBack(edge: Rid, neighbour: Rid, at: number): void {
    this.#merged = undefined;
    if (at < 0) {
      this.#removed.delete(edge);
      return;
    }
    this.#edges[at] = edge;
    this.#vertices[at] = neighbour;
    this.#holeCount -= 1;
    this.#places?.set(edge, at);
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
      if (this.#edges[i] === noRid) continue;
      edges[count] = this.#edges[i] as Rid;
      vertices[count] = this.#vertices[i] as Rid;
      count += 1;
    }
    return { count, edges, vertices };
  }
}
