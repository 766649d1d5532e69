import type { SettingsReader } from '#config/effective-settings.ts';
import { haPeerUnreachableThreshold } from '#config/cluster-settings.ts';
import { haReplicationLagWarning } from '#config/cluster-http-settings.ts';
import type { Log } from '#core/log.ts';
import type { Index, PeerId } from '#raft/vocabulary.ts';
import type { ConsensusStatus, PeerProgress } from '../consensus-port.ts';

export type ReplicaStatus = 'UNKNOWN' | 'STALLED' | 'HEALTHY' | 'CATCHING_UP' | 'FALLING_BEHIND';

/** What the leader thinks of a follower. */
export interface ReplicaHealth {
  readonly status: ReplicaStatus;
  readonly lag: number;
  /** Since when it lags (monotonic clock); undefined: it does not. */
  readonly laggingSinceMs: number | undefined;
  readonly stalledSinceMs: number | undefined;
}

interface Watched extends ReplicaHealth {
  readonly match: Index;
  readonly commit: Index;
  /** Samples in a row in which the leader went on and the follower did not. */
  readonly standstillCount: number;
  readonly warnedMs: number;
}

const standstillMax = 3;
const warnEveryMs = 30_000;

/**
 * The lag monitor of the leader (ha.md 10.1): looks at its followers now and then and tells how they are. Time comes in as an
 * argument, so that a simulation can run it.
 */
export class ReplicaMonitor {
  readonly #settings: SettingsReader;
  readonly #log: Log;
  readonly #watched = new Map<PeerId, Watched>();
  #leaderSinceMs: number | undefined;
  #term = 0;
  #hasToldNever = new Set<PeerId>();

  readonly #nameOf: (peer: PeerId) => string;

  /** @param nameOf how the log names a peer */
  constructor(settings: SettingsReader, log: Log, nameOf = (peer: PeerId) => peer) {
    this.#settings = settings;
    this.#log = log;
    this.#nameOf = nameOf;
  }

  /** Undefined on followers and for servers that are no members. */
  of(peer: PeerId): ReplicaHealth | undefined {
    return this.#watched.get(peer);
  }

  /** @param nowMs of the monotonic clock; called every few seconds and at each change of role */
  sample(status: ConsensusStatus, nowMs: number): void {
    if (status.role !== 'leader') {
      this.#watched.clear();
      this.#leaderSinceMs = undefined;
      return;
    }
    if (this.#leaderSinceMs === undefined || this.#term !== status.term) {
      this.#watched.clear();
      this.#hasToldNever = new Set();
      this.#leaderSinceMs = nowMs;
      this.#term = status.term;
    }
    const present = new Set(status.progress.map(({ id }) => id));
    for (const id of this.#watched.keys()) if (!present.has(id)) this.#watched.delete(id);
    for (const progress of status.progress) this.#sampleOne(progress, status, nowMs);
  }

  #sampleOne(progress: PeerProgress, { commitIndex }: ConsensusStatus, nowMs: number): void {
    const before = this.#watched.get(progress.id);
    const lag = Math.max(0, commitIndex - progress.match);
    const hasMoved = before === undefined || progress.match > before.match;
    const leaderMoved = before !== undefined && commitIndex > before.commit;
    let standstillCount = before?.standstillCount ?? 0;
    if (hasMoved || lag === 0) standstillCount = 0;
    else if (leaderMoved) standstillCount += 1;
    const status = this.#statusOf(progress, { before, lag, standstillCount, nowMs });
    const isLagging = status !== 'HEALTHY' && status !== 'UNKNOWN';
    const laggingSinceMs = isLagging ? (before?.laggingSinceMs ?? nowMs) : undefined;
    const stalledSinceMs = status === 'STALLED' ? (before?.stalledSinceMs ?? nowMs) : undefined;
    let warnedMs = before?.warnedMs ?? Number.NEGATIVE_INFINITY;
    if (isLagging && nowMs - warnedMs >= warnEveryMs) {
      this.#log.warn(`Follower ${this.#nameOf(progress.id)} is ${status}: ${lag} entries behind`);
      warnedMs = nowMs;
    } else if (!isLagging && before?.laggingSinceMs !== undefined && warnedMs > 0)
      this.#log.info(`Follower ${this.#nameOf(progress.id)} has caught up`);
    const { match } = progress;
    this.#watched.set(progress.id, {
      status,
      lag,
      laggingSinceMs,
      stalledSinceMs,
      match,
      commit: commitIndex,
      standstillCount,
      warnedMs,
    });
  }

  #statusOf(
    progress: PeerProgress,
    {
      before,
      lag,
      standstillCount,
      nowMs,
    }: { before: Watched | undefined; lag: number; standstillCount: number; nowMs: number },
  ): ReplicaStatus {
    const sinceMs = nowMs - (this.#leaderSinceMs ?? nowMs);
    const isOnItsWay = progress.state === 'snapshot';
    const neverAppended = progress.match <= 0 && lag > 0;
    if (neverAppended && !isOnItsWay && sinceMs >= this.#settings.get(haPeerUnreachableThreshold)) {
      this.#tellNever(progress.id, Math.round(sinceMs));
      return 'STALLED';
    }
    if (before === undefined && lag > 0) return 'UNKNOWN';
    if (standstillCount >= standstillMax && !isOnItsWay) return 'STALLED';
    if (lag <= this.#settings.get(haReplicationLagWarning) && !neverAppended) return 'HEALTHY';
    if (isOnItsWay || before === undefined || lag <= before.lag) return 'CATCHING_UP';
    return 'FALLING_BEHIND';
  }

  #tellNever(id: PeerId, ms: number): void {
    if (this.#hasToldNever.has(id)) return;
    this.#hasToldNever.add(id);
    this.#log.error(
      `Follower ${this.#nameOf(id)} has NEVER received a single append (matchIndex=-1) since this server became leader ${ms} ms ago`,
    );
  }
}
