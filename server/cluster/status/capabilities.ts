import type { Log } from '#core/log.ts';
import type { Timers } from '#core/runtime.ts';
import type { PeerId } from '#raft/vocabulary.ts';
import type { ClusterView } from '../cluster-view.ts';
import type { Dial, PeerAddresses } from '../forwarding/peer-addresses.ts';
import { PeerFailure, type PeerHttp } from '../forwarding/peer-http.ts';
import type { ClusterToken } from '../token/cluster-token.ts';

/** What a build understands, as it says itself. */
export interface PeerCapabilities {
  readonly peerId: PeerId;
  readonly version: string;
  readonly capabilities: readonly string[];
  readonly databases?: readonly string[];
  /** Settings that must be the same on all; absent: an older build. */
  readonly settings?: Readonly<Record<string, string>>;
}

export type UnknownReason = 'unreachable' | 'older-build' | 'not-identified';

const everyMs = 30_000;
/** While some server has not answered: it may have just started. */
const againMs = 2000;
const answerMs = 5000;

/** The leader asks each member what its build understands (ha.md 10.3). */
export class CapabilityPoll {
  readonly #options: {
    readonly view: ClusterView;
    readonly addresses: PeerAddresses;
    readonly http: PeerHttp;
    readonly token: ClusterToken;
    readonly timers: Timers;
    readonly settings: Readonly<Record<string, string>>;
    readonly log: Log;
  };
  readonly #known = new Map<PeerId, PeerCapabilities>();
  readonly #told = new Set<string>();
  readonly #unknown = new Map<PeerId, UnknownReason>();
  #cancel: () => void = () => {};
  #stopListening: () => void = () => {};
  #isClosed = false;

  constructor(options: {
    view: ClusterView;
    addresses: PeerAddresses;
    http: PeerHttp;
    token: ClusterToken;
    timers: Timers;
    /** Of this server, as it tells them to others. */
    settings: Readonly<Record<string, string>>;
    log: Log;
  }) {
    this.#options = options;
  }

  start(): void {
    const { consensus } = this.#options.view;
    let led = consensus.status().role === 'leader';
    this.#stopListening = consensus.onStatus(({ role }) => {
      const leads = role === 'leader';
      // What somebody has told an earlier leader may be that of another build.
      if (leads && !led) {
        this.#known.clear();
        this.#lookAfter(0);
      }
      led = leads;
    });
    this.#lookAfter(1000);
  }

  close(): void {
    this.#isClosed = true;
    this.#stopListening();
    this.#cancel();
  }

  #lookAfter(ms: number): void {
    this.#cancel();
    if (this.#isClosed) return;
    this.#cancel = this.#options.timers.after(ms, () => {
      void this.poll().finally(() => this.#lookAfter(this.#unknown.size > 0 ? againMs : everyMs));
    });
  }

  known(peer: PeerId): PeerCapabilities | undefined {
    return this.#known.get(peer);
  }

  unknownReason(peer: PeerId): UnknownReason | undefined {
    return this.#unknown.get(peer);
  }

  /** Asks every other server, when this one leads. */
  async poll(): Promise<void> {
    const { view, addresses } = this.#options;
    const { role } = view.consensus.status();
    if (role !== 'leader') {
      this.#unknown.clear();
      return;
    }
    const others = addresses.known().filter(({ id }) => id !== view.consensus.self);
    await Promise.all(
      others.map(async ({ id }) => {
        const found = await this.ask(id);
        if (typeof found === 'string') {
          this.#unknown.set(id, found);
          this.#known.delete(id);
          return;
        }
        this.#unknown.delete(id);
        this.#known.set(id, found);
        this.#compare(id, found.settings ?? {});
      }),
    );
  }

  /** Told once for each difference. */
  #compare(peer: PeerId, theirs: Readonly<Record<string, string>>): void {
    for (const [key, own] of Object.entries(this.#options.settings)) {
      const other = theirs[key];
      const difference = `${peer} ${key} ${other} ${own}`;
      if (other === undefined || other === own || this.#told.has(difference)) continue;
      this.#told.add(difference);
      this.#options.log.warn(
        `${key} is '${other}' on ${peer} and '${own}' on the leader; set it to the same value on every server`,
      );
    }
  }

  /** The answer must come from the one that was asked: a shared address answers for another. */
  async ask(
    peer: PeerId,
    dial: Dial = this.#options.addresses.dialForCapabilities(peer),
  ): Promise<PeerCapabilities | UnknownReason> {
    const { http, token } = this.#options;
    if (dial.kind === 'refused') return 'not-identified';
    try {
      const { status, body } = await http.askWhole(dial, {
        method: 'POST',
        path: '/api/v1/cluster/capabilities',
        headers: { 'content-type': 'application/json', 'x-service-cluster-token': token.value },
        body: Buffer.from('{}'),
        firstByteMs: answerMs,
      });
      if (status === 404 || status === 405) return 'older-build';
      if (status !== 200) return 'unreachable';
      const found = JSON.parse(body.toString()) as PeerCapabilities;
      return found.peerId === peer ? found : 'not-identified';
    } catch (error) {
      if (error instanceof PeerFailure)
        return error.isMisdirected ? 'not-identified' : 'unreachable';
      if (error instanceof SyntaxError) return 'unreachable';
      throw error;
    }
  }
}
