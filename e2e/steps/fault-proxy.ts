import { readFileSync, writeFileSync } from 'node:fs';
import * as http from 'node:http';
import * as https from 'node:https';
import type { AddressInfo, Socket } from 'node:net';

/*
 * Stands between the operator and the API server and does what networks and busy API servers do (scenario F13). Loads nothing
 * but Node and runs as one file, so that it can lie in a ConfigMap and run beside the operator in its pod. It brings the
 * credentials of the pod along, so the operator reaches it without any.
 */

export const faults = ['none', '429', '500', '503', '410', 'cut', 'slow', 'mixed'] as const;
export type Fault = (typeof faults)[number];

export interface FaultProxyOptions {
  readonly upstream: string;
  readonly port: number;
  /** Read anew for each request, as tokens are renewed. */
  readonly tokenFile?: string | undefined;
  readonly caFile?: string | undefined;
  readonly slowMs?: number;
  /** At least 0, less than 1; which fault a request of `mixed` gets. */
  readonly random?: () => number;
  /** Told of each request with the status that the client got; 0: none. */
  readonly onRequest?: (call: { method: string; path: string; status: number }) => void;
}

export interface FaultProxy {
  readonly port: number;
  set(fault: Fault): void;
  close(): void;
}

const reasons: Readonly<Record<string, string>> = {
  '410': 'Expired',
  '429': 'TooManyRequests',
  '500': 'InternalError',
  '503': 'ServiceUnavailable',
};

function statusOf(code: string): string {
  const [kind, apiVersion, status] = ['Status', 'v1', 'Failure'];
  const reason = reasons[code] ?? '';
  const message = 'a fault on purpose';
  return JSON.stringify({ kind, apiVersion, status, reason, message, code: Number(code) });
}

const expiredEvent = `{"type":"ERROR","object":${statusOf('410')}}\n`;

/** Listens on loopback. @throws Error when the port is taken */
export async function startFaultProxy(options: FaultProxyOptions): Promise<FaultProxy> {
  const sockets = new Set<Socket>();
  const watches = new Set<http.ServerResponse>();
  const random = options.random ?? Math.random;
  let present: Fault = 'none';
  let hasHitLease = false;
  const faultFor = ({ url = '' }: http.IncomingMessage): Fault => {
    if (present !== 'mixed') return present;
    // One request in five, and never two for the lease in a row: on a busy machine it would be lost by chance, and an operator
    // without it ends as it should.
    const chosen = Math.floor(random() * 30);
    const fault = (['429', '500', '503', '410', 'cut', 'slow'] as const)[chosen] ?? 'none';
    if (!url.includes('/leases/')) return fault;
    hasHitLease = fault !== 'none' && !hasHitLease;
    return hasHitLease ? fault : 'none';
  };
  const server = http.createServer((request, response) => {
    answer(faultFor(request), request, response, { options, watches });
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((listening, failed) => {
    server.once('error', failed);
    server.listen(options.port, '127.0.0.1', listening);
  });
  const cutAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    set(fault) {
      present = fault;
      if (fault === 'cut') cutAll();
      // The API server says so in the stream, and ends it.
      if (fault === '410') for (const watch of watches) watch.end(expiredEvent);
    },
    close() {
      cutAll();
      server.close();
    },
  };
}

interface Shared {
  readonly options: FaultProxyOptions;
  readonly watches: Set<http.ServerResponse>;
}

function answer(
  fault: Fault,
  request: http.IncomingMessage,
  response: http.ServerResponse,
  shared: Shared,
): void {
  const path = request.url ?? '/';
  const isWatch = path.includes('watch=true');
  const note = (status: number): void =>
    shared.options.onRequest?.({ method: request.method ?? '', path, status });
  if (fault === 'cut') {
    note(0);
    request.socket.destroy();
  } else if (fault === '410' && isWatch) {
    note(410);
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(expiredEvent);
  } else if (fault === '429' || fault === '500' || fault === '503') {
    note(Number(fault));
    const wait = fault === '500' ? {} : { 'Retry-After': '1' };
    request.resume();
    response.writeHead(Number(fault), { 'Content-Type': 'application/json', ...wait });
    response.end(statusOf(fault));
  } else if (fault === 'slow') {
    setTimeout(() => pass(request, response, shared, note), shared.options.slowMs ?? 2000);
  } else pass(request, response, shared, note);
}

function pass(
  request: http.IncomingMessage,
  response: http.ServerResponse,
  { options, watches }: Shared,
  note: (status: number) => void,
): void {
  const target = new URL(request.url ?? '/', options.upstream);
  const send = target.protocol === 'https:' ? https.request : http.request;
  const { host: _, connection: __, ...headers } = request.headers;
  const token = options.tokenFile && readFileSync(options.tokenFile, 'utf8').trim();
  const upstream = send(
    target,
    {
      method: request.method ?? 'GET',
      headers: { ...headers, ...(token && { authorization: `Bearer ${token}` }) },
      ...(options.caFile && { ca: readFileSync(options.caFile) }),
    },
    (message) => {
      note(message.statusCode ?? 0);
      if (target.searchParams.get('watch') === 'true') {
        watches.add(response);
        response.once('close', () => watches.delete(response));
      }
      response.writeHead(message.statusCode ?? 502, message.headers);
      response.flushHeaders();
      message.pipe(response);
      // A stream that broke off must not look complete to the client.
      message.once('aborted', () => response.destroy());
    },
  );
  upstream.once('error', () => response.destroy());
  response.once('close', () => upstream.destroy());
  request.pipe(upstream);
}

async function main(): Promise<void> {
  const {
    UPSTREAM = '',
    PORT = '8001',
    TOKEN_FILE,
    CA_FILE,
    FAULT_FILE = '/tmp/fault',
  } = process.env;
  writeFileSync(FAULT_FILE, 'none');
  const proxy = await startFaultProxy({
    upstream: UPSTREAM,
    port: Number(PORT),
    tokenFile: TOKEN_FILE,
    caFile: CA_FILE,
    onRequest: (call) => process.stdout.write(`${JSON.stringify(call)}\n`),
  });
  let present = 'none';
  // Whoever runs the scenario writes the fault of the hour into the file.
  setInterval(() => {
    const wanted = readFileSync(FAULT_FILE, 'utf8').trim();
    if (wanted === present) return;
    present = wanted;
    proxy.set(faults.find((fault) => fault === wanted) ?? 'none');
  }, 50);
}

if (import.meta.main) await main();
