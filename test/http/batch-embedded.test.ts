import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startDatabaseDoor } from './database-door.ts';

test('embedded documents of a batch are checked against their own types, whatever holds them', async (context) => {
  const { door, data } = await startDatabaseDoor(context);
  await data.run('CREATE VERTEX TYPE Person');
  await data.run('CREATE DOCUMENT TYPE Address');
  await data.run('CREATE PROPERTY Address.zip STRING (mandatory true, regexp "[0-9]{5}")');
  const batch = (body: string) =>
    door.ask('POST', 'batch/test', { body, headers: { 'content-type': 'application/x-ndjson' } });
  const line = (address: unknown) =>
    `{"@type":"v","@class":"Person","name":"x","at":${JSON.stringify(address)}}\n`;
  const address = { '@type': 'Address', zip: '12345' };
  const good = await batch(line(address) + line([address, { a: address }]));
  assert.equal(good.status, 200, good.text);
  const stored = await data.run(
    "SELECT at.@type AS t, at.zip AS z FROM Person WHERE at.zip = '12345'",
  );
  assert.deepEqual(stored[0], { t: 'Address', z: '12345' });
  const wrong = [
    { '@type': 'Address' },
    [{ '@type': 'Address', zip: 'x' }],
    { a: { '@type': 'Address', zip: 'abc' } },
    { '@type': 'No' },
  ];
  for (const value of wrong) {
    const answer = await batch(line(address) + line(value));
    assert.notEqual(answer.status, 200, answer.text);
    assert.match(String(answer.body['detail']), /^Line 2: .*(Address\.zip|'No')/);
  }
  assert.deepEqual(await data.run('SELECT count(*) AS n FROM Person'), [{ n: 2 }]);
});
