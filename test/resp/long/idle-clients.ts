import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { HttpClient, quickStart, startServer } from '../../support/server-process.ts';

// 500 idle clients and 500 half-sent requests at each of the doors for agents and keys: others are served meanwhile, and memory
// comes back. Too long for the quick suite: `npm run long`.

const clientCount = 500;
const password = 'idle-password';
const authorization = `Basic ${Buffer.from(`root:${password}`).toString('base64')}`;
/** What 2,000 connections may take: 32 KiB each for the sockets of node and what they sent. */
const grownMbMax = 64;

function residentMb(pid: number): number {
  const line = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(line?.[1] ?? 0) / 1024;
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  return typeof address === 'object' && address ? address.port : 0;
}

async function open(context: TestContext, port: number, said: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  context.after(() => socket.destroy());
  await once(socket, 'connect');
  socket.on('error', () => {});
  if (said !== '') socket.write(said);
  return socket;
}

/** One request by itself on the wire. */
async function ask(socket: Socket, request: string): Promise<string> {
  socket.write(request);
  const [answer] = (await once(socket, 'data')) as [Buffer];
  return answer.toString();
}

test('clients that say nothing, or half of it, cost little and keep nobody from being served', async (context) => {
  const rootPath = mkdtempSync(join(tmpdir(), 'polyad-idle-'));
  const wirePort = await freePort();
  const server = await startServer({
    rootPath,
    rootPassword: password,
    environment: quickStart,
    settings: {
      'service.server.plugins': 'redis:redis',
      'service.redis.host': '127.0.0.1',
      'service.redis.port': String(wirePort),
      'service.network.maxPreAuthConnections': '2000',
    },
  });
  context.after(async () => {
    await server.kill();
    rmSync(rootPath, { recursive: true, force: true });
  });
  const pid = server.child.pid ?? 0;
  const root = new HttpClient(server.port, 'root', password);
  await root.server('create database d');
  await root.request('POST', '/mcp/config', { enabled: true, allowedUsers: ['root'] });
  const login = `*3\r\n$4\r\nAUTH\r\n$4\r\nroot\r\n$${password.length}\r\n${password}\r\n`;
  const user = await open(context, wirePort, '');
  assert.equal(await ask(user, login), '+OK\r\n');
  const before = residentMb(pid);
  const half = [
    `POST /api/v1/mcp HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"jsonrpc":`,
    'POST /api/v1/mcp HTTP/1.1\r\nHost: x\r\nAuthor',
  ];
  const clients: Socket[] = [];
  for (let at = 0; at < clientCount; at += 1) {
    clients.push(await open(context, wirePort, ''));
    clients.push(await open(context, wirePort, '*2\r\n$3\r\nGET\r\n$5\r\nab'));
    clients.push(await open(context, server.port, ''));
    clients.push(await open(context, server.port, half[at % half.length] ?? ''));
    if (at % 50 !== 0) continue;
    assert.equal(await ask(user, '*1\r\n$4\r\nPING\r\n'), '+PONG\r\n');
    assert.equal((await root.request('GET', '/health')).status, 204);
    const called = await root.request('POST', '/mcp', {
      jsonrpc: '2.0',
      id: at,
      method: 'tools/call',
      params: { name: 'list_databases', arguments: {} },
    });
    assert.match(JSON.stringify(called.body), /"isError":false/);
  }
  const grown = residentMb(pid) - before;
  assert.ok(grown < grownMbMax, `${clients.length} clients took ${grown.toFixed(0)} MB`);
  for (const client of clients) client.destroy();
  assert.equal(await ask(user, '*1\r\n$4\r\nPING\r\n'), '+PONG\r\n');
  const [answer] = (await root.sql('d', 'SELECT 1 AS one')) as readonly { one: number }[];
  assert.equal(answer?.one, 1);
});
