import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { WebSocket } from 'ws';
import { Settings } from '#config/effective-settings.ts';
import { silentLog } from '#core/log.ts';
import type { Timers } from '#core/runtime.ts';
import type { Databases } from '#database/catalogue/databases.ts';
import { makeDatabases } from '#database/catalogue/make-databases.ts';
import { languageFrontends } from '#language/front-ends.ts';
import { LanguageRegistry } from '#language/registry.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import { SocketServer } from '#websocket/socket-server.ts';
import { basic, type DoorFixture, startDoor } from '../http/door-fixture.ts';

export type Frame = Readonly<Record<string, unknown>>;

/** The HTTP door with the WebSocket door upon it, over a real database `school`. */
export interface SocketFixture {
  readonly door: DoorFixture;
  readonly sockets: SocketServer;
  readonly databases: Databases;
  /** What the databases read their settings from. */
  readonly settings: Settings;
  /** Runs a statement over HTTP, as root. @returns its rows */
  sql(command: string): Promise<readonly Frame[]>;
  /** Opens a connection. */
  connect(authorization?: string): Promise<TestClient>;
}

export async function startSockets(
  context: TestContext,
  settings: Readonly<Record<string, string>> = {},
  timers: Timers = systemRuntime.timers,
): Promise<SocketFixture> {
  const directory = mkdtempSync(join(tmpdir(), 'polyad-ws-'));
  let databases: Databases | undefined;
  let sockets: SocketServer | undefined;
  const clients: TestClient[] = [];
  const ofDatabases = new Settings(new Map(Object.entries(settings)));
  context.after(() => {
    for (const client of clients) client.socket.terminate();
  });
  const door = await startDoor(
    context,
    settings,
    async (authorizer) => {
      ({ databases } = makeDatabases({
        directory,
        settings: ofDatabases,
        runtime: systemRuntime,
        log: silentLog,
        authorizer,
        languages: new LanguageRegistry(languageFrontends),
        serverVersion: '0.0.0-test',
        heapBytesMax: 2 * 1024 ** 3,
      }));
      await databases.start();
      await databases.create('school');
      return databases;
    },
    (parts, server) => {
      const made = new SocketServer({ ...parts, runtime: { ...parts.runtime, timers } });
      server.mountUpgrade('/ws', (upgrade) => made.accept(upgrade));
      for (const principals of [parts.users, parts.apiTokens])
        principals.onRevoked((name) => parts.databases.endSessionsOfUser(name));
      sockets = made;
    },
  );
  assert(databases !== undefined && sockets !== undefined);
  const opened = { databases, sockets };
  context.after(async () => {
    await opened.sockets.close(0);
    await opened.databases.shutdown();
    rmSync(directory, { recursive: true, force: true });
  });
  return {
    door,
    ...opened,
    settings: ofDatabases,
    sql: async (command) => {
      const body = { language: 'sql', command };
      const answer = await door.ask('POST', 'command/school', { body });
      assert.equal(answer.status, 200, answer.text);
      return answer.body['result'] as readonly Frame[];
    },
    connect: async (authorization = basic('root')) => {
      const client = await TestClient.open(door.port, authorization);
      clients.push(client);
      return client;
    },
  };
}

/** A client that keeps what it receives. */
export class TestClient {
  readonly socket: WebSocket;
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
  readonly #received: Frame[] = [];
  readonly #seen: Frame[] = [];
  readonly #waiting: ((frame: Frame | undefined) => void)[] = [];

  constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('message', (data) => {
      const frame = JSON.parse(String(data)) as Frame;
      const waiting = this.#waiting.shift();
      if (waiting) waiting(frame);
      else this.#received.push(frame);
    });
    socket.on('error', () => {});
    this.closed = new Promise((resolve) => {
      socket.on('close', (code, reason) => {
        for (const waiting of this.#waiting.splice(0)) waiting(undefined);
        resolve({ code, reason: String(reason) });
      });
    });
  }

  static open(port: number, authorization: string): Promise<TestClient> {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/ws`, { headers: { authorization } });
    const client = new TestClient(socket);
    return new Promise((resolve, reject) => {
      socket.on('open', () => resolve(client));
      socket.on('error', reject);
    });
  }

  send(frame: unknown): void {
    this.socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame));
  }

  /** The next message. */
  async next(): Promise<Frame> {
    const known = this.#received.shift();
    const frame =
      known ?? (await new Promise<Frame | undefined>((resolve) => this.#waiting.push(resolve)));
    assert(frame !== undefined, 'the connection was closed');
    return frame;
  }

  async ask(frame: unknown): Promise<Frame> {
    this.send(frame);
    return this.next();
  }

  /** The next `count` messages. */
  async take(count: number): Promise<Frame[]> {
    const frames: Frame[] = [];
    while (frames.length < count) frames.push(await this.next());
    return frames;
  }

  /** What has arrived by now; a question and its answer make sure that earlier messages have. */
  async quiet(): Promise<readonly Frame[]> {
    this.send({ action: 'unsubscribe', database: 'none' });
    for (;;) {
      const frame = await this.next();
      if (frame['action'] === 'unsubscribe') return this.#seen.splice(0);
      this.#seen.push(frame);
    }
  }
}
