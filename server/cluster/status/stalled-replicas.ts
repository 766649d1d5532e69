import type { Log } from '#core/log.ts';
import type { PeerId } from '#raft/vocabulary.ts';
import type { PeerResync } from '../management/peer-resync.ts';
import type { ReplicaMonitor } from './replica-monitor.ts';

export interface StalledReplicasOptions {
  readonly monitor: Pick<ReplicaMonitor, 'of'>;
  readonly resync: Pick<PeerResync, 'begin'>;
  /** Databases that this server has whole. */
  readonly databases: () => readonly string[];
  /** `service.ha.stalledReplicaResyncDurationMs`; 0: the standstill is told of, and nothing is done. */
  readonly durationMs: () => number;
  readonly log: Log;
}

/**
 * Followers that take no entries for long are told to fetch their databases anew (contract 3, Peer roles; ha.md 9.7): once for
 * each standstill.
 */
export class StalledReplicas {
  readonly #options: StalledReplicasOptions;
  /** Beginning of the standstill that was acted on. */
  readonly #handled = new Map<PeerId, number>();

  constructor(options: StalledReplicasOptions) {
    this.#options = options;
  }

  /** On the leader, after each sample of the monitor; resolves when all who are due were told. */
  async look(followers: readonly PeerId[], nowMs: number): Promise<void> {
    const { monitor, durationMs } = this.#options;
    for (const id of this.#handled.keys()) if (!followers.includes(id)) this.#handled.delete(id);
    const due = followers.filter((id) => {
      const sinceMs = monitor.of(id)?.stalledSinceMs;
      if (sinceMs === undefined) this.#handled.delete(id);
      if (sinceMs === undefined || this.#handled.get(id) === sinceMs) return false;
      const isDue = durationMs() > 0 && nowMs - sinceMs >= durationMs();
      if (isDue) this.#handled.set(id, sinceMs);
      return isDue;
    });
    await Promise.all(due.map((id) => this.#fill(id)));
  }

  async #fill(id: PeerId): Promise<void> {
    const { resync, databases, durationMs, log } = this.#options;
    log.warn(`Follower ${id} stands still for ${durationMs()} ms: forcing a resync`);
    for (const database of databases()) {
      const refused = await resync.begin(id, database, 'root');
      if (refused === undefined) continue;
      log.error(`Follower ${id} does not fetch database '${database}' anew: ${refused}`);
    }
  }
}
