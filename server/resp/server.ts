import type { AddressInfo, Server, Socket } from 'node:net';
import {
  networkMaxPreAuthConnections,
  redisDefaultDatabase,
  redisHost,
  redisMaxBulkLength,
  redisMaxConnections,
  redisMaxMultiBulkLength,
  redisMaxRequestSize,
  redisPort,
  redisTls,
} from '#config/redis-settings.ts';
import { networkSocketTimeout, sslEnabled, sslMinVersion } from '#config/server-settings.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Cancel } from '#core/runtime.ts';
import { isErrno } from '#platform/files.ts';
import type { TlsCredentials } from '#security/tls-credentials.ts';
import type { Users } from '#security/users.ts';
import { Connection } from './connection.ts';
import type { ParserLimits } from './request-parser.ts';
import type { WireSurroundings } from './surroundings.ts';
import { TurnBudget } from './turn-budget.ts';

export interface RedisServerOptions
  extends Omit<WireSurroundings, 'defaultDatabase' | 'counts' | 'turn'> {
  readonly users: Users;
  readonly tls: TlsCredentials | undefined;
}

/** Handshakes of TLS that may run at once, beside the connections. */
const handshakeCountMax = 1000;

/**
 * The wire door of plugin `redis`: listens, bounds connections and the time to log in, and cuts off users who were dropped. What a
 * connection says is `connection.ts`.
 */
export class RedisServer {
  readonly #options: RedisServerOptions;
  readonly #surroundings: WireSurroundings;
  readonly #connections = new Set<Connection>();
  /** Nobody has logged in there yet; each with the end of its time. */
  readonly #strangers = new Map<Connection, Cancel>();
  #listener: Server | undefined;
  #nextId = 1;
  #isClosed = false;
  #limits: ParserLimits;
  #limitsOfStrangers: ParserLimits;

  constructor(options: RedisServerOptions) {
    this.#options = options;
    this.#surroundings = {
      ...options,
      turn: new TurnBudget(options.runtime),
      defaultDatabase: () => options.settings.get(redisDefaultDatabase) || undefined,
      counts: () => ({
        clients: this.#connections.size,
        port: (this.#listener?.address() as AddressInfo | null)?.port ?? 0,
      }),
    };
    [this.#limits, this.#limitsOfStrangers] = this.#readLimits();
    options.settings.onChange(() => {
      [this.#limits, this.#limitsOfStrangers] = this.#readLimits();
    });
    options.users.onRevoked((name) => this.#revoke(name));
  }

  get connectionCount(): number {
    return this.#connections.size;
  }

  /** Replies that clients have not read yet. */
  get pendingBytes(): number {
    let bytes = 0;
    for (const { socket } of this.#connections) bytes += socket.writableLength;
    return bytes;
  }

  /** @returns the port. @throws DatabaseError `InvalidSetting` */
  async listen(): Promise<number> {
    const { settings } = this.#options;
    const listener = this.#makeListener();
    this.#listener = listener;
    const host = settings.get(redisHost);
    const { first, last } = settings.get(redisPort);
    for (let port = first; ; port += 1) {
      try {
        await listenOn(listener, host, port);
        return (listener.address() as AddressInfo).port;
      } catch (error) {
        if (isErrno(error, 'EADDRINUSE') && port < last) continue;
        const reason = error instanceof Error ? error.message : String(error);
        throw new DatabaseError(
          'InvalidSetting',
          `plugin redis cannot listen on ${host}:${redisPort.format({ first, last })}: ${reason} (${redisHost.key}, ${redisPort.key})`,
        );
      }
    }
  }

  /** Requests that run are answered; resolves when all connections are gone, after at most `timeoutMs`. */
  async close(timeoutMs: number): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#listener?.close();
    const stopped = Promise.all([...this.#connections].map((connection) => connection.stop()));
    let cancel: Cancel = () => {};
    const late = new Promise<void>((resolve) => {
      cancel = this.#options.runtime.timers.after(timeoutMs, resolve);
    });
    await Promise.race([stopped, late]);
    cancel();
    for (const connection of this.#connections) connection.socket.destroySoon();
  }

  #makeListener(): Server {
    const { settings, tls } = this.#options;
    const opened = (socket: Socket) => this.#opened(socket);
    const common = { allowHalfOpen: true, noDelay: true };
    if (!settings.get(redisTls))
      return process.getBuiltinModule('node:net').createServer(common, opened);
    if (tls === undefined)
      throw new DatabaseError(
        'InvalidSetting',
        `${redisTls.key}=true needs ${sslEnabled.key}=true, whose key and certificates it uses`,
      );
    const secure = process.getBuiltinModule('node:tls').createServer(
      {
        ...common,
        ...tls.options,
        minVersion: settings.get(sslMinVersion),
        handshakeTimeout: settings.get(networkSocketTimeout),
      },
      opened,
    );
    secure.maxConnections = settings.get(redisMaxConnections) + handshakeCountMax;
    secure.on('tlsClientError', (_error, socket) => socket.destroy());
    tls.onChanged((changed) => secure.setSecureContext(changed));
    return secure;
  }

  #opened(socket: Socket): void {
    const { settings } = this.#options;
    const connection = new Connection(socket, {
      id: this.#nextId,
      surroundings: this.#surroundings,
      limits: (isStranger) => (isStranger ? this.#limitsOfStrangers : this.#limits),
    });
    this.#nextId += 1;
    socket.on('close', () => this.#closed(connection));
    const countMax = settings.get(redisMaxConnections);
    const strangersMax = settings.get(networkMaxPreAuthConnections);
    this.#connections.add(connection);
    if (this.#isClosed) connection.refuse('ERR the server is stopping');
    else if (this.#connections.size > countMax)
      connection.refuse(`ERR max number of clients reached (${redisMaxConnections.key})`);
    else if (this.#strangers.size >= strangersMax)
      connection.refuse(
        `ERR max number of clients reached that have not logged in (${networkMaxPreAuthConnections.key})`,
      );
    else {
      this.#await(connection);
      connection.client.onIdentity = () => this.#identified(connection);
    }
  }

  /** There is a time to log in. */
  #await(connection: Connection): void {
    const { settings, runtime } = this.#options;
    const end = () => connection.socket.destroy();
    this.#strangers.set(connection, runtime.timers.after(settings.get(networkSocketTimeout), end));
  }

  #identified(connection: Connection): void {
    this.#strangers.get(connection)?.();
    this.#strangers.delete(connection);
    if (connection.client.principal === undefined && this.#connections.has(connection))
      this.#await(connection);
  }

  #closed(connection: Connection): void {
    this.#connections.delete(connection);
    this.#strangers.get(connection)?.();
    this.#strangers.delete(connection);
  }

  #revoke(user: string): void {
    for (const { client } of this.#connections)
      if (client.principal?.name === user) client.identify(undefined);
  }

  #readLimits(): [ParserLimits, ParserLimits] {
    const { settings } = this.#options;
    const common = {
      wordCountMax: settings.get(redisMaxMultiBulkLength),
      wordBytesMax: settings.get(redisMaxBulkLength),
      requestBytesMax: settings.get(redisMaxRequestSize),
    };
    return [
      { ...common, isUnauthenticated: false },
      { ...common, isUnauthenticated: true },
    ];
  }
}

function listenOn(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port, backlog: 1024 }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
