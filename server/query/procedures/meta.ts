import type { Catalog, TypeDefinition } from '#catalog/catalog.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import type { Rid } from '#core/value/rid.ts';
import { labelsOf } from '#catalog/labels.ts';
import type { ExecutionContext } from '../operators/operator.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import { reading, rowWith } from './define.ts';
import { labelTypes, relationshipTypes } from './labels.ts';
import type { Procedure } from './procedure.ts';

/** `meta.*`: counts and declared properties of the graph (cypher.md 10). */

/** Records of the type and of what inherits from it. */
function countOf(type: TypeDefinition, view: ReadView): number {
  let count = 0;
  for (const id of view.catalog.withSubtypes(type.id))
    for (const bucket of view.catalog.typeWithId(id).buckets) {
      view.requireRead?.(bucket);
      count += view.recordCount(bucket);
    }
  return count;
}

/** Records of a kind, each once. */
function countOfKind(kind: TypeDefinition['kind'], view: ReadView): number {
  let count = 0;
  for (const type of view.catalog.types()) {
    if (type.kind !== kind) continue;
    for (const bucket of type.buckets) {
      view.requireRead?.(bucket);
      count += view.recordCount(bucket);
    }
  }
  return count;
}

function countsOf(types: readonly TypeDefinition[], view: ReadView): ValueMap {
  return new Map(types.map((type) => [type.name, countOf(type, view)]));
}

function statistics(view: ReadView): ValueMap {
  const labels = labelTypes(view.catalog);
  const types = relationshipTypes(view.catalog);
  return new Map<string, Value>([
    ['labelCount', labels.length],
    ['relTypeCount', types.length],
    ['nodeCount', countOfKind('vertex', view)],
    ['relCount', countOfKind('edge', view)],
    ['labels', countsOf(labels, view)],
    ['relTypes', countsOf(types, view)],
  ]);
}

function schemaOf(view: ReadView): ValueMap {
  const described = (type: TypeDefinition, kind: string): ValueMap =>
    new Map<string, Value>([
      ['type', kind],
      ['count', countOf(type, view)],
      ['properties', propertiesOf(type, view.catalog)],
    ]);
  return new Map([
    ...labelTypes(view.catalog).map((type) => [type.name, described(type, 'node')] as const),
    ...relationshipTypes(view.catalog).map(
      (type) => [type.name, described(type, 'relationship')] as const,
    ),
  ]);
}

function propertiesOf(type: TypeDefinition, catalog: Catalog): ValueMap {
  const properties = [...catalog.properties(type.id).values()];
  return new Map(
    properties.map((property): [string, Value] => [
      property.name,
      new Map<string, Value>([
        ['type', property.type],
        ['existence', property.mandatory],
        ['unique', isUnique(type, property.name, catalog)],
      ]),
    ]),
  );
}

function isUnique(type: TypeDefinition, property: string, catalog: Catalog): boolean {
  return catalog
    .indexesOn(type.id)
    .some(({ unique, components }) => unique && components.every((c) => c.property === property));
}

function* declared(
  types: readonly TypeDefinition[],
  catalog: Catalog,
  column: string,
): Iterable<ValueMap> {
  for (const type of types) {
    const properties = [...catalog.properties(type.id).values()];
    for (const { name, type: kind, mandatory } of properties)
      yield rowWith({
        [column]: `:\`${type.name}\``,
        propertyName: name,
        propertyTypes: [kind],
        mandatory,
      });
  }
}

/** The schema as a graph that is not stored: a node for each label, a relationship for each pair of labels that a type joins. */
function* schemaGraph({ view }: ExecutionContext): Iterable<ValueMap | 'pause'> {
  const { catalog } = view;
  const nodes = labelTypes(catalog).map(({ name }): Value => virtualNode(name));
  const pairs = new Map<string, Value>();
  let read = 0;
  for (const type of relationshipTypes(catalog))
    for (const bucket of type.buckets) {
      view.requireRead?.(bucket);
      const cursor = view.scan(bucket, 'ascending');
      for (let record = cursor.next(); record !== undefined; record = cursor.next()) {
        read += 1;
        if (read % 256 === 0) yield 'pause';
        if (record.kind !== 'edge') continue;
        for (const from of labelsAt(record.out, view))
          for (const to of labelsAt(record.in, view)) {
            const key = JSON.stringify([from, record.typeName, to]);
            if (!pairs.has(key)) pairs.set(key, virtualRelationship(from, record.typeName, to));
          }
      }
    }
  yield rowWith({ nodes, relationships: [...pairs.values()] });
}

function labelsAt(rid: Rid, view: ReadView): readonly string[] {
  const node = view.record(rid);
  return node === undefined ? [] : labelsOf(view.catalog, node.type);
}

function virtualNode(name: string): Value {
  return new Map<string, Value>([
    ['name', name],
    ['labels', [name]],
  ]);
}

function virtualRelationship(from: string, type: string, to: string): Value {
  return new Map<string, Value>([
    ['type', type],
    ['from', from],
    ['to', to],
  ]);
}

const graphColumns = { nodes: 'LIST', relationships: 'LIST' };

const propertyColumns = { propertyName: 'STRING', propertyTypes: 'LIST', mandatory: 'BOOLEAN' };

export const metaProcedures: readonly Procedure[] = [
  ...['meta.graph', 'db.schema', 'db.schema.visualization'].map((name) =>
    reading({
      name,
      description: 'Labels, and the relationship types between them',
      columns: graphColumns,
      rows: (_, context) => schemaGraph(context),
    }),
  ),
  reading({
    name: 'meta.stats',
    description: 'Numbers of labels, types, nodes and relationships',
    columns: { value: 'MAP' },
    *rows(_, { view }) {
      yield rowWith({ value: statistics(view) });
    },
  }),
  reading({
    name: 'meta.schema',
    description: 'Labels and relationship types with their declared properties',
    columns: { value: 'MAP' },
    *rows(_, { view }) {
      yield rowWith({ value: schemaOf(view) });
    },
  }),
  reading({
    name: 'meta.nodeTypeProperties',
    description: 'Declared properties of labels',
    columns: { nodeType: 'STRING', ...propertyColumns },
    rows: (_, { view }) => declared(labelTypes(view.catalog), view.catalog, 'nodeType'),
  }),
  reading({
    name: 'meta.relTypeProperties',
    description: 'Declared properties of relationship types',
    columns: { relType: 'STRING', ...propertyColumns },
    rows: (_, { view }) => declared(relationshipTypes(view.catalog), view.catalog, 'relType'),
  }),
];
