import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { ApiClient } from '#cli/api-client.ts';

test('a statement that met an election is sent again as often as the settings say, other requests are not', async (context) => {
  let refusals = 2;
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(String(request.url));
    request.resume();
    refusals -= 1;
    response.writeHead(refusals < 0 ? 200 : 503).end('{}');
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  context.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const url = new URL(`http://127.0.0.1:${port}`);
  const client = (count: number) =>
    new ApiClient({
      url,
      credentials: undefined,
      authority: undefined,
      repeats: { count, delayMs: 1 },
    });
  const ask = async (count: number, isRepeatable: boolean) => {
    refusals = 2;
    asked.length = 0;
    const request = { method: 'POST', path: '/command/x', body: '{}', isRepeatable } as const;
    const { status } = await client(count).send(request);
    return [status, asked.length];
  };
  assert.deepEqual(await ask(3, true), [200, 3]);
  assert.deepEqual(await ask(1, true), [503, 2]);
  assert.deepEqual(await ask(3, false), [503, 1]);
});
