import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemRuntime } from '#platform/system-runtime.ts';
import { encode, startWire, WireClient } from './wire-fixture.ts';

// What no client should send: lengths that lie, nesting, bytes of any kind, readers that do not read (redis.md 1.1).

const afterLogin: readonly (readonly [bytes: string, error: RegExp])[] = [
  ['*1048577\r\n', /invalid multibulk length/],
  ['*2147483647\r\n', /invalid multibulk length/],
  ['*99999999999999999999\r\n', /invalid multibulk length/],
  ['*x\r\n', /invalid multibulk length/],
  ['*1 \r\n', /invalid multibulk length/],
  ['*1\n', /invalid multibulk length/],
  [`*${'1'.repeat(65)}`, /invalid multibulk length/],
  ['*1\r\n$536870913\r\n', /invalid bulk length/],
  ['*1\r\n$x\r\n', /invalid bulk length/],
  ['*1\r\n$-2\r\n', /invalid bulk length/],
  ['*1\r\n$4\r\nPINGxx', /invalid bulk length/],
  [`*1\r\n$${'1'.repeat(65)}`, /invalid bulk length/],
  ['*2\r\n$3\r\nGET\r\n$-1\r\n', /unexpected null bulk string argument/],
  ['*1\r\n:1\r\n', /expected '\$', got ':'/],
  ['*1\r\n'.repeat(100_000), /expected '\$', got '\*'/],
  ['GET "unbalanced\r\n', /unbalanced quotes/],
  ['x'.repeat(70_000), /too big inline request/],
];

test('a request that cannot be read gets one error, then the connection is closed', async (context) => {
  const wire = await startWire(context);
  const bystander = await wire.open();
  for (const [bytes, error] of afterLogin) {
    const client = await wire.open();
    client.send(bytes);
    const rest = await client.ended();
    assert.match(rest, /^-ERR Protocol error: [^\r\n]*\r\n$/, bytes.slice(0, 40));
    assert.match(rest, error, bytes.slice(0, 40));
  }
  assert.equal(await bystander.call('PING'), '+PONG');
});

test('a stranger may say little', async (context) => {
  const wire = await startWire(context);
  for (const [bytes, error] of [
    ['*11\r\n', /unauthenticated multibulk length/],
    ['*2147483647\r\n', /invalid multibulk length/],
    ['*2\r\n$3\r\nGET\r\n$16385\r\n', /unauthenticated bulk length/],
    ['*1\r\n'.repeat(100_000), /expected '\$'/],
  ] as const) {
    const client = await wire.open(null);
    client.send(bytes);
    assert.match(await client.ended(), error);
  }
});

test('strangers are bounded in number and time', async (context) => {
  const wire = await startWire(context, {
    'network.maxPreAuthConnections': '3',
    'network.socketTimeout': '300',
  });
  const user = await wire.open();
  const strangers = await Promise.all([1, 2, 3].map(() => wire.open(null)));
  const refused = await wire.open(null);
  assert.match(await refused.ended(), /^-ERR max number of clients reached/);
  strangers[0]?.send('*1\r\n$4\r\nPI');
  for (const stranger of strangers) assert.equal(await stranger.ended(), '');
  assert.equal(await user.call('PING'), '+PONG');
  assert.equal(await (await wire.open()).call('PING'), '+PONG');
});

test('connections are bounded in number', async (context) => {
  const wire = await startWire(context, { 'redis.maxConnections': '2' });
  const first = await wire.open();
  await wire.open();
  const third = await WireClient.connect(wire.port);
  assert.match(await third.ended(), /^-ERR max number of clients reached/);
  assert.equal(await first.call('PING'), '+PONG');
});

test('a request that is too long is read past', async (context) => {
  const wire = await startWire(context, {
    'redis.maxRequestSize': '65536',
    'redis.transientMaxBytes': '10000',
  });
  const client = await wire.open();
  client.send(encode('SET', 'k', 'x'.repeat(70_000), 'y'.repeat(70_000)));
  client.send(encode('PING'));
  assert.match(String(await client.reply()), /^-ERR the request has more than 65536 bytes/);
  assert.equal(await client.reply(), '+PONG');
  assert.match(String(await client.call('SET', 'k', 'x'.repeat(20_000))), /transientMaxBytes/);
  await client.call('MULTI');
  for (let at = 0; at < 6; at += 1) await client.call('SET', 'k', 'x'.repeat(9_000));
  assert.match(String(await client.call('SET', 'k', 'x'.repeat(20_000))), /MULTI have more than/);
  assert.match(String(await client.call('EXEC')), /^-EXECABORT/);
  assert.equal(await client.call('EXISTS', 'k'), 0);
});

test('an error is one line, whatever was sent', async (context) => {
  const wire = await startWire(context);
  const client = await wire.open();
  for (const reply of [
    await client.call('NO\r\n+OK', 'a\r\nb'),
    await client.call('HGET', 'test.T\r\n[x]', 'y'),
    await client.call('SELECT', 'a\r\nb'),
    await client.call('CLIENT', 'a\r\n+b'),
    await client.call('SET', 'k', 'v', 'a\nb'),
    await client.call('HSET', 'test.T', Buffer.from([255, 254, 123])),
    await client.call(Buffer.from([0, 255])),
  ])
    assert.match(String(reply), /^-ERR /);
  assert.equal(await client.call('PING'), '+PONG');
});

test('a client that pipelines and reads nothing costs little, and gets all replies when it reads', async (context) => {
  const wire = await startWire(context, { 'redis.maxPendingBytes': '65536' });
  const client = await wire.open();
  await client.call('SET', 'big', 'x'.repeat(20_000));
  client.socket.pause();
  const count = 1_000;
  const requests = Buffer.concat(Array.from({ length: count }, () => encode('GET', 'big')));
  client.send(requests);
  const other = await wire.open();
  for (let at = 0; at < 50; at += 1) assert.equal(await other.call('PING'), '+PONG');
  assert.ok(wire.server.pendingBytes < 65_536 + 2 * 65_536 + 20_000, 'replies pile up');
  client.socket.resume();
  for (let at = 0; at < 50; at += 1) assert.equal(String(await client.reply()).length, 20_000);
  client.close();
});

test('many requests in one packet leave others their turn', async (context) => {
  const wire = await startWire(context);
  const client = await wire.open();
  const other = await wire.open();
  const count = 20_000;
  client.send(Buffer.concat(Array.from({ length: count }, () => encode('INCR', 'n'))));
  assert.equal(await other.call('PING'), '+PONG');
  for (let at = 1; at <= count; at += 1) assert.equal(await client.reply(), at);
});

test('a few words that ask for thousands of keys leave others their turn', async (context) => {
  const wire = await startWire(context);
  const client = await wire.open();
  const keys = Array.from({ length: 10_000 }, (_, at) => `key-${at}`);
  client.send(Buffer.concat(keys.map((key) => encode('SET', key, 'v'))));
  for (const _ of keys) assert.equal(await client.reply(), '+OK');
  const pauses = context.mock.method(systemRuntime.timers, 'yield').mock;
  const count = 40;
  client.socket.write('SCAN 0 COUNT 10000\r\n'.repeat(count));
  for (let at = 0; at < count; at += 1)
    assert.equal(((await client.reply()) as [string, string[]])[1].length, keys.length);
  assert.ok(pauses.callCount() > 0, 'all of them were answered in one turn');
});
