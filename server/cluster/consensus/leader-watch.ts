import type { Cancel, Runtime } from '#core/runtime.ts';
import type { NodeStatus } from '#raft/node.ts';
import type { PeerId } from '#raft/vocabulary.ts';
import type { Transferred } from '../consensus-port.ts';
import {
  type ChannelAction,
  ChannelMonitor,
  type ChannelPolicy,
  GrayLeader,
} from './channel-monitor.ts';
import { PriorityYield } from './lead-targets.ts';
import type { Peers } from './peers.ts';
import type { ConsensusOptions, LiveConsensusOptions } from './worker-messages.ts';

export interface LeaderWatchPort {
  readonly options: ConsensusOptions;
  readonly runtime: Runtime;
  readonly peers: Peers;
  status(): NodeStatus | undefined;
  isReachable(id: PeerId): boolean;
  /** What the main thread has to apply now is large. */
  isApplyingMuch(): boolean;
  bestTarget(except: PeerId | undefined): PeerId | undefined;
  /** Learners that are to vote and have caught up. */
  promoteReady(): void;
  transfer(to: PeerId | undefined, timeoutMs: number): Promise<Transferred>;
  log(level: 'info' | 'warn' | 'error', text: string): void;
}

const lookEveryMs = 500;
const handOverMs = 20_000;

/**
 * What a leader does without being asked: about followers it cannot reach, about commits that wait for its own main thread, and
 * about learners that are to vote (ha.md 2.12, 10.4, 10.6).
 */
export class LeaderWatch {
  readonly #port: LeaderWatchPort;
  readonly #channels: ChannelMonitor;
  readonly #gray: GrayLeader;
  readonly #yield: PriorityYield;
  #term = 0;
  #sinceMs = 0;
  #stop: Cancel = () => {};

  constructor(port: LeaderWatchPort) {
    this.#port = port;
    const { limits, tickMs } = port.options;
    this.#channels = new ChannelMonitor(policyOf(port.options));
    this.#yield = new PriorityYield(port.options.self);
    this.#gray = new GrayLeader(limits.electionTicksMax * tickMs);
  }

  tune(live: LiveConsensusOptions): void {
    this.#channels.policy = policyOf(live);
  }

  start(): void {
    this.#stop = this.#port.runtime.timers.after(lookEveryMs, () => {
      this.#look();
      this.start();
    });
  }

  close(): void {
    this.#stop();
  }

  /** Why nothing more is done about a follower that cannot be reached. */
  gaveUp(id: PeerId): string | undefined {
    return this.#channels.gaveUp(id);
  }

  #look(): void {
    const status = this.#port.status();
    if (status === undefined) return;
    const nowMs = this.#port.runtime.clock.monotonicMs();
    const { applied, commit, role } = status;
    const isLeader = role === 'leader';
    const isHeavy = this.#port.isApplyingMuch();
    if (this.#gray.isGray({ isLeader, applied, commit, isHeavy }, nowMs)) this.#giveLead();
    if (role !== 'leader') {
      this.#channels.forget();
      this.#yield.forget();
      this.#term = 0;
      return;
    }
    if (this.#term !== status.term) {
      this.#term = status.term;
      this.#sinceMs = nowMs;
    }
    this.#port.promoteReady();
    const ownMs = nowMs - this.#sinceMs;
    const { peers } = this.#port;
    const others = status.progress.filter(({ id }) => id !== this.#port.options.self);
    const followers = others.map(({ id }) => ({
      id,
      silentMs: Math.min(peers.silentMs(id) ?? ownMs, ownMs),
      isKnownDead: peers.wasRefused(id),
    }));
    const target = (wedged: PeerId) => this.#port.bestTarget(wedged);
    for (const action of this.#channels.look(followers, nowMs, target)) this.#do(action);
    const preferred = this.#yield.look(
      {
        status,
        isReachable: (id) => this.#port.isReachable(id),
        isCoolingDown: (id) => this.#channels.isCoolingDown(id, nowMs),
      },
      nowMs,
    );
    if (preferred !== undefined) this.#yieldTo(preferred);
  }

  #do(action: ChannelAction): void {
    const { peers, log } = this.#port;
    const name = this.#nameOf(action.id);
    const stillUnreachable = `Follower ${name} still unreachable`;
    switch (action.kind) {
      case 'reset':
        log(
          'warn',
          `Resetting replication channel to follower ${name}: unreachable for ${Math.round(action.silentMs)} ms, attempt ${action.attempt}/5`,
        );
        peers.reset(action.id);
        return;
      case 'escalate':
        log('error', `${stillUnreachable} after 5 channel resets: escalating`);
        log(
          'warn',
          `Transferring leadership to ${this.#nameOf(action.to)} because of wedged follower ${name}`,
        );
        void this.#port.transfer(action.to, handOverMs);
        return;
      case 'give-up':
        log(
          'error',
          `${stillUnreachable}: giving up automatic recovery (${action.reason}), operator intervention required`,
        );
    }
  }

  #yieldTo(to: PeerId): void {
    this.#port.log(
      'info',
      `Transferring leadership to ${this.#nameOf(to)}: its priority is higher`,
    );
    void this.#port.transfer(to, handOverMs);
  }

  #giveLead(): void {
    const to = this.#port.bestTarget(undefined);
    if (to === undefined) return;
    this.#port.log(
      'warn',
      `Transferring leadership to ${this.#nameOf(to)}: commits wait for the main thread of this server`,
    );
    void this.#port.transfer(to, handOverMs);
  }

  #nameOf(id: PeerId): string {
    const name = this.#port.options.declared.find((known) => known.id === id)?.name;
    return name === undefined || name === id ? id : `${name} (${id})`;
  }
}

function policyOf({
  unreachableMs,
  channelResetMs: resetMs,
  escalates,
}: LiveConsensusOptions): ChannelPolicy {
  return { unreachableMs, resetMs, escalates };
}
