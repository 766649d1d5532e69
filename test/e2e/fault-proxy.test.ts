import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { startFaultProxy } from '../../e2e/steps/fault-proxy.ts';

test('of mixed faults no two in a row meet the lease, others as chance will have it', async (context) => {
  const upstream = createServer((_, response) => void response.end('{}'));
  await new Promise<void>((listening) => {
    upstream.listen(0, '127.0.0.1', listening);
  });
  const { port } = upstream.address() as AddressInfo;
  const options = { upstream: `http://127.0.0.1:${port}`, port: 0, random: () => 0 };
  const proxy = await startFaultProxy(options);
  context.after(() => {
    proxy.close();
    upstream.close();
  });
  const statusOf = async (path: string) =>
    (await fetch(`http://127.0.0.1:${proxy.port}${path}`)).status;
  const lease = '/apis/coordination.k8s.io/v1/namespaces/n/leases/operator';
  assert.equal(await statusOf(lease), 200);
  proxy.set('mixed');
  const found: number[] = [];
  for (const path of [lease, '/api/v1/pods', lease, '/api/v1/pods', lease, lease])
    found.push(await statusOf(path));
  assert.deepEqual(found, [429, 429, 200, 429, 429, 200]);
});
