import type { PeerId } from '#raft/vocabulary.ts';

/*
 * What the leader does about followers that it cannot reach (ha.md 10.4), and about itself when its main thread holds commits up
 * (10.6). Pure: time and what is seen come in, actions go out.
 */

export interface WatchedFollower {
  readonly id: PeerId;
  /** Since it was last heard; since the leadership began when that was never. */
  readonly silentMs: number;
  /** Its port refused a connection a moment ago: the process is gone, another leader would see the same. */
  readonly isKnownDead: boolean;
}

export interface ChannelPolicy {
  /** 0: the monitor is off. */
  readonly unreachableMs: number;
  /** 0: channels stay as they are. */
  readonly resetMs: number;
  readonly escalates: boolean;
}

export type ChannelAction =
  | {
      readonly kind: 'reset';
      readonly id: PeerId;
      readonly attempt: number;
      readonly silentMs: number;
    }
  | { readonly kind: 'escalate'; readonly id: PeerId; readonly to: PeerId }
  | { readonly kind: 'give-up'; readonly id: PeerId; readonly reason: string };

interface Episode {
  attempts: number;
  lastActionMs: number;
  isOver: boolean;
  gaveUp?: string;
}

export const channelResetsMax = 5;
const cooldownMs = 30 * 60_000;

export class ChannelMonitor {
  policy: ChannelPolicy;
  readonly #episodes = new Map<PeerId, Episode>();
  /** Outlives changes of leadership: two servers must not hand the lead to and fro. */
  readonly #escalatedMs = new Map<PeerId, number>();

  constructor(policy: ChannelPolicy) {
    this.policy = policy;
  }

  /** The node leads no longer. */
  forget(): void {
    this.#episodes.clear();
  }

  /** @param targetFor the best eligible peer besides the wedged one */
  look(
    followers: readonly WatchedFollower[],
    nowMs: number,
    targetFor: (wedged: PeerId) => PeerId | undefined,
  ): readonly ChannelAction[] {
    const { unreachableMs } = this.policy;
    const present = new Set(followers.map(({ id }) => id));
    for (const id of this.#episodes.keys()) if (!present.has(id)) this.#episodes.delete(id);
    if (unreachableMs === 0) return [];
    const actions: ChannelAction[] = [];
    for (const follower of followers) {
      if (follower.silentMs < unreachableMs) {
        this.#episodes.delete(follower.id);
        continue;
      }
      const action = this.#lookAt(follower, nowMs, targetFor);
      if (action !== undefined) actions.push(action);
    }
    return actions;
  }

  #lookAt(
    follower: WatchedFollower,
    nowMs: number,
    targetFor: (wedged: PeerId) => PeerId | undefined,
  ): ChannelAction | undefined {
    const { id, silentMs } = follower;
    const { resetMs } = this.policy;
    const episode = this.#episodes.get(id);
    if (episode === undefined) {
      this.#episodes.set(id, { attempts: 0, lastActionMs: nowMs, isOver: false });
      return undefined;
    }
    if (episode.isOver || resetMs === 0 || nowMs - episode.lastActionMs < resetMs) return undefined;
    episode.lastActionMs = nowMs;
    if (episode.attempts < channelResetsMax) {
      episode.attempts += 1;
      return { kind: 'reset', id, attempt: episode.attempts, silentMs };
    }
    episode.isOver = true;
    const action = this.#escalation(follower, nowMs, targetFor(id));
    if (action.kind === 'give-up') episode.gaveUp = action.reason;
    return action;
  }

  /** Why nothing more is done about a follower until it answers; undefined: something is, or it answers. */
  gaveUp(id: PeerId): string | undefined {
    return this.#episodes.get(id)?.gaveUp;
  }

  /** It was escalated not long ago. */
  isCoolingDown(id: PeerId, nowMs: number): boolean {
    const escalatedMs = this.#escalatedMs.get(id);
    return escalatedMs !== undefined && nowMs - escalatedMs < cooldownMs;
  }

  #escalation(
    { id, isKnownDead }: WatchedFollower,
    nowMs: number,
    to: PeerId | undefined,
  ): ChannelAction {
    if (!this.policy.escalates) return { kind: 'give-up', id, reason: 'disabled' };
    if (isKnownDead) return { kind: 'give-up', id, reason: 'connection refused' };
    if (this.isCoolingDown(id, nowMs)) return { kind: 'give-up', id, reason: 'cooldown' };
    if (to === undefined) return { kind: 'give-up', id, reason: 'no eligible peer' };
    this.#escalatedMs.set(id, nowMs);
    return { kind: 'escalate', id, to };
  }
}

/** A large entry is a known reason (ha.md 10.6): another leader would apply the same one. */
const heavyMs = 30_000;

/**
 * Tells when commits wait for the main thread for longer than a silent leader would be let to. A busy main thread alone is no
 * reason: followers hear their heartbeats from the consensus thread.
 */
export class GrayLeader {
  readonly #toleratedMs: number;
  #applied = -1;
  #sinceMs: number | undefined;

  constructor(toleratedMs: number) {
    this.#toleratedMs = toleratedMs;
  }

  /** @param seen `isHeavy`: what is applied is large. @returns true once per standstill */
  isGray(
    seen: { isLeader: boolean; applied: number; commit: number; isHeavy?: boolean },
    nowMs: number,
  ): boolean {
    const isWaiting = seen.isLeader && seen.commit > seen.applied;
    if (!isWaiting || seen.applied !== this.#applied || this.#sinceMs === undefined) {
      this.#applied = seen.applied;
      this.#sinceMs = isWaiting ? nowMs : undefined;
      return false;
    }
    const toleratedMs = Math.max(this.#toleratedMs, seen.isHeavy === true ? heavyMs : 0);
    if (nowMs - this.#sinceMs < toleratedMs) return false;
    this.#sinceMs = nowMs;
    return true;
  }
}
