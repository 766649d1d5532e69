import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startWire, type WireClient } from './wire-fixture.ts';

// Commands of many keys and blocks of many commands take several turns; for others they happen at one moment.

const keyCount = 20_000;
const keys = Array.from({ length: keyCount }, (_, at) => `key${at}`);

async function withKeys(context: TestContext): Promise<{
  readonly client: WireClient;
  readonly other: WireClient;
}> {
  const wire = await startWire(context);
  const [client, other] = [await wire.open(), await wire.open()];
  for (const one of [client, other]) await one.call('SELECT', 'test');
  await fill(client);
  return { client, other };
}

async function fill(client: WireClient): Promise<void> {
  for (const key of keys) client.send(`SET ${key} 1\r\n`);
  for (const _ of keys) assert.equal(await client.reply(), '+OK');
}

test('many keys are deleted at one moment, whatever others ask meanwhile', async (context) => {
  const { client, other } = await withKeys(context);
  for (let round = 0; round < 3; round += 1) {
    const deleted = client.call('DEL', ...keys);
    const seen: unknown[] = [];
    let isOver = false;
    void deleted.then(() => {
      isOver = true;
    });
    const [first, last] = [keys[0] as string, keys[keyCount - 1] as string];
    while (!isOver) {
      // Asked in this order: whoever sees the last key gone must see the first one gone.
      const [before, after, types] = [
        await other.call('GET', last),
        await other.call('EXISTS', first, last),
        [await other.call('TYPE', last), await other.call('TTL', first)],
      ];
      seen.push(`${before} ${after} ${types.join()}`);
      if (before === null) assert.equal(after, 0);
      assert.notEqual(after, 1, 'half of a command was seen');
    }
    assert.equal(await deleted, keyCount);
    assert.equal(await other.call('EXISTS', ...keys), 0);
    assert.ok(seen.length > 0);
    await fill(client);
  }
  assert.equal(await client.call('EXISTS', ...keys, ...keys), 2 * keyCount);
});

test('two clients that delete the same keys share them out', async (context) => {
  const { client, other } = await withKeys(context);
  const counts = await Promise.all([
    client.call('DEL', ...keys),
    other.call('UNLINK', ...[...keys].reverse()),
  ]);
  assert.deepEqual([...counts].sort(), [0, keyCount]);
});

test('a block of many commands is one moment, too', async (context) => {
  const { client, other } = await withKeys(context);
  const count = 5_000;
  client.send('MULTI\r\n');
  for (let at = 0; at < count; at += 1) client.send('INCR n\r\nINCR m\r\n');
  client.send('EXISTS n m key1 nothing\r\nINCR key1 x\r\n');
  assert.equal(await client.reply(), '+OK');
  for (let at = 0; at < 2 * count + 1; at += 1) assert.equal(await client.reply(), '+QUEUED');
  assert.match(String(await client.reply()), /^-ERR wrong number/);
  assert.match(String(await client.call('EXEC')), /^-EXECABORT/);
  assert.equal(await client.call('EXISTS', 'n'), 0);
  client.send('SET s text\r\nMULTI\r\n');
  for (let at = 0; at < count; at += 1) client.send('INCR n\r\nINCR m\r\n');
  client.send('INCR s\r\nGET n\r\n');
  for (let at = 0; at < 2 * count + 4; at += 1) await client.reply();
  const executed = client.call('EXEC');
  let isOver = false;
  void executed.then(() => {
    isOver = true;
  });
  while (!isOver) {
    // n is incremented before m.
    const [m, n] = [await other.call('GET', 'm'), await other.call('GET', 'n')];
    assert.ok(m === null || (Number(m) === count && n === m), `${m} ${n}`);
    if (m === null) assert.ok(n === null || Number(n) === count, `${m} ${n}`);
  }
  const replies = (await executed) as readonly unknown[];
  assert.equal(replies.length, 2 * count + 2);
  assert.deepEqual(replies.slice(0, 4), [1, 1, 2, 2]);
  assert.match(String(replies.at(-2)), /^-ERR value is not an integer/);
  assert.equal(replies.at(-1), String(count));
});

test('a watched key counts up to the moment in which a long block begins', async (context) => {
  const { client, other } = await withKeys(context);
  for (const touches of [true, false]) {
    await client.call('WATCH', 'key7');
    client.send('MULTI\r\n');
    for (let at = 0; at < 2_000; at += 1) client.send('INCR w\r\n');
    for (let at = 0; at <= 2_000; at += 1) await client.reply();
    if (touches) await other.call('SET', 'key7', '2');
    const replies = await client.call('EXEC');
    if (touches) assert.equal(replies, null);
    else assert.equal((replies as readonly unknown[]).length, 2_000);
  }
  assert.equal(await client.call('GET', 'w'), '2000');
});

test('many words are read as few are: records by many keys, objects, words that are no text', async (context) => {
  const wire = await startWire(context);
  const client = await wire.open();
  await client.call('SELECT', 'test');
  for (const text of [
    'CREATE DOCUMENT TYPE Item',
    'CREATE PROPERTY Item.id INTEGER',
    'CREATE INDEX ON Item (id) UNIQUE',
  ])
    await wire.data.run(text);
  const count = 1_500;
  const objects = Array.from({ length: count }, (_, id) => `{id:${id},'name':"ü${id}"}`);
  assert.equal(await client.call('HSET', 'Item', ...objects), count);
  const asked = Array.from({ length: count + 1 }, (_, id) => String(id));
  const found = (await client.call('HMGET', 'Item[id]', ...asked)) as readonly (string | null)[];
  assert.equal(found.length, count + 1);
  assert.equal(found[count], null);
  assert.equal(JSON.parse(found[7] as string).name, 'ü7');
  assert.match(
    String(await client.call('HMGET', 'Item[id]', ...asked, 'x')),
    /cannot be converted/,
  );
  const noText = Buffer.from([0xff]);
  assert.match(String(await client.call('HMGET', 'Item[id]', ...asked, noText)), /not valid UTF-8/);
  const long = `{id:${count},name:'${'x'.repeat(100_000)}'}`;
  assert.equal(await client.call('HSET', 'Item', long), 1);
  assert.match(String(await client.call('HSET', 'Item', `${long.slice(0, -2)}`)), /^-ERR /);
  assert.match(String(await client.call('HDEL', 'Item[id]', ...asked, 'x')), /cannot be converted/);
  assert.equal(await client.call('HEXISTS', 'Item[id]', '3'), 1, 'nothing of it was deleted');
  assert.equal(await client.call('HDEL', 'Item[id]', ...asked), count + 1);
});

test('a value of megabytes comes back as it was, alone, in a list and in a block', async (context) => {
  const wire = await startWire(context);
  const client = await wire.open();
  await client.call('SELECT', 'test');
  const value = Array.from({ length: 150_000 }, (_, at) => `\r\n$${at}`).join('');
  assert.equal(await client.call('SET', 'big', value), '+OK');
  assert.equal(await client.call('GET', 'big'), value);
  assert.equal(await client.call('SET', 'big', `${value}.`, 'GET'), value);
  assert.equal(await client.call('ECHO', value), value);
  await client.call('MULTI');
  await client.call('GETDEL', 'big');
  assert.deepEqual(await client.call('EXEC'), [`${value}.`]);
  assert.equal(await client.call('GET', 'big'), null);
});
