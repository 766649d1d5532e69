import { type WebSocket, WebSocketServer } from 'ws';
import type { ClusterDoor } from '#cluster/cluster-door.ts';
import type { Settings } from '#config/effective-settings.ts';
import {
  serverEventBusMaxPendingBytes,
  serverHttpJsonMaxDepth,
  serverWsMaxConnections,
  serverWsMaxControlFrameSize,
  serverWsMaxInsertFrameSize,
} from '#config/server-settings.ts';
import { parseJsonInSlices } from '#core/value/json-slices.ts';
import { type JsonLimits, parseJsonBytes } from '#core/value/json-value.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Log } from '#core/log.ts';
import type { Cancel, Runtime } from '#core/runtime.ts';
import { isMap, type Value, type ValueMap } from '#core/value/value.ts';
import type { ServerMemory } from '#database/bounds/memory-accounts.ts';
import type { DatabasesPort } from '#database/session.ts';
import { HttpRefusal } from '#http/answer/errors.ts';
import { NameCache } from '#http/answer/json-writer.ts';
import { leadsHere } from '#http/cluster/sent-on.ts';
import type { Upgrade } from '#http/connection/upgrade.ts';
import type { ApiTokens } from '#security/api-tokens.ts';
import type { Authenticator } from '#security/authenticator.ts';
import type { GroupAuthorizer } from '#security/authorizer.ts';
import type { Users } from '#security/users.ts';
import { SliceTimer } from '#transaction/write/slice-timer.ts';
import { ChangeFeed } from './change-feed.ts';
import { Client, closeCode } from './client.ts';
import { asFrameError, errorFrame, FrameError, requiredText } from './frames.ts';
import { InsertSessions, sessionIdOf } from './insert-sessions.ts';
import { LeaderRelays } from './leader-relay.ts';

export interface SocketServerOptions {
  readonly databases: DatabasesPort;
  readonly authenticator: Authenticator;
  readonly authorizer: GroupAuthorizer;
  readonly users: Users;
  readonly apiTokens: ApiTokens;
  readonly settings: Settings;
  readonly runtime: Runtime;
  readonly log: Log;
  /** Of the requests at all doors that are not complete, or not answered. */
  readonly memory: ServerMemory;
  /** Undefined: a server on its own. */
  readonly cluster?: ClusterDoor | undefined;
}

const pingEveryMs = 30_000;
/** Pings whose answers are not written yet; beyond it the connection is cut. A few hundred come in one packet. */
const pongLimit = { maxPendingAutoPongs: 16_384 };
const insertActions = new Set(['start', 'chunk', 'commit', 'rollback']);

/**
 * The WebSocket door, `/ws`: change events and streamed inserts on one connection (contract 1, websocket.md). The HTTP door
 * hands over connections of known users; see `plan/start.ts`.
 */
export class SocketServer {
  readonly #options: SocketServerOptions;
  readonly #protocol: WebSocketServer;
  readonly #clients = new Set<Client>();
  readonly #feed: ChangeFeed;
  readonly #inserts: InsertSessions;
  /** In a cluster. */
  readonly #relays: LeaderRelays | undefined;
  #cancelPing: Cancel | undefined;
  #isClosed = false;

  constructor(options: SocketServerOptions) {
    this.#options = options;
    this.#protocol = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      handleProtocols: chosenProtocol,
      ...pongLimit,
    });
    this.#feed = new ChangeFeed({
      ...options,
      names: new NameCache(),
      isStillKnown: (client) => this.#isStillKnown(client),
    });
    this.#inserts = new InsertSessions(options);
    const { cluster, ...others } = options;
    this.#relays = cluster && new LeaderRelays({ ...others, cluster });
    options.users.onRevoked((name) => this.#userChanged(name));
    options.apiTokens.onRevoked((name) => this.#userChanged(name));
  }

  get connectionCount(): number {
    return this.#clients.size;
  }

  /** Takes a connection over. @throws HttpRefusal 400, 426, 503 */
  accept(upgrade: Upgrade): void {
    const { settings } = this.#options;
    const { request, socket, head } = upgrade;
    if (request.headers['sec-websocket-version']?.trim() !== '13') throw wrongVersion;
    if (!handshakeKey.test(request.headers['sec-websocket-key'] ?? '')) throw wrongKey;
    const countMax = settings.get(serverWsMaxConnections);
    if (this.#isClosed || this.#clients.size >= countMax) throw tooMany(countMax);
    this.#protocol.options.maxPayload = Math.max(
      settings.get(serverWsMaxInsertFrameSize),
      settings.get(serverWsMaxControlFrameSize),
    );
    this.#protocol.handleUpgrade(request, socket, head, (opened) => this.#opened(opened, upgrade));
  }

  /** Closes all connections; streamed inserts are rolled back. Resolves when they are gone, after at most `timeoutMs`. */
  async close(timeoutMs: number): Promise<void> {
    const { clock, timers } = this.#options.runtime;
    this.#isClosed = true;
    this.#cancelPing?.();
    const clients = [...this.#clients];
    for (const client of clients) client.close(closeCode.goingAway, 'server shutdown');
    const deadline = clock.monotonicMs() + timeoutMs;
    while (clients.some((client) => !client.isGone) && clock.monotonicMs() < deadline) {
      await timers.sleep(10);
    }
    for (const client of clients) client.terminate();
    this.#protocol.close();
  }

  #opened(socket: WebSocket, upgrade: Upgrade): void {
    const { principal, request, requestId, socket: stream } = upgrade;
    const { settings, runtime, users, memory } = this.#options;
    const client = new Client({
      memory,
      socket,
      stream,
      principal,
      requestId,
      authorization: request.headers.authorization ?? '',
      generation: users.get(principal.name)?.generation,
      isForwarded: request.headers['x-service-forwarded-user'] !== undefined,
      timers: runtime.timers,
      pendingBytesMax: () => settings.get(serverEventBusMaxPendingBytes),
      handle: (sender, message) => this.#handle(sender, message),
      refuse: (sender) => this.#refuse(sender),
      closed: (gone) => this.#forget(gone),
    });
    this.#clients.add(client);
    this.#cancelPing ??= runtime.timers.after(pingEveryMs, () => this.#ping());
  }

  #forget(client: Client): void {
    this.#clients.delete(client);
    this.#feed.forget(client);
    this.#inserts.forget(client);
    this.#relays?.forget(client);
  }

  #ping(): void {
    this.#cancelPing = undefined;
    for (const client of [...this.#clients]) if (this.#isStillKnown(client)) client.ping();
    if (this.#clients.size === 0 || this.#isClosed) return;
    this.#cancelPing = this.#options.runtime.timers.after(pingEveryMs, () => this.#ping());
  }

  /** Whether the credentials of a connection are still good; ends it when they are not. */
  #isStillKnown(client: Client): boolean {
    const { users, authenticator } = this.#options;
    const { name, via } = client.principal;
    const user = users.get(name);
    // API tokens belong to no user.
    if (via === 'api-token' || (user !== undefined && user.generation === client.generation)) {
      // Tokens end on their own, too. An open connection counts as use of its token.
      // The server that opened it for a client of its own watches that client's.
      if (via === 'password' || client.isForwarded) return true;
      const known = authenticator.authenticateNow(client.authorization);
      if (known?.principal !== undefined) return true;
      if (known === undefined) {
        this.#askElsewhere(client);
        return true;
      }
    }
    const isUserGone = user === undefined && via !== 'api-token';
    client.close(closeCode.policy, isUserGone ? 'user deleted' : 'access revoked');
    return false;
  }

  /** The token is another server's. */
  #askElsewhere(client: Client): void {
    const { authenticator } = this.#options;
    authenticator.authenticate(client.authorization, { source: 'websocket' }).then(
      ({ refusal }) => {
        if (refusal !== undefined && refusal !== 'busy')
          client.close(closeCode.policy, 'access revoked');
      },
      () => client.close(closeCode.policy, 'access revoked'),
    );
  }

  #userChanged(name: string): void {
    for (const client of [...this.#clients]) {
      if (client.principal.name === name) this.#isStillKnown(client);
    }
  }

  #refuse(client: Client): void {
    const error = new FrameError(
      'Too many frames in flight',
      'the connection has 64 messages that were not processed yet; this one was dropped',
    );
    client.send(errorFrame(error, {}));
  }

  #handle(client: Client, message: Buffer): void | Promise<void> {
    // Chunks may be long, and they come within a session only.
    const hasSession = this.#inserts.has(client) || this.#relays?.has(client) === true;
    if (!hasSession && this.#isTooLarge(client, message.length)) return undefined;
    if (message.length > longMessageBytes) return this.#handleLong(client, message);
    let value: Value;
    try {
      value = parseJsonBytes(message, this.#jsonLimits());
    } catch (error) {
      this.#answerUnparsed(client, error);
      return undefined;
    }
    return this.#handleValue(client, value, message);
  }

  /** A message that takes longer than a slice to parse; the next one waits. */
  async #handleLong(client: Client, message: Buffer): Promise<void> {
    let value: Value;
    try {
      const slices = new SliceTimer(this.#options.runtime);
      const limits = { ...this.#jsonLimits(), hold: (bytes: number) => client.hold(bytes) };
      value = await parseJsonInSlices(message, limits, slices);
    } catch (error) {
      this.#answerUnparsed(client, error);
      return;
    }
    await this.#handleValue(client, value, message);
  }

  #handleValue(client: Client, value: Value, message: Buffer): void | Promise<void> {
    const frame = isMap(value) ? value : undefined;
    try {
      if (frame === undefined) throw unparsed('the message is no JSON object');
      if (!this.#isStillKnown(client)) return undefined;
      const later = this.#dispatch(client, frame, message);
      return later?.catch((error: unknown) => this.#answerError(client, frame, error));
    } catch (error) {
      this.#answerError(client, frame, error);
      return undefined;
    }
  }

  #jsonLimits(): JsonLimits {
    return { depthMax: this.#options.settings.get(serverHttpJsonMaxDepth) };
  }

  #answerUnparsed(client: Client, error: unknown): void {
    if (error instanceof DatabaseError && error.code === 'Busy') {
      this.#answerError(client, undefined, error);
      return;
    }
    const reason = unparsed(error instanceof Error ? error.message : String(error));
    this.#answerError(client, undefined, reason);
  }

  #dispatch(client: Client, frame: ValueMap, message: Buffer): void | Promise<void> {
    const action = requiredText(frame, 'action');
    const name = action.toLowerCase();
    if (name !== 'chunk' && this.#isTooLarge(client, message.length)) return undefined;
    if (insertActions.has(name) && this.#isLeaders(client, name))
      return this.#relay(client, frame, message);
    switch (name) {
      case 'subscribe':
        return this.#feed.subscribe(client, frame);
      case 'unsubscribe':
        return this.#feed.unsubscribe(client, frame);
      case 'start':
        return this.#start(client, frame);
      case 'chunk':
        return this.#inserts.chunk(client, frame);
      case 'commit':
      case 'rollback':
        return this.#inserts.end(client, frame, name);
      default:
        throw new FrameError(
          'Unknown action',
          `${action.slice(0, 100)} is not a valid action.`,
          'IllegalArgumentException',
        );
    }
  }

  /** It writes into the newest state, as a session does that begins (ha.md 7.1). */
  #start(client: Client, frame: ValueMap): void | Promise<void> {
    const wait = this.#options.cluster?.reads.before(undefined, client.left);
    if (wait === undefined) return this.#inserts.start(client, frame);
    return wait.then(() => this.#inserts.start(client, frame));
  }

  /** Whether a message of a streamed insert is for the leader to carry out, which this server is not. */
  #isLeaders(client: Client, action: string): boolean {
    const { cluster } = this.#options;
    if (cluster === undefined || this.#inserts.has(client)) return false;
    return this.#relays?.has(client) === true || (action === 'start' && !leadsHere(cluster));
  }

  async #relay(client: Client, frame: ValueMap, message: Buffer): Promise<void> {
    const isStart = requiredText(frame, 'action').toLowerCase() === 'start';
    if (!isStart) await this.#relays?.ask(client, message);
    else if ((await this.#relays?.start(client, message)) === false)
      await this.#start(client, frame);
  }

  /** Messages other than chunks have a limit of their own; who passes it is closed. */
  #isTooLarge(client: Client, length: number): boolean {
    if (length <= this.#options.settings.get(serverWsMaxControlFrameSize)) return false;
    client.close(closeCode.tooLarge, 'message too large');
    return true;
  }

  #answerError(client: Client, frame: ValueMap | undefined, error: unknown): void {
    const { settings, log } = this.#options;
    const { requestId } = client;
    const shown = asFrameError(error, settings, requestId);
    if (shown.error === 'Internal error') {
      log.error(`websocket: ${error instanceof Error ? error.stack : String(error)}`, {
        requestId,
      });
    }
    const action = frame?.get('action');
    const isInsert = typeof action === 'string' && insertActions.has(action.toLowerCase());
    client.send(errorFrame(shown, isInsert && frame ? sessionIdOf(frame) : undefined));
  }
}

/** Some milliseconds of parsing. */
const longMessageBytes = 128 * 1024;

function unparsed(detail: string): FrameError {
  return new FrameError('Unable to parse JSON', detail, 'JSONException');
}

/** Ours when it is offered, else the first one. */
function chosenProtocol(offered: ReadonlySet<string>): string | false {
  const [first = false] = offered;
  return offered.has('polyad') ? 'polyad' : first;
}

/** 16 bytes in base64. */
const handshakeKey = /^[+/\dA-Za-z]{22}==$/;

const wrongKey = new HttpRefusal({
  status: 400,
  error: 'WebSocket handshake is not valid',
  detail: 'Sec-WebSocket-Key must hold 16 bytes in base64',
});

const wrongVersion = new HttpRefusal({
  status: 426,
  error: 'WebSocket version not supported',
  detail: 'Sec-WebSocket-Version must be 13',
  headers: ['Sec-WebSocket-Version', '13', 'Upgrade', 'websocket'],
});

function tooMany(countMax: number): HttpRefusal {
  return new HttpRefusal({
    status: 503,
    error: 'Too many WebSocket connections',
    detail: `${serverWsMaxConnections.key} is ${countMax}`,
    exception: 'ServerBusyException',
    headers: ['Retry-After', '1'],
  });
}
