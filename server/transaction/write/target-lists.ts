import type { TypeDefinition } from '#catalog/catalog.ts';
import type { StoredRecord } from '#core/value/record.ts';
import type { Rid, TypeId } from '#core/value/rid.ts';
import type { StorageSnapshot } from '#storage/engine.ts';

/** Edges that stay remembered by their targets. */
const rememberedMax = 1_000_000;

/** Which stored edges are listed by the vertices that they lead to, in one state of the database. */
export class TargetLists {
  readonly #snapshot: StorageSnapshot;
  readonly #edges = new Map<string, ReadonlySet<number>>();
  #count = 0;

  constructor(snapshot: StorageSnapshot) {
    this.#snapshot = snapshot;
  }

  /** Whether a stored record of `type` is an edge that was loaded with its outgoing side only. */
  isOneWay(record: StoredRecord, type: TypeDefinition): boolean {
    if (type.hasOneWayEdges !== true || record.kind !== 'edge') return false;
    return !this.list(record.rid, record.in, type.id);
  }

  list(edge: Rid, target: Rid, type: TypeId): boolean {
    return this.#edgesTo(target, type).has(edge);
  }

  #edgesTo(vertex: Rid, type: TypeId): ReadonlySet<number> {
    const key = `${vertex}/${type}`;
    const known = this.#edges.get(key);
    if (known !== undefined) return known;
    const { edges, count } = this.#snapshot.adjacency(vertex, 'in', type);
    if (this.#count + count > rememberedMax) {
      this.#edges.clear();
      this.#count = 0;
    }
    const found = new Set(edges.subarray(0, count));
    this.#edges.set(key, found);
    this.#count += count + 1;
    return found;
  }
}
