import { WebSocket } from 'ws';
import { onBehalfOf } from '#cluster/forwarding/forwarder.ts';
import { addresseeHeader, type PeerAddress } from '#cluster/forwarding/peer-http.ts';
import type { ClusterDoor } from '#cluster/cluster-door.ts';
import {
  haForwardLeaderWaitTimeoutMs,
  haProxyConnectTimeout,
  haProxyReadTimeout,
} from '#config/cluster-http-settings.ts';
import { haElectionTimeoutMax } from '#config/cluster-settings.ts';
import type { SettingsReader } from '#config/effective-settings.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Cancel, Runtime } from '#core/runtime.ts';
import type { PeerId } from '#raft/vocabulary.ts';
import type { GroupAuthorizer } from '#security/authorizer.ts';
import { type Client, closeCode } from './client.ts';
import { errorFrame, insertError } from './frames.ts';

export interface LeaderRelaysOptions {
  readonly cluster: ClusterDoor;
  readonly authorizer: GroupAuthorizer;
  readonly settings: SettingsReader;
  readonly runtime: Runtime;
}

const pauseMs = 50;

/**
 * Streamed inserts at a server that does not lead (ha.md 6.6). Their messages go to the leader as they came, over a connection
 * that this server opens on behalf of its client, and what the leader answers comes back. The session lives there: it ends with
 * that connection, and so with its client, and with the leadership.
 */
export class LeaderRelays {
  readonly #options: LeaderRelaysOptions;
  readonly #relays = new Map<Client, Relay>();

  constructor(options: LeaderRelaysOptions) {
    this.#options = options;
  }

  /** Whether the messages of a session of this client belong to the leader. */
  has(client: Client): boolean {
    return this.#relays.has(client);
  }

  /**
   * Gives a `start` on.
   * @returns false when this server leads by now, and nothing was given on
   * @throws FrameError, DatabaseError
   */
  async start(client: Client, message: Buffer): Promise<boolean> {
    const { cluster, runtime, settings } = this.#options;
    const { consensus } = cluster.view;
    const { clock, timers } = runtime;
    const former = this.#relays.get(client);
    if (former !== undefined && former.peer === consensus.status().leader) {
      await former.ask(message);
      return true;
    }
    former?.close();
    // One hop only: whoever opened the connection looks for the leader anew.
    if (client.isForwarded) {
      client.close(closeCode.goingAway, 'not the leader');
      return true;
    }
    const untilMs = clock.monotonicMs() + settings.get(haForwardLeaderWaitTimeoutMs);
    for (;;) {
      const peer = await cluster.forwarder.leader(client.left);
      if (peer === consensus.self) return false;
      try {
        await this.#startAt(peer, client, message);
        return true;
      } catch (error) {
        // A `start` that nobody answered leaves nothing behind.
        if (client.left.aborted) return true;
        if (clock.monotonicMs() >= untilMs) throw error;
      }
      await timers.sleep(pauseMs);
    }
  }

  /** Gives a message of an open session on. @throws FrameError, DatabaseError */
  async ask(client: Client, message: Buffer): Promise<void> {
    await this.#relays.get(client)?.ask(message);
  }

  /** The client is gone: the leader rolls back. */
  forget(client: Client): void {
    this.#relays.get(client)?.close();
  }

  async #startAt(peer: PeerId, client: Client, message: Buffer): Promise<void> {
    const relay = new Relay({ ...this.#options, client, peer, over: () => this.#drop(relay) });
    this.#relays.set(client, relay);
    await relay.open();
    await relay.ask(message);
  }

  #drop(relay: Relay): void {
    if (this.#relays.get(relay.client) === relay) this.#relays.delete(relay.client);
  }
}

interface RelayOptions extends LeaderRelaysOptions {
  readonly client: Client;
  readonly peer: PeerId;
  readonly over: () => void;
}

interface Waiting {
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
}

/** The connection to the leader for one client; one message at a time waits for its answer. */
class Relay {
  readonly client: Client;
  readonly peer: PeerId;
  readonly #options: RelayOptions;
  readonly #stopListening: () => void;
  #stopGrace: Cancel | undefined;
  #socket: WebSocket | undefined;
  #waiting: Waiting | undefined;
  #sessionId: string | undefined;
  #isOver = false;

  constructor(options: RelayOptions) {
    const { cluster, settings, runtime, peer } = options;
    this.#options = options;
    this.client = options.client;
    this.peer = peer;
    // A leader that was cut off in silence never answers: once another one leads, it is waited for only so long.
    this.#stopListening = cluster.view.consensus.onStatus(({ leader }) => {
      if (leader === undefined || leader === peer) return;
      const graceMs = settings.get(haElectionTimeoutMax);
      this.#stopGrace ??= runtime.timers.after(graceMs, () => this.#end('it leads no more'));
    });
  }

  /** @throws DatabaseError `QuorumNotReached` */
  async open(): Promise<void> {
    const { cluster, peer } = this.#options;
    const dial = cluster.addresses.dial(peer);
    if (dial.kind === 'refused') {
      this.close();
      throw unreached(peer, dial.reason);
    }
    const socket = this.#connect(dial);
    this.#socket = socket;
    let reason = 'the connection ended';
    // Each is followed by `close`.
    socket.on('error', ({ message }) => {
      reason = message;
    });
    socket.on('message', (data) => void this.#answered(String(data)));
    await new Promise<void>((resolve, reject) => {
      const failed = () => {
        this.close();
        reject(unreached(peer, reason));
      };
      socket.once('close', failed);
      socket.once('open', () => {
        socket.off('close', failed);
        resolve();
      });
    });
    socket.once('close', (code, text) => this.#closed(code, String(text)));
  }

  /** Resolves when the answer was given back. @throws DatabaseError `OutcomeUnknown` */
  async ask(message: Buffer): Promise<void> {
    const { settings, runtime } = this.#options;
    const timeoutMs = settings.get(haProxyReadTimeout);
    const stopTimer = runtime.timers.after(timeoutMs, () => this.#end('no answer came in time'));
    try {
      await new Promise<void>((done, failed) => {
        this.#waiting = { done, failed };
        this.#socket?.send(message, { binary: false });
      });
    } finally {
      stopTimer();
    }
    if (this.#sessionId === undefined) this.close();
  }

  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#stopListening();
    this.#stopGrace?.();
    this.#socket?.terminate();
    this.#waiting?.done();
    this.#options.over();
  }

  #connect({ peer, host, port, isSecure }: PeerAddress): WebSocket {
    const { cluster, authorizer, client, settings } = this.#options;
    const { principal, requestId } = client;
    const trusted = isSecure ? cluster.http.trusted : undefined;
    return new WebSocket(`${isSecure ? 'wss' : 'ws'}://${host}:${port}/ws`, {
      perMessageDeflate: false,
      handshakeTimeout: settings.get(haProxyConnectTimeout),
      ...(trusted && { ca: [...trusted] }),
      headers: {
        'x-request-id': requestId,
        [addresseeHeader]: peer,
        ...onBehalfOf(principal, authorizer.rightsToLend(principal), {
          token: cluster.token.value,
          from: cluster.view.consensus.self,
        }),
      },
    });
  }

  async #answered(text: string): Promise<void> {
    const { cluster, client } = this.#options;
    const frame = JSON.parse(text) as Readonly<Record<string, unknown>>;
    const { action, sessionId, commitIndex } = frame;
    if (action === 'started' && typeof sessionId === 'string') this.#sessionId = sessionId;
    if (action === 'committed') this.#sessionId = undefined;
    // What was written is seen by who reads it here next; after a while it is acknowledged all the same.
    if (typeof commitIndex === 'number') {
      const wanted = { level: 'read_your_writes', bookmark: commitIndex } as const;
      await cluster.reads.before(wanted, client.left)?.catch(() => {});
    }
    client.send(text);
    this.#waiting?.done();
    this.#waiting = undefined;
  }

  /** What the leader closes a client for, this server closes it for. */
  #closed(code: number, reason: string): void {
    if (this.#isOver) return;
    const isForClient =
      code === closeCode.policy || code === closeCode.tooLarge || code === closeCode.busy;
    if (isForClient) this.client.close(code, reason);
    this.#end('the connection ended');
  }

  #end(reason: string): void {
    if (this.#isOver) return;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    this.close();
    const detail = `the leader ${this.peer} of the insert session is gone (${reason}); what was not committed is rolled back`;
    if (waiting === undefined) {
      this.client.send(errorFrame(insertError(detail), { sessionId: this.#sessionId ?? null }));
      return;
    }
    const unknown = `${detail}, and whether this message was carried out is not known`;
    waiting.failed(new DatabaseError('OutcomeUnknown', unknown));
  }
}

function unreached(peer: PeerId, reason: string): DatabaseError {
  return new DatabaseError('QuorumNotReached', `the leader ${peer} was not reached: ${reason}`);
}
