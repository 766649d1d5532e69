import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { Principal } from '#core/principal.ts';
import { serverHttpMaxRequestMemory } from '#config/server-settings.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Timers } from '#core/runtime.ts';
import { MessageMemory, type ServerMemory } from '#database/bounds/memory-accounts.ts';

/** Codes of RFC 6455 7.4.1 as websocket.md 1.3 uses them. */
export const closeCode = {
  goingAway: 1001,
  notText: 1003,
  policy: 1008,
  tooLarge: 1009,
  internal: 1011,
  busy: 1013,
} as const;

/** Messages that may wait for the one before them. */
const waitingMax = 64;
/** Bytes of waiting messages at which the connection is read no further. */
const waitingBytesMax = 32 * 1024 * 1024;
/** How long a client may take to answer a close before the connection is cut. */
const closeTimeoutMs = 5000;

export interface ClientOptions {
  readonly socket: WebSocket;
  /** What lies below it. */
  readonly stream: Duplex;
  readonly principal: Principal;
  /** Of the handshake. */
  readonly requestId: string;
  /** The header that it was authenticated by, and the generation of its user then. */
  readonly authorization: string;
  readonly generation: number | undefined;
  /** Another server of the cluster opened it for a client of its own. */
  readonly isForwarded: boolean;
  readonly timers: Timers;
  /** Of the requests at all doors that are not complete, or not answered. */
  readonly memory: ServerMemory;
  /** `service.server.eventBusMaxPendingBytes`; 0: any */
  readonly pendingBytesMax: () => number;
  /** Carries out a message; answers by `send`. Must not throw. */
  readonly handle: (client: Client, message: Buffer) => void | Promise<void>;
  /** Answers a message that is dropped because too many wait. */
  readonly refuse: (client: Client) => void;
  readonly closed: (client: Client) => void;
}

/** A whole text message as it is on the wire (RFC 6455 5.2), from a server. */
export function textFrame(text: Buffer): Buffer {
  const { length } = text;
  const headerLength = length < 126 ? 2 : length < 65_536 ? 4 : 10;
  const frame = Buffer.allocUnsafe(headerLength + length);
  frame[0] = 0x81;
  if (headerLength === 2) frame[1] = length;
  else if (headerLength === 4) {
    frame[1] = 126;
    frame.writeUInt16BE(length, 2);
  } else {
    frame[1] = 127;
    frame.writeBigUInt64BE(BigInt(length), 2);
  }
  text.copy(frame, headerLength);
  return frame;
}

/** One connection: its messages are carried out one after the other, in order, and what is unsent is bounded. */
export class Client {
  readonly principal: Principal;
  readonly requestId: string;
  readonly authorization: string;
  readonly generation: number | undefined;
  readonly isForwarded: boolean;
  readonly #left = new AbortController();
  readonly #options: ClientOptions;
  readonly #socket: WebSocket;
  readonly #waiting: Buffer[] = [];
  #waitingBytes = 0;
  /** Of a message that is not complete. */
  #incompleteBytes = 0;
  /** What the message that is carried out was made into. */
  #madeBytes = 0;
  readonly #memory: MessageMemory;
  #isHandling = false;
  #isClosing = false;
  #unansweredPings = 0;

  constructor(options: ClientOptions) {
    const { socket } = options;
    this.#options = options;
    this.#socket = socket;
    this.principal = options.principal;
    this.requestId = options.requestId;
    this.authorization = options.authorization;
    this.generation = options.generation;
    this.isForwarded = options.isForwarded;
    this.#memory = new MessageMemory(options.memory);
    // Before the library, which tells of the messages that a piece completes.
    options.stream.prependListener('data', ({ length }: Buffer) => this.#arrived(length));
    socket.on('message', (data, isBinary) => this.#received(data as Buffer, isBinary));
    socket.on('pong', () => {
      this.#unansweredPings = 0;
    });
    // The library closes with the right code; what the connection held need not wait until it is gone.
    socket.on('error', () => this.#end());
    socket.on('close', () => {
      this.#isClosing = true;
      this.#waiting.length = 0;
      this.#memory.close();
      this.#left.abort();
      options.closed(this);
    });
  }

  /** Aborted when the connection is gone, or is being closed. */
  get left(): AbortSignal {
    return this.#left.signal;
  }

  /** Whether a message is being carried out or waits. */
  get isBusy(): boolean {
    return this.#isHandling || this.#waiting.length > 0;
  }

  /** Whether the connection has ended. */
  get isGone(): boolean {
    return this.#socket.readyState === this.#socket.CLOSED;
  }

  /** Sends a text message, or closes the connection when the client does not read fast enough. */
  send(message: string | Buffer): void {
    if (this.#isClosing) return;
    this.#socket.send(message, { binary: false });
    this.#requireReader();
  }

  /** As `send`, with messages that `textFrame` has made: the same bytes for many clients. */
  sendFrames(frames: readonly Buffer[]): void {
    if (this.#isClosing) return;
    const { stream } = this.#options;
    // Nothing of the library waits above the stream, since messages are not compressed; so the order is kept.
    if (frames.length > 1) stream.cork();
    for (const frame of frames) stream.write(frame);
    if (frames.length > 1) stream.uncork();
    this.#requireReader();
  }

  #requireReader(): void {
    const bytesMax = this.#options.pendingBytesMax();
    if (bytesMax > 0 && this.#socket.bufferedAmount > bytesMax) {
      this.close(closeCode.policy, 'slow consumer');
    }
  }

  /** Nothing is received or sent any more. */
  close(code: number, reason: string): void {
    if (this.#isClosing) return;
    this.#socket.resume();
    this.#socket.close(code, reason);
    this.#end();
  }

  /** A close is sent: lets go of everything, and of a client that does not answer it after a while. */
  #end(): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#left.abort();
    this.#waiting.length = 0;
    const cancel = this.#options.timers.after(closeTimeoutMs, () => this.terminate());
    this.#socket.once('close', cancel);
    this.#options.closed(this);
  }

  terminate(): void {
    this.#socket.terminate();
  }

  /** To be called every 30 s: asks for a sign of life, and ends the connection when there was none for 60 s. */
  ping(): void {
    if (this.#isClosing) return;
    if (this.#unansweredPings >= 2) {
      this.close(closeCode.goingAway, 'ping timeout');
      this.terminate();
      return;
    }
    this.#unansweredPings += 1;
    this.#socket.ping();
  }

  /**
   * Counts what becomes of the message that is being carried out, until it is.
   * @throws DatabaseError `Busy`
   */
  hold(bytes: number): void {
    this.#madeBytes += bytes;
    this.#count();
  }

  #arrived(length: number): void {
    this.#incompleteBytes += length;
    try {
      this.#count();
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error;
      // A reason has 123 bytes at most.
      this.close(
        closeCode.busy,
        `too much is held by requests (${serverHttpMaxRequestMemory.key})`,
      );
      // What comes until the client has answered is thrown away, and what came is let go of.
      this.#options.stream.removeAllListeners('data').resume();
    }
  }

  #count(): void {
    if (this.#isClosing) return;
    this.#memory.set(this.#incompleteBytes + this.#waitingBytes + this.#madeBytes);
  }

  #received(message: Buffer, isBinary: boolean): void {
    this.#incompleteBytes = 0;
    if (this.#isClosing) return;
    if (isBinary) {
      this.close(closeCode.notText, 'text frames only');
      return;
    }
    if (this.#waiting.length >= waitingMax) {
      this.#options.refuse(this);
      return;
    }
    this.#waiting.push(message);
    this.#waitingBytes += message.length;
    if (this.#waitingBytes > waitingBytesMax) this.#socket.pause();
    if (!this.#isHandling) this.#handleNext();
  }

  /** Messages that need no waiting are answered at once. */
  #handleNext(): void {
    for (
      let message = this.#waiting.shift();
      message !== undefined;
      message = this.#waiting.shift()
    ) {
      this.#isHandling = true;
      const { length } = message;
      const later = this.#options.handle(this, message);
      if (later !== undefined) {
        void later.then(() => {
          this.#handled(length);
          this.#handleNext();
        });
        return;
      }
      this.#handled(length);
    }
  }

  #handled(length: number): void {
    this.#isHandling = false;
    this.#waitingBytes -= length;
    this.#madeBytes = 0;
    this.#count();
    if (this.#socket.isPaused && this.#waitingBytes <= waitingBytesMax) this.#socket.resume();
  }
}
