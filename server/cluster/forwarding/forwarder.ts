import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { haForwardLeaderWaitTimeoutMs, haProxyReadTimeout } from '#config/cluster-http-settings.ts';
import { haElectionTimeoutMax } from '#config/cluster-settings.ts';
import type { SettingsReader } from '#config/effective-settings.ts';
import { commandTimeout } from '#config/settings.ts';
import { DatabaseError } from '#core/errors.ts';
import { Histogram, LabelledCounts } from '#core/instruments.ts';
import type { Principal } from '#core/principal.ts';
import type { Clock, Timers } from '#core/runtime.ts';
import type { PeerId } from '#raft/vocabulary.ts';
import type { ClusterView } from '../cluster-view.ts';
import type { ConsensusStatus } from '../consensus-port.ts';
import type { ClusterToken } from '../token/cluster-token.ts';
import { type ForwardedRights, rightsHeader, signRights } from '../token/forwarded-rights.ts';
import type { Trace } from '../status/verbose-log.ts';
import type { PeerAddresses } from './peer-addresses.ts';
import { ownerOf } from './session-owner.ts';
import { type PeerAnswer, PeerFailure, type PeerHttp } from './peer-http.ts';

/** A request that another server is to execute. */
export interface ForwardRequest {
  readonly method: string;
  /** Path and query, as they came. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Whole, or the client's own stream. */
  readonly body: Uint8Array | Readable | undefined;
  readonly principal: Principal;
  /** Of an API token, which other servers do not know. */
  readonly rights: ForwardedRights | undefined;
  readonly requestId: string;
  readonly hasClientRequestId: boolean;
  /** The client's address. */
  readonly source: string;
  readonly signal: AbortSignal;
}

export type Forwarded =
  | { readonly kind: 'answer'; readonly answer: PeerAnswer }
  /** This server has become the one that executes it. */
  | { readonly kind: 'here' };

/** What a server says beside a refusal of a request that another one sent on: nothing of it was executed. */
export const notExecutedHeader = 'x-service-not-executed';

/** Of what the client sent, what the other server gets too (ha.md 6.2 rule 3). */
const passedHeaders = [
  'content-type',
  'accept',
  'accept-encoding',
  'content-encoding',
  'x-service-read-consistency',
  'x-service-read-after',
  'x-service-commit-index',
  'service-session-id',
  'user-agent',
  'traceparent',
] as const;

const pauseMs = 50;

/**
 * Sends requests on to the server that executes them (ha.md 6.2): writes to the leader, what belongs to a session to its owner.
 * It repeats only what certainly was not executed; what may have been is told as such.
 */
export class Forwarder {
  /** By result: answered, unreached, unknown, no-leader. */
  readonly counts = new LabelledCounts();
  readonly seconds = new Histogram();
  readonly #view: ClusterView;
  readonly #settings: SettingsReader;
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #token: ClusterToken;
  readonly #addresses: PeerAddresses;
  readonly #http: PeerHttp;
  readonly #trace: Trace;

  constructor(options: {
    view: ClusterView;
    settings: SettingsReader;
    clock: Clock;
    timers: Timers;
    token: ClusterToken;
    addresses: PeerAddresses;
    http: PeerHttp;
    trace: Trace;
  }) {
    this.#view = options.view;
    this.#settings = options.settings;
    this.#clock = options.clock;
    this.#timers = options.timers;
    this.#token = options.token;
    this.#addresses = options.addresses;
    this.#http = options.http;
    this.#trace = options.trace;
  }

  /**
   * To whoever leads, for which it waits a while.
   * @throws DatabaseError `QuorumNotReached` without a leader or a way to it, `OutcomeUnknown` when it may have been executed
   */
  async toLeader(request: ForwardRequest): Promise<Forwarded> {
    const untilMs = this.#clock.monotonicMs() + this.#settings.get(haForwardLeaderWaitTimeoutMs);
    let mayRepeatUnknown = request.hasClientRequestId && !isStream(request.body);
    for (;;) {
      const leader = await this.#leader(untilMs, request.signal);
      if (leader === this.#view.consensus.self) return { kind: 'here' };
      const outcome = await this.#attempt(request, leader);
      if (outcome.kind === 'answered') return { kind: 'answer', answer: outcome.answer };
      if (outcome.kind === 'unknown') {
        // The leader knows the client's id, whether the request was executed or not.
        if (!mayRepeatUnknown) throw outcomeUnknown(outcome.reason);
        mayRepeatUnknown = false;
      }
      if (this.#clock.monotonicMs() >= untilMs || isConsumed(request.body)) {
        if (outcome.kind === 'unknown') throw outcomeUnknown(outcome.reason);
        this.counts.add('unreached');
        throw new DatabaseError(
          'QuorumNotReached',
          `the leader ${leader} was not reached: ${outcome.reason}`,
        );
      }
      await this.#timers.sleep(pauseMs);
    }
  }

  /** To one server, once. @throws as `toLeader` */
  async toPeer(request: ForwardRequest, peer: PeerId): Promise<PeerAnswer> {
    const outcome = await this.#attempt(request, peer);
    if (outcome.kind === 'answered') return outcome.answer;
    if (outcome.kind === 'unknown') throw outcomeUnknown(outcome.reason);
    this.counts.add('unreached');
    throw new DatabaseError(
      'QuorumNotReached',
      `server ${peer} was not reached: ${outcome.reason}`,
    );
  }

  /** The server that began a transaction session; undefined when none of this cluster did. */
  ownerOf(sessionId: string): PeerId | undefined {
    const { self } = this.#view.consensus;
    return ownerOf(sessionId, [self, ...this.#addresses.known().map(({ id }) => id)]);
  }

  /** Who leads; waits for the end of an election. @throws DatabaseError `QuorumNotReached` */
  leader(signal: AbortSignal): Promise<PeerId> {
    const waitMs = this.#settings.get(haForwardLeaderWaitTimeoutMs);
    return this.#leader(this.#clock.monotonicMs() + waitMs, signal);
  }

  /** Waits until there is a leader; each change of it is looked at. */
  async #leader(untilMs: number, signal: AbortSignal): Promise<PeerId> {
    for (;;) {
      const status = this.#view.consensus.status();
      const { leader, role, leaderReady } = status;
      if (leader !== undefined && (role !== 'leader' || leaderReady)) return leader;
      if (leader === undefined && !isMember(status, this.#view.consensus.self)) {
        this.counts.add('no-leader');
        throw new DatabaseError('QuorumNotReached', 'this server is no member of its cluster');
      }
      const leftMs = untilMs - this.#clock.monotonicMs();
      if (leftMs <= 0) {
        this.counts.add('no-leader');
        throw new DatabaseError('QuorumNotReached', 'no leader is known');
      }
      if (signal.aborted) throw new DatabaseError('Cancelled', 'the client has left');
      await this.#change(Math.min(leftMs, 500));
    }
  }

  #change(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        stopTimer();
        stopListening();
        resolve();
      };
      const stopTimer = this.#timers.after(timeoutMs, done);
      const stopListening = this.#view.consensus.onStatus(done);
    });
  }

  async #attempt(request: ForwardRequest, peer: PeerId): Promise<Attempted> {
    const outcome = await this.#send(request, peer);
    const { method, requestId } = request;
    // The path may hold a statement, and with it values.
    this.#trace(2, 'request sent on', { method, requestId, to: peer, outcome: outcome.kind });
    return outcome;
  }

  async #send(request: ForwardRequest, peer: PeerId): Promise<Attempted> {
    const dial = this.#addresses.dial(peer);
    if (dial.kind === 'refused')
      throw new DatabaseError(
        'QuorumNotReached',
        `requests for ${peer} cannot be sent on: ${dial.reason}`,
      );
    const startedMs = this.#clock.monotonicMs();
    const deposed = this.#whenDeposed(peer);
    try {
      const answer = await this.#http.ask(dial, {
        method: request.method,
        path: request.path,
        headers: this.#headersOf(request),
        body: request.body,
        signal: request.signal,
        firstByteMs: this.#firstByteMs(),
        giveUp: deposed.signal,
      });
      this.seconds.observe((this.#clock.monotonicMs() - startedMs) / 1000);
      if (answer.header(notExecutedHeader) !== undefined) {
        answer.body.resume();
        return { kind: 'unsent', reason: 'it does not lead any more' };
      }
      this.counts.add('answered');
      return { kind: 'answered', answer };
    } catch (error) {
      if (!(error instanceof PeerFailure)) throw error;
      if (request.signal.aborted) throw new DatabaseError('Cancelled', 'the client has left');
      if (error.isUnsent) return { kind: 'unsent', reason: error.message };
      this.counts.add('unknown');
      return { kind: 'unknown', reason: error.message };
    } finally {
      deposed.stop();
    }
  }

  /** A leader that was cut off in silence never answers: once another one leads, its answer is waited for only so long. */
  #whenDeposed(peer: PeerId): { readonly signal: AbortSignal; readonly stop: () => void } {
    const { consensus } = this.#view;
    const given = new AbortController();
    if (consensus.status().leader !== peer) return { signal: given.signal, stop: () => {} };
    const graceMs = this.#settings.get(haElectionTimeoutMax);
    let stopTimer: (() => void) | undefined;
    const stopListening = consensus.onStatus(({ leader }) => {
      if (leader === undefined || leader === peer) return;
      stopTimer ??= this.#timers.after(graceMs, () => given.abort());
    });
    return {
      signal: given.signal,
      stop: () => {
        stopListening();
        stopTimer?.();
      },
    };
  }

  #firstByteMs(): number {
    const statementMs = this.#settings.get(commandTimeout);
    const readMs = this.#settings.get(haProxyReadTimeout);
    return statementMs > 0 ? Math.max(readMs, statementMs + 5000) : readMs;
  }

  #headersOf(request: ForwardRequest): Record<string, string> {
    const headers: Record<string, string> = {};
    for (const name of passedHeaders) {
      const value = request.headers[name];
      if (value !== undefined) headers[name] = String(value);
    }
    // A stream keeps its length, by which the other side tells a body that was cut.
    const length = request.headers['content-length'];
    if (isStream(request.body) && length !== undefined) headers['content-length'] = length;
    if (!isStream(request.body)) delete headers['content-encoding'];
    const before = request.headers['x-forwarded-for'];
    headers['x-forwarded-for'] =
      before === undefined ? request.source : `${before}, ${request.source}`;
    headers['x-request-id'] = request.requestId;
    if (!request.hasClientRequestId) headers[madeUpIdHeader] = '1';
    const sender = { token: this.#token.value, from: this.#view.consensus.self };
    return { ...headers, ...onBehalfOf(request.principal, request.rights, sender) };
  }
}

/** By which another server knows on whose behalf this one asks, and that it must not send it on again. */
export function onBehalfOf(
  { name }: Principal,
  rights: ForwardedRights | undefined,
  { token, from }: { readonly token: string; readonly from: PeerId },
): Record<string, string> {
  return {
    'x-service-cluster-token': token,
    // A server that was removed has still the token, and is refused.
    'x-service-forwarded-from': from,
    'x-service-forwarded-user': encodeURIComponent(name),
    'x-service-forwarded-to-leader': '1',
    ...(rights && { [rightsHeader]: signRights(rights, token) }),
  };
}

/** The server that sent the request on has chosen its id, not the client. */
export const madeUpIdHeader = 'x-service-forwarded-request-id';

type Attempted =
  | { readonly kind: 'answered'; readonly answer: PeerAnswer }
  | { readonly kind: 'unsent' | 'unknown'; readonly reason: string };

function isMember({ configuration }: ConsensusStatus, self: PeerId): boolean {
  const { voters, votersOutgoing, learners } = configuration;
  const isSelf = ({ id }: { readonly id: PeerId }) => id === self;
  // Before it is formed a cluster has none.
  const isFormed = voters.length > 0;
  return !isFormed || voters.some(isSelf) || learners.some(isSelf) || votersOutgoing.includes(self);
}

function isStream(body: ForwardRequest['body']): body is Readable {
  return body !== undefined && !(body instanceof Uint8Array);
}

/** Part of the client's stream was given on: it cannot be sent a second time. */
function isConsumed(body: ForwardRequest['body']): boolean {
  return isStream(body) && body.readableDidRead;
}

function outcomeUnknown(reason: string): DatabaseError {
  return new DatabaseError(
    'OutcomeUnknown',
    `the leader got the request and did not answer (${reason}): it may have been executed`,
  );
}
