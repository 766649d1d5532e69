import {
  type sendUnaryData,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  status,
} from '@grpc/grpc-js';
import { X509Certificate } from 'node:crypto';
import { createServer, type Socket } from 'node:net';
import type { PeerId } from '#raft/vocabulary.ts';
import { type Envelope, EnvelopeReader } from './envelope.ts';
import type { UnaryName } from './peer-channel.ts';
import { type RaftTls, speaksFor } from './raft-tls.ts';
import { adminService, raftService } from './services.ts';

export interface RaftServerOptions {
  readonly host: string;
  readonly port: number;
  readonly messageBytesMax: number;
  readonly flowControlWindow: number;
  /** Whether this address may connect (ha.md 4.4). */
  readonly admits: (address: string | undefined) => Promise<boolean>;
  /** Undefined: plain text. */
  readonly tls: RaftTls | undefined;
  /** @returns why the envelope is refused; undefined: it was taken */
  readonly onEnvelope: (envelope: Envelope) => string | undefined;
  /** @throws Error whose text the caller gets */
  readonly onAsked: (name: UnaryName, request: unknown) => Promise<object>;
}

const keepAliveMs = 10_000;

type ConnectionInjector = ReturnType<Server['createConnectionInjector']>;

/** The Raft port. Whatever is no message closes its stream and is counted; the state of the group is untouched. */
export class RaftServer {
  readonly #options: RaftServerOptions;
  readonly #server: Server;
  readonly #listener = createServer({ noDelay: true });
  #injector: ConnectionInjector;
  /** With the members that spoke through it. */
  readonly #sockets = new Map<Socket, Set<PeerId>>();
  refused = 0;

  constructor(options: RaftServerOptions) {
    this.#options = options;
    const { messageBytesMax, flowControlWindow } = options;
    this.#server = new Server({
      'grpc.max_receive_message_length': messageBytesMax,
      'grpc.max_send_message_length': messageBytesMax,
      'grpc-node.flow_control_window': flowControlWindow,
      'grpc.keepalive_permit_without_calls': 1,
      'grpc-node.max_session_memory': 64,
    });
    const stream = (call: ServerDuplexStream<Buffer, Buffer>) => this.#serve(call);
    this.#server.addService(raftService, {
      Control: stream,
      Bulk: stream,
      Hello: this.#unary('Hello'),
    });
    this.#server.addService(adminService, {
      ChangeMembership: this.#unary('ChangeMembership'),
      GroupInfo: this.#unary('GroupInfo'),
    });
    this.#injector = this.#server.createConnectionInjector(credentialsOf(options.tls));
  }

  /**
   * A listener of its own: the library has no filter for connections.
   * @returns the port @throws Error of the system when it is taken
   */
  listen(): Promise<number> {
    const { host, port } = this.#options;
    this.#listener.on('connection', (socket) => void this.#accept(socket));
    return new Promise((resolve, reject) => {
      this.#listener.once('error', reject);
      this.#listener.listen({ host, port }, () => {
        this.#listener.off('error', reject);
        this.#listener.on('error', () => {});
        const address = this.#listener.address();
        resolve(address !== null && typeof address === 'object' ? address.port : port);
      });
    });
  }

  /** Connections that come are served with these; those that are there stay. */
  useTls(tls: RaftTls): void {
    this.#injector = this.#server.createConnectionInjector(credentialsOf(tls));
  }

  async #accept(socket: Socket): Promise<void> {
    this.#sockets.set(socket, new Set());
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('error', () => {});
    // Of a host that vanished nothing comes any more, no end either.
    socket.setKeepAlive(true, keepAliveMs);
    const isAdmitted = await this.#options.admits(socket.remoteAddress).catch(() => false);
    if (isAdmitted && !socket.destroyed) {
      this.#injector.injectConnection(socket);
      return;
    }
    this.refused += 1;
    socket.destroy();
  }

  close(): void {
    this.#listener.close();
    this.#server.forceShutdown();
    this.hangUp();
  }

  /** Ends all connections: whoever waits for an answer hears that none comes. */
  hangUp(): void {
    for (const socket of this.#sockets.keys()) socket.destroy();
  }

  /** Ends the connections of a member that was removed, and those of addresses that are nobody's any more. */
  async cutOff(peer: PeerId): Promise<void> {
    const { admits } = this.#options;
    for (const [socket, speakers] of [...this.#sockets])
      if (speakers.has(peer) || !(await admits(socket.remoteAddress).catch(() => false)))
        socket.destroy();
  }

  /** @param from `address:port` of the other side */
  #spoke(peer: PeerId, from: string): void {
    for (const [socket, speakers] of this.#sockets)
      if (`${socket.remoteAddress}:${socket.remotePort}` === from) speakers.add(peer);
  }

  #serve(call: ServerDuplexStream<Buffer, Buffer>): void {
    const raw = call.getAuthContext().sslPeerCertificate?.raw;
    const certificate =
      raw === undefined || this.#options.tls?.isMutual !== true
        ? undefined
        : new X509Certificate(raw);
    const reader = new EnvelopeReader();
    let speaker = '';
    const spoke = (peer: PeerId) => {
      if (peer === speaker) return;
      speaker = peer;
      this.#spoke(peer, call.getPeer());
    };
    call.on('data', (bytes: Buffer) => {
      const reason = this.#take(() => reader.read(bytes), certificate, spoke);
      if (reason === undefined) return;
      this.refused += 1;
      // `destroy` would leave the other side without a word.
      call.emit('error', { code: status.INVALID_ARGUMENT, details: reason });
    });
    call.on('end', () => call.end());
    call.on('error', () => {});
  }

  /** With mutual authentication a member speaks for its own host only (ha.md 4.5 rule 6). */
  #take(
    read: () => Envelope,
    certificate: X509Certificate | undefined,
    spoke: (peer: PeerId) => void,
  ): string | undefined {
    try {
      const envelope = read();
      const host = envelope.fromPeer.replace(/_\d+$/, '');
      if (certificate !== undefined && !speaksFor(certificate, host))
        return `the certificate is not that of ${envelope.fromPeer}`;
      spoke(envelope.fromPeer);
      return this.#options.onEnvelope(envelope);
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  /** As of streams (ha.md 4.5 rule 6). */
  #requireSpeaker(certificate: Buffer | undefined, peer: unknown): void {
    if (certificate === undefined || this.#options.tls?.isMutual !== true) return;
    const host = String(peer).replace(/_\d+$/, '');
    if (!speaksFor(new X509Certificate(certificate), host))
      throw new Error(`the certificate is not that of ${String(peer)}`);
  }

  #unary(name: UnaryName) {
    return (call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>) => {
      const fail = (error: unknown, code: status) => {
        this.refused += 1;
        done({ code, details: error instanceof Error ? error.message : String(error) });
      };
      let request: unknown;
      try {
        request = JSON.parse(call.request.toString());
        this.#requireSpeaker(call.getAuthContext().sslPeerCertificate?.raw, speakerOf(request));
      } catch (error) {
        fail(error, status.INVALID_ARGUMENT);
        return;
      }
      this.#options.onAsked(name, request).then(
        (answer) => done(null, Buffer.from(JSON.stringify(answer))),
        (error: unknown) => fail(error, status.FAILED_PRECONDITION),
      );
    };
  }
}

/** Who a call says it is from: `peer` of a hello, or of the hello that goes with a request. */
function speakerOf(request: unknown): unknown {
  const { peer, from } = (request ?? {}) as { peer?: unknown; from?: { peer?: unknown } };
  return peer ?? from?.peer;
}

function credentialsOf(tls: RaftTls | undefined): ServerCredentials {
  if (tls === undefined) return ServerCredentials.createInsecure();
  const pair = { private_key: Buffer.from(tls.key), cert_chain: Buffer.from(tls.certificates) };
  return ServerCredentials.createSsl(Buffer.from(tls.trusted), [pair], tls.isMutual);
}
