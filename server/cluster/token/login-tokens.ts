import { DatabaseError } from '#core/errors.ts';
import type { Clock } from '#core/runtime.ts';
import {
  type ConfirmedElsewhere,
  type ConfirmedToken,
  type RemoteTokens,
  serverNameInTokens,
} from '#security/token-sessions.ts';
import type { PeerId } from '#raft/vocabulary.ts';
import type { ClusterView } from '../cluster-view.ts';
import type { KnownPeer, PeerAddresses } from '../forwarding/peer-addresses.ts';
import { PeerFailure, type PeerHttp } from '../forwarding/peer-http.ts';
import type { ReadBarrier } from '../reads/read-barrier.ts';
import type { ClusterToken } from './cluster-token.ts';

const exchangePath = '/api/v1/cluster/auth-session';
/** Questions on their way at once, and tokens that are remembered as refused, for how long (http-api.md 14.1). */
const askingMax = 16;
const refusedMax = 4096;
const refusedMs = 5000;
const answerMs = 5000;

/** `-` and the UUID behind the name of the server. */
const uuidTail = /-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Login tokens between servers (contract 1, Authentication 7): a token names the server that gave it out, which is asked once
 * and then now and again; a logout anywhere is told to all.
 */
export class LoginTokens implements RemoteTokens {
  readonly #view: ClusterView;
  readonly #addresses: PeerAddresses;
  readonly #http: PeerHttp;
  readonly #token: ClusterToken;
  readonly #reads: ReadBarrier;
  readonly #clock: Clock;
  /** When they may be asked for again. */
  readonly #refused = new Map<string, number>();
  #askingCount = 0;

  constructor(options: {
    view: ClusterView;
    addresses: PeerAddresses;
    http: PeerHttp;
    token: ClusterToken;
    reads: ReadBarrier;
    clock: Clock;
  }) {
    this.#view = options.view;
    this.#addresses = options.addresses;
    this.#http = options.http;
    this.#token = options.token;
    this.#reads = options.reads;
    this.#clock = options.clock;
  }

  issuerOf(token: string): string | undefined {
    const peer = this.#issuer(token);
    return peer && (peer.name ?? peer.id);
  }

  async validate(token: string): Promise<'unknown' | 'unreachable' | ConfirmedElsewhere> {
    const issuer = this.#issuer(token);
    if (issuer === undefined || this.#isRefused(token)) return 'unknown';
    if (this.#askingCount >= askingMax)
      throw new DatabaseError('Busy', `${askingMax} tokens of other servers are being asked for`);
    this.#askingCount += 1;
    try {
      const answer = await this.#tell(issuer.id, { token, action: 'validate' });
      if (answer?.status === 404) {
        this.#refuse(token);
        return 'unknown';
      }
      if (answer?.status !== 200) return 'unreachable';
      const { appliedIndex, ...confirmed } = JSON.parse(
        answer.body.toString(),
      ) as ConfirmedToken & {
        readonly appliedIndex: number;
      };
      return { ...confirmed, caughtUp: () => this.#caughtUpWith(appliedIndex) };
    } finally {
      this.#askingCount -= 1;
    }
  }

  /** What comes too late is refused, as all that this server cannot prove. */
  async #caughtUpWith(bookmark: number): Promise<void> {
    await this.#reads.before({ level: 'read_your_writes', bookmark })?.catch(() => {});
  }

  revoke(token: string): void {
    this.#refuse(token);
    for (const { id, member } of this.#addresses.known())
      if (member !== undefined && id !== this.#view.consensus.self)
        void this.#tell(id, { token, action: 'revoke' });
  }

  /** Undefined when nobody answered. */
  async #tell(peer: PeerId, body: object) {
    const dial = this.#addresses.dial(peer);
    if (dial.kind === 'refused') return undefined;
    try {
      return await this.#http.askWhole(dial, {
        method: 'POST',
        path: exchangePath,
        headers: {
          'content-type': 'application/json',
          'x-service-cluster-token': this.#token.value,
        },
        body: Buffer.from(JSON.stringify(body)),
        firstByteMs: answerMs,
      });
    } catch (error) {
      if (error instanceof PeerFailure) return undefined;
      throw error;
    }
  }

  /** The member that the name in the token means: its name first, then host or number as a server finds itself. */
  #issuer(token: string): KnownPeer | undefined {
    const tail = token.startsWith('AU-') ? uuidTail.exec(token) : null;
    if (tail === null || tail.index <= 3) return undefined;
    const name = token.slice(3, tail.index);
    const peers = this.#addresses.known();
    const found =
      peers.find((peer) => peer.name !== undefined && serverNameInTokens(peer.name) === name) ??
      peers.find((peer) => serverNameInTokens(peer.host) === name) ??
      this.#byNumber(name);
    const isOther = found !== undefined && found.id !== this.#view.consensus.self;
    return isOther && found.member !== undefined ? found : undefined;
  }

  #byNumber(name: string): KnownPeer | undefined {
    const at = /[-_](\d{1,4})$/.exec(name)?.[1];
    const declared = at === undefined ? undefined : this.#view.declared[Number(at)];
    return declared && this.#addresses.find(declared.id);
  }

  #isRefused(token: string): boolean {
    const untilMs = this.#refused.get(token);
    return untilMs !== undefined && untilMs > this.#clock.monotonicMs();
  }

  #refuse(token: string): void {
    this.#refused.delete(token);
    this.#refused.set(token, this.#clock.monotonicMs() + refusedMs);
    for (const oldest of this.#refused.keys()) {
      if (this.#refused.size <= refusedMax) break;
      this.#refused.delete(oldest);
    }
  }
}
