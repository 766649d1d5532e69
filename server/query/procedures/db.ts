import { isMap, type Value } from '#core/value/value.ts';
import { reading, rowWith } from './define.ts';
import { labelTypes, relationshipTypes } from './labels.ts';
import type { Procedure } from './procedure.ts';

/** `db.*` and `dbms.*` (cypher.md 10): what the schema knows. */

export const dbProcedures: readonly Procedure[] = [
  reading({
    name: 'db.labels',
    description: 'Labels of the database',
    columns: { label: 'STRING' },
    *rows(_, { view }) {
      for (const { name } of labelTypes(view.catalog)) yield rowWith({ label: name });
    },
  }),
  reading({
    name: 'db.relationshipTypes',
    description: 'Relationship types of the database',
    columns: { relationshipType: 'STRING' },
    *rows(_, { view }) {
      for (const { name } of relationshipTypes(view.catalog))
        yield rowWith({ relationshipType: name });
    },
  }),
  reading({
    name: 'db.propertyKeys',
    description: 'Property names that the schema declares or records have had',
    columns: { propertyKey: 'STRING' },
    *rows(_, { schemaSource }) {
      const names = new Set<string>();
      for (const row of schemaSource('dictionary', undefined)) {
        const entries = row.get('entries') ?? null;
        if (isMap(entries)) for (const name of entries.keys()) names.add(name);
      }
      for (const name of [...names].sort()) yield rowWith({ propertyKey: name });
    },
  }),
  reading({
    name: 'db.ping',
    description: 'Whether the database answers',
    columns: { success: 'BOOLEAN' },
    *rows() {
      yield rowWith({ success: true });
    },
  }),
  reading({
    name: 'dbms.components',
    description: 'Name, versions and edition of the server',
    columns: { name: 'STRING', versions: 'LIST', edition: 'STRING' },
    *rows(_, { serverVersion }) {
      const versions: Value = [serverVersion];
      yield rowWith({ name: 'Polyad Kernel', versions, edition: 'community' });
    },
  }),
];
