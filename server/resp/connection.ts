import type { Socket } from 'node:net';
import { redisMaxPendingBytes } from '#config/redis-settings.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Cancel } from '#core/runtime.ts';
import { MessageMemory } from '#database/bounds/memory-accounts.ts';
import { Client } from './client.ts';
import { execute } from './commands.ts';
import { Pace } from '#database/key-value/pace.ts';
import { errorReply, LongReply, type Wire } from './reply.ts';
import { type ParserLimits, ProtocolError, RequestParser, tooLong } from './request-parser.ts';
import type { WireSurroundings } from './surroundings.ts';

/** Characters of replies that are joined before they are written. */
const writeAt = 64 * 1024;
/** Commands, and their bytes or those of a reply, between two looks at the clock. */
const commandsPerLook = 16;
const bytesPerLook = 4096;
/** Shorter chunks are some 20 microseconds of work and not worth a look. */
const shortChunkBytes = 1024;
/** A client that takes none of its replies for so long is cut off. */
const unreadMsMax = 60_000;
/** What a client that was told of its last error may need to read it. */
const closeMs = 1000;

/**
 * A connection: bytes to requests to replies, in order. Replies of a turn leave in one write. Where something has to be waited for
 * (a commit, a login, a reader that is slow) nothing more is read, so what a connection holds is bounded: a chunk, a request, and
 * `redis.maxPendingBytes` of replies beside the last one.
 */
export class Connection {
  readonly client: Client;
  readonly socket: Socket;
  readonly #surroundings: WireSurroundings;
  readonly #parser: RequestParser;
  readonly #memory: MessageMemory;
  #replies = '';
  #isWaiting = false;
  /** The chunk is. */
  #isShort = false;
  #hasEnded = false;
  #isClosed = false;
  #cancelClose: Cancel | undefined;
  #onIdle: (() => void) | undefined;

  constructor(
    socket: Socket,
    about: {
      readonly id: number;
      readonly surroundings: WireSurroundings;
      readonly limits: (isUnauthenticated: boolean) => ParserLimits;
    },
  ) {
    this.socket = socket;
    this.#surroundings = about.surroundings;
    const address = `${socket.remoteAddress ?? ''}:${socket.remotePort ?? 0}`;
    this.client = new Client(about.id, address, about.surroundings);
    this.#memory = new MessageMemory(about.surroundings.memory);
    this.#parser = new RequestParser(() => about.limits(this.client.principal === undefined));
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('end', () => {
      this.#hasEnded = true;
      this.#work();
    });
    // What the client sent on a broken connection is lost with it.
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      this.#isClosed = true;
      this.#cancelClose?.();
      this.client.leave();
      this.#memory.close();
      this.#onIdle?.();
    });
  }

  /** Ends the connection with an error, at once. */
  refuse(text: string): void {
    this.#replies += errorReply(text);
    this.#end();
  }

  /** Ends it when the request that runs is answered. Resolves when nothing runs. */
  async stop(): Promise<void> {
    this.client.isClosing = true;
    if (this.#isWaiting && !this.#isClosed)
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      });
    this.#end();
  }

  #take(chunk: Buffer): void {
    if (this.#isClosed || this.client.isClosing) return;
    if (this.#isWaiting) {
      this.socket.unshift(chunk);
      return;
    }
    this.#parser.feed(chunk);
    this.#isShort = chunk.length <= shortChunkBytes;
    this.#work();
  }

  #work(): void {
    if (this.#isWaiting || this.#isClosed) return;
    try {
      this.#answer();
    } catch (error) {
      if (error instanceof ProtocolError) this.refuse(`ERR Protocol error: ${error.message}`);
      else if (error instanceof DatabaseError && error.code === 'Busy')
        this.refuse(`ERR ${error.message}`);
      else throw error;
    }
  }

  /** Answers requests until there is none, or something must be waited for. */
  #answer(): void {
    const { turn } = this.#surroundings;
    let lookAt = bytesPerLook;
    if (!this.#isShort) turn.begin();
    for (let count = 1; !this.client.isClosing; count += 1) {
      const request = this.#parser.next();
      if (request === undefined) break;
      const reply = request === tooLong ? this.#refuseLong() : execute(this.client, request);
      if (typeof reply !== 'string') {
        this.#wait(reply instanceof LongReply ? this.#writeParts(reply) : reply);
        return;
      }
      this.#replies += reply;
      if (this.#replies.length >= writeAt && !this.#write()) {
        this.#wait(this.#drained());
        return;
      }
      const isLong = reply.length > bytesPerLook;
      if (this.#isShort) {
        if (!isLong) continue;
        // A few words may ask for thousands of keys.
        this.#isShort = false;
        turn.begin();
      }
      if (!isLong && count % commandsPerLook !== 0 && this.#parser.position < lookAt) continue;
      lookAt = this.#parser.position + bytesPerLook;
      if (turn.isSpent) {
        this.#wait(this.#nextTurn());
        return;
      }
    }
    this.#memory.set(this.#parser.heldBytes + (this.client.block?.bytes ?? 0));
    if (this.client.isClosing || this.#hasEnded) this.#end();
    else if (!this.#write()) this.#wait(this.#drained());
    else if (!this.#isShort && turn.isSpent) this.#wait(this.#nextTurn());
  }

  #refuseLong(): Wire {
    const { requestBytesMax } = this.#parser.limits;
    return errorReply(
      `ERR the request has more than ${requestBytesMax} bytes (service.redis.maxRequestSize)`,
    );
  }

  #wait(reply: Promise<Wire | LongReply>): void {
    this.#isWaiting = true;
    this.socket.pause();
    if (this.#replies.length > 0 && this.socket.writableLength === 0) this.#write();
    reply.then(
      (given) => {
        if (given instanceof LongReply) this.#wait(this.#writeParts(given));
        else this.#goOn(given);
      },
      (error: unknown) => this.#goOn(this.client.told(error)),
    );
  }

  #goOn(reply: Wire): void {
    this.#isWaiting = false;
    if (this.#isClosed) return;
    this.#replies += reply;
    this.#onIdle?.();
    this.#work();
    if (!this.#isWaiting && !this.#isClosed) this.socket.resume();
  }

  /** With turns for others, and no faster than the client takes it. */
  async #writeParts({ parts }: LongReply): Promise<Wire> {
    const pace = new Pace(this.#surroundings.runtime);
    for (let part = parts.next(); part.done !== true; part = parts.next()) {
      this.#replies += part.value;
      if (this.#replies.length < writeAt) continue;
      if (!this.#write()) await this.#drained();
      if (this.#isClosed) break;
      if (pace.isSpent) await pace.pause();
    }
    return '';
  }

  async #nextTurn(): Promise<Wire> {
    this.#write();
    await this.#surroundings.runtime.timers.yield();
    return '';
  }

  /** @returns false when too much waits for the client to read it */
  #write(): boolean {
    const { socket } = this;
    if (this.#replies !== '') {
      const replies = this.#replies;
      this.#replies = '';
      socket.write(replies, 'latin1');
    }
    if (!socket.writableNeedDrain) return true;
    return socket.writableLength < this.#surroundings.settings.get(redisMaxPendingBytes);
  }

  /** Resolves when the client has taken its replies; one that takes nothing is cut off. */
  #drained(): Promise<Wire> {
    const { socket } = this;
    const { timers } = this.#surroundings.runtime;
    return new Promise((resolve) => {
      let written = socket.bytesWritten - socket.writableLength;
      const look = (): void => {
        const now = socket.bytesWritten - socket.writableLength;
        if (now === written) socket.destroy();
        else {
          written = now;
          cancel = timers.after(unreadMsMax, look);
        }
      };
      let cancel = timers.after(unreadMsMax, look);
      const done = (): void => {
        cancel();
        socket.off('drain', done);
        socket.off('close', done);
        resolve('');
      };
      socket.on('drain', done);
      socket.on('close', done);
    });
  }

  #end(): void {
    if (this.#isClosed) return;
    this.client.isClosing = true;
    this.socket.end(this.#replies, 'latin1');
    this.#replies = '';
    // What still comes is thrown away, so that the last reply is not lost by a reset.
    this.socket.resume();
    this.#cancelClose ??= this.#surroundings.runtime.timers.after(closeMs, () =>
      this.socket.destroy(),
    );
  }
}
