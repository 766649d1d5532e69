import type { Index } from '#raft/vocabulary.ts';

/** What a member sees of itself. */
export interface OwnPosition {
  readonly isLeader: boolean;
  readonly hasLeader: boolean;
  readonly commitIndex: Index;
  readonly appliedIndex: Index;
  /** The first entry that its log still has. */
  readonly firstIndex: Index;
  /** A database is being fetched. */
  readonly isInstalling: boolean;
}

export interface OwnLagPolicy {
  /** `service.ha.staleFollowerLagThreshold`; 0: never */
  readonly lagMax: () => number;
  /** `service.ha.staleFollowerRecoveryDurationMs`; 0: never */
  readonly standstillMs: () => number;
  /** `service.ha.snapshotGapTolerance` */
  readonly gapMax: () => number;
  /** `service.ha.snapshotWatchdogTimeout` */
  readonly gapMs: () => number;
}

interface Episode {
  readonly sinceMs: number;
  /** The smallest lag of it. */
  readonly lag: number;
}

/**
 * A member that is far behind what it knows to be committed and does not come nearer, or whose log begins behind its databases,
 * fetches them (ha.md 9.7). Time comes in as an argument.
 */
export class OwnLag {
  readonly #policy: OwnLagPolicy;
  #stale: Episode | undefined;
  #gapSinceMs: number | undefined;

  constructor(policy: OwnLagPolicy) {
    this.#policy = policy;
  }

  /** @returns why the databases are to be fetched now; each standstill is told once a while */
  look(position: OwnPosition, nowMs: number): string | undefined {
    const { isLeader, hasLeader, isInstalling } = position;
    if (isLeader || !hasLeader || isInstalling) {
      this.#stale = undefined;
      this.#gapSinceMs = undefined;
      return undefined;
    }
    return this.#gap(position, nowMs) ?? this.#standstill(position, nowMs);
  }

  #gap({ firstIndex, appliedIndex }: OwnPosition, nowMs: number): string | undefined {
    const { gapMax, gapMs } = this.#policy;
    const gap = firstIndex - appliedIndex - 1;
    if (gap <= gapMax()) {
      this.#gapSinceMs = undefined;
      return undefined;
    }
    this.#gapSinceMs ??= nowMs;
    if (nowMs - this.#gapSinceMs < gapMs()) return undefined;
    this.#gapSinceMs = undefined;
    return `its log begins ${gap} entries behind its databases`;
  }

  #standstill({ commitIndex, appliedIndex }: OwnPosition, nowMs: number): string | undefined {
    const { lagMax, standstillMs } = this.#policy;
    const lag = commitIndex - appliedIndex;
    if (lagMax() === 0 || standstillMs() === 0 || lag <= lagMax()) {
      this.#stale = undefined;
      return undefined;
    }
    if (this.#stale === undefined || lag < this.#stale.lag) this.#stale = { sinceMs: nowMs, lag };
    if (nowMs - this.#stale.sinceMs < standstillMs()) return undefined;
    this.#stale = undefined;
    return `it is ${lag} entries behind and does not come nearer`;
  }
}
