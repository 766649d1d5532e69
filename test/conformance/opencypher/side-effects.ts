import type { StoredRecord } from '#core/value/record.ts';
import { type ActualPrinter, labelsOf, printActual } from './actual.ts';
import type { WriteCounts } from './scenario-run.ts';

/** What a graph consists of, and how two of them differ: by identity, not by counting operations. */
export interface GraphState {
  readonly nodes: ReadonlySet<string>;
  readonly relationships: ReadonlySet<string>;
  /** Element, key and value in one text. */
  readonly properties: ReadonlySet<string>;
  readonly labels: ReadonlySet<string>;
}

export interface GraphElement {
  readonly id: string;
  readonly isRelationship: boolean;
  readonly typeName: string;
  /** Name and canonical text. */
  readonly properties: readonly (readonly [string, string])[];
}

export function graphState(records: readonly StoredRecord[], printer: ActualPrinter): GraphState {
  return graphStateOf(
    records.map((record) => ({
      id: String(record.rid),
      isRelationship: record.kind === 'edge',
      typeName: record.typeName,
      properties: record
        .propertyNames()
        .map((name) => [name, printActual(record.get(name) ?? null, printer)] as const),
    })),
  );
}

export function graphStateOf(elements: readonly GraphElement[]): GraphState {
  const nodes = new Set<string>();
  const relationships = new Set<string>();
  const properties = new Set<string>();
  const labels = new Set<string>();
  for (const { id, isRelationship, typeName, properties: given } of elements) {
    (isRelationship ? relationships : nodes).add(id);
    if (!isRelationship) for (const label of labelsOf(typeName)) labels.add(label);
    for (const [name, text] of given) properties.add(JSON.stringify([id, name, text]));
  }
  return { nodes, relationships, properties, labels };
}

const kinds = ['nodes', 'relationships', 'properties', 'labels'] as const;

/** `+nodes 1`, ... without those that are 0. */
export function sideEffects(before: GraphState, after: GraphState): ReadonlyMap<string, number> {
  const effects = new Map<string, number>();
  for (const kind of kinds) {
    const added = [...after[kind]].filter((item) => !before[kind].has(item)).length;
    const removed = [...before[kind]].filter((item) => !after[kind].has(item)).length;
    if (added > 0) effects.set(`+${kind}`, added);
    if (removed > 0) effects.set(`-${kind}`, removed);
  }
  return effects;
}

/**
 * What a statement says that it wrote must be what became of the graph. Nodes and relationships agree exactly; a property that is
 * set to its old value and a label that others have, too, are counted and change nothing in these sets.
 */
export function countProblem(
  counts: WriteCounts | undefined,
  before: GraphState,
  after: GraphState,
): string | undefined {
  const grown = (kind: (typeof kinds)[number]) => after[kind].size - before[kind].size;
  const effects = sideEffects(before, after);
  if (counts === undefined)
    return effects.size === 0 ? undefined : 'the graph has changed, and there are no stats';
  if (counts.nodesCreated - counts.nodesDeleted !== grown('nodes'))
    return `stats count other nodes: ${JSON.stringify(counts)}`;
  if (counts.relationshipsCreated - counts.relationshipsDeleted !== grown('relationships'))
    return `stats count other relationships: ${JSON.stringify(counts)}`;
  const added = effects.get('+properties') ?? 0;
  if (counts.propertiesSet < added) return `stats count ${counts.propertiesSet} properties set`;
  const labels = effects.get('+labels') ?? 0;
  if (counts.labelsAdded < labels) return `stats count ${counts.labelsAdded} labels added`;
  const isGone = counts.nodesDeleted > 0 || counts.labelsRemoved > 0;
  if (effects.has('-labels') && !isGone) return 'a label is gone, and stats count none';
  return undefined;
}
