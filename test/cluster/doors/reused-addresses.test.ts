import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { rowBatch } from '../../http/fake-databases.ts';
import { startDoor } from '../../http/door-fixture.ts';
import { clusterToken, type ScriptedCluster, startCluster } from '../support/scripted-cluster.ts';

// The address of a server that ended is another server's for a while, as when pods are replaced: a name is looked up too late.

const write = { isWrite: true, complete: rowBatch(0, 1) };
const body = { language: 'sql', command: 'write' };

/** The leader's door is reached by a port whose first connection ends at a stranger, and stays there. */
async function misleadOnce(
  context: TestContext,
  cluster: ScriptedCluster,
  stranger: number,
): Promise<{ readonly count: () => number }> {
  let count = 0;
  const leader = cluster.door(0).port;
  const proxy = createServer((socket) => {
    count += 1;
    const to = connect(count === 1 ? stranger : leader, '127.0.0.1');
    socket.pipe(to).pipe(socket);
    for (const side of [socket, to]) side.on('error', () => {});
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  context.after(() => proxy.close());
  const [first] = cluster.declared;
  assert.ok(first);
  cluster.declared[0] = { ...first, http: (proxy.address() as AddressInfo).port };
  for (const { databases } of cluster.doors) databases.behaviours.set('write', write);
  return { count: () => count };
}

test('a write that reaches another member is not executed there, and goes to the leader on a new connection', async (context) => {
  const cluster = await startCluster(context);
  const proxy = await misleadOnce(context, cluster, cluster.door(2).port);
  const answer = await cluster.door(1).ask('POST', 'command/school', { body });
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(
    cluster.doors.map(({ databases }) => databases.seen.length),
    [1, 0, 0],
  );
  assert.equal(proxy.count(), 2, 'the connection to the other one was given up');
});

test('a server that belongs to nobody refuses it, and the client hears nothing of that', async (context) => {
  const cluster = await startCluster(context);
  const stranger = await startDoor(context);
  stranger.databases.behaviours.set('write', write);
  const proxy = await misleadOnce(context, cluster, stranger.port);
  const answer = await cluster.door(1).ask('POST', 'command/school', { body });
  assert.equal(answer.status, 200, answer.text);
  assert.equal(cluster.door(0).databases.seen.length, 1);
  assert.equal(stranger.databases.seen.length, 0);
  assert.equal(proxy.count(), 2);
});

test('a leader that stays away behind the address of another one is told as such', async (context) => {
  const cluster = await startCluster(context, 3, { 'ha.forwardLeaderWaitTimeoutMs': '200' });
  const { port } = cluster.door(2);
  const [first] = cluster.declared;
  const third = cluster.declared.pop();
  assert.ok(first && third);
  cluster.declared[0] = { ...first, http: port };
  cluster.declared.push({ ...third, http: port + 1 });
  cluster.door(2).databases.behaviours.set('write', write);
  cluster.door(1).databases.behaviours.set('write', write);
  const answer = await cluster.door(1).ask('POST', 'command/school', { body });
  assert.equal(answer.status, 503, answer.text);
  assert.match(answer.text, new RegExp(`127.0.0.1:${port} is not server '${first.id}'`));
  assert.equal(cluster.door(2).databases.seen.length, 0);
});

test('a call between servers that names another one is 421, whatever token it shows', async (context) => {
  const cluster = await startCluster(context);
  const own = cluster.server(1).id;
  for (const [token, addressee, status] of [
    [clusterToken, cluster.server(2).id, 421],
    ['of another cluster', cluster.server(2).id, 421],
    ['of another cluster', own, 403],
  ] as const) {
    const headers = { 'x-service-cluster-token': token, 'x-service-forwarded-to': addressee };
    const answer = await cluster.door(1).ask('GET', 'cluster', { headers, user: '' });
    assert.equal(answer.status, status, answer.text);
    assert.equal(answer.headers['x-service-not-executed'], status === 421 ? '1' : undefined);
  }
});
