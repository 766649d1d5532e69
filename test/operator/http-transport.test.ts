import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { HttpTransport } from '../../operator/kubernetes/http-transport.ts';
import { KubernetesError } from '../../operator/kubernetes/kubernetes-error.ts';
import { RestClient } from '../../operator/kubernetes/rest-client.ts';
import { systemRuntime } from '../../operator/kubernetes/system-runtime.ts';
import { MemberHttp } from '../../operator/observe/member-http.ts';

// The real HTTP of the operator against a server on the loopback: one connection for many calls, watches line by line, errors
// that carry no secret.

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

async function withServer(
  answer: Answer,
  run: (client: RestClient, connections: () => number, port: number) => Promise<void>,
): Promise<void> {
  let connections = 0;
  const server = createServer(answer);
  server.on('connection', () => {
    connections++;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const transport = new HttpTransport({
    server: new URL(`http://127.0.0.1:${port}`),
    namespace: 'default',
    skipTlsVerify: false,
    authority: () => Promise.resolve(undefined),
    certificate: () => Promise.resolve(undefined),
    headers: () => Promise.resolve({ Authorization: 'Bearer very-secret' }),
  });
  try {
    await run(new RestClient({ transport }), () => connections, port);
  } finally {
    transport.close();
    server.closeAllConnections();
    server.close();
  }
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}

const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a', resourceVersion: '5' } };

test('calls share a connection', () =>
  withServer(
    (_request, response) => json(response, 200, pod),
    async (client, connections) => {
      for (let call = 0; call < 20; call++)
        await client.get({ kind: 'Pod', namespace: 'shop', name: 'a' });
      assert.equal(connections(), 1);
    },
  ));

test('a missing object is undefined, other refusals are errors with code and words', () =>
  withServer(
    (request, response) => {
      if (request.url?.includes('missing')) json(response, 404, { reason: 'NotFound' });
      else {
        response.setHeader('Retry-After', '3');
        json(response, 429, { reason: 'TooManyRequests', message: 'slow down' });
      }
    },
    async (client) => {
      assert.equal(
        await client.get({ kind: 'Pod', namespace: 'shop', name: 'missing' }),
        undefined,
      );
      await assert.rejects(client.get({ kind: 'Pod', namespace: 'shop', name: 'a' }), (error) => {
        assert.ok(error instanceof KubernetesError);
        assert.equal(error.code, 429);
        assert.equal(error.retryAfterMs, 3000);
        assert.equal(error.message, 'slow down');
        return true;
      });
    },
  ));

test('an apply says who applies and what', () =>
  withServer(
    (request, response) => {
      assert.equal(request.method, 'PATCH');
      assert.equal(request.url, '/api/v1/namespaces/shop/pods/a?fieldManager=me&force=true');
      assert.equal(request.headers['content-type'], 'application/apply-patch+yaml');
      json(response, 200, pod);
    },
    async (client) => {
      const object = { ...pod, metadata: { name: 'a', namespace: 'shop' } };
      await client.apply(object, { manager: 'me' });
    },
  ));

test('a watch gives its events, ends with the server, and fails when the connection breaks', () =>
  withServer(
    (request, response) => {
      const isBroken = request.url?.includes('broken');
      response.write(`${JSON.stringify({ type: 'ADDED', object: pod })}\n`);
      if (isBroken) response.write('{"type":', () => response.destroy());
      else response.end(`${JSON.stringify({ type: 'BOOKMARK', object: pod })}\n`);
    },
    async (client) => {
      const options = {
        resourceVersion: '1',
        timeoutSeconds: 60,
        signal: new AbortController().signal,
      };
      const types: string[] = [];
      for await (const event of client.watch('Pod', 'shop', options)) types.push(event.type);
      assert.deepEqual(types, ['ADDED', 'BOOKMARK']);
      await assert.rejects(async () => {
        for await (const event of client.watch('Pod', 'broken', options)) types.push(event.type);
      });
    },
  ));

test('an error without an answer names the call and no credentials', () =>
  withServer(
    (request) => request.socket.destroy(),
    async (client) => {
      await assert.rejects(client.get({ kind: 'Pod', namespace: 'shop', name: 'a' }), (error) => {
        assert.ok(error instanceof KubernetesError);
        assert.equal(error.code, 0);
        assert.match(error.message, /GET \/api\/v1\/namespaces\/shop\/pods\/a/);
        assert.doesNotMatch(JSON.stringify(error) + error.message, /secret/);
        return true;
      });
    },
  ));

test('members are reached over plain HTTP with a bounded wait', () =>
  withServer(
    (request, response) => {
      if (request.url === '/slow') return;
      // Begins, and says no more.
      if (request.url === '/stuck') response.writeHead(200).write('{');
      else response.writeHead(204).end();
    },
    async (_client, _connections, port) => {
      const members = new MemberHttp(systemRuntime.timers);
      const address = { host: '127.0.0.1', port };
      const request = { method: 'GET', headers: {} } as const;
      const ready = await members.send(address, {
        ...request,
        path: '/api/v1/ready',
        timeoutMs: 1000,
      });
      assert.equal(ready.status, 204);
      await assert.rejects(members.send(address, { ...request, path: '/slow', timeoutMs: 50 }));
      await assert.rejects(members.send(address, { ...request, path: '/stuck', timeoutMs: 50 }));
      members.close();
    },
  ));
