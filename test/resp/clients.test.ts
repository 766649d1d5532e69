import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { Redis } from 'ioredis';
import { createClient, ErrorReply, WatchError } from 'redis';
import { startWire, type WireFixture } from './wire-fixture.ts';

// The clients that people use, with their default options: connecting, the ready check, pipelines, transactions, reconnecting.

async function withSchema(wire: WireFixture): Promise<void> {
  for (const statement of [
    'CREATE DOCUMENT TYPE Beer',
    'CREATE PROPERTY Beer.name STRING',
    'CREATE INDEX ON Beer (name) UNIQUE',
  ])
    await wire.data.run(statement);
}

for (const protocol of [undefined, 2] as const)
  test(`ioredis, protocol ${protocol ?? 'as it likes'}`, async (context) => {
    const wire = await startWire(context);
    await withSchema(wire);
    const client = new Redis({
      host: '127.0.0.1',
      port: wire.port,
      username: 'root',
      password: 'password',
      ...(protocol === undefined ? undefined : { protocol }),
    });
    context.after(() => client.disconnect());
    await once(client, 'ready');
    assert.equal(await client.set('k', 'grün'), 'OK');
    assert.equal(await client.get('k'), 'grün');
    assert.deepEqual(await client.getBuffer('k'), Buffer.from('grün'));
    assert.equal(await client.set('k', 'v', 'NX'), null);
    assert.equal(await client.incrby('n', 5), 5);
    assert.equal(await client.incrbyfloat('f', 0.5), '0.5');
    await assert.rejects(client.set('k', 'v', 'EX', 10), /transient keys have no expiry/);
    assert.deepEqual(await client.pipeline().set('a', '1').incr('a').get('gone').exec(), [
      [null, 'OK'],
      [null, 2],
      [null, null],
    ]);
    assert.deepEqual(await client.multi().incr('a').get('a').exec(), [
      [null, 3],
      [null, '3'],
    ]);
    const many = await Promise.all(Array.from({ length: 500 }, () => client.incr('many')));
    assert.deepEqual(
      many,
      Array.from({ length: 500 }, (_, at) => at + 1),
    );
    assert.equal(await client.hset('test.Beer', '{"name":"Ale","abv":5.5}'), 1);
    const beer = JSON.parse((await client.hget('test.Beer[name]', 'Ale')) ?? 'null');
    assert.equal(beer.abv, 5.5);
    const [ale, none] = await client.hmget('test.Beer[name]', 'Ale', 'Stout');
    assert.equal(JSON.parse(ale ?? 'null').name, 'Ale');
    assert.equal(none, null);
    assert.equal(await client.hdel('test.Beer[name]', 'Ale', 'Stout'), 1);
    assert.equal(await client.call('SELECT', 'test'), 'OK');
    const gone = once(client, 'close');
    await wire.restart();
    await gone;
    await once(client, 'ready');
    assert.equal(await client.get('n'), '5');
    assert.equal(await client.quit(), 'OK');
  });

for (const RESP of [undefined, 2] as const)
  test(`node-redis, RESP ${RESP ?? 'as it likes'}`, async (context) => {
    const wire = await startWire(context);
    await withSchema(wire);
    const client = createClient({
      url: `redis://root:password@127.0.0.1:${wire.port}`,
      ...(RESP === undefined ? undefined : { RESP }),
    });
    client.on('error', () => {});
    context.after(() => client.destroy());
    await client.connect();
    assert.equal(await client.ping(), 'PONG');
    assert.equal(await client.set('k', 'grün'), 'OK');
    assert.equal(await client.get('k'), 'grün');
    assert.equal(await client.set('k', 'v', { condition: 'NX' }), null);
    assert.equal(await client.incr('n'), 1);
    await assert.rejects(
      client.set('k', 'v', { expiration: { type: 'EX', value: 10 } }),
      (error: unknown) => error instanceof ErrorReply && /no expiry/.test(error.message),
    );
    assert.deepEqual(await Promise.all([client.incr('n'), client.incr('n'), client.get('n')]), [
      2,
      3,
      '3',
    ]);
    assert.deepEqual(await client.multi().set('m', '1').incr('m').get('gone').exec(), [
      'OK',
      2,
      null,
    ]);
    await client.watch('m');
    await client.sendCommand(['INCR', 'm']);
    await assert.rejects(client.multi().incr('m').exec(), WatchError);
    assert.equal(await client.sendCommand(['HSET', 'test.Beer', '{"name":"Ale"}']), 1);
    const beer = JSON.parse((await client.hGet('test.Beer[name]', 'Ale')) ?? 'null');
    assert.equal(beer['@type'], 'Beer');
    assert.equal(await client.hDel('test.Beer[name]', 'Ale'), 1);
    // The error of the lost connection would end `once`.
    const ready = new Promise((resolve) => client.once('ready', resolve));
    await wire.restart();
    await ready;
    assert.equal(await client.get('n'), '3');
    const wrong = createClient({
      url: `redis://root:wrong@127.0.0.1:${wire.port}`,
      socket: { reconnectStrategy: false },
    });
    wrong.on('error', () => {});
    await assert.rejects(wrong.connect(), /WRONGPASS/);
  });

test('redis-cli, where it is installed', async (context) => {
  if (spawnSync('redis-cli', ['--version']).error !== undefined)
    return context.skip('not installed');
  const wire = await startWire(context);
  const { spawn } = await import('node:child_process');
  const run = async (input: string, ...more: string[]): Promise<string> => {
    const line = [
      '-p',
      String(wire.port),
      '--user',
      'root',
      '--pass',
      'password',
      '--no-auth-warning',
    ];
    const child = spawn('redis-cli', [...line, ...more], { stdio: ['pipe', 'pipe', 'ignore'] });
    child.stdin.end(input);
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
    });
    await once(child, 'close');
    return output;
  };
  assert.equal(await run('SET k "a b"\nGET k\nINCR n\nGET gone\n'), 'OK\na b\n1\n\n');
  assert.equal(await run('', '-3', 'GET', 'k'), 'a b\n');
  assert.match(await run('', 'INFO'), /redis_mode:standalone/);
});
