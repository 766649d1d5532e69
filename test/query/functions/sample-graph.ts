import type { Catalog, TypeDefinition } from '#catalog/catalog.ts';
import type { RecordKind, StoredRecord } from '#core/value/record.ts';
import { makeRid, noRid, type LogIndex, type Rid, type TypeId } from '#core/value/rid.ts';
import type { Value } from '#core/value/value.ts';
import type { AdjacencyList, Direction } from '#storage/engine.ts';
import type { ReadView } from '#transaction/read/read-view.ts';

/**
 * A graph in memory behind the part of `ReadView` that functions use: record, adjacency, catalog.
 *
 * Person #1:0 Ada, #1:1 Bob, #1:2 Cy, #1:3 Di (alone); Friend (#2:n) with subtype Close (#3:n), Road (#4:n) with weights;
 * document Note #5:0.
 */
export class SampleGraph {
  readonly #records = new Map<Rid, StoredRecord>();
  readonly #types: readonly TypeDefinition[];

  constructor() {
    this.#types = [
      type(1, 'Person', 'vertex'),
      type(2, 'Friend', 'edge'),
      type(3, 'Close', 'edge', [2]),
      type(4, 'Road', 'edge'),
      type(5, 'Note', 'document'),
    ];
    for (const [position, name, x, y] of [
      [0, 'Ada', 0, 0],
      [1, 'Bob', 1, 0],
      [2, 'Cy', 1, 1],
      [3, 'Di', 9, 9],
    ] as const)
      this.#add('Person', position, { name, x, y, age: 36 + position });
    this.#edge('Friend', 0, 0, 1, { since: 2019 });
    this.#edge('Close', 0, 1, 2, { since: 2021 });
    this.#edge('Friend', 1, 2, 2, { since: 2022 });
    this.#edge('Road', 0, 0, 1, { weight: 5 });
    this.#edge('Road', 1, 0, 2, { weight: 2 });
    this.#edge('Road', 2, 2, 1, { weight: 1 });
    this.#add('Note', 0, { text: 'hi', tags: ['a', 'b'], about: null });
  }

  get view(): ReadView {
    const view = {
      catalog: this.#catalog(),
      record: (rid: Rid) => this.#records.get(rid),
      adjacency: (vertex: Rid, direction: Direction, edgeType: TypeId) =>
        this.#adjacency(vertex, direction, edgeType),
      degree: (vertex: Rid, direction: Direction, edgeType: TypeId) =>
        this.#adjacency(vertex, direction, edgeType).count,
    };
    return view as unknown as ReadView;
  }

  #catalog(): Catalog {
    const catalog = {
      types: () => this.#types,
      typeNamed: (name: string) => this.#types.find((one) => one.name === name),
      typeWithId: (id: TypeId) => this.#types.find((one) => one.id === id),
      withSubtypes: (id: TypeId) =>
        this.#types.filter((one) => one.id === id || one.supertypes.includes(id)).map((t) => t.id),
      isSubtype: (id: TypeId, of: TypeId) =>
        id === of || this.#types.some((one) => one.id === id && one.supertypes.includes(of)),
    };
    return { ...catalog, bucketWithId: () => undefined } as unknown as Catalog;
  }

  #adjacency(vertex: Rid, direction: Direction, edgeType: TypeId): AdjacencyList {
    const near = direction === 'out' ? 'out' : 'in';
    const far = direction === 'out' ? 'in' : 'out';
    const edges = [...this.#records.values()].filter(
      (record) => record.type === edgeType && record[near] === vertex,
    );
    return {
      count: edges.length,
      edges: Float64Array.from(edges, (edge) => edge.rid),
      vertices: Float64Array.from(edges, (edge) => edge[far]),
    };
  }

  #edge(
    typeName: string,
    position: number,
    from: number,
    to: number,
    properties: Record<string, Value>,
  ): void {
    this.#add(typeName, position, properties, makeRid(1, from), makeRid(1, to));
  }

  #add(
    typeName: string,
    position: number,
    properties: Record<string, Value>,
    out: Rid = noRid,
    into: Rid = noRid,
  ): void {
    const definition = this.#types.find((one) => one.name === typeName) as TypeDefinition;
    const rid = makeRid(definition.id, position);
    this.#records.set(rid, {
      valueKind: 'record',
      kind: definition.kind,
      rid,
      type: definition.id,
      typeName,
      version: 1 as LogIndex,
      out,
      in: into,
      get: (name) => (Object.hasOwn(properties, name) ? properties[name] : undefined),
      propertyNames: () => Object.keys(properties),
    });
  }
}

function type(
  id: number,
  name: string,
  kind: RecordKind,
  supertypes: readonly number[] = [],
): TypeDefinition {
  return { id, name, kind, supertypes } as unknown as TypeDefinition;
}
