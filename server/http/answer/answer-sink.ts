import type { Writable } from 'node:stream';
import { serverHttpStreamingWriteTimeout } from '#config/server-settings.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Coding } from './compression.ts';
import { createPacker } from './compression.ts';
import type { Exchange } from './exchange.ts';
import { pieceBytes } from './json-pieces.ts';
import type { JsonWriter } from './json-writer.ts';

const bufferBytes = pieceBytes + 8 * 1024;
const sentBuffersMax = 4;
/** Time after which others have their turn. */
const turnMs = 5;

const emptyLine = Buffer.from('\n');

/**
 * An answer of JSON that is sent in pieces, at the speed at which the client takes them. Pieces end between rows, but for those of
 * long rows and lines. What was handed in and not yet taken is bounded by the socket's buffer: after `write` answered false, wait for
 * `drained`.
 */
export class AnswerSink {
  readonly #exchange: Exchange;
  readonly #target: Writable;
  readonly #sent: Buffer[] = [];
  #turnStartMs: number;
  #isInRow = false;

  /** Sends the headers. @param headers name, value, name, value, ... */
  constructor(exchange: Exchange, headers: readonly string[], coding: Coding | undefined) {
    this.#exchange = exchange;
    this.#turnStartMs = exchange.door.runtime.clock.monotonicMs();
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

  /** Shows that the answer goes on; not within a row, where an empty line would mean something. */
  writeNothing(): void {
    if (!this.#isInRow && this.#target.writable) this.#target.write(emptyLine);
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

  /** As `writeFrom`; resolves when the client has caught up, and others had their turn if it was due. */
  async send(writer: JsonWriter): Promise<void> {
    await this.#keepPace(this.writeFrom(writer));
  }

  /** The pieces of one line; as `send`. */
  async sendLine(texts: Iterable<string>): Promise<void> {
    this.#isInRow = true;
    for (const text of texts) await this.#keepPace(this.#target.write(Buffer.from(text)));
    this.#isInRow = false;
  }

  /** A client that keeps up is no reason to keep others waiting: the system may take megabytes within one turn. */
  async #keepPace(isTaken: boolean): Promise<void> {
    const { clock, timers } = this.#exchange.door.runtime;
    if (!isTaken) await this.drained();
    if (clock.monotonicMs() - this.#turnStartMs < turnMs) return;
    await timers.yield();
    this.#turnStartMs = clock.monotonicMs();
  }

  /** A long row: what the writer holds, whenever `pieces` gives back, and at the end. */
  async sendInPieces(pieces: Iterable<void>, writer: JsonWriter): Promise<void> {
    this.#isInRow = true;
    for (const _ of pieces) await this.send(writer);
    await this.send(writer);
    this.#isInRow = false;
  }

  /** Pieces of a row are being sent, or it failed amid them: what follows could not be told from the row. */
  get isInRow(): boolean {
    return this.#isInRow;
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
