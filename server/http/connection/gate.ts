import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { SettingsReader } from '#config/effective-settings.ts';
import {
  serverHttpMaxConnections,
  serverHttpMaxPendingHeaders,
  serverHttpWorkerThreads,
} from '#config/server-settings.ts';
import type { Timers } from '#core/runtime.ts';
import { LinkedList } from '#core/linked-list.ts';
import { Connection, type ConnectionOwner } from './connection.ts';
import { HeaderMemory } from './header-memory.ts';

/** TLS handshakes that may run at once. */
const handshakeCountMax = 1000;

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

export interface GateOptions {
  readonly settings: SettingsReader;
  readonly timers: Timers;
  /** Answers a connection whose headers are too much, and closes it. */
  readonly refuseHeaders: (connection: Connection) => void;
}

const connectionKey = Symbol('connection');
type ConnectedSocket = Socket & { [connectionKey]?: Connection };

/**
 * All connections of the HTTP server and the slots for requests that execute (limits.md 26, http-api.md 1). When there are
 * too many connections the one that is idle longest is closed.
 */
export class ConnectionGate implements ConnectionOwner {
  readonly handle: Handler;
  readonly timers: Timers;
  readonly #settings: SettingsReader;
  readonly #all = new Set<Connection>();
  /** Longest idle first; all that are not busy. */
  readonly #idle = new LinkedList<Connection>();
  /** The sockets that carry TLS connections or their handshakes. */
  readonly #belowTls = new Set<Socket>();
  readonly #waitingForSlot: (() => void)[] = [];
  #slotsTaken = 0;
  readonly #headers: HeaderMemory;

  constructor(handle: Handler, { settings, timers, refuseHeaders }: GateOptions) {
    this.handle = handle;
    this.timers = timers;
    this.#settings = settings;
    this.#headers = new HeaderMemory({
      timers,
      idle: this.#idle,
      bytesMax: () => settings.get(serverHttpMaxPendingHeaders),
      refuse: refuseHeaders,
    });
  }

  /**
   * Follows the connections of a server.
   * @param event tells a usable connection; with TLS that is one whose handshake is over
   */
  attach(server: Server, event: 'connection' | 'secureConnection'): void {
    server.on(event, (socket: ConnectedSocket) => this.#opened(socket));
    if (event === 'secureConnection') this.#followHandshakes(server);
  }

  /** Sockets whose handshake is not over are bounded in number and closed with the others, too. */
  #followHandshakes(server: Server): void {
    server.maxConnections = this.#settings.get(serverHttpMaxConnections) + handshakeCountMax;
    server.on('connection', (socket: Socket) => {
      this.#belowTls.add(socket);
      socket.on('close', () => this.#belowTls.delete(socket));
    });
  }

  /** To be called for each request of the server. */
  admit(request: IncomingMessage, response: ServerResponse): void {
    const connection = connectionOf(request);
    if (connection) connection.admit({ request, response });
    else response.destroy();
  }

  get connectionCount(): number {
    return this.#all.size;
  }

  get busyCount(): number {
    return this.#all.size - this.#idle.length;
  }

  /** Cancels what runs on all connections. */
  cancelAll(reason: unknown): void {
    for (const connection of this.#all) connection.cancel(reason);
  }

  closeAll(): void {
    for (const connection of this.#all) connection.socket.destroy();
    for (const socket of this.#belowTls) socket.destroy();
  }

  becameBusy(connection: Connection): void {
    if (!connection.isIdle) return;
    connection.isIdle = false;
    this.#idle.remove(connection);
  }

  becameIdle(connection: Connection): void {
    if (connection.isIdle || !this.#all.has(connection)) return;
    connection.isIdle = true;
    this.#idle.append(connection);
    this.#headers.watch(connection);
  }

  left(connection: Connection): void {
    this.#all.delete(connection);
    this.becameBusy(connection);
  }

  takeSlot(run: () => void): void {
    if (this.#slotsTaken < this.#settings.get(serverHttpWorkerThreads)) {
      this.#slotsTaken += 1;
      run();
    } else this.#waitingForSlot.push(run);
  }

  giveSlotBack(): void {
    const next = this.#waitingForSlot.shift();
    if (next) next();
    else this.#slotsTaken -= 1;
  }

  #opened(socket: ConnectedSocket): void {
    const connection = new Connection(socket, this);
    socket[connectionKey] = connection;
    this.#all.add(connection);
    this.becameIdle(connection);
    this.#headers.opened(connection);
    socket.on('end', () => connection.endedByClient());
    socket.on('close', () => {
      this.left(connection);
      connection.closed();
    });
    if (this.#all.size > this.#settings.get(serverHttpMaxConnections)) this.#closeLongestIdle();
  }

  #closeLongestIdle(): void {
    this.#idle.first?.socket.destroy();
  }
}

/** The connection that a request came by; undefined only for one that was closed in the meantime. */
export function connectionOf(request: Pick<IncomingMessage, 'socket'>): Connection | undefined {
  return (request.socket as ConnectedSocket | null)?.[connectionKey];
}
