import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startWire } from './wire-fixture.ts';

// What clients of the wire have sent and nobody has answered yet is in the account of all requests (limits.md 33).

const budget = { 'server.httpMaxRequestMemory': String(1024 * 1024) };
const refused = /^-ERR the requests running now hold .*httpMaxRequestMemory[^\r\n]*\r\n$/;

test('requests that do not end are bounded in all, whatever they announce; their memory comes back', async (context) => {
  const wire = await startWire(context, budget);
  const announcing = await wire.open();
  announcing.send('*3\r\n$3\r\nSET\r\n$1\r\na\r\n$50000000\r\n');
  const clients = [await wire.open(), await wire.open(), await wire.open()];
  for (const client of clients)
    client.send(`*3\r\n$3\r\nSET\r\n$1\r\na\r\n$500000\r\n${'x'.repeat(400_000)}`);
  const ends = clients.map((client) => client.ended());
  assert.match(await Promise.race(ends), refused);
  for (const client of [announcing, ...clients]) client.close();
  await Promise.all(ends);
  const next = await wire.open();
  assert.equal(await next.call('SET', 'a', 'x'.repeat(900_000)), '+OK');
});

test('commands behind MULTI count until EXEC', async (context) => {
  const wire = await startWire(context, budget);
  const client = await wire.open();
  await client.call('MULTI');
  assert.equal(await client.call('SET', 'a', 'x'.repeat(900_000)), '+QUEUED');
  const other = await wire.open();
  other.send(`*3\r\n$3\r\nSET\r\n$1\r\na\r\n$500000\r\n${'x'.repeat(400_000)}`);
  assert.match(await other.ended(), refused);
  await client.call('EXEC');
  const next = await wire.open();
  assert.equal(await next.call('SET', 'b', 'x'.repeat(900_000)), '+OK');
});
