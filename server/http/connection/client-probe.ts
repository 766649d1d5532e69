import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Cancel, Timers } from '#core/runtime.ts';

/** How often is looked. Who has left is known at the second look, so that its statement ends within 2 s (limits.md 6). */
const everyMs = 500;

/** An answer that is not sent yet, or not to its end, and how much its client tells. */
export interface Unfinished {
  readonly response: ServerResponse;
  /** Writes what means nothing, once the answer has begun; undefined where it has no room for that. */
  readonly writeNothing: (() => void) | undefined;
  /**
   * What reading tells of the client: that it left as long as somebody reads, nothing while a body fills its buffer, and never
   * anything again after its end.
   */
  readonly reading: 'reads' | 'waits' | 'ended';
}

/**
 * Watches a client whose leaving reading does not tell, since it sends no more (`nc -N`), or since more has come than is read
 * ahead: it may have left, or wait for its answers. TCP tells the same of both until something is written; then the system of
 * a client that has left resets the connection. So a request that takes longer is answered `102 Processing` (RFC 9110, 15.2)
 * in between, and a stream with an empty line.
 */
export class ClientProbe {
  readonly #socket: Socket;
  readonly #timers: Timers;
  readonly #unfinished: () => Unfinished | undefined;
  #cancel: Cancel;
  #writtenBytes: number;
  #isOver = false;

  /** @param unfinished undefined when nothing is to be found out any more */
  constructor(socket: Socket, timers: Timers, unfinished: () => Unfinished | undefined) {
    this.#socket = socket;
    this.#timers = timers;
    this.#unfinished = unfinished;
    this.#writtenBytes = socket.bytesWritten;
    this.#cancel = timers.after(everyMs, () => this.#look());
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  close(): void {
    this.#isOver = true;
    this.#cancel();
  }

  #look(): void {
    const unfinished = this.#unfinished();
    if (unfinished === undefined || this.#socket.destroyed) {
      this.#isOver = true;
      return;
    }
    const isKnown = unfinished.reading === 'reads' || this.#hasWritten || probe(unfinished);
    // Nothing will ever tell whether the client is there.
    if (!isKnown && unfinished.reading === 'ended') {
      this.close();
      this.#socket.destroy();
      return;
    }
    this.#writtenBytes = this.#socket.bytesWritten;
    this.#cancel = this.#timers.after(everyMs, () => this.#look());
  }

  /** What is written on its own, or still waits for the client, tells just as well. */
  get #hasWritten(): boolean {
    const { bytesWritten, writableLength } = this.#socket;
    return writableLength > 0 || bytesWritten > this.#writtenBytes;
  }
}

/** @returns false when nothing can be written */
function probe({ response, writeNothing }: Unfinished): boolean {
  if (response.headersSent) {
    writeNothing?.();
    return writeNothing !== undefined;
  }
  // HTTP/1.0 knows no answers in between.
  if (response.req.httpVersion === '1.0') return false;
  response.writeProcessing();
  return true;
}

/** Whether the body of a request that waits could be larger than what is read ahead of it. */
export function mayFillBuffer({ headers, readableHighWaterMark }: IncomingMessage): boolean {
  const length = headers['content-length'];
  if (length !== undefined) return Number(length) >= readableHighWaterMark;
  return headers['transfer-encoding'] !== undefined;
}

/** Whether node:http has stopped reading from the connection, until somebody takes the body of this request. */
export function fillsBuffer(request: IncomingMessage): boolean {
  return !request.complete && request.readableLength >= request.readableHighWaterMark;
}
