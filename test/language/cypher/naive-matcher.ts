/** Cypher's MATCH as the book says it, by trying everything: the model that plans are held against. */

export interface ModelNode {
  readonly k: number;
  readonly labels: readonly string[];
  readonly v: number | null;
}

export interface ModelEdge {
  readonly type: string;
  readonly from: number;
  readonly to: number;
}

export interface ModelGraph {
  readonly nodes: readonly ModelNode[];
  readonly edges: readonly ModelEdge[];
}

export interface NodeText {
  /** Empty: a node without a name. */
  readonly variable: string;
  readonly label: string | undefined;
}

export interface StepText {
  readonly direction: 'out' | 'in' | 'both';
  readonly types: readonly string[];
  readonly node: NodeText;
}

export interface PathText {
  readonly first: NodeText;
  readonly steps: readonly StepText[];
}

export type ConditionText =
  | { readonly kind: 'unlike'; readonly left: string; readonly right: string }
  | { readonly kind: 'value'; readonly variable: string; readonly below: number }
  | { readonly kind: 'less'; readonly left: string; readonly right: string }
  | { readonly kind: 'pattern'; readonly path: PathText; readonly form: 'exists' | 'bare' }
  | { readonly kind: 'not'; readonly of: ConditionText };

export interface ClauseText {
  readonly isOptional: boolean;
  readonly paths: readonly PathText[];
  readonly conditions: readonly ConditionText[];
}

/** Null: an OPTIONAL MATCH found nothing. */
export type ModelRow = ReadonlyMap<string, ModelNode | null>;

export function textOfClause({ isOptional, paths, conditions }: ClauseText): string {
  const where = conditions.length > 0 ? ` WHERE ${conditions.map(textOf).join(' AND ')}` : '';
  return `${isOptional ? 'OPTIONAL ' : ''}MATCH ${paths.map(pathText).join(', ')}${where}`;
}

function textOf(condition: ConditionText): string {
  switch (condition.kind) {
    case 'unlike':
      return `${condition.left} <> ${condition.right}`;
    case 'value':
      return `${condition.variable}.v < ${condition.below}`;
    case 'less':
      return `${condition.left}.v <= ${condition.right}.v`;
    case 'pattern': {
      const text = pathText(condition.path);
      return condition.form === 'bare' ? text : `EXISTS { MATCH ${text} }`;
    }
    case 'not':
      return `NOT (${textOf(condition.of)})`;
  }
}

function pathText({ first, steps }: PathText): string {
  const parts = steps.map(({ direction, types, node }) => {
    const edge = `-[${types.length > 0 ? `:${types.join('|')}` : ''}]-`;
    const left = direction === 'in' ? '<' : '';
    return `${left}${edge}${direction === 'out' ? '>' : ''}${nodeText(node)}`;
  });
  return nodeText(first) + parts.join('');
}

function nodeText({ variable, label }: NodeText): string {
  return `(${variable}${label === undefined ? '' : `:${label}`})`;
}

/** The rows behind all clauses. */
export function rowsOf(graph: ModelGraph, clauses: readonly ClauseText[]): readonly ModelRow[] {
  let rows: readonly ModelRow[] = [new Map()];
  for (const clause of clauses)
    rows = rows.flatMap((row) => {
      const found = matches(graph, clause.paths, row).filter((match) =>
        clause.conditions.every((condition) => isTrue(graph, condition, match)),
      );
      return found.length === 0 && clause.isOptional ? [withNulls(clause, row)] : found;
    });
  return rows;
}

function withNulls({ paths }: ClauseText, row: ModelRow): ModelRow {
  const all = new Map(row);
  for (const { first, steps } of paths)
    for (const { variable } of [first, ...steps.map(({ node }) => node)])
      if (variable !== '' && !all.has(variable)) all.set(variable, null);
  return all;
}

/** Every way to lay the paths over the graph, no edge twice among all of them. */
function matches(graph: ModelGraph, paths: readonly PathText[], row: ModelRow): ModelRow[] {
  const found: ModelRow[] = [];
  const along = (
    at: number,
    step: number,
    from: number,
    used: readonly number[],
    now: ModelRow,
  ) => {
    const path = paths[at];
    if (path === undefined) {
      found.push(now);
      return;
    }
    const next = path.steps[step];
    if (next === undefined) {
      begin(at + 1, used, now);
      return;
    }
    graph.edges.forEach((edge, id) => {
      if (used.includes(id) || (next.types.length > 0 && !next.types.includes(edge.type))) return;
      for (const end of endsFrom(edge, from, next.direction)) {
        const bound = bind(graph, next.node, end, now);
        if (bound) along(at, step + 1, end, [...used, id], bound);
      }
    });
  };
  const begin = (at: number, used: readonly number[], now: ModelRow): void => {
    const path = paths[at];
    if (path === undefined) found.push(now);
    else
      for (const { k } of graph.nodes) {
        const bound = bind(graph, path.first, k, now);
        if (bound) along(at, 0, k, used, bound);
      }
  };
  begin(0, [], row);
  return found;
}

/** A loop is met once. */
function endsFrom({ from, to }: ModelEdge, k: number, direction: StepText['direction']): number[] {
  if (from === k && to === k) return [k];
  return [
    ...(from === k && direction !== 'in' ? [to] : []),
    ...(to === k && direction !== 'out' ? [from] : []),
  ];
}

function bind(
  graph: ModelGraph,
  { variable, label }: NodeText,
  k: number,
  row: ModelRow,
): ModelRow | undefined {
  const node = graph.nodes[k] as ModelNode;
  if (label !== undefined && !node.labels.includes(label)) return undefined;
  if (variable === '') return row;
  if (row.has(variable)) return row.get(variable) === node ? row : undefined;
  return new Map(row).set(variable, node);
}

function isTrue(graph: ModelGraph, condition: ConditionText, row: ModelRow): boolean {
  return truth(graph, condition, row) === true;
}

function truth(graph: ModelGraph, condition: ConditionText, row: ModelRow): boolean | null {
  const node = (name: string) => row.get(name) ?? null;
  const value = (name: string) => node(name)?.v ?? null;
  switch (condition.kind) {
    case 'unlike': {
      const [left, right] = [node(condition.left), node(condition.right)];
      return left === null || right === null ? null : left !== right;
    }
    case 'value': {
      const v = value(condition.variable);
      return v === null ? null : v < condition.below;
    }
    case 'less': {
      const [left, right] = [value(condition.left), value(condition.right)];
      return left === null || right === null ? null : left <= right;
    }
    case 'pattern':
      return matches(graph, [condition.path], row).length > 0;
    case 'not': {
      const of = truth(graph, condition.of, row);
      return of === null ? null : !of;
    }
  }
}
