import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createSecureContext } from 'node:tls';
import type { SecureContext } from 'node:tls';
import type { HttpRequest } from '../../../operator/kubernetes/port.ts';
import type { SimulatedWorld } from './simulated-world.ts';

/** The simulated control plane and its members on real loopback sockets, for an operator in a process of its own. */
export interface HttpFront {
  readonly apiPort: number;
  readonly memberPort: number;
  /** Of the same members over TLS, with the certificates of their Clusters. */
  readonly secureMemberPort: number;
  /** Told of each request to a member, and of its address. */
  onQuestion: (path: string, host: string) => void;
  close(): void;
}

export async function serveWorld(world: SimulatedWorld): Promise<HttpFront> {
  world.controllers.addressPrefix = '127.1.';
  const api = createServer((request, response) => {
    answerApi(world, request, response).catch(() => response.destroy());
  });
  const asked = (request: IncomingMessage, response: ServerResponse) => {
    front.onQuestion(request.url ?? '', request.socket.localAddress ?? '');
    answerMember(world, request, response).catch(() => response.destroy());
  };
  const members = createServer(asked);
  const contexts = new Map<string, SecureContext>();
  const secureMembers = createSecureServer(
    {
      SNICallback: (host, done) => {
        const [, cluster = ''] = host.split('.');
        const context = contexts.get(cluster) ?? contextOf(world, cluster);
        contexts.set(cluster, context);
        done(null, context);
      },
    },
    asked,
  );
  const front = {
    apiPort: 0,
    memberPort: 0,
    secureMemberPort: 0,
    onQuestion: (_path: string, _host: string) => {},
    close: () => {
      for (const server of [api, members, secureMembers]) {
        server.closeAllConnections();
        server.close();
      }
    },
  };
  const apiPort = await listen(api, '127.0.0.1');
  const memberPort = await listen(members, '0.0.0.0');
  const secureMemberPort = await listen(secureMembers, '0.0.0.0');
  Object.assign(front, { apiPort, memberPort, secureMemberPort });
  return front;
}

function listen(server: Server, host: string): Promise<number> {
  return new Promise((listening) => {
    server.listen(0, host, () => listening((server.address() as AddressInfo).port));
  });
}

/** What the members of a Cluster show. */
function contextOf(world: SimulatedWorld, cluster: string): SecureContext {
  const { data = {} } = world.api.find('Secret', `${cluster}-tls`) ?? {};
  const textOf = (key: string) => Buffer.from(data[key] ?? '', 'base64').toString('utf8');
  return createSecureContext({ cert: textOf('tls.crt'), key: textOf('tls.key') });
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of request) body += String(chunk);
  return body;
}

async function answerApi(
  world: SimulatedWorld,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = await bodyOf(request);
  const path = request.url ?? '/';
  const sent: HttpRequest = {
    method: request.method as HttpRequest['method'],
    path,
    timeoutMs: 0,
    contentType: request.headers['content-type'] ?? '',
    ...(body === '' ? undefined : { body }),
  };
  if (!path.includes('watch=true')) {
    const answer = await world.api.send(sent);
    response.writeHead(answer.status, { 'Content-Type': 'application/json' }).end(answer.body);
    return;
  }
  const ended = new AbortController();
  response.on('close', () => ended.abort());
  const stream = await world.api.stream({ ...sent, signal: ended.signal });
  response.writeHead(stream.status);
  response.flushHeaders();
  for await (const line of stream.lines) response.write(`${line}\n`);
  response.end();
}

async function answerMember(
  world: SimulatedWorld,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = await bodyOf(request);
  const host = request.socket.localAddress ?? '';
  const answer = await world.members.send(
    { host, port: 0 },
    {
      method: request.method as 'GET',
      path: request.url ?? '/',
      headers: { Authorization: request.headers.authorization ?? '' },
      timeoutMs: 0,
      ...(body === '' ? undefined : { body }),
    },
  );
  response.writeHead(answer.status).end(answer.body === '' ? undefined : answer.body);
}
