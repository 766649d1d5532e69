import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { createGunzip, createInflate } from 'node:zlib';
import type { Gunzip, Inflate } from 'node:zlib';
import { serverHttpStreamingReadTimeout } from '#config/server-settings.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Cancel } from '#core/runtime.ts';
import type { Exchange } from '../answer/exchange.ts';
import { HttpRefusal } from '../answer/errors.ts';
import { hasBody, packingOf } from './request-body.ts';

/** Pieces that may wait for being taken, in bytes; then the client is told to wait. */
const waitingBytesMax = 256 * 1024;
/** Shorter lines are not worth an account. */
const ordinaryLineBytes = 256 * 1024;
/** Beyond these a packed body is no honest one (http-api.md 1.1). */
const ratioMax = 1000;
const ratioBytesMin = 4 * 1024 * 1024;

/**
 * A body that is read while it arrives, at the speed of whoever takes it: unpacked, its client watched. Take pieces with
 * `next` until undefined; `close` in any case, before an answer that does not wait for the rest.
 */
export class BodyPieces {
  readonly #exchange: Exchange;
  readonly #request: IncomingMessage;
  readonly #source: Readable;
  readonly #unpacker: Gunzip | Inflate | undefined;
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #unpackedBytes = 0;
  /** Since the last line feed. */
  #lineBytes = 0;
  /** Of the memory of all requests. */
  #heldBytes = 0;
  #isEnded = false;
  #isClosed = false;
  #failure: unknown;
  #wake: (() => void) | undefined;

  /** @throws HttpRefusal 415 for a coding that is not known */
  constructor(exchange: Exchange) {
    const { request } = exchange;
    this.#exchange = exchange;
    this.#request = request;
    const packing = packingOf(request.headers['content-encoding']);
    if (packing === undefined) this.#source = request;
    else {
      const options = { chunkSize: 64 * 1024 };
      this.#unpacker = packing === 'gzip' ? createGunzip(options) : createInflate(options);
      this.#source = this.#unpacker;
    }
    if (!hasBody(request)) this.#isEnded = true;
    else if (request.headers.expect !== undefined) exchange.response.writeContinue();
    this.#listen();
  }

  /**
   * The next piece, which is the caller's; undefined at the end.
   * @throws HttpRefusal 408 when the client stops sending, 400 for what cannot be unpacked, 413 for a bomb; the reason of the
   * connection's signal when the request is cancelled
   */
  async next(): Promise<Uint8Array | undefined> {
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure;
      const piece = this.#waiting.shift();
      if (piece !== undefined) {
        this.#waitingBytes -= piece.length;
        this.#holdLine(piece);
        return piece;
      }
      if (this.#isEnded) return undefined;
      await this.#arrival();
    }
  }

  /** Whoever takes the pieces keeps them until a line is whole, in memory that doubles: a long one is counted. */
  #holdLine(piece: Uint8Array): void {
    const lineFeed = piece.lastIndexOf(10);
    if (lineFeed < 0) this.#lineBytes += piece.length;
    else {
      this.#exchange.release(this.#heldBytes);
      this.#heldBytes = 0;
      this.#lineBytes = piece.length - lineFeed - 1;
    }
    const bytes = 2 * this.#lineBytes - this.#heldBytes;
    if (this.#lineBytes <= ordinaryLineBytes) return;
    this.#exchange.hold(bytes);
    this.#heldBytes += bytes;
  }

  /** Lets go of the request; what still comes is not looked at. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#source.off('data', this.#onData);
    this.#source.off('end', this.#onEnd);
    this.#exchange.connection.onBrokenBody = undefined;
    this.#exchange.connection.signal.removeEventListener('abort', this.#onAbort);
    this.#waiting = [];
    if (this.#unpacker === undefined) return;
    this.#request.unpipe(this.#unpacker);
    this.#unpacker.destroy();
  }

  #listen(): void {
    const request = this.#request;
    this.#source.on('data', this.#onData);
    this.#source.on('end', this.#onEnd);
    // Stays: an error without a listener would end the process.
    request.on('error', () => this.#fail(truncated()));
    request.on('close', () => {
      if (!request.complete) this.#fail(truncated());
    });
    this.#exchange.connection.onBrokenBody = (code) => this.#broken(code);
    const { signal } = this.#exchange.connection;
    if (signal.aborted) this.#onAbort();
    else signal.addEventListener('abort', this.#onAbort);
    if (this.#unpacker === undefined) return;
    this.#unpacker.on('error', (error: NodeJS.ErrnoException) => {
      this.#fail(error.code === 'Z_BUF_ERROR' ? truncated() : notPackedSo());
    });
    request.pipe(this.#unpacker);
  }

  readonly #onData = (piece: Uint8Array): void => {
    this.#waiting.push(piece);
    this.#waitingBytes += piece.length;
    if (this.#unpacker !== undefined) this.#checkRatio(this.#unpacker, piece.length);
    if (this.#waitingBytes > waitingBytesMax) this.#source.pause();
    this.#wake?.();
  };

  readonly #onEnd = (): void => {
    this.#isEnded = true;
    this.#wake?.();
  };

  readonly #onAbort = (): void => {
    const reason: unknown = this.#exchange.connection.signal.reason;
    // Without a reason of ours the client has left.
    this.#fail(reason instanceof DatabaseError ? reason : truncated());
  };

  #checkRatio(unpacker: Gunzip | Inflate, length: number): void {
    this.#unpackedBytes += length;
    const unpacked = this.#unpackedBytes;
    if (unpacked < ratioBytesMin || unpacked <= ratioMax * unpacker.bytesWritten) return;
    this.#fail(
      new HttpRefusal({
        status: 413,
        error: 'Request body too large',
        detail: `the body unpacks to more than ${ratioMax} times its size`,
        closes: true,
      }),
    );
  }

  /** Nothing more can be read from the connection. @returns true when that breaks this body: who reads it answers */
  #broken(code: string | undefined): boolean {
    if (this.#request.complete) return false;
    const isCut = code === 'HPE_INVALID_EOF_STATE' || code === 'ECONNRESET';
    this.#fail(isCut ? truncated() : malformedBody(code));
    return code !== 'ECONNRESET';
  }

  #fail(error: unknown): void {
    if (this.#isEnded && this.#unpacker === undefined) return;
    this.#failure ??= error;
    this.#wake?.();
  }

  #arrival(): Promise<void> {
    const { settings, runtime } = this.#exchange.door;
    const timeoutMs = settings.get(serverHttpStreamingReadTimeout);
    return new Promise((resolve) => {
      let cancel: Cancel = () => {};
      this.#wake = () => {
        this.#wake = undefined;
        cancel();
        resolve();
      };
      cancel = runtime.timers.after(timeoutMs, () => this.#fail(stalled(timeoutMs)));
      this.#source.resume();
    });
  }
}

/** Refusals after which nothing more can be read from the connection. */
const broken = new WeakSet<HttpRefusal>();

export function isBrokenBody(error: unknown): boolean {
  return error instanceof HttpRefusal && broken.has(error);
}

function truncated(): HttpRefusal {
  const refusal = new HttpRefusal({
    status: 408,
    error: 'Request timeout',
    detail: 'the body ended before it was complete',
    exception: 'TimeoutException',
    closes: true,
  });
  broken.add(refusal);
  return refusal;
}

function malformedBody(code: string | undefined): HttpRefusal {
  const refusal = new HttpRefusal({
    status: 400,
    error: 'Malformed HTTP request',
    detail: code,
    closes: true,
  });
  broken.add(refusal);
  return refusal;
}

function stalled(timeoutMs: number): HttpRefusal {
  const { key } = serverHttpStreamingReadTimeout;
  return new HttpRefusal({
    status: 408,
    error: 'Request timeout',
    detail: `nothing of the body arrived for ${timeoutMs} ms (${key})`,
    exception: 'TimeoutException',
    closes: true,
  });
}

function notPackedSo(): HttpRefusal {
  return new HttpRefusal({
    status: 400,
    error: 'Request body is not in its Content-Encoding',
    closes: true,
  });
}
