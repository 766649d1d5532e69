import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Cancel, Timers } from '#core/runtime.ts';

/** How often is looked. Who has left is known at the second look, so that its statement ends within 2 s (limits.md 6). */
const everyMs = 500;

/** An answer that is not sent yet, or not to its end. */
export interface Unfinished {
  readonly response: ServerResponse;
  /** Writes what means nothing, once the answer has begun; undefined where it has no room for that. */
  readonly writeNothing: (() => void) | undefined;
}

/**
 * Watches a client that sends no more: it may have left, or wait for its answers (`nc -N`). TCP tells the same of both until
 * something is written; then the system of a client that has left resets the connection. So a request that takes longer is
 * answered `102 Processing` (RFC 9110, 15.2) in between, and a stream with an empty line.
 */
export class HalfClosed {
  readonly #socket: Socket;
  readonly #timers: Timers;
  readonly #unfinished: () => Unfinished | undefined;
  #cancel: Cancel;
  #writtenBytes: number;

  constructor(socket: Socket, timers: Timers, unfinished: () => Unfinished | undefined) {
    this.#socket = socket;
    this.#timers = timers;
    this.#unfinished = unfinished;
    this.#writtenBytes = socket.bytesWritten;
    this.#cancel = timers.after(everyMs, () => this.#look());
  }

  close(): void {
    this.#cancel();
  }

  #look(): void {
    const unfinished = this.#unfinished();
    if (unfinished === undefined || this.#socket.destroyed) return;
    if (!this.#hasWritten && !this.#probe(unfinished)) {
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

  /** @returns false when nothing can be written, and the client counts as gone */
  #probe({ response, writeNothing }: Unfinished): boolean {
    if (response.headersSent) {
      writeNothing?.();
      return writeNothing !== undefined;
    }
    // HTTP/1.0 knows no answers in between.
    if (response.req.httpVersion === '1.0') return false;
    response.writeProcessing();
    return true;
  }
}
