import assert from 'node:assert/strict';
import { test } from 'node:test';
import { basic, startDoor } from './door-fixture.ts';
import { rowBatch } from './fake-databases.ts';

// A path that a request has come to is found without looking for it (known-paths.ts): nothing else may change by that.

const sql = (command: string) => ({ language: 'sql', command });

test('requests by a path that is known are checked like the first one', async (context) => {
  const door = await startDoor(context);
  door.databases.behaviours.set('rows', { complete: rowBatch(1, 2) });
  const ask = (user: string | null) =>
    door.ask('POST', 'query/school', { body: sql('rows'), user });
  const root = await ask('root');
  assert.equal((await ask(null)).status, 401);
  const wrong = await door.ask('POST', 'query/school', {
    body: sql('rows'),
    user: null,
    headers: { authorization: basic('root', 'wrong password') },
  });
  assert.equal(wrong.status, 403);
  const again = await ask('root');
  assert.deepEqual([again.status, again.body['result']], [root.status, root.body['result']]);
});

test('what is for root alone is refused to others by a known path, too', async (context) => {
  const door = await startDoor(context);
  const body = { database: '*', name: 'g', access: [] };
  for (let n = 0; n < 2; n += 1) {
    assert.notEqual((await door.ask('POST', 'server/groups', { body })).status, 403);
    const refused = await door.ask('POST', 'server/groups', { body, user: 'jay' });
    assert.equal(refused.status, 403);
  }
});

test('another method by a known path is answered as ever', async (context) => {
  const door = await startDoor(context);
  for (let n = 0; n < 2; n += 1) {
    await door.ask('POST', 'query/school', { body: sql('rows') });
    assert.equal((await door.ask('PUT', 'query/school')).status, 405);
    assert.equal((await door.ask('DELETE', 'query/school')).status, 405);
  }
});

test('many paths, more than are remembered, come to their databases', async (context) => {
  const door = await startDoor(context);
  door.databases.behaviours.set('rows', { complete: rowBatch(1, 2) });
  for (let n = 0; n < 600; n += 1) {
    const name = n % 2 === 0 ? 'school' : `missing${n}`;
    const answer = await door.ask('POST', `query/${name}`, { body: sql('rows') });
    assert.equal(answer.status === 500, n % 2 === 1, name);
  }
});
