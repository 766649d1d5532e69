import { connect, isIP } from 'node:net';
import {
  type ChannelCredentials,
  Client,
  type ClientDuplexStream,
  credentials,
} from '@grpc/grpc-js';
import { isErrno } from '#platform/files.ts';
import type { Message } from '#raft/message.ts';
import { type EnvelopeNames, encodeEnvelope, encodeNames } from './envelope.ts';
import type { RaftTls } from './raft-tls.ts';
import { adminService, raftService } from './services.ts';

export interface PeerChannelOptions {
  /** `host:raftPort`. */
  readonly address: string;
  readonly messageBytesMax: number;
  readonly nowMs: () => number;
  /** Undefined: plain text. */
  /** Asked for each new connection: certificates are replaced while the server runs. */
  readonly tls: () => RaftTls | undefined;
  /** As the server list writes it, whatever is dialled: the certificate is checked against it. */
  readonly host: string;
  /** Names of both sides, as they are now. */
  readonly envelope: () => EnvelopeNames;
  /** A stream ended or broke. @param isRefused the process on the other side is gone, not slow */
  readonly onLost: (isRefused: boolean) => void;
}

type Kind = 'control' | 'bulk';
type Stream = ClientDuplexStream<Buffer, Buffer>;

/** What waits for a slow peer, per stream (ha.md 4.2 rule 3). */
const waitingMax = { control: 256, bulk: 64 } as const;
const waitingBytesMax = 8 * 1024 * 1024;
const unaryTimeoutMs = { Hello: 2000, GroupInfo: 3000, ChangeMembership: 30_000 } as const;
export type UnaryName = keyof typeof unaryTimeoutMs;

const bulkTypes: ReadonlySet<Message['type']> = new Set(['Append', 'Snapshot']);

/** The way to one peer: two connections, so that a large append does not stand in front of a heartbeat. Sending never waits. */
export class PeerChannel {
  readonly #options: PeerChannelOptions;
  #clients: Record<Kind, Client>;
  #streams: Partial<Record<Kind, Stream>> = {};
  #waiting: Record<Kind, { count: number; bytes: number }> = {
    control: { count: 0, bytes: 0 },
    bulk: { count: 0, bytes: 0 },
  };
  #known:
    | { readonly clusterId: string; readonly toStorage: string; readonly bytes: Buffer }
    | undefined;
  #isClosed = false;

  constructor(options: PeerChannelOptions) {
    this.#options = options;
    this.#clients = this.#connect();
  }

  #connect(): Record<Kind, Client> {
    const { address, messageBytesMax, host } = this.#options;
    const tls = this.#options.tls();
    const isNamed = tls !== undefined && isIP(host.replace(/^\[(.*)\]$/, '$1')) === 0;
    const names = isNamed ? { 'grpc.ssl_target_name_override': host } : {};
    const client = () =>
      new Client(address, credentialsOf(tls), {
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
    return { control: client(), bulk: client() };
  }

  /** @returns false when it was dropped, since too much waits */
  send(messages: readonly Message[]): boolean {
    const bulk = messages.filter(({ type }) => bulkTypes.has(type));
    const control = messages.filter(({ type }) => !bulkTypes.has(type));
    const isControlSent = control.length === 0 || this.#write('control', control);
    const isBulkSent = bulk.length === 0 || this.#write('bulk', bulk);
    return isControlSent && isBulkSent;
  }

  #write(kind: Kind, messages: readonly Message[]): boolean {
    if (this.#isClosed) return false;
    const stream = this.#streams[kind] ?? this.#open(kind);
    const waiting = this.#waiting[kind];
    if (waiting.count >= waitingMax[kind] || waiting.bytes >= waitingBytesMax) return false;
    const bytes = encodeEnvelope(this.#names(), messages);
    waiting.count += 1;
    waiting.bytes += bytes.length;
    stream.write(bytes, () => {
      if (this.#streams[kind] !== stream) return;
      waiting.count -= 1;
      waiting.bytes -= bytes.length;
    });
    return true;
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

  #open(kind: Kind): Stream {
    const { path } = kind === 'control' ? raftService.Control : raftService.Bulk;
    const raw = (bytes: Buffer) => bytes;
    const stream: Stream = this.#clients[kind].makeBidiStreamRequest(path, raw, raw);
    this.#streams[kind] = stream;
    this.#waiting[kind].count = 0;
    this.#waiting[kind].bytes = 0;
    stream.on('data', () => {});
    const lost = () => {
      if (this.#streams[kind] !== stream) return;
      delete this.#streams[kind];
      if (this.#isClosed) return;
      // A killed process ends its connections like a slow one; whether its port is closed tells them apart (ha.md 4.2 rule 5).
      whenRefused(this.#options.address, (isRefused) => {
        if (!this.#isClosed) this.#options.onLost(isRefused);
      });
    };
    stream.on('error', lost);
    stream.on('end', lost);
    return stream;
  }

  /** @throws Error of gRPC, also when no answer comes in time */
  ask(name: UnaryName, request: object): Promise<unknown> {
    const { path } = name === 'Hello' ? raftService.Hello : adminService[name];
    const raw = (bytes: Buffer) => bytes;
    const body = Buffer.from(JSON.stringify(request));
    return new Promise((resolve, reject) => {
      this.#clients.control.makeUnaryRequest(
        path,
        raw,
        raw,
        body,
        { deadline: this.#options.nowMs() + unaryTimeoutMs[name] },
        (error, answer?: Buffer) => {
          if (error !== null) {
            reject(error);
            return;
          }
          try {
            resolve(JSON.parse(answer?.toString() ?? '{}'));
          } catch (cause) {
            reject(new Error(`${this.#options.address} answers no JSON`, { cause }));
          }
        },
      );
    });
  }

  /** Closes both connections and makes new ones, which look up the address anew. */
  reset(): void {
    const { control, bulk } = this.#clients;
    this.#streams = {};
    control.close();
    bulk.close();
    if (!this.#isClosed) this.#clients = this.#connect();
  }

  close(): void {
    this.#isClosed = true;
    for (const stream of Object.values(this.#streams)) stream.cancel();
    this.reset();
  }
}

const probeMs = 500;

/** Connects once, at once: a port that is closed refuses within milliseconds. */
function whenRefused(address: string, told: (isRefused: boolean) => void): void {
  const at = address.lastIndexOf(':');
  const host = address.slice(0, at).replace(/^\[(.*)\]$/, '$1');
  const socket = connect({ host, port: Number(address.slice(at + 1)), timeout: probeMs });
  let isTold = false;
  const tell = (isRefused: boolean) => {
    if (isTold) return;
    isTold = true;
    socket.destroy();
    told(isRefused);
  };
  socket.on('connect', () => tell(false));
  socket.on('timeout', () => tell(false));
  socket.on('error', (error) => tell(isErrno(error, 'ECONNREFUSED')));
}

function credentialsOf(tls: RaftTls | undefined): ChannelCredentials {
  if (tls === undefined) return credentials.createInsecure();
  const [trusted, key, chain] = [tls.trusted, tls.key, tls.certificates].map((pem) =>
    Buffer.from(pem),
  );
  return credentials.createSsl(trusted, key, chain);
}
