import type { Agent, ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import type { Agent as SecureAgent } from 'node:https';
import type { Readable } from 'node:stream';
import type { SettingsReader } from '#config/effective-settings.ts';
import { haProxyConnectTimeout, haProxyReadTimeout } from '#config/cluster-http-settings.ts';
import type { Timers } from '#core/runtime.ts';
import type { Dial } from './peer-addresses.ts';

// Imports would evaluate every export of these modules, which costs 8 MB.
const http = process.getBuiltinModule('node:http');
const https = process.getBuiltinModule('node:https');

/** Connections to one server (ha.md 6.2 rule 6); further requests wait for one. */
const connectionsMax = 32;
/** Names the server that a request is for; any other one refuses it with 421 (RFC 9110, 15.5.20) and executes nothing of it. */
export const addresseeHeader = 'x-service-forwarded-to';
const misdirected = 421;
/** Shorter than servers keep idle connections, so that none is used that the other side just closes. */
const idleMs = 4000;

export type PeerAddress = Extract<Dial, { kind: 'address' }>;

export interface PeerRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Whole, or as it arrives; a stream is read only once the other side is reached. */
  readonly body: Uint8Array | Readable | undefined;
  /** Until the first byte of the answer, counted from the end of the body; default `service.ha.proxyReadTimeout`. */
  readonly firstByteMs?: number;
  /** The client has left: what was not sent whole is given up. */
  readonly signal?: AbortSignal;
  /** No answer is waited for any more, whatever was sent; its reason is told. */
  readonly giveUp?: AbortSignal;
}

/** Why there is no answer. */
export class PeerFailure extends Error {
  /** Nothing of the request reached the server that it is for, so nothing of it was executed. */
  readonly isUnsent: boolean;
  /** Another server has the address. */
  readonly isMisdirected: boolean;

  constructor(message: string, isUnsent: boolean, { isMisdirected = false } = {}) {
    super(message);
    this.isUnsent = isUnsent;
    this.isMisdirected = isMisdirected;
  }
}

export interface PeerAnswer {
  readonly status: number;
  /** Name, value, name, value, ... as received. */
  readonly headers: readonly string[];
  header(name: string): string | undefined;
  /** Ends with an error when the other side breaks off or pauses for longer than `service.ha.proxyReadTimeout`. */
  readonly body: IncomingMessage;
}

/** HTTP between servers: kept connections, bounded in number, with a limit of time for each step. */
export class PeerHttp {
  readonly #settings: SettingsReader;
  readonly #timers: Timers;
  readonly #plain: Agent = new http.Agent({
    keepAlive: true,
    maxSockets: connectionsMax,
    timeout: idleMs,
  });
  #secure: SecureAgent;
  #trusted: readonly string[] | undefined;

  constructor(
    { settings, timers }: { settings: SettingsReader; timers: Timers },
    trusted: readonly string[] | undefined,
  ) {
    this.#settings = settings;
    this.#timers = timers;
    this.#trusted = trusted;
    this.#secure = secureAgent(trusted);
  }

  /** Certificates in PEM that servers of the cluster are told by; undefined: those of the system. */
  get trusted(): readonly string[] | undefined {
    return this.#trusted;
  }

  /** Other authorities from the next connection on; requests on their way end as they began. */
  trust(trusted: readonly string[]): void {
    this.#trusted = trusted;
    // Connections of the former agent that are idle end by themselves (`idleMs`).
    this.#secure = secureAgent(trusted);
  }

  close(): void {
    this.#plain.destroy();
    this.#secure.destroy();
  }

  /** Resolves with the head of the answer. @throws PeerFailure */
  ask(to: PeerAddress, asked: PeerRequest): Promise<PeerAnswer> {
    return new Promise((resolve, reject) => {
      new Asking(this.#begin(to, asked), {
        asked,
        to,
        timers: this.#timers,
        connectMs: this.#settings.get(haProxyConnectTimeout),
        readMs: this.#settings.get(haProxyReadTimeout),
        resolve,
        reject,
      });
    });
  }

  /** As `ask`, with the whole body. @throws PeerFailure */
  async askWhole(
    to: PeerAddress,
    asked: PeerRequest,
    bytesMax = 16 * 1024 * 1024,
  ): Promise<{ readonly status: number; readonly body: Buffer }> {
    const answer = await this.ask(to, asked);
    const pieces: Buffer[] = [];
    let length = 0;
    try {
      for await (const piece of answer.body) {
        length += (piece as Buffer).length;
        if (length > bytesMax) throw new Error('the answer is too long');
        pieces.push(piece as Buffer);
      }
    } catch (error) {
      answer.body.destroy();
      throw new PeerFailure(error instanceof Error ? error.message : String(error), false);
    }
    return { status: answer.status, body: Buffer.concat(pieces) };
  }

  #begin(to: PeerAddress, { method, path, headers, body }: PeerRequest) {
    const length =
      body instanceof Uint8Array ? { 'Content-Length': String(body.length) } : undefined;
    const options: RequestOptions = {
      host: to.host,
      port: to.port,
      method,
      path,
      headers: { ...headers, ...length, [addresseeHeader]: to.peer },
      agent: to.isSecure ? this.#secure : this.#plain,
    };
    return to.isSecure ? https.request(options) : http.request(options);
  }
}

function secureAgent(trusted: readonly string[] | undefined): SecureAgent {
  return new https.Agent({
    keepAlive: true,
    maxSockets: connectionsMax,
    timeout: idleMs,
    ...(trusted && { ca: [...trusted] }),
  });
}

interface AskingOptions {
  readonly asked: PeerRequest;
  readonly to: PeerAddress;
  readonly timers: Timers;
  readonly connectMs: number;
  readonly readMs: number;
  readonly resolve: (answer: PeerAnswer) => void;
  readonly reject: (failure: PeerFailure) => void;
}

/** One request on its way: reach the other side, send, wait for the head of the answer. */
class Asking {
  readonly #request: ClientRequest;
  readonly #options: AskingOptions;
  #isConnected = false;
  #isSent = false;
  #isOver = false;
  #stopTimer: () => void = () => {};

  constructor(request: ClientRequest, options: AskingOptions) {
    this.#request = request;
    this.#options = options;
    const { signal } = options.asked;
    request.on('error', (error) => this.#fail(error.message));
    request.on('response', (answer) => this.#answered(answer));
    request.on('finish', () => this.#sent());
    request.on('socket', (socket) => {
      if (!socket.connecting) this.#connected();
      else socket.once(options.to.isSecure ? 'secureConnect' : 'connect', () => this.#connected());
    });
    this.#wait(options.connectMs, 'it was not reached in time');
    signal?.addEventListener('abort', this.#clientLeft);
    options.asked.giveUp?.addEventListener('abort', this.#givenUp);
    const { body } = options.asked;
    // Node sends nothing before the connection stands, so what is given now is lost with it and only then.
    if (body === undefined || body instanceof Uint8Array) request.end(body);
    else request.flushHeaders();
  }

  readonly #clientLeft = () => {
    if (!this.#isSent) this.#fail('the client has left');
  };

  readonly #givenUp = () => this.#fail('it leads no more and has not answered');

  /** A body that was cut must not look whole on the other side, also when its answer has begun. */
  readonly #brokeOff = () => {
    this.#fail('the body of the client broke off');
    this.#request.destroy();
  };

  #connected(): void {
    if (this.#isOver || this.#isConnected) return;
    this.#isConnected = true;
    this.#stopTimer();
    const { asked, readMs } = this.#options;
    const { body } = asked;
    if (body !== undefined && !(body instanceof Uint8Array)) {
      body.pipe(this.#request);
      body.once('error', this.#brokeOff);
      body.once('close', () => {
        if (!body.readableEnded) this.#brokeOff();
      });
    } else if (!this.#isSent) this.#wait(readMs, 'it does not take the request');
    else this.#awaitAnswer();
  }

  #sent(): void {
    this.#isSent = true;
    if (this.#isConnected) this.#awaitAnswer();
  }

  #awaitAnswer(): void {
    const { asked, readMs } = this.#options;
    this.#wait(asked.firstByteMs ?? readMs, 'no answer came in time');
  }

  #answered(answer: IncomingMessage): void {
    if (this.#isOver) {
      answer.destroy();
      return;
    }
    const { readMs, to } = this.#options;
    if (answer.statusCode === misdirected) {
      // The connection ends with it: a name that means another address by now is looked up once more.
      this.#refuse(`${to.host}:${to.port} is not server '${to.peer}'`);
      return;
    }
    this.#end();
    answer.setTimeout(readMs, () => answer.destroy(new Error('the answer pauses')));
    this.#options.resolve({
      status: answer.statusCode ?? 502,
      headers: answer.rawHeaders,
      header: (name) => {
        const value = answer.headers[name];
        return typeof value === 'string' ? value : value?.[0];
      },
      body: answer,
    });
  }

  #wait(ms: number, late: string): void {
    this.#stopTimer();
    if (!this.#isOver) this.#stopTimer = this.#options.timers.after(ms, () => this.#fail(late));
  }

  #fail(message: string): void {
    this.#giveUp(new PeerFailure(message, !this.#isConnected));
  }

  /** Whoever is there has executed nothing. */
  #refuse(message: string): void {
    this.#giveUp(new PeerFailure(message, true, { isMisdirected: true }));
  }

  #giveUp(failure: PeerFailure): void {
    if (this.#isOver) return;
    this.#end();
    this.#request.destroy();
    this.#options.reject(failure);
  }

  #end(): void {
    this.#isOver = true;
    this.#stopTimer();
    this.#options.asked.signal?.removeEventListener('abort', this.#clientLeft);
    this.#options.asked.giveUp?.removeEventListener('abort', this.#givenUp);
  }
}
