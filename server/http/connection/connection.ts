import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Linked } from '#core/linked-list.ts';
import type { Timers } from '#core/runtime.ts';
import { LastHeader } from '#security/last-header.ts';
import type { OverlongLine } from './client-error.ts';
import { ClientProbe, fillsBuffer, mayFillBuffer, type Unfinished } from './client-probe.ts';

/** Requests of one connection that may wait for the one before them. */
const pipelineLengthMax = 256;

/** How long, and how much, of what cannot be read is thrown away so that the client sees the answer. */
export const lingerMs = 5000;
export const lingerBytesMax = 1024 * 1024 * 1024;

/** Sees the end of a request. */
export interface RequestObserver {
  closed(): void;
}

interface Pipelined {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** What a connection asks of those who keep all of them (gate.ts). */
export interface ConnectionOwner {
  readonly timers: Timers;
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void;
  becameBusy(connection: Connection): void;
  becameIdle(connection: Connection): void;
  left(connection: Connection): void;
  /** Calls `run` when the request may execute. */
  takeSlot(run: () => void): void;
  giveSlotBack(): void;
}

/**
 * One client connection: its requests are handled one at a time, in order (limits.md 26). Knows whether its running request
 * holds one of the worker slots, and tells it when the client left.
 */
export class Connection implements Linked<Connection> {
  readonly socket: Socket;
  /** Place in the gate's list of idle ones, which alone sets these. */
  previous: Connection | undefined;
  next: Connection | undefined;
  isIdle = false;
  readonly lastHeader = new LastHeader();
  /**
   * Set while a streamed body is read: told when nothing more can be read from the connection, with the parser's error code;
   * true means that the request is answered all the same.
   */
  onBrokenBody: ((code: string | undefined) => boolean) | undefined;
  /** Set while an answer is sent in which an empty line means nothing; writes one. */
  writeNothing: (() => void) | undefined;
  /** Set while the end of a line is awaited that is too long for a request. */
  overlongLine: OverlongLine | undefined;
  /** Told when the running request was answered or its client has left. */
  observer: RequestObserver | undefined;
  /** Requests begun, and as many as there were when `pendingBytes` was asked last, with what had been read then. */
  #requestCount = 0;
  #countSeen = 0;
  #bytesSeen = 0;
  readonly #gate: ConnectionOwner;
  readonly #waiting: Pipelined[] = [];
  readonly #whenClosed = () => this.#requestClosed();
  #current: Pipelined | undefined;
  /** Set when nothing more can be read as a request: answers that, as soon as nothing else is to be answered. */
  #refuseRest: (() => void) | undefined;
  /** What came behind a refusal and was thrown away. */
  #discardedBytes = 0;
  #probe: ClientProbe | undefined;
  /** Whether nothing will be read any more. */
  #hasEnded = false;
  #holdsSlot = false;
  #abort: AbortController | undefined;

  constructor(socket: Socket, gate: ConnectionOwner) {
    this.socket = socket;
    this.#gate = gate;
  }

  /** Starts a request, or lets it wait behind the running one. */
  admit(pipelined: Pipelined): void {
    if (this.#current === undefined) this.#start(pipelined);
    else if (this.#waiting.length < pipelineLengthMax) {
      this.#waiting.push(pipelined);
      if (mayFillBuffer(pipelined.request)) this.#watchClient();
    } else this.socket.destroy();
  }

  /** Aborted when the client leaves or `cancel` is called while the running request is not answered. */
  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    return this.#abort.signal;
  }

  /** What `signal` says, without making it. */
  get isAborted(): boolean {
    return this.#abort?.signal.aborted === true;
  }

  /** What was read since the last request: headers that are not complete. Less where a request began since it was asked last. */
  pendingBytes(): number {
    // What the parser has given up on is thrown away.
    if (this.overlongLine !== undefined || this.isRefused) return 0;
    const { bytesRead } = this.socket;
    if (this.#countSeen !== this.#requestCount) {
      this.#countSeen = this.#requestCount;
      this.#bytesSeen = bytesRead;
    }
    return bytesRead - this.#bytesSeen;
  }

  /** Whether it has sent a whole request. */
  get hasAsked(): boolean {
    return this.#requestCount > 0;
  }

  get isBusy(): boolean {
    return this.#current !== undefined;
  }

  /**
   * What the client sends from here on cannot be read as requests. Those before it are answered as they would be, since they may
   * have been executed; only then `refuse` is called, and not at all when the last answer closes the connection. A request whose
   * body breaks off here is not executed: `refuse` is its answer.
   */
  endRequests(refuse: () => void): void {
    // Each further packet tells it anew.
    if (this.#refuseRest !== undefined) return;
    if (this.#waiting.at(-1)?.request.complete === false) this.#waiting.pop();
    this.#refuseRest = refuse;
    if (this.#current === undefined || isCutOff(this.#current)) refuse();
  }

  /** node:http has given the socket up for another protocol: `take` gets it when everything asked before was answered. */
  handOver(take: () => void): void {
    // It tells answers that wait for the client no more either.
    const resumeAnswer = () => void this.#current?.response.emit('drain');
    this.socket.on('drain', resumeAnswer);
    // Nobody reads from the socket until then, so it does not tell the end of what the client sends.
    this.endedByClient();
    this.endRequests(() => {
      this.socket.off('drain', resumeAnswer);
      this.#probe?.close();
      take();
    });
  }

  /** Nothing is read as a request any more. */
  get isRefused(): boolean {
    return this.#refuseRest !== undefined;
  }

  /** Whether what comes behind a refusal is still thrown away; not for ever. */
  discards({ length }: Buffer): boolean {
    this.#discardedBytes += length;
    if (this.socket.writableEnded) this.socket.setTimeout(lingerMs);
    return this.#discardedBytes <= lingerBytesMax;
  }

  /** Whether a request that came whole is not answered yet. */
  get isAnswering(): boolean {
    return this.#current !== undefined && !isCutOff(this.#current);
  }

  /** Ends what the running request executes. */
  cancel(reason: unknown): void {
    this.#abort?.abort(reason);
  }

  /** The connection leaves HTTP and is no longer counted or closed here. */
  leave(): void {
    this.#gate.left(this);
  }

  /** Calls `run` as soon as one of `server.httpWorkerThreads` slots is free; given back when the answer ended. */
  whenSlotIsFree(run: () => void): void {
    this.#gate.takeSlot(() => {
      if (this.#current === undefined) this.#gate.giveSlotBack();
      else {
        this.#holdsSlot = true;
        run();
      }
    });
  }

  /** The client sends no more. It still gets the answers to what it asked. */
  endedByClient(): void {
    this.#hasEnded = true;
    this.#watchClient();
  }

  /** The socket is gone; nothing that waits will be handled. */
  closed(): void {
    this.#probe?.close();
    this.#waiting.length = 0;
  }

  /** Finds out whether a client has left that reading does not tell of, as long as it has answers to come. */
  #watchClient(): void {
    if (!this.isBusy || this.#probe?.isOver === false) return;
    this.#probe = new ClientProbe(this.socket, this.#gate.timers, () => this.#unfinished());
  }

  #unfinished(): Unfinished | undefined {
    if (this.#current === undefined) return undefined;
    const { response } = this.#current;
    const { writeNothing } = this;
    if (this.#hasEnded) return { response, writeNothing, reading: 'ended' };
    // Only the last that came can be incomplete.
    const last = this.#waiting.at(-1)?.request;
    if (last === undefined || last.complete) return undefined;
    return { response, writeNothing, reading: fillsBuffer(last) ? 'waits' : 'reads' };
  }

  #start(pipelined: Pipelined): void {
    this.#current = pipelined;
    this.#requestCount += 1;
    this.#gate.becameBusy(this);
    pipelined.response.on('close', this.#whenClosed);
    this.#gate.handle(pipelined.request, pipelined.response);
  }

  /** The answer was sent, or the client left before. */
  #requestClosed(): void {
    const finished = this.#current;
    if (finished && !finished.response.writableFinished) this.#abort?.abort();
    this.#abort = undefined;
    this.#current = undefined;
    this.writeNothing = undefined;
    this.observer?.closed();
    this.observer = undefined;
    if (this.#holdsSlot) {
      this.#holdsSlot = false;
      this.#gate.giveSlotBack();
    }
    const next = this.#waiting.shift();
    // Behind an answer that closes the connection nothing is executed, since nobody would be told.
    if (next && this.socket.writable) this.#start(next);
    else {
      this.#gate.becameIdle(this);
      if (this.socket.writable) this.#refuseRest?.();
    }
  }
}

/** Not all of the body came, nor was the request refused without it. */
function isCutOff({ request, response }: Pipelined): boolean {
  return !request.complete && !response.headersSent;
}
