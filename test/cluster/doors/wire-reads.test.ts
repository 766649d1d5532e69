import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { KeyValueStore } from '#database/key-value/key-value-store.ts';
import { mcpDoor } from '#mcp/http-routes.ts';
import { ConfigurationFile } from '#mcp/policy/configuration-file.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import { RedisServer } from '#resp/server.ts';
import { SocketServer } from '#websocket/socket-server.ts';
import { basic } from '../../http/door-fixture.ts';
import { rowBatch } from '../../http/fake-databases.ts';
import { WireClient } from '../../resp/wire-fixture.ts';
import { TestClient } from '../../websocket/socket-fixture.ts';
import { startCluster } from '../support/scripted-cluster.ts';

// Doors beside HTTP know no headers of a state: what they read is as new as `service.ha.readConsistency` says (ha.md 7.1).

async function started(context: TestContext, level: string) {
  const directory = mkdtempSync(join(tmpdir(), 'polyad-level-'));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  const configuration = new ConfigurationFile(directory, { isAlwaysEnabled: true });
  const wires: RedisServer[] = [];
  const settings = {
    'ha.readConsistency': level,
    'redis.host': '127.0.0.1',
    'redis.port': '0',
  };
  const cluster = await startCluster(
    context,
    2,
    settings,
    () => mcpDoor(configuration),
    (parts, server) => {
      const sockets = new SocketServer({ ...parts, runtime: systemRuntime });
      server.mountUpgrade('/ws', (upgrade) => sockets.accept(upgrade));
      const store = new KeyValueStore({
        bytesMax: () => 1e6,
        isDatabase: (name) => name === 'school',
      });
      const wire = new RedisServer({ ...parts, tls: undefined, store, runtime: systemRuntime });
      wires.push(wire);
      context.after(async () => {
        await sockets.close(0);
        await wire.close(0);
      });
    },
  );
  for (const { databases } of cluster.doors)
    for (const text of ['HGET #1:1', 'HDEL #1:1', 'MULTI HGET #1:1'])
      databases.behaviours.set(text, { complete: rowBatch(0, 1) });
  const ports = await Promise.all(wires.map((wire) => wire.listen()));
  const open = async (place: number) => {
    const client = await WireClient.connect(ports[place] ?? 0);
    context.after(() => client.close());
    await client.call('HELLO', '2', 'AUTH', 'root', 'password');
    return client;
  };
  return { cluster, open };
}

const refusal = /^-TRYAGAIN .*no quorum answered/;

test('the wire of redis selects, reads and changes records in the state that the server promises', async (context) => {
  const { cluster, open } = await started(context, 'linearizable');
  for (const place of [0, 1]) {
    const server = cluster.server(place);
    const client = await open(place);
    const rounds = async (...words: string[]) => {
      const before = server.roundCount;
      const reply = await client.call(...words);
      return [reply, server.roundCount - before];
    };
    assert.deepEqual(await rounds('SELECT', 'school'), ['+OK', 1], `server ${place}`);
    assert.deepEqual((await rounds('HGET', '#1:1'))[1], 1);
    assert.deepEqual(
      (await rounds('HDEL', '#1:1'))[1],
      1,
      'a change that finds nothing reads, too',
    );
    await client.call('MULTI');
    assert.deepEqual(await rounds('HGET', '#1:1'), ['+QUEUED', 0]);
    assert.equal((await rounds('EXEC'))[1], 1);
    assert.deepEqual(await rounds('SET', 'a', '1'), ['+OK', 0], 'keys in memory are of one server');
    const seenCount = cluster.door(place).databases.seen.length;
    server.roundIndex = undefined;
    for (const words of [
      ['SELECT', 'school'],
      ['HGET', '#1:1'],
      ['HDEL', '#1:1'],
    ])
      assert.match(String(await client.call(...words)), refusal);
    assert.equal(await client.call('GET', 'a'), '1');
    await client.call('MULTI');
    await client.call('HGET', '#1:1');
    assert.match(String(await client.call('EXEC')), refusal);
    assert.equal(cluster.door(place).databases.seen.length, seenCount, 'nothing was read');
    server.roundIndex = 6;
    const waiting = client.call('HGET', '#1:1');
    setTimeout(() => server.apply(6), 30);
    assert.doesNotMatch(String(await waiting), /TRYAGAIN/);
    assert.equal(server.applied, 6);
    server.roundIndex = 5;
  }
});

test('at the other levels the wire waits for nobody', async (context) => {
  const { cluster, open } = await started(context, 'read_your_writes');
  const client = await open(1);
  cluster.server(1).roundIndex = undefined;
  assert.equal(await client.call('SELECT', 'school'), '+OK');
  assert.doesNotMatch(String(await client.call('HGET', '#1:1')), /TRYAGAIN/);
  assert.equal(cluster.server(1).roundCount, 0);
});

test('tools of agents read in the state that the server promises', async (context) => {
  const { cluster } = await started(context, 'linearizable');
  const body = { jsonrpc: '2.0', id: 1, method: 'resources/list' };
  for (const place of [0, 1]) {
    const server = cluster.server(place);
    server.roundCount = 0;
    assert.equal((await cluster.door(place).ask('POST', 'mcp', { body })).status, 200);
    assert.equal(server.roundCount, 1, `server ${place}`);
    server.roundIndex = undefined;
    assert.equal((await cluster.door(place).ask('POST', 'mcp', { body })).status, 503);
    const headers = { 'x-service-read-consistency': 'eventual' };
    assert.equal((await cluster.door(place).ask('POST', 'mcp', { body, headers })).status, 200);
  }
});

test('a streamed insert begins in the state that the server promises, as a session does', async (context) => {
  const { cluster } = await started(context, 'linearizable');
  const server = cluster.server(0);
  cluster.door(0).databases.insertStream = () => ({
    apply: () => Promise.reject(new Error('not scripted')),
    commit: async () => {},
    rollback: () => {},
  });
  const client = await TestClient.open(cluster.door(0).port, basic('root'));
  context.after(() => client.socket.terminate());
  const start = { action: 'start', database: 'school', options: { targetType: 'Person' } };
  server.roundIndex = undefined;
  const refused = await client.ask(start);
  assert.equal(refused['action'], 'error', JSON.stringify(refused));
  assert.equal(refused['exception'], 'QuorumNotReachedException');
  server.roundIndex = 5;
  assert.equal((await client.ask(start))['action'], 'started');
  assert.equal(server.roundCount, 2);
});
