import { formatRid, type LogIndex, type Rid } from '#core/value/rid.ts';

export interface ModelVertex {
  readonly name: number;
  readonly n: number;
}

/** The slow and obvious database: two maps. */
export class ModelState {
  readonly vertices: Map<Rid, ModelVertex>;
  readonly edges: Map<Rid, { readonly from: Rid; readonly to: Rid }>;

  constructor(from?: ModelState) {
    this.vertices = new Map(from?.vertices);
    this.edges = new Map(from?.edges);
  }

  hasName(name: number): boolean {
    return [...this.vertices.values()].some((vertex) => vertex.name === name);
  }

  /** Nobody else has the name but records that the transaction has renamed or deleted. */
  isFree(name: number, owner: Rid, stillHas: (rid: Rid, name: number) => boolean): boolean {
    return [...this.vertices].every(
      ([rid, v]) => rid === owner || v.name !== name || !stillHas(rid, name),
    );
  }

  isSame(rid: Rid, before: ModelVertex | undefined): boolean {
    const now = this.vertices.get(rid);
    return now?.name === before?.name && now?.n === before?.n;
  }

  edgesOf(rid: Rid): readonly Rid[] {
    const edges = [...this.edges].filter(([, { from, to }]) => from === rid || to === rid);
    return edges.map(([edge]) => edge).sort((a, b) => a - b);
  }

  /** In a form that is compared with what a view shows. */
  plain(): PlainState {
    const vertices = [...this.vertices].map(([rid, vertex]) => ({ rid, ...vertex }));
    const edges = [...this.edges].map(([rid, ends]) => ({ rid, ...ends }));
    return plainState(vertices, edges);
  }
}

export interface PlainState {
  readonly vertices: readonly string[];
  readonly edges: readonly string[];
  /** `vertex direction edge->neighbour` */
  readonly adjacency: readonly string[];
  /** In the order of the index on `n`, then by record id. */
  readonly byN: readonly string[];
  readonly byName: readonly string[];
}

export function plainState(
  vertices: readonly (ModelVertex & { readonly rid: Rid })[],
  edges: readonly { readonly rid: Rid; readonly from: Rid; readonly to: Rid }[],
): PlainState {
  const isThere = new Set(vertices.map(({ rid }) => formatRid(rid)));
  const adjacency = edges.flatMap(({ rid, from, to }) => [
    `${formatRid(from)} out ${formatRid(rid)}->${formatRid(to)}`,
    `${formatRid(to)} in ${formatRid(rid)}->${formatRid(from)}`,
  ]);
  const byN = [...vertices].sort((a, b) => a.n - b.n || a.rid - b.rid);
  const byName = [...vertices].sort((a, b) => a.name - b.name || a.rid - b.rid);
  return {
    vertices: vertices.map((v) => `${formatRid(v.rid)} ${v.name} ${v.n}`).sort(),
    edges: edges.map((e) => `${formatRid(e.rid)} ${formatRid(e.from)} ${formatRid(e.to)}`).sort(),
    adjacency: adjacency.filter((line) => isThere.has(line.split(' ')[0] ?? '')).sort(),
    byN: byN.map((v) => `${v.n} ${formatRid(v.rid)}`),
    byName: byName.map((v) => `${v.name} ${formatRid(v.rid)}`),
  };
}

/** The committed states by LSN. Commits become known out of order but are applied in order. */
export class Model {
  readonly #first: LogIndex;
  readonly #commits = new Map<LogIndex, readonly ((state: ModelState) => void)[]>();

  constructor(first: LogIndex) {
    this.#first = first;
  }

  committed(index: LogIndex, changes: readonly ((state: ModelState) => void)[]): void {
    if (this.#commits.has(index)) throw new Error(`two commits have LSN ${index}`);
    this.#commits.set(index, changes);
  }

  at(index: LogIndex): ModelState {
    const state = new ModelState();
    for (let lsn = this.#first + 1; lsn <= index; lsn++) {
      const changes = this.#commits.get(lsn as LogIndex);
      if (changes === undefined) throw new Error(`the commit with LSN ${lsn} is not known`);
      for (const change of changes) change(state);
    }
    return state;
  }
}
