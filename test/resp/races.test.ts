import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encode, startWire, type WireClient } from './wire-fixture.ts';

// Many writers over the wire and over HTTP at once: nothing is lost, one wins.

test('1,000 increments by 16 connections over wire and HTTP are all counted', async (context) => {
  const wire = await startWire(context);
  const clients = await Promise.all(Array.from({ length: 12 }, () => wire.open()));
  await Promise.all(clients.map((client) => client.call('SELECT', 'test')));
  const overWire = async (client: WireClient): Promise<number[]> => {
    const seen: number[] = [];
    for (let at = 0; at < 70; at += 10) {
      for (let next = 0; next < 10; next += 1) client.send(encode('INCR', 'count'));
      for (let next = 0; next < 10; next += 1) seen.push(Number(await client.reply()));
    }
    return seen;
  };
  const overHttp = async (): Promise<number[]> => {
    const seen: number[] = [];
    for (let at = 0; at < 40; at += 1) {
      const answer = await wire.door.ask('POST', 'command/test', {
        body: { language: 'redis', command: 'INCR count' },
      });
      const [row] = answer.body['result'] as [{ value: number }];
      seen.push(row.value);
    }
    return seen;
  };
  const seen = (
    await Promise.all([...clients.map(overWire), overHttp(), overHttp(), overHttp(), overHttp()])
  ).flat();
  assert.deepEqual(
    seen.toSorted((a, b) => a - b),
    Array.from({ length: 1000 }, (_, at) => at + 1),
  );
  assert.equal(await clients[0]?.call('GET', 'test.count'), '1000');
});

test('increments beside blocks that commit records are all counted', async (context) => {
  const wire = await startWire(context);
  await wire.data.run('CREATE DOCUMENT TYPE Entry');
  const clients = await Promise.all(Array.from({ length: 8 }, () => wire.open()));
  const work = clients.map(async (client, at) => {
    await client.call('SELECT', 'test');
    for (let round = 0; round < 10; round += 1) {
      if (at % 2 === 0) {
        assert.ok(Number(await client.call('INCR', 'count')) > 0);
        continue;
      }
      for (;;) {
        await client.call('MULTI');
        await client.call('INCR', 'count');
        await client.call('HSET', 'Entry', '{"n":1}');
        const replies = await client.call('EXEC');
        if (Array.isArray(replies)) break;
        assert.match(String(replies), /^-TRYAGAIN /);
      }
    }
  });
  await Promise.all(work);
  assert.equal(await clients[0]?.call('GET', 'count'), '80');
  assert.deepEqual(await wire.data.run('SELECT count(*) AS n FROM Entry'), [{ n: 40 }]);
  assert.equal(wire.data.store.heldCount, 0);
});

test('SET NX has one winner', async (context) => {
  const wire = await startWire(context);
  const clients = await Promise.all(Array.from({ length: 8 }, () => wire.open()));
  for (let round = 0; round < 20; round += 1) {
    const replies = await Promise.all(
      clients.map((client, at) => client.call('SET', `test.race${round}`, String(at), 'NX')),
    );
    assert.equal(replies.filter((reply) => reply === '+OK').length, 1);
  }
});
