import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseJson } from '#core/value/json-value.ts';
import type { ValueMap } from '#core/value/value.ts';
import { mcpDoor } from '#mcp/http-routes.ts';
import { ConfigurationFile } from '#mcp/policy/configuration-file.ts';
import { startCluster } from '../cluster/support/scripted-cluster.ts';

test('server_status tells who leads a cluster, where administration is allowed', async (context) => {
  const directory = mkdtempSync(join(tmpdir(), 'polyad-mcp-'));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  const configuration = new ConfigurationFile(directory, { isAlwaysEnabled: true });
  const cluster = await startCluster(context, 3, {}, () => mcpDoor(configuration));
  const statusAt = async (place: number) => {
    const params = { name: 'server_status' };
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
    const answer = await cluster.door(place).ask('POST', 'mcp', { body: JSON.stringify(body) });
    const { result } = answer.body as { result: { content: readonly [{ text: string }] } };
    return JSON.parse(result.content[0].text);
  };
  assert.equal('ha' in (await statusAt(0)), false, 'administration is not allowed');
  await configuration.update(parseJson('{"allowAdmin":true}') as ValueMap);
  const led = { clusterName: 'service', leader: 'Service_0', replicas: ['Service_1', 'Service_2'] };
  assert.deepEqual((await statusAt(0)).ha, led);
  assert.deepEqual((await statusAt(2)).ha, led, 'a follower tells the same');
  cluster.elect(undefined);
  const { leader, replicas } = (await statusAt(1)).ha;
  assert.deepEqual([leader, replicas.length], [null, 3]);
});
