import type { StoredRecord } from '#core/value/record.ts';
import { type ActualPrinter, labelsOf, printActual } from './actual.ts';

/** What a graph consists of, and how two of them differ: by identity, not by counting operations. */
export interface GraphState {
  readonly nodes: ReadonlySet<string>;
  readonly relationships: ReadonlySet<string>;
  /** Element, key and value in one text. */
  readonly properties: ReadonlySet<string>;
  readonly labels: ReadonlySet<string>;
}

export function graphState(records: readonly StoredRecord[], printer: ActualPrinter): GraphState {
  const nodes = new Set<string>();
  const relationships = new Set<string>();
  const properties = new Set<string>();
  const labels = new Set<string>();
  for (const record of records) {
    const id = String(record.rid);
    (record.kind === 'edge' ? relationships : nodes).add(id);
    if (record.kind !== 'edge') for (const label of labelsOf(record.typeName)) labels.add(label);
    for (const name of record.propertyNames())
      properties.add(JSON.stringify([id, name, printActual(record.get(name) ?? null, printer)]));
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
