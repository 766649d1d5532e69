import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestDatabase } from './support/open-test-database.ts';

test('service.maxNameLength bounds every new name, to the character', async (context) => {
  const db = await openTestDatabase({ settings: { maxNameLength: '10' } });
  context.after(() => db.close());
  const fits = '1234567890'.replace('1', 'é');
  const long = `${fits}x`;
  const statements: readonly ((name: string) => string)[] = [
    (name) => `CREATE DOCUMENT TYPE \`${name}\``,
    (name) => `CREATE PROPERTY \`${fits}\`.\`${name}\` STRING`,
    (name) => `CREATE BUCKET \`b${name.slice(1)}\``,
    (name) => `CREATE INDEX \`i${name.slice(1)}\` ON \`${fits}\` (\`${fits}\`) NOTUNIQUE`,
    (name) => `ALTER TYPE \`${fits}\` ALIASES \`a${name.slice(1)}\``,
    (name) => `CREATE TRIGGER \`${name}\` AFTER CREATE ON \`${fits}\` EXECUTE SQL "SELECT 1"`,
    (name) => `DEFINE FUNCTION f.\`${name}\` "SELECT 1"`,
    (name) => `DEFINE FUNCTION \`${name}\`.f "SELECT 1"`,
    (name) => `CREATE MATERIALIZED VIEW \`v${name.slice(1)}\` AS SELECT FROM \`${fits}\``,
    (name) => `INSERT INTO \`${fits}\` SET \`p${name.slice(1)}\` = 1`,
  ];
  for (const statement of statements) {
    await assert.rejects(
      db.run(statement(long)),
      { code: 'SchemaLimit', message: /longer than the limit of 10 characters \(service\.maxName/ },
      statement(long),
    );
    await db.run(statement(fits));
  }
  await assert.rejects(db.databases.create('elevenchars'), { message: /service\.maxNameLength/ });
  await db.databases.create('ten-chars-');
  const loader = db.database.bulkLoader();
  const rows = { type: fits, values: [1], rowCount: 1 };
  await assert.rejects(loader.addRecords({ ...rows, columns: [long] }), { code: 'SchemaLimit' });
});
