import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { SecureContextOptions } from 'node:tls';
import type { SettingsReader } from '#config/effective-settings.ts';
import {
  networkSocketTimeout,
  serverHttpHeaderMaxCount,
  serverHttpHeaderMaxSize,
  serverHttpHeadersTimeout,
  serverHttpIncomingHost,
  sslMinVersion,
} from '#config/server-settings.ts';
import type { PortRange } from '#config/port-setting.ts';
import type { SettingSpec } from '#config/setting.ts';
import { DatabaseError } from '#core/errors.ts';
import { isErrno } from '#platform/files.ts';
import {
  answerByHand,
  OverlongLine,
  overflowCode,
  type ParserError,
  refusalOfParser,
  unknownMethod,
} from './client-error.ts';
import type { Connection } from './connection.ts';
import { type ConnectionGate, connectionOf } from './gate.ts';
import type { RequestIds } from '../request/request-ids.ts';
import { isWebSocketRequest } from './upgrade.ts';

// The servers of node:http and node:https below the door: their limits, what they hand over, and where they listen.

// An import would evaluate every export of the module, among them the browser's WebSocket, whose package costs an idle
// server 8 MB.
const { createServer } = process.getBuiltinModule('node:http');

/** Who takes what comes in. */
export interface Receivers {
  readonly gate: ConnectionGate;
  readonly requestIds: RequestIds;
  /** What is applied here, with replication; 0: nothing. */
  readonly bookmark: () => number;
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
}

/** A server that listens nowhere yet. @param tls key and certificates make it speak HTTPS */
export function makeListener(
  settings: SettingsReader,
  { gate, requestIds, bookmark, upgrade }: Receivers,
  tls?: SecureContextOptions,
): Server {
  const headersTimeout = settings.get(serverHttpHeadersTimeout);
  const options = {
    maxHeaderSize: settings.get(serverHttpHeaderMaxSize),
    keepAliveTimeout: settings.get(networkSocketTimeout),
    headersTimeout,
    // Bodies have a deadline of their own (request-body.ts).
    requestTimeout: 0,
    connectionsCheckingInterval: Math.max(20, Math.min(1000, headersTimeout / 4)),
    noDelay: true,
    // Refused by `malformed`, with a body.
    requireHostHeader: false,
    shouldUpgradeCallback: isWebSocketRequest,
  };
  const admit = (request: IncomingMessage, response: ServerResponse) =>
    gate.admit(request, response);
  const server = tls
    ? makeSecure({ ...options, ...tls, ...secureOptions(settings) }, admit)
    : createServer(options, admit);
  // A client that ends its side waits for its answers; `client-probe.ts` finds out whether it does.
  Object.assign(server, { httpAllowHalfOpen: true });
  // Headers beyond this number are dropped silently, so it lies above the one that is refused.
  server.maxHeadersCount = settings.get(serverHttpHeaderMaxCount) + 10;
  server.on('checkContinue', admit);
  // Refused by `malformed`, too.
  server.on('checkExpectation', admit);
  // Tunnels are for proxies; without a listener the connection ends without an answer.
  server.on('connect', (request, socket) => {
    // The server listens no more, and a client that leaves meanwhile is no failure.
    socket.on('error', () => socket.destroy());
    const refuse = () => answerByHand(unknownMethod, socket, requestIds.next(), bookmark());
    connectionOf(request)?.handOver(refuse);
  });
  server.on('upgrade', upgrade);
  server.on('clientError', (error: ParserError, socket) => {
    const connection = connectionOf({ socket: socket as Socket });
    // No connection yet: the handshake failed, and nobody there would understand an answer in plain text.
    if (tls && !connection) {
      socket.destroy();
      return;
    }
    if (connection?.onBrokenBody?.(error.code)) return;
    if (connection && isOfParser(error)) endRequests(connection, error, requestIds, bookmark);
    else socket.destroy();
  });
  gate.attach(server, tls ? 'secureConnection' : 'connection');
  return server;
}

/** Other errors tell that the client has left. */
function isOfParser({ code = '' }: ParserError): boolean {
  return code.startsWith('HPE_') || code === 'ERR_HTTP_REQUEST_TIMEOUT';
}

function endRequests(
  connection: Connection,
  error: ParserError,
  requestIds: RequestIds,
  bookmark: () => number,
): void {
  const { socket, isAnswering } = connection;
  // Who is reset while it sends does not see the answer.
  if (connection.isRefused && error.rawPacket !== undefined && connection.discards(error.rawPacket))
    return;
  if (isAnswering || socket.writable) {
    if (error.code === overflowCode) connection.overlongLine ??= new OverlongLine();
    const line = connection.overlongLine;
    const refusal = line ? line.refusalAfter(error) : refusalOfParser(error);
    if (refusal === undefined) return;
    connection.endRequests(() => answerByHand(refusal, socket, requestIds.next(), bookmark()));
  } else socket.destroy();
}

function secureOptions(settings: SettingsReader) {
  return {
    minVersion: settings.get(sslMinVersion),
    handshakeTimeout: settings.get(serverHttpHeadersTimeout),
    allowHalfOpen: true,
  };
}

function makeSecure(
  options: Parameters<typeof createServer>[0] & SecureContextOptions,
  admit: (request: IncomingMessage, response: ServerResponse) => void,
): Server {
  return process.getBuiltinModule('node:https').createServer(options, admit);
}

/** Where a server is to listen, and the settings that say so. */
export interface ListenPlace {
  readonly host: string;
  readonly ports: PortRange;
  readonly portSetting: SettingSpec<PortRange>;
}

/**
 * Listens on the first free port of a range.
 * @returns the port
 * @throws DatabaseError `InvalidSetting` when none is free or the address is not ours
 */
export async function listenOn(server: Server, place: ListenPlace): Promise<number> {
  const { host, ports } = place;
  const { first, last } = ports;
  for (let port = first; port <= last; port++) {
    try {
      return await listenOnPort(server, host, port);
    } catch (error) {
      if (isErrno(error, 'EADDRINUSE') && port < last) continue;
      throw notListening(error, place);
    }
  }
  return first;
}

function listenOnPort(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port, backlog: 1024 }, () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

function notListening(error: unknown, { host, ports, portSetting }: ListenPlace): unknown {
  const reasons: Readonly<Record<string, string>> = {
    EADDRINUSE: 'the port is taken',
    EACCES: 'no permission',
    EADDRNOTAVAIL: 'not an address of this machine',
    ENOTFOUND: 'not an address',
  };
  const code = (error as NodeJS.ErrnoException).code ?? '';
  const reason = reasons[code];
  if (reason === undefined) return error;
  const where = `${host}:${portSetting.format(ports)}`;
  return new DatabaseError(
    'InvalidSetting',
    `cannot listen on ${where}: ${reason} (${serverHttpIncomingHost.key}, ${portSetting.key})`,
  );
}
