import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';

/** npm run demo beside a server that answers with this status; undefined: beside none. */
async function demo(context: TestContext, status: number | undefined) {
  const server = createServer((_, response) => response.writeHead(status ?? 500).end());
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  context.after(() => server.close());
  if (status === undefined) await new Promise((done) => server.close(done));
  const env = {
    ...process.env,
    POLYAD_URL: `http://127.0.0.1:${port}`,
    POLYAD_PASSWORD: 'a-password',
  };
  return new Promise<string>((resolve) => {
    execFile(process.execPath, ['e2e/demo/wordnet.ts'], { env }, (error, _, told) =>
      resolve(`${error?.code}: ${told.replaceAll(String(port), 'PORT')}`),
    );
  });
}

test('the demo without a server, or without the right password, ends with one sentence', async (context) => {
  assert.equal(
    await demo(context, undefined),
    '1: no server answers at http://127.0.0.1:PORT: start one by npm start, or set POLYAD_URL\n',
  );
  assert.equal(
    await demo(context, 403),
    '1: the server at http://127.0.0.1:PORT answered 403: is POLYAD_PASSWORD the root password?\n',
  );
});
