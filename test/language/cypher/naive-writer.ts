/** Writing clauses of Cypher as the book says them, over a graph in memory: the model that plans are held against. */

export interface WrittenNode {
  readonly labels: Set<string>;
  readonly properties: Map<string, number>;
  isDeleted: boolean;
}

export interface WrittenEdge {
  readonly from: WrittenNode;
  readonly to: WrittenNode;
  isDeleted: boolean;
}

/** `N` is the label of all. */
export type Label = 'A' | 'B' | 'N';

export type WriteClause =
  | { readonly kind: 'unwind'; readonly as: string; readonly list: readonly number[] }
  | { readonly kind: 'match'; readonly as: string; readonly label: Label; readonly k?: number }
  | { readonly kind: 'hop'; readonly from: string; readonly edge: string; readonly to: string }
  | { readonly kind: 'create'; readonly as: string; readonly label: Label; readonly k: string }
  | { readonly kind: 'link'; readonly from: string; readonly to: string; readonly isMerge: boolean }
  | { readonly kind: 'merge'; readonly as: string; readonly label: Label; readonly k: string }
  | { readonly kind: 'set'; readonly of: string; readonly to: number | null }
  | { readonly kind: 'count'; readonly of: string }
  | { readonly kind: 'label'; readonly of: string; readonly label: Label; readonly adds: boolean }
  | { readonly kind: 'delete'; readonly of: string; readonly detach: boolean };

export type Counters = Record<
  | 'nodesCreated'
  | 'nodesDeleted'
  | 'relationshipsCreated'
  | 'relationshipsDeleted'
  | 'propertiesSet'
  | 'labelsAdded'
  | 'labelsRemoved',
  number
>;

export function textOfWrite(clause: WriteClause): string {
  switch (clause.kind) {
    case 'unwind':
      return `UNWIND [${clause.list.join(', ')}] AS ${clause.as}`;
    case 'match':
      return `MATCH (${clause.as}:${clause.label}${clause.k === undefined ? '' : ` {k: ${clause.k}}`})`;
    case 'hop':
      return `MATCH (${clause.from})-[${clause.edge}:K]->(${clause.to})`;
    case 'create':
      return `CREATE (${clause.as}${labelsText(clause.label)} {k: ${clause.k}})`;
    case 'link':
      return `${clause.isMerge ? 'MERGE' : 'CREATE'} (${clause.from})-[:K]->(${clause.to})`;
    case 'merge':
      return `MERGE (${clause.as}${labelsText(clause.label)} {k: ${clause.k}}) ON CREATE SET ${clause.as}.v = 0 ON MATCH SET ${clause.as}.v = coalesce(${clause.as}.v, 10) + 1`;
    case 'set':
      return `SET ${clause.of}.v = ${clause.to}`;
    case 'count':
      return `SET ${clause.of}.v = coalesce(${clause.of}.v, 0) + 1`;
    case 'label':
      return `${clause.adds ? 'SET' : 'REMOVE'} ${clause.of}:${clause.label}`;
    case 'delete':
      return `${clause.detach ? 'DETACH ' : ''}DELETE ${clause.of}`;
  }
}

const labelsText = (label: Label): string => (label === 'N' ? ':N' : `:${label}:N`);

type Row = ReadonlyMap<string, WrittenNode | WrittenEdge | number>;

export class WrittenGraph {
  #nodes: WrittenNode[] = [];
  #edges: WrittenEdge[] = [];
  counters: Counters = noCounters();

  /** @returns the number of rows behind the last clause; undefined when the statement fails and leaves nothing */
  run(clauses: readonly WriteClause[]): number | undefined {
    const before = this.#copy();
    this.counters = noCounters();
    let rows: readonly Row[] = [new Map()];
    for (const clause of clauses) rows = rows.flatMap(this.#clause(clause));
    const isTorn = this.#edges.some(
      (edge) => !edge.isDeleted && (edge.from.isDeleted || edge.to.isDeleted),
    );
    if (isTorn) {
      this.#nodes = before.#nodes;
      this.#edges = before.#edges;
      return undefined;
    }
    this.#nodes = this.#nodes.filter(({ isDeleted }) => !isDeleted);
    this.#edges = this.#edges.filter(({ isDeleted }) => !isDeleted);
    return rows.length;
  }

  nodeTexts(): string[] {
    return this.#nodes.map(textOfNode).sort();
  }

  edgeTexts(): string[] {
    return this.#edges.map(({ from, to }) => `${textOfNode(from)} > ${textOfNode(to)}`).sort();
  }

  /** What a clause makes of one row. What is there when it begins is all that its MATCH sees. */
  #clause(clause: WriteClause): (row: Row) => readonly Row[] {
    const { counters } = this;
    const nodeOf = (row: Row, name: string) => row.get(name) as WrittenNode;
    switch (clause.kind) {
      case 'unwind':
        return (row) => clause.list.map((item) => new Map(row).set(clause.as, item));
      case 'match':
        return (row) =>
          this.#nodesWith(clause.label, clause.k).map((node) => new Map(row).set(clause.as, node));
      case 'hop':
        return (row) =>
          this.#edges
            .filter(({ isDeleted, from }) => !isDeleted && from === row.get(clause.from))
            .filter(({ to }) => !row.has(clause.to) || row.get(clause.to) === to)
            .map((edge) => new Map(row).set(clause.edge, edge).set(clause.to, edge.to));
      case 'create':
        return (row) => [new Map(row).set(clause.as, this.#made(clause, row))];
      case 'merge':
        return (row) => {
          const found = this.#nodesWith(clause.label, valueIn(row, clause.k));
          if (found.length === 0) {
            const made = this.#made(clause, row);
            this.#set(made, 'v', 0);
            return [new Map(row).set(clause.as, made)];
          }
          return found.map((node) => {
            this.#set(node, 'v', (node.properties.get('v') ?? 10) + 1);
            return new Map(row).set(clause.as, node);
          });
        };
      case 'link':
        return (row) => {
          const [from, to] = [nodeOf(row, clause.from), nodeOf(row, clause.to)];
          const known = this.#edges.filter(
            (edge) => !edge.isDeleted && edge.from === from && edge.to === to,
          );
          if (clause.isMerge && known.length > 0) return known.map(() => row);
          this.#edges.push({ from, to, isDeleted: false });
          counters.relationshipsCreated += 1;
          return [row];
        };
      case 'set':
        return (row) => {
          this.#set(nodeOf(row, clause.of), 'v', clause.to);
          return [row];
        };
      case 'count':
        return (row) => {
          const node = nodeOf(row, clause.of);
          this.#set(node, 'v', (node.properties.get('v') ?? 0) + 1);
          return [row];
        };
      case 'label':
        return (row) => {
          const { labels } = nodeOf(row, clause.of);
          const hadIt = labels.has(clause.label);
          if (clause.adds) {
            labels.add(clause.label);
            if (!hadIt) counters.labelsAdded += 1;
          } else if (labels.delete(clause.label)) counters.labelsRemoved += 1;
          return [row];
        };
      case 'delete':
        return (row) => {
          this.#delete(row.get(clause.of) as WrittenNode | WrittenEdge, clause.detach);
          return [row];
        };
    }
  }

  #nodesWith(label: Label, k: number | undefined): WrittenNode[] {
    return this.#nodes.filter(
      (node) =>
        !node.isDeleted &&
        node.labels.has(label) &&
        (k === undefined || node.properties.get('k') === k),
    );
  }

  #made({ label, k }: { readonly label: Label; readonly k: string }, row: Row): WrittenNode {
    const labels = new Set(['N', label]);
    const node = { labels, properties: new Map([['k', valueIn(row, k)]]), isDeleted: false };
    this.#nodes.push(node);
    this.counters.nodesCreated += 1;
    this.counters.labelsAdded += labels.size;
    this.counters.propertiesSet += 1;
    return node;
  }

  #set({ properties }: WrittenNode, name: string, value: number | null): void {
    if (value === null) {
      if (properties.delete(name)) this.counters.propertiesSet += 1;
      return;
    }
    properties.set(name, value);
    this.counters.propertiesSet += 1;
  }

  #delete(what: WrittenNode | WrittenEdge, detach: boolean): void {
    if (what.isDeleted) return;
    what.isDeleted = true;
    if ('from' in what) {
      this.counters.relationshipsDeleted += 1;
      return;
    }
    this.counters.nodesDeleted += 1;
    if (!detach) return;
    for (const edge of this.#edges)
      if (edge.from === what || edge.to === what) this.#delete(edge, false);
  }

  #copy(): WrittenGraph {
    const copy = new WrittenGraph();
    const copies = new Map(
      this.#nodes.map((node) => [
        node,
        { labels: new Set(node.labels), properties: new Map(node.properties), isDeleted: false },
      ]),
    );
    copy.#nodes = [...copies.values()];
    copy.#edges = this.#edges.map(({ from, to }) => ({
      from: copies.get(from) as WrittenNode,
      to: copies.get(to) as WrittenNode,
      isDeleted: false,
    }));
    return copy;
  }
}

function valueIn(row: Row, text: string): number {
  return row.has(text) ? (row.get(text) as number) : Number(text);
}

function textOfNode({ labels, properties }: WrittenNode): string {
  return `${[...labels].sort().join('~')} ${properties.get('k')} ${properties.get('v') ?? null}`;
}

function noCounters(): Counters {
  return {
    nodesCreated: 0,
    nodesDeleted: 0,
    relationshipsCreated: 0,
    relationshipsDeleted: 0,
    propertiesSet: 0,
    labelsAdded: 0,
    labelsRemoved: 0,
  };
}
