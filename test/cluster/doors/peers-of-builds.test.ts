import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clusterToken, startCluster } from '../support/scripted-cluster.ts';

// What servers ask of each other before they rely on it: the features of a build (ha.md 16), the digests of a copy (9.3).

test('a new member that lacks what the cluster uses is refused by name; one that tells nothing is let in', async (context) => {
  const cluster = await startCluster(context);
  const left = cluster.members.pop();
  assert.ok(left);
  const used: string[] = [];
  cluster.server(0).features = { active: () => used, activate: () => Promise.resolve() };
  const add = async (peerId: string, port: number) => {
    const body = { peerId, address: `${peerId.replace('_', ':')}:${port}` };
    return cluster.door(0).ask('POST', 'cluster/peer', { body });
  };
  used.push('greeting');
  const refused = await add(left.id, cluster.door(2).port);
  assert.equal(refused.status, 409, refused.text);
  assert.match(
    String(refused.body['error']),
    new RegExp(`^Peer ${left.id} runs version .*, which lacks 'greeting'; the cluster uses it`),
  );
  // Known to nobody yet, at the address that the request names, where another one answers.
  assert.equal((await add('127.0.0.1_7009', cluster.door(2).port)).status, 200);
  await cluster.door(2).server.close();
  assert.equal((await add(left.id, cluster.door(2).port)).status, 200);
  used.pop();
  assert.equal((await add(left.id, 1)).status, 200);
});

test('digests of a copy are told to servers, at the index of a mark', async (context) => {
  const cluster = await startCluster(context);
  for (const server of cluster.servers)
    server.verifier = {
      mark: async (database) => ({ verifyId: database, index: 5 }),
      result: (database) => ({
        database,
        index: 5,
        files: [{ name: 'Person_0.bucket', checksum: 'c0', size: 1, type: 'bucket' }],
      }),
    };
  const asked = { user: null, headers: { 'x-service-cluster-token': clusterToken } };
  const path = 'ha/snapshot/school/checksums';
  assert.deepEqual((await cluster.door(0).ask('GET', path, asked)).body, {
    algorithm: 'sha256',
    appliedIndex: 5,
    files: { 'Person_0.bucket': 'c0' },
  });
  assert.equal((await cluster.door(0).ask('GET', path)).status, 401);
  assert.equal((await cluster.door(1).ask('GET', path, asked)).status, 409);
  const unknown = await cluster.door(0).ask('GET', path.replace('school', 'none'), asked);
  assert.equal(unknown.status, 404);
});
