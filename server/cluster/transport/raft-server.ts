import {
  type sendUnaryData,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  status,
} from '@grpc/grpc-js';
import { decodeEnvelope, type Envelope } from './envelope.ts';
import type { UnaryName } from './peer-channel.ts';
import { adminService, raftService } from './services.ts';

export interface RaftServerOptions {
  readonly host: string;
  readonly port: number;
  readonly messageBytesMax: number;
  readonly flowControlWindow: number;
  readonly credentials?: ServerCredentials | undefined;
  /** @returns why the envelope is refused; undefined: it was taken */
  readonly onEnvelope: (envelope: Envelope) => string | undefined;
  /** @throws Error whose text the caller gets */
  readonly onAsked: (name: UnaryName, request: unknown) => Promise<object>;
}

/** The Raft port. Whatever is no message closes its stream and is counted; the state of the group is untouched. */
export class RaftServer {
  readonly #options: RaftServerOptions;
  readonly #server: Server;
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
  }

  /** @returns the port @throws Error of the system when it is taken */
  listen(): Promise<number> {
    const { host, port } = this.#options;
    const address = `${host.includes(':') ? `[${host}]` : host}:${port}`;
    return new Promise((resolve, reject) => {
      this.#server.bindAsync(
        address,
        this.#options.credentials ?? ServerCredentials.createInsecure(),
        (error, bound) => (error === null ? resolve(bound) : reject(error)),
      );
    });
  }

  close(): void {
    this.#server.forceShutdown();
  }

  #serve(call: ServerDuplexStream<Buffer, Buffer>): void {
    call.on('data', (bytes: Buffer) => {
      const reason = this.#take(bytes);
      if (reason === undefined) return;
      this.refused += 1;
      // `destroy` would leave the other side without a word.
      call.emit('error', { code: status.INVALID_ARGUMENT, details: reason });
    });
    call.on('end', () => call.end());
    call.on('error', () => {});
  }

  #take(bytes: Buffer): string | undefined {
    try {
      return this.#options.onEnvelope(decodeEnvelope(bytes));
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
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
