import type { Writable } from 'node:stream';
import { serverHttpStreamingWriteTimeout } from '#config/server-settings.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Coding } from './compression.ts';
import { createPacker } from './compression.ts';
import type { Exchange } from './exchange.ts';
import type { JsonWriter } from './json-writer.ts';

/** Writers are emptied at `pieceBytes`; a row more than that rarely makes a buffer grow. */
export const pieceBytes = 64 * 1024;
const bufferBytes = pieceBytes + 8 * 1024;
const sentBuffersMax = 4;

const emptyLine = Buffer.from('\n');

/**
 * An answer of JSON that is sent in pieces, at the speed at which the client takes them. Pieces end where an empty line means
 * nothing. What was handed in and not yet taken is bounded by the socket's buffer: after `write` answered false, wait for
 * `drained`.
 */
export class AnswerSink {
  readonly #exchange: Exchange;
  readonly #target: Writable;
  readonly #sent: Buffer[] = [];

  /** Sends the headers. @param headers name, value, name, value, ... */
  constructor(exchange: Exchange, headers: readonly string[], coding: Coding | undefined) {
    this.#exchange = exchange;
    const { response } = exchange;
    const all = coding ? [...headers, ...coding.headers] : headers;
    response.writeHead(200, exchange.headersOf(all, undefined));
    if (coding) {
      const packer = createPacker(coding);
      packer.pipe(response);
      response.on('close', () => packer.destroy());
      this.#target = packer;
    } else this.#target = response;
    exchange.connection.writeNothing = () => this.writeNothing();
  }

  /** @param bytes must not change any more; @returns false when the client is behind */
  write(bytes: Uint8Array): boolean {
    return this.#target.write(bytes);
  }

  /** Shows that the answer goes on. */
  writeNothing(): void {
    if (this.#target.writable) this.#target.write(emptyLine);
  }

  /**
   * Sends what the writer holds and gives it an empty buffer, one that was sent before if there is one: a new one for each
   * piece would keep the garbage collector busy. @returns false when the client is behind
   */
  writeFrom(writer: JsonWriter): boolean {
    const piece = writer.swap(this.#sent.pop() ?? Buffer.allocUnsafeSlow(bufferBytes));
    return this.#target.write(piece, () => {
      const buffer = Buffer.from(piece.buffer);
      const isReusable = buffer.length === bufferBytes && this.#sent.length < sentBuffersMax;
      if (isReusable) this.#sent.push(buffer);
    });
  }

  get clientLeft(): boolean {
    return this.#exchange.response.destroyed;
  }

  /**
   * Resolves when the client has caught up.
   * @throws DatabaseError `Cancelled` when it left, or took nothing for `server.httpStreamingWriteTimeout` and was cut off
   */
  async drained(): Promise<void> {
    const { response, door } = this.#exchange;
    if (response.destroyed) throw clientLeft();
    const timeoutMs = door.settings.get(serverHttpStreamingWriteTimeout);
    await new Promise<void>((resolve, reject) => {
      const settle = (act: () => void) => () => {
        cancelTimer();
        this.#target.off('drain', onDrain);
        response.off('close', onClose);
        act();
      };
      const onDrain = settle(resolve);
      const onClose = settle(() => reject(clientLeft()));
      const cancelTimer = door.runtime.timers.after(timeoutMs, () => response.destroy());
      this.#target.on('drain', onDrain);
      response.on('close', onClose);
    });
  }

  end(): void {
    this.#target.end();
  }

  /** Breaks the answer off, so that the client cannot take it for complete. */
  cut(): void {
    this.#exchange.response.destroy();
  }
}

function clientLeft(): DatabaseError {
  return new DatabaseError('Cancelled', 'the client has left');
}
