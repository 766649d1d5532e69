import { connect, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { redisPort } from '#config/redis-settings.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import { RedisServer } from '#resp/server.ts';
import { openTestDatabase, type TestDatabase } from '../database/support/open-test-database.ts';
import { type DoorFixture, startDoor } from '../http/door-fixture.ts';

/** The wire of plugin `redis` over a real database, `test`, with the HTTP door beside it; users `root` and `jay`, `password`. */
export interface WireFixture {
  readonly port: number;
  readonly data: TestDatabase;
  readonly door: DoorFixture;
  readonly server: RedisServer;
  /** A connection; logged in as root unless another user, or null for nobody, is named. */
  open(user?: string | null, protocol?: 2 | 3): Promise<WireClient>;
  /** Another server in place of the one there is, on its port. */
  restart(): Promise<void>;
}

export async function startWire(
  context: TestContext,
  texts: Readonly<Record<string, string>> = {},
): Promise<WireFixture> {
  let data: TestDatabase | undefined;
  let make: (() => RedisServer) | undefined;
  const settings = { 'redis.host': '127.0.0.1', 'redis.port': '0', ...texts };
  const internalErrors: unknown[] = [];
  const door = await startDoor(
    context,
    settings,
    async (authorizer) => {
      data = await openTestDatabase({ authorizer, settings: texts });
      return data.databases;
    },
    (parts) => {
      make = () =>
        new RedisServer({
          ...parts,
          tls: parts.tls,
          store: (data as TestDatabase).store,
          runtime: systemRuntime,
          onInternalError: (error) => void internalErrors.push(error),
        });
    },
  );
  if (data === undefined || make === undefined) throw new Error('no database');
  const opened = data;
  const makeServer = make;
  let server = makeServer();
  const clients = new Set<WireClient>();
  context.after(async () => {
    for (const client of clients) client.close();
    await server.close(1000);
    await opened.close();
    if (internalErrors.length > 0) throw internalErrors[0];
  });
  const port = await server.listen();
  return {
    port,
    data: opened,
    door,
    get server() {
      return server;
    },
    open: async (user = 'root', protocol = 2) => {
      const client = await WireClient.connect(port);
      clients.add(client);
      if (user !== null) await client.call('HELLO', String(protocol), 'AUTH', user, 'password');
      return client;
    },
    restart: async () => {
      await server.close(1000);
      door.settings.set(redisPort, String(port));
      server = makeServer();
      await server.listen();
    },
  };
}

/** A reply as it came, taken apart: texts for bulk strings, `+OK` for simple ones, `-ERR ...` for errors. */
export type WireReply = null | number | bigint | string | readonly WireReply[] | WireMap;
export interface WireMap {
  readonly map: Readonly<Record<string, WireReply>>;
}

/** One command as an array of bulk strings. */
export function encode(...words: readonly (string | Buffer)[]): Buffer {
  const parts: Buffer[] = [Buffer.from(`*${words.length}\r\n`)];
  for (const word of words) {
    const bytes = Buffer.from(word as string);
    parts.push(Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from('\r\n'));
  }
  return Buffer.concat(parts);
}

/** A client that sends bytes as it is told and takes replies apart. */
export class WireClient {
  readonly socket: Socket;
  #bytes = Buffer.alloc(0);
  #at = 0;
  readonly #waiting: (() => void)[] = [];
  isClosed = false;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (chunk) => {
      this.#bytes = Buffer.concat([this.#bytes.subarray(this.#at), chunk]);
      this.#at = 0;
      for (const wake of this.#waiting.splice(0)) wake();
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      this.isClosed = true;
      for (const wake of this.#waiting.splice(0)) wake();
    });
  }

  static connect(port: number): Promise<WireClient> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true });
      socket.once('error', reject);
      socket.once('connect', () => resolve(new WireClient(socket)));
    });
  }

  send(bytes: string | Buffer): void {
    this.socket.write(bytes);
  }

  async call(...words: readonly (string | Buffer)[]): Promise<WireReply> {
    this.send(encode(...words));
    return this.reply();
  }

  /** @throws Error when the connection is closed before it came */
  async reply(): Promise<WireReply> {
    for (;;) {
      const start = this.#at;
      try {
        return this.#read();
      } catch (error) {
        if (error !== incomplete) throw error;
        this.#at = start;
        if (this.isClosed) throw new Error('the connection was closed');
        await new Promise<void>((resolve) => this.#waiting.push(resolve));
      }
    }
  }

  /** Resolves with the bytes that are left when the server has closed the connection. */
  async ended(): Promise<string> {
    while (!this.isClosed) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return this.#bytes.toString('latin1', this.#at);
  }

  close(): void {
    this.socket.destroy();
  }

  #line(): string {
    const end = this.#bytes.indexOf('\r\n', this.#at);
    if (end < 0) throw incomplete;
    const line = this.#bytes.toString('utf8', this.#at, end);
    this.#at = end + 2;
    return line;
  }

  #read(): WireReply {
    const line = this.#line();
    const rest = line.slice(1);
    switch (line[0]) {
      case '+':
      case '-':
        return line;
      case ':': {
        const n = BigInt(rest);
        return n > 2n ** 53n || n < -(2n ** 53n) ? n : Number(n);
      }
      case '$':
        return rest === '-1' ? null : this.#body(Number(rest));
      case '*':
        return rest === '-1' ? null : this.#list(Number(rest));
      case '_':
        return null;
      case '%': {
        const items = this.#list(2 * Number(rest));
        const entries: [string, WireReply][] = [];
        for (let at = 0; at < items.length; at += 2)
          entries.push([String(items[at]), items[at + 1] ?? null]);
        return { map: Object.fromEntries(entries) };
      }
      default:
        throw new Error(`unknown reply: ${line}`);
    }
  }

  #body(length: number): string {
    if (this.#bytes.length < this.#at + length + 2) throw incomplete;
    const text = this.#bytes.toString('utf8', this.#at, this.#at + length);
    this.#at += length + 2;
    return text;
  }

  #list(length: number): readonly WireReply[] {
    return Array.from({ length }, () => this.#read());
  }
}

const incomplete = new Error('more bytes are needed');
