import { isIP } from 'node:net';
import {
  type ChannelCredentials,
  Client,
  type ClientDuplexStream,
  connectivityState,
  credentials,
} from '@grpc/grpc-js';
import type { Cancel, Clock, Timers } from '#core/runtime.ts';
import type { Message } from '#raft/message.ts';
import { type EnvelopeNames, encodeEnvelope, encodeNames } from './envelope.ts';
import type { RaftTls } from './raft-tls.ts';
import { type Reach, reachOf } from './reach.ts';
import { adminService, raftService } from './services.ts';

/*
 * The way to one peer (ha.md 4.2). The library dials without a limit of time: a connection to a host that is cut off, or to a process
 * that stands still, hangs for as long as the system lets it, also when the peer is back long since. So the library is told to dial
 * only a port that has just answered, and a dial that takes long is given up.
 */

export interface PeerChannelOptions {
  /** `host:raftPort`. */
  readonly address: string;
  readonly messageBytesMax: number;
  readonly clock: Clock;
  readonly timers: Pick<Timers, 'after'>;
  /** Undefined: plain text. Asked for each new connection: certificates are replaced while the server runs. */
  readonly tls: () => RaftTls | undefined;
  /** As the server list writes it, whatever is dialled: the certificate is checked against it. */
  readonly host: string;
  /** Names of both sides, as they are now. */
  readonly envelope: () => EnvelopeNames;
  /** A stream ended or broke, or there is no way. */
  readonly onLost: (loss: Loss) => void;
}

export interface Loss {
  /** The process on the other side is gone, not slow. */
  readonly isRefused: boolean;
  /** Appends and snapshots on their way may not arrive; else only the short messages beside them. */
  readonly hasBulk: boolean;
}

type Kind = 'control' | 'bulk';
type Stream = ClientDuplexStream<Buffer, Buffer>;

/** What waits for a slow peer, per stream (ha.md 4.2 rule 3). */
const waitingMax = { control: 256, bulk: 64 } as const;
const waitingBytesMax = 8 * 1024 * 1024;
const unaryTimeoutMs = { Hello: 2000, GroupInfo: 3000, ChangeMembership: 30_000 } as const;
export type UnaryName = keyof typeof unaryTimeoutMs;

const bulkTypes: ReadonlySet<Message['type']> = new Set(['Append', 'Snapshot']);

const none: readonly Message[] = [];

/** So long a port has to answer, and a dial to be through. */
const reachMs = 2000;
/** Between two looks at a port that does not answer. */
const [pauseMinMs, pauseMaxMs] = [100, 1000];
/** Looks at the port of a process that seems to be ending: for a moment it takes connections and closes them. */
const looksMax = 10;

/** One of the two connections. */
interface Line {
  readonly kind: Kind;
  client: Client | undefined;
  stream: Stream | undefined;
  /** When it was told to dial. */
  dialledMs: number;
  /** It was seen to be connected. */
  isReady: boolean;
  /** Until the port has answered. */
  held: Buffer[];
  /** Held, or given to the stream and not taken yet. */
  count: number;
  bytes: number;
}

/** Nobody has seen it. */
export class NotSent extends Error {}

/** Two connections, so that a large append does not stand in front of a heartbeat. Sending never waits. */
export class PeerChannel {
  readonly #options: PeerChannelOptions;
  readonly #lines = { control: lineOf('control'), bulk: lineOf('bulk') } as const;
  #looking: Promise<Reach> | undefined;
  #looksLeft = 0;
  #stopLooking: Cancel = () => {};
  /** Since the last look. */
  readonly #lost = new Set<Kind>();
  #lookAgainMs = 0;
  #pauseMs = pauseMinMs;
  #known:
    | { readonly clusterId: string; readonly toStorage: string; readonly bytes: Buffer }
    | undefined;
  #isClosed = false;

  constructor(options: PeerChannelOptions) {
    this.#options = options;
  }

  #connect(): Client {
    const { address, messageBytesMax, host } = this.#options;
    const tls = this.#options.tls();
    const isNamed = tls !== undefined && isIP(host.replace(/^\[(.*)\]$/, '$1')) === 0;
    const names = isNamed ? { 'grpc.ssl_target_name_override': host } : {};
    return new Client(address, credentialsOf(tls), {
      ...names,
      'grpc.use_local_subchannel_pool': 1,
      'grpc.keepalive_time_ms': 5000,
      'grpc.keepalive_timeout_ms': 2000,
      'grpc.keepalive_permit_without_calls': 1,
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': 2000,
      'grpc.dns_min_time_between_resolutions_ms': 1000,
      'grpc.max_receive_message_length': messageBytesMax,
      'grpc.max_send_message_length': messageBytesMax,
    });
  }

  /** @returns those that were dropped, since too much waits or there is no way */
  send(messages: readonly Message[]): readonly Message[] {
    const bulk = messages.filter(({ type }) => bulkTypes.has(type));
    const control = messages.filter(({ type }) => !bulkTypes.has(type));
    const isControlSent = control.length === 0 || this.#write(this.#lines.control, control);
    const isBulkSent = bulk.length === 0 || this.#write(this.#lines.bulk, bulk);
    if (isControlSent) return isBulkSent ? none : bulk;
    return isBulkSent ? control : messages;
  }

  /** The peer was heard: whatever its port said before, it is worth a look. */
  heard(): void {
    this.#lookAgainMs = 0;
  }

  #write(line: Line, messages: readonly Message[]): boolean {
    if (this.#isClosed || line.count >= waitingMax[line.kind] || line.bytes >= waitingBytesMax)
      return false;
    const isThere = this.#isThere(line);
    if (!isThere && this.#looking === undefined && this.#nowMs() < this.#lookAgainMs) return false;
    const bytes = encodeEnvelope(this.#names(), messages);
    line.count += 1;
    line.bytes += bytes.length;
    if (isThere) {
      this.#put(line, line.stream ?? this.#open(line), bytes);
      return true;
    }
    line.held.push(bytes);
    void this.#look();
    return true;
  }

  #put(line: Line, stream: Stream, bytes: Buffer): void {
    stream.write(bytes, () => {
      if (line.stream !== stream) return;
      line.count -= 1;
      line.bytes -= bytes.length;
    });
  }

  /** Connected, or dialling for a moment. */
  #isThere(line: Line): boolean {
    if (line.client === undefined) return false;
    if (line.isReady && line.stream !== undefined) return true;
    if (stateOf(line.client) === connectivityState.READY) {
      line.isReady = true;
      this.#pauseMs = pauseMinMs;
      return true;
    }
    if (this.#nowMs() - line.dialledMs < reachMs) return true;
    if (line.stream !== undefined) this.#drop(line);
    return false;
  }

  /** As bytes; they change with the cluster id and the storage of the peer. */
  #names(): Buffer {
    const { clusterId, toStorage } = this.#options.envelope();
    const known = this.#known;
    if (known?.clusterId === clusterId && known.toStorage === toStorage) return known.bytes;
    const bytes = encodeNames(this.#options.envelope());
    this.#known = { clusterId, toStorage, bytes };
    return bytes;
  }

  #open(line: Line): Stream {
    const { path } = line.kind === 'control' ? raftService.Control : raftService.Bulk;
    const raw = (bytes: Buffer) => bytes;
    const stream: Stream = this.#dialled(line).makeBidiStreamRequest(path, raw, raw);
    line.stream = stream;
    stream.on('data', () => {});
    const lost = () => {
      if (line.stream !== stream) return;
      // A dial that failed at a port that answers, as with a wrong certificate, is no reason to hurry.
      if (!line.isReady) this.#pause();
      line.stream = undefined;
      line.isReady = false;
      forget(line);
      this.#lost.add(line.kind);
      this.#looksLeft = looksMax;
      // A killed process ends its connections like a slow one; whether its port is closed tells them apart (ha.md 4.2 rule 5).
      void this.#look();
    };
    stream.on('error', lost);
    stream.on('end', lost);
    return stream;
  }

  #dialled(line: Line): Client {
    if (line.client !== undefined && stateOf(line.client) === connectivityState.READY)
      return line.client;
    line.dialledMs = this.#nowMs();
    line.client ??= this.#connect();
    return line.client;
  }

  /** One look at a time. */
  #look(): Promise<Reach> {
    const { address, tls } = this.#options;
    this.#looking ??= reachOf(address, tls(), reachMs).then((reach) => {
      this.#looking = undefined;
      if (!this.#isClosed) this.#looked(reach);
      return reach;
    });
    return this.#looking;
  }

  #looked(reach: Reach): void {
    if (reach !== 'answers') this.#pause();
    for (const line of [this.#lines.control, this.#lines.bulk]) {
      this.#dropIfHung(line);
      const { held } = line;
      line.held = [];
      for (const bytes of held)
        if (reach === 'answers') this.#put(line, line.stream ?? this.#open(line), bytes);
        else {
          line.count -= 1;
          line.bytes -= bytes.length;
          this.#lost.add(line.kind);
        }
    }
    const isLost = this.#lost.size > 0 || reach !== 'answers';
    const loss = { isRefused: reach === 'refuses', hasBulk: this.#lost.has('bulk') };
    this.#lost.clear();
    if (isLost) this.#options.onLost(loss);
    if (reach === 'silent') this.#lookLater();
    else this.#looksLeft = 0;
  }

  /** Nobody sends anything to a leader that is gone, so nothing else would look again. */
  #lookLater(): void {
    if (this.#looksLeft === 0) return;
    this.#looksLeft -= 1;
    this.#stopLooking();
    this.#stopLooking = this.#options.timers.after(pauseMinMs, () => {
      if (!this.#isClosed) void this.#look();
    });
  }

  /** A client that has failed dials again by itself, into silence if need be. */
  #dropIfHung(line: Line): void {
    if (line.client === undefined) return;
    const state = stateOf(line.client);
    if (state === connectivityState.READY || state === connectivityState.IDLE) return;
    const isDialling = state === connectivityState.CONNECTING;
    if (!isDialling || this.#nowMs() - line.dialledMs >= reachMs) this.#drop(line);
  }

  #drop(line: Line): void {
    const { client, stream, held } = line;
    if (stream !== undefined) this.#lost.add(line.kind);
    line.client = undefined;
    line.stream = undefined;
    line.isReady = false;
    forget(line);
    for (const bytes of held) {
      line.held.push(bytes);
      line.count += 1;
      line.bytes += bytes.length;
    }
    stream?.cancel();
    client?.close();
  }

  #pause(): void {
    this.#lookAgainMs = this.#nowMs() + this.#pauseMs;
    this.#pauseMs = Math.min(this.#pauseMs * 2, pauseMaxMs);
  }

  /** @throws NotSent when there is no way; Error of gRPC, also when no answer comes in time */
  async ask(name: UnaryName, request: object): Promise<unknown> {
    const { address, clock } = this.#options;
    const line = this.#lines.control;
    if (!this.#isThere(line)) {
      const reach = await this.#look();
      if (reach !== 'answers' || this.#isClosed) throw new NotSent(`${address}: ${reach}`);
    }
    const { path } = name === 'Hello' ? raftService.Hello : adminService[name];
    const raw = (bytes: Buffer) => bytes;
    const body = Buffer.from(JSON.stringify(request));
    return new Promise((resolve, reject) => {
      this.#dialled(line).makeUnaryRequest(
        path,
        raw,
        raw,
        body,
        { deadline: clock.now() + unaryTimeoutMs[name] },
        (error, answer?: Buffer) => {
          if (error !== null) {
            reject(error);
            return;
          }
          try {
            resolve(JSON.parse(answer?.toString() ?? '{}'));
          } catch (cause) {
            reject(new Error(`${address} answers no JSON`, { cause }));
          }
        },
      );
    });
  }

  /** Closes both connections; new ones look up the address anew. */
  reset(): void {
    for (const line of [this.#lines.control, this.#lines.bulk]) this.#drop(line);
    this.#lookAgainMs = 0;
    this.#pauseMs = pauseMinMs;
    // Tells what is lost.
    if (!this.#isClosed && this.#lost.size > 0) void this.#look();
  }

  close(): void {
    this.#isClosed = true;
    this.#stopLooking();
    this.reset();
  }

  #nowMs(): number {
    return this.#options.clock.monotonicMs();
  }
}

function lineOf(kind: Kind): Line {
  return {
    kind,
    client: undefined,
    stream: undefined,
    dialledMs: Number.NEGATIVE_INFINITY,
    isReady: false,
    held: [],
    count: 0,
    bytes: 0,
  };
}

/** Nothing waits any more. */
function forget(line: Line): void {
  line.held = [];
  line.count = 0;
  line.bytes = 0;
}

function stateOf(client: Client): connectivityState {
  return client.getChannel().getConnectivityState(false);
}

function credentialsOf(tls: RaftTls | undefined): ChannelCredentials {
  if (tls === undefined) return credentials.createInsecure();
  const [trusted, key, chain] = [tls.trusted, tls.key, tls.certificates].map((pem) =>
    Buffer.from(pem),
  );
  return credentials.createSsl(trusted, key, chain);
}
