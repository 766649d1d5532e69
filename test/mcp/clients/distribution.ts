import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { basic } from '../../http/door-fixture.ts';

// A distribution that is built without the tool server (contract 2): the tree without its folder starts and answers 404.

test('a server without the folder of the tool server answers 404 on both paths', async (context) => {
  const project = resolve(import.meta.dirname, '../../..');
  const tree = mkdtempSync(join(tmpdir(), 'polyad-distribution-'));
  context.after(() => rmSync(tree, { recursive: true, force: true }));
  const absent = join(project, 'server/mcp');
  cpSync(join(project, 'server'), join(tree, 'server'), {
    recursive: true,
    filter: (path) => path !== absent,
  });
  cpSync(join(project, 'package.json'), join(tree, 'package.json'));
  symlinkSync(join(project, 'node_modules'), join(tree, 'node_modules'));
  const port = await freePort();
  const settings = {
    'service.server.rootPath': join(tree, 'data'),
    'service.server.rootPassword': 'root-password-1',
    'service.server.httpIncomingHost': '127.0.0.1',
    'service.server.httpIncomingPort': String(port),
  };
  const lines = Object.entries(settings).map(([key, value]) => `${key}=${value}`);
  const child = spawn(process.execPath, [join(tree, 'server/main.ts')], {
    env: {
      ...process.env,
      SERVICE_SETTINGS: lines.join(' '),
      NODE_COMPILE_CACHE: join(tree, 'cache'),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  context.after(() => child.kill('SIGKILL'));
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (piece) => {
      printed += String(piece);
    });
  const base = `http://127.0.0.1:${port}/api/v1`;
  let isReady = false;
  for (let attempt = 0; attempt < 300 && !isReady && child.exitCode === null; attempt++) {
    await new Promise((done) => setTimeout(done, 100));
    isReady = await fetch(`${base}/ready`).then(
      ({ status }) => status === 204,
      () => false,
    );
  }
  assert.ok(isReady, printed.slice(-2000));
  const headers = { authorization: basic('root', 'root-password-1') };
  const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
  for (const [method, path] of [
    ['POST', 'mcp'],
    ['GET', 'mcp'],
    ['GET', 'mcp/config'],
    ['POST', 'mcp/config'],
  ] as const) {
    const body = method === 'POST' ? ping : null;
    const answer = await fetch(`${base}/${path}`, { method, headers, body });
    assert.equal(answer.status, 404, `${method} ${path}`);
  }
});

function freePort(): Promise<number> {
  return new Promise((done) => {
    const server = createServer();
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => done(port));
    });
  });
}
