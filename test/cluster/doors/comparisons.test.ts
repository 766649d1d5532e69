import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startCluster } from '../support/scripted-cluster.ts';

// Comparisons of a database between servers, as people ask for them (ha.md 11.3).

test('align database compares, and has the members that differ fetch it anew', async (context) => {
  const cluster = await startCluster(context);
  const fetched: string[] = [];
  for (const [place, server] of cluster.servers.entries()) {
    const name = 'Person_0.bucket';
    const files = [{ name, checksum: place === 2 ? 'other' : 'same', size: 1, type: 'bucket' }];
    server.verifier = {
      mark: async () => ({ verifyId: 'v', index: 5 }),
      result: () => ({ database: 'school', index: 5, files }),
    };
    server.resync = async (database) => void fetched.push(`${server.serverName} ${database}`);
  }
  const body = { command: 'align database school' };
  const answer = await cluster.door(1).ask('POST', 'server', { body });
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(fetched, ['Service_2 school']);
  const servers = answer.body['servers'] as { peerId: string; status: string }[];
  assert.deepEqual(
    servers.map(({ status }) => status),
    ['CONSISTENT', 'RESYNC_STARTED'],
  );
  assert.equal(answer.body['overallStatus'], 'INCONSISTENCY_DETECTED');
});

test('a server whose copy is being installed compares nothing: 409, and another one compares on', async (context) => {
  const cluster = await startCluster(context);
  for (const server of cluster.servers)
    server.verifier = {
      mark: async () => ({ verifyId: 'v', index: 5 }),
      result: () => ({ database: 'school', index: 5, files: [] }),
    };
  const late = cluster.servers[1];
  assert.ok(late);
  late.shown = [{ name: 'school', status: 'INSTALLING' }];
  const refused = await cluster.door(1).ask('POST', 'cluster/verify/school');
  assert.equal(refused.status, 409, refused.text);
  assert.equal(refused.body['error'], "Database 'school' is being installed on this server");
  assert.equal((await cluster.door(0).ask('POST', 'cluster/verify/school')).status, 200);
});
