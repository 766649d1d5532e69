import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ClusterDoor } from '#cluster/cluster-door.ts';
import { errorSpecs } from '#core/errors.ts';
import type { Principal } from '#core/principal.ts';
import type { Warning } from '#core/warnings.ts';
import type { Index } from '#raft/vocabulary.ts';
import { type Connection, lingerBytesMax, lingerMs } from '../connection/connection.ts';
import type { Door } from '../door.ts';
import { logRequest } from '../request/request-log.ts';
import type { RouteMeter } from '../request/request-meter.ts';
import { hasBody, receiveBody, requireAllowedLength } from '../request/request-body.ts';
import type { BodyReceiver } from '../request/request-body.ts';
import { negotiateCoding, packBody, packedBytesMin } from './compression.ts';
import { corsHeaders } from '../request/cors.ts';
import { isInternal, refusalBody, refusalOf } from './errors.ts';
import type { Refusal } from './errors.ts';

/** Answers up to this length leave in one piece with their headers. */
const joinedBytesMax = 4096;

const noHeaders: readonly string[] = [];

/** Who asks where there is nobody yet: on public routes and before authentication. */
const nobody: Principal = { name: '', isRoot: false, via: 'password' };

/** Sees a JSON answer before it is packed and sent; `replay.ts` remembers it. */
export type AnswerObserver = (status: number, body: Uint8Array) => void;

/**
 * One request and its answer (RFC 9110, section 3.9 calls the pair an exchange). Answers go straight to node:http with the
 * headers in one flat list; exactly one of the answering methods has effect.
 */
export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly connection: Connection;
  readonly door: Door;
  readonly requestId: string;
  /** True when the client chose the id. */
  readonly hasClientRequestId: boolean;
  principal: Principal = nobody;
  /** Another server of the cluster asks, and whether on behalf of a user. */
  isPeer = false;
  isForwarded = false;
  /** Path parameters, decoded. */
  parameters: Readonly<Record<string, string>> = {};
  /** Headers for whatever answer comes, such as the id of the transaction session. */
  extraHeaders: readonly string[] = noHeaders;
  onAnswer: AnswerObserver | undefined;
  /** What the answer warns of; undefined for nothing. */
  warnings: readonly Warning[] | undefined;
  /** Of the answer, where it is not what is applied when its headers are sent. */
  commitIndex: Index | undefined;
  /** Set when the request came to a route. */
  route: RouteMeter | undefined;
  /** On the monotonic clock. */
  readonly startedMs: number;
  /** All of the body was handed over, though the parser may not have told of its end yet. */
  #hasWholeBody = false;
  /** In a cluster, for a second look. */
  #keptBody: Uint8Array | undefined;
  /** Of `door.memory`. */
  #heldBytes = 0;
  #isClosed = false;

  constructor(given: {
    request: IncomingMessage;
    response: ServerResponse;
    connection: Connection;
    door: Door;
    requestId: string;
    hasClientRequestId: boolean;
  }) {
    this.request = given.request;
    this.response = given.response;
    this.connection = given.connection;
    this.door = given.door;
    this.requestId = given.requestId;
    this.hasClientRequestId = given.hasClientRequestId;
    this.startedMs = given.door.runtime.clock.monotonicMs();
  }

  /** The answer was sent, or the client has left. */
  closed(): void {
    this.#isClosed = true;
    if (this.#heldBytes > 0) this.door.memory.give(this.#heldBytes);
    this.#heldBytes = 0;
    const { requests, runtime, limits } = this.door;
    const endedMs = runtime.clock.monotonicMs();
    requests.observe(this, endedMs);
    if (limits.logsRequests) logRequest(this, endedMs - this.startedMs);
  }

  /** The client's address; for logs only. */
  get source(): string {
    return this.request.socket.remoteAddress ?? 'unknown';
  }

  get isAnswered(): boolean {
    return this.response.headersSent || this.response.destroyed;
  }

  /** The text behind the question mark. */
  get queryString(): string {
    const url = this.request.url ?? '';
    const at = url.indexOf('?');
    return at < 0 ? '' : url.slice(at + 1);
  }

  header(name: string): string | undefined {
    const value = this.request.headers[name];
    return typeof value === 'string' ? value : value?.[0];
  }

  /** The whole body within the limits of the settings. @throws HttpRefusal 413, 408, 415, 400 */
  body(): Promise<Uint8Array> {
    if (this.#keptBody !== undefined) return Promise.resolve(this.#keptBody);
    return new Promise((resolve, failed) => {
      const done = (body: Uint8Array) => {
        this.#hasWholeBody = true;
        if (this.door.cluster !== undefined) this.#keptBody = body;
        resolve(body);
      };
      this.#receive({ done, failed, holder: this });
    });
  }

  /** The body as it arrives, to be given on. */
  streamedBody(): IncomingMessage {
    if (this.request.headers.expect !== undefined) this.response.writeContinue();
    return this.request;
  }

  /** As `body`, without a promise in between. What `handle` throws or rejects with becomes the answer. */
  withBody(handle: (body: Uint8Array) => void | Promise<void>): void {
    const failed = (error: unknown) => this.fail(error);
    if (this.#keptBody !== undefined) {
      Promise.resolve(handle(this.#keptBody)).catch(failed);
      return;
    }
    const done = (body: Uint8Array) => {
      this.#hasWholeBody = true;
      try {
        const later = handle(body);
        if (later) later.catch(failed);
      } catch (error) {
        failed(error);
      }
    };
    this.#receive({ done, failed, holder: this });
  }

  /** Counts memory that the request takes until it is answered. @throws DatabaseError `Busy` */
  hold(bytes: number): void {
    if (this.#isClosed) return;
    this.door.memory.take(bytes);
    this.#heldBytes += bytes;
  }

  /** Gives back what `hold` took. */
  release(bytes: number): void {
    if (this.#isClosed) return;
    this.door.memory.give(bytes);
    this.#heldBytes -= bytes;
  }

  #receive(receiver: BodyReceiver): void {
    const { limits, deadlines } = this.door;
    const bodyLimits = limits.forBody;
    if (this.request.headers.expect !== undefined) {
      try {
        requireAllowedLength(this.request, bodyLimits.bytesMax);
      } catch (error) {
        receiver.failed(error);
        return;
      }
      this.response.writeContinue();
    }
    receiveBody(this.request, bodyLimits, deadlines, receiver);
  }

  /** A JSON answer. Small ones are sent as they are, in one write; larger ones are packed when the client takes that. */
  json(status: number, body: Uint8Array): void {
    this.onAnswer?.(status, body);
    const coding =
      body.length < packedBytesMin
        ? undefined
        : negotiateCoding(this.request.headers['accept-encoding']);
    if (coding === undefined) {
      this.send(status, jsonHeaders, body);
      return;
    }
    packBody(body, coding).then(
      (packed) => this.send(status, [...jsonHeaders, ...coding.headers], packed),
      (error) => this.fail(error),
    );
  }

  /** Goes into the answer, if that is JSON (house decision 80). */
  warn(...warnings: readonly Warning[]): void {
    if (warnings.length > 0) this.warnings = [...(this.warnings ?? []), ...warnings];
  }

  /** A JSON answer from a plain object; not for rows. */
  jsonValue(status: number, value: unknown): void {
    const { warnings } = this;
    const told = warnings === undefined ? value : { ...(value as object), warnings };
    this.json(status, Buffer.from(JSON.stringify(told)));
  }

  noContent(): void {
    this.send(204, noHeaders, undefined);
  }

  /** The answer that an error calls for; logs what nobody expected. */
  fail(error: unknown): void {
    const refusal = refusalOf(error);
    if (refusal.status >= 500) this.reportServerError(error, refusal);
    else if (refusal.status === 403) this.door.denials.consider(error, this.requestId);
    this.refuse(refusal);
  }

  refuse(refusal: Refusal): void {
    if (this.isAnswered) {
      // Half an answer cannot be taken back: cut it off, so that the client sees that it is broken.
      this.response.destroy();
      return;
    }
    const { hidesDetails } = this.door.limits;
    const body = refusalBody(refusal, this.requestId, hidesDetails);
    const headers = [...jsonHeaders, ...(refusal.headers ?? noHeaders)];
    // Of a cluster whoever is refused so is told when to come again (ha.md 7.4).
    if (refusal.status === 503 && this.door.cluster) {
      if (!headers.includes('Retry-After')) headers.push('Retry-After', '1');
      const isSentOn = this.request.headers['x-service-forwarded-to-leader'] !== undefined;
      if (isSentOn && notExecuted.has(refusal.exception ?? ''))
        headers.push('X-Service-Not-Executed', '1');
    }
    const isUnread = !this.#hasWholeBody && hasBody(this.request) && !this.request.complete;
    if (refusal.closes || isUnread) this.#sendAndLinger(refusal.status, headers, body);
    else this.send(refusal.status, headers, body);
  }

  /** Sends a complete answer. @param headers name, value, name, value, ... */
  send(status: number, headers: readonly string[], body: Uint8Array | undefined): void {
    if (this.isAnswered) return;
    const { response } = this;
    response.writeHead(status, this.headersOf(headers, body?.length));
    if (body === undefined || this.request.method === 'HEAD') response.end();
    else if (body.length > joinedBytesMax) response.end(body);
    // node:http puts headers and text into one buffer and one write; bytes would be a write of two (6 us more).
    else response.end(latin1Of(body), 'latin1');
  }

  /** All headers of an answer in one flat list. */
  headersOf(headers: readonly string[], length: number | undefined): string[] {
    const all = ['X-Request-Id', this.requestId, 'X-Content-Type-Options', 'nosniff', ...headers];
    if (length !== undefined) all.push('Content-Length', String(length));
    if (this.extraHeaders.length > 0) all.push(...this.extraHeaders);
    if (this.door.cluster !== undefined) this.#pushCommitIndex(all, this.door.cluster);
    if (this.request.headers.origin !== undefined) all.push(...corsHeaders(this));
    if (this.door.control.isStopping) all.push('Connection', 'close');
    return all;
  }

  /** What the client will be told is no newer than this: the state that a stream shows was taken now or later. */
  noteCommitIndex(): void {
    this.commitIndex = this.door.cluster?.view.appliedIndex();
  }

  /** What is applied here, so that whoever gives it back sees at least what this answer saw (ha.md 7.2). */
  #pushCommitIndex(headers: string[], { view }: ClusterDoor): void {
    const index = this.commitIndex ?? view.appliedIndex();
    if (index > 0) headers.push('X-Service-Commit-Index', String(index));
  }

  /**
   * Answers a request whose body was not read. Closing at once would make the system reset the connection, and many clients
   * then never see the answer: the rest is read and thrown away for a while first.
   */
  #sendAndLinger(status: number, headers: readonly string[], body: Uint8Array): void {
    const { request, response } = this;
    const all = this.headersOf(headers, body.length);
    if (!this.door.control.isStopping) all.push('Connection', 'close');
    response.writeHead(status, all);
    response.write(body);
    // Nothing follows from a client that waits for 100, or that stopped sending.
    const isSilent = request.headers.expect !== undefined || status === 408;
    if (request.complete || isSilent) {
      response.end();
      return;
    }
    let discarded = 0;
    const stopTimer = this.door.runtime.timers.after(lingerMs, () => response.end());
    const end = () => {
      stopTimer();
      response.end();
    };
    request.on('data', (piece: Uint8Array) => {
      discarded += piece.length;
      if (discarded > lingerBytesMax) end();
    });
    request.on('end', end);
    request.on('close', stopTimer);
    request.resume();
  }

  /** A line with the request id: at level error, with its stack, for what nobody expected; else at debug. */
  reportServerError(error: unknown, refusal: Refusal): void {
    const fields = {
      requestId: this.requestId,
      status: refusal.status,
      exception: refusal.exception,
      user: this.principal.name,
      path: this.request.url?.split('?', 1)[0]?.slice(0, 120),
    };
    const { log, onInternalError } = this.door;
    if (isInternal(refusal)) {
      log.error(`${refusal.detail} ${error instanceof Error ? (error.stack ?? '') : ''}`, fields);
      onInternalError(error);
    } else log.debug(refusal.detail ?? refusal.error, fields);
  }
}

/** A text that is these bytes when it is sent as latin1. */
function latin1Of({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('latin1');
}

/** Nothing was done: a server that sent the request on looks for the leader anew (ha.md 6.2 rule 5). */
const notExecuted: ReadonlySet<string> = new Set([
  errorSpecs.QuorumNotReached.exception,
  errorSpecs.NotOnline.exception,
]);

/** Of every answer that is JSON. */
export const jsonHeaders: readonly string[] = [
  'Content-Type',
  'application/json',
  'Cache-Control',
  'no-store',
];
