// SHOW USERS and SHOW CURRENT USER (cypher.md 12.2; security.md 4.3): what is listed, to whom, and that they are commands.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Principal } from '#core/principal.ts';
import type { UserChanges } from '#database/operations/change-user.ts';
import { openTestDatabase, type TestDatabase } from './support/open-test-database.ts';

const ann: Principal = { name: 'ann', isRoot: false, via: 'password' };
const users: UserChanges = {
  get: () => undefined,
  list: () => [
    { name: 'root', databases: new Map([['*', ['admin']]]) },
    { name: 'ann', databases: new Map(Object.entries({ school: ['reader'], shop: ['admin'] })) },
  ],
  create: async () => {},
  update: async () => {},
  drop: async () => {},
  told: () => {},
};
let database: TestDatabase;
before(async () => {
  database = await openTestDatabase({ users });
});
after(async () => database.close());

const show = (text: string, options = {}) => database.print(text, {}, options, 'cypher');

test('root sees the users with their databases', async () => {
  assert.equal(
    await show('SHOW USERS'),
    '{user: "root", databases: ["*"]}\n{user: "ann", databases: ["school", "shop"]}',
  );
  assert.equal(
    await show("SHOW USERS YIELD user AS u, databases WHERE 'shop' IN databases RETURN u"),
    '{u: "ann"}',
  );
});

test('nobody else does, whatever the rights on databases', async () => {
  await assert.rejects(show('SHOW USERS', { principal: ann }), /only root may list users/);
});

test('anybody sees who asks', async () => {
  assert.equal(await show('SHOW CURRENT USER', { principal: ann }), '{user: "ann"}');
  assert.equal(await show('SHOW CURRENT USER YIELD user WHERE user = "bob" RETURN user'), '');
});

test('they are commands and no queries', async () => {
  for (const text of ['SHOW USERS', 'SHOW CURRENT USER', 'SHOW INDEXES', 'SHOW FUNCTIONS'])
    await assert.rejects(show(text, { mustBeIdempotent: true }), { code: 'NotIdempotent' });
  assert.equal(await show('EXPLAIN SHOW CURRENT USER', { mustBeIdempotent: true }), '');
});

test('what cannot be shown is refused by its name', async () => {
  await assert.rejects(show('SHOW TRANSACTIONS'), /not supported: SHOW TRANSACTIONS/);
  await assert.rejects(show('SHOW ROLES'), /not supported: SHOW ROLES/);
  await assert.rejects(show('SHOW UNIQUE CONSTRAINTS'), /not supported: SHOW UNIQUE CONSTRAINTS/);
});
