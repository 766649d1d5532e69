import type { IndexDefinition } from '#catalog/catalog.ts';
import { constraintKeys, constraintName } from '#catalog/constraint-names.ts';
import { isShown } from '#catalog/change/index-definition.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import { documentedFunctions } from '../functions/registry.ts';
import { reading, rowWith } from './define.ts';
import { type Procedure, signatureText } from './procedure.ts';

/** What SHOW lists (cypher.md 12.1); no text can name these procedures. */

const indexTypes: Readonly<Record<string, string>> = {
  LSM_TREE: 'RANGE',
  HASH: 'RANGE',
  FULL_TEXT: 'FULLTEXT',
  LSM_VECTOR: 'VECTOR',
  LSM_SPARSE_VECTOR: 'VECTOR',
  GEOSPATIAL: 'POINT',
};

function indexType({ kind, isText }: IndexDefinition): string {
  return isText ? 'TEXT' : (indexTypes[kind] ?? kind);
}

function indexRow(index: IndexDefinition, { catalog }: ReadView): ValueMap {
  const type = catalog.typeWithId(index.type);
  return rowWith({
    id: index.id,
    name: index.name,
    state: index.state === 'READY' ? 'ONLINE' : 'POPULATING',
    populationPercent: index.state === 'READY' ? 100 : 0,
    type: indexType(index),
    entityType: type.kind === 'edge' ? 'RELATIONSHIP' : 'NODE',
    labelsOrTypes: [type.name],
    properties: index.components.map(({ property }) => property),
    indexProvider: index.kind.toLowerCase(),
    owningConstraint: index.unique ? index.name : null,
    lastRead: null,
    readCount: null,
  });
}

function* constraintRows({ catalog }: ReadView): Iterable<ValueMap> {
  for (const index of catalog.indexes().filter((known) => known.unique && isShown(known))) {
    const type = catalog.typeWithId(index.type);
    const names = index.components.map(({ property }) => property);
    const isKey = names.every((name) => catalog.property(type.id, name)?.mandatory === true);
    const entity = type.kind === 'edge' ? 'RELATIONSHIP' : 'NODE';
    const rule = isKey ? 'KEY' : type.kind === 'edge' ? 'UNIQUENESS' : 'PROPERTY_UNIQUENESS';
    yield constraintRow(
      { id: index.id, name: index.name, type: isKey ? `${entity}_KEY` : rule },
      { entity, type: type.name, names, ownedIndex: index.name },
    );
  }
  for (const type of catalog.types())
    for (const property of type.properties.values()) {
      const entity = type.kind === 'edge' ? 'RELATIONSHIP' : 'NODE';
      const of = { entity, type: type.name, names: [property.name], ownedIndex: null };
      const existence = constraintName(catalog, property, 'existence');
      if (existence !== '')
        yield constraintRow(
          { id: property.id, name: existence, type: `${entity}_PROPERTY_EXISTENCE` },
          of,
        );
      if (!property.custom.has(constraintKeys.type)) continue;
      const name = constraintName(catalog, property, 'type');
      yield constraintRow(
        { id: property.id, name, type: `${entity}_PROPERTY_TYPE` },
        { ...of, propertyType: cypherTypes[property.type] ?? property.type },
      );
    }
}

/** Property types by their names in openCypher. */
const cypherTypes: Readonly<Record<string, string>> = {
  BYTE: 'INT8',
  SHORT: 'INT16',
  INTEGER: 'INT32',
  LONG: 'INTEGER',
  FLOAT: 'FLOAT32',
  DOUBLE: 'FLOAT',
  DATETIME: 'LOCAL DATETIME',
};

function constraintRow(
  head: Readonly<Record<string, Value>>,
  of: {
    entity: string;
    type: string;
    names: readonly string[];
    ownedIndex: Value;
    propertyType?: string;
  },
): ValueMap {
  return rowWith({
    ...head,
    entityType: of.entity,
    labelsOrTypes: [of.type],
    properties: of.names,
    ownedIndex: of.ownedIndex,
    propertyType: of.propertyType ?? null,
  });
}

const indexColumns = {
  id: 'INTEGER',
  name: 'STRING',
  state: 'STRING',
  populationPercent: 'FLOAT',
  type: 'STRING',
  entityType: 'STRING',
  labelsOrTypes: 'LIST',
  properties: 'LIST',
  indexProvider: 'STRING',
  owningConstraint: 'STRING',
  lastRead: 'ANY',
  readCount: 'INTEGER',
};
const constraintColumns = {
  id: 'INTEGER',
  name: 'STRING',
  type: 'STRING',
  entityType: 'STRING',
  labelsOrTypes: 'LIST',
  properties: 'LIST',
  ownedIndex: 'STRING',
  propertyType: 'STRING',
};

const userColumns = { user: 'STRING', databases: 'LIST' };

/** @param listed the procedures that SHOW PROCEDURES lists */
export function showProcedures(listed: () => readonly Procedure[]): readonly Procedure[] {
  return [
    reading({
      name: '#show.indexes',
      description: 'Indexes',
      parameters: [{ name: 'type', type: 'STRING', default: null }],
      columns: indexColumns,
      *rows([type = null], { view }) {
        for (const index of view.catalog.indexes().filter(isShown))
          if (type === null || indexType(index) === type) yield indexRow(index, view);
      },
    }),
    reading({
      name: '#show.constraints',
      description: 'Constraints',
      columns: constraintColumns,
      rows: (_, { view }) => constraintRows(view),
    }),
    reading({
      name: '#show.procedures',
      description: 'Procedures',
      columns: { name: 'STRING', description: 'STRING', mode: 'STRING', signature: 'STRING' },
      *rows() {
        for (const procedure of listed())
          yield rowWith({
            name: procedure.name,
            description: procedure.signature?.description ?? '',
            mode: procedure.effects.length === 0 ? 'READ' : 'WRITE',
            signature: signatureText(procedure),
          });
      },
    }),
    reading({
      name: '#show.functions',
      description: 'Functions',
      columns: { name: 'STRING', category: 'STRING', signature: 'STRING' },
      *rows() {
        for (const { name, kind, syntax } of documentedFunctions('cypher'))
          yield rowWith({ name, category: kind, signature: syntax });
      },
    }),
    {
      ...reading({
        name: '#show.users',
        description: 'Users of the server',
        columns: userColumns,
        *rows(_, { users }) {
          for (const { name, databases } of users.all()) yield rowWith({ user: name, databases });
        },
      }),
      effects: ['security'],
    },
    reading({
      name: '#show.currentUser',
      description: 'The user who asks',
      columns: { user: 'STRING' },
      *rows(_, { users }) {
        if (users.current !== undefined) yield rowWith({ user: users.current });
      },
    }),
    reading({
      name: '#show.databases',
      description: 'The database in use',
      columns: { name: 'STRING', currentStatus: 'STRING', default: 'BOOLEAN' },
      *rows(_, { databaseName }) {
        yield rowWith({ name: databaseName, currentStatus: 'online', default: true });
      },
    }),
  ];
}
