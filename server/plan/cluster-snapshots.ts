import { join } from 'node:path';
import type { ServerCatalog } from '#cluster/catalog/server-catalog.ts';
import type { ClusterDoor } from '#cluster/cluster-door.ts';
import type { ConsensusPort } from '#cluster/consensus-port.ts';
import type { ClusterReplication } from '#cluster/replication/replication.ts';
import { ClusterSnapshots } from '#cluster/snapshot/cluster-snapshots.ts';
import { DatabaseArchives } from '#cluster/snapshot/database-archives.ts';
import { SnapshotInstaller } from '#cluster/snapshot/snapshot-installer.ts';
import type { ClusterToken } from '#cluster/token/cluster-token.ts';
import {
  haSnapshotInstallRetries,
  haSnapshotInstallRetryBaseMs,
  haSnapshotMaxConcurrent,
} from '#config/cluster-log-settings.ts';
import type { Databases } from '#database/catalogue/databases.ts';
import type { OperatedDatabase } from '#database/operations/operated-database.ts';
import type { ProgressRegistry } from '#database/progress/progress-registry.ts';
import { DatabaseError } from '#core/errors.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import type { Ground } from './ground.ts';

/** What of the databases snapshots need. */
export interface SnapshotSources {
  readonly databases: Databases;
  readonly operated: (name: string) => OperatedDatabase;
  readonly progress: ProgressRegistry;
}

export interface SnapshotPlanOptions extends SnapshotSources {
  readonly consensus: ConsensusPort;
  readonly catalog: ServerCatalog;
  readonly replication: () => ClusterReplication;
  readonly door: () => ClusterDoor | undefined;
  readonly token: ClusterToken;
}

/** How often a damaged copy is looked for. */
const repairEveryMs = 5000;

/** Databases that travel between members: archives for others, installation here, mending of copies that differ. */
export class SnapshotPlan {
  readonly archives: DatabaseArchives;
  readonly installer: SnapshotInstaller;
  readonly snapshots: ClusterSnapshots;
  readonly #ground: Ground;
  readonly #options: SnapshotPlanOptions;

  constructor(ground: Ground, options: SnapshotPlanOptions) {
    const { settings, log, paths } = ground;
    const { databases, operated, progress, consensus, catalog, door, token, replication } = options;
    this.#ground = ground;
    this.#options = options;
    const required = (): ClusterDoor => {
      const found = door();
      if (found !== undefined) return found;
      throw new DatabaseError('NotOnline', 'the server is starting');
    };
    this.archives = new DatabaseArchives({
      directory: join(paths.databases, '.snapshots-sent'),
      operated,
      offsetOf: (name) => catalog.memberNamed(name)?.offset ?? 0,
      concurrentMax: () => settings.get(haSnapshotMaxConcurrent),
      progress,
      runtime: systemRuntime,
    });
    this.installer = new SnapshotInstaller({
      directory: join(paths.databases, '.snapshots-fetched'),
      databases: () => databases,
      dial: (peer) => required().addresses.dial(peer),
      http: () => required().http,
      token: () => token.value,
      retries: () => settings.get(haSnapshotInstallRetries),
      retryBaseMs: () => settings.get(haSnapshotInstallRetryBaseMs),
      progress,
      settings,
      runtime: systemRuntime,
      log,
    });
    this.snapshots = new ClusterSnapshots({
      port: consensus,
      catalog,
      installer: this.installer,
      exclusively: (run) => replication().loop.exclusively(run),
      installed: (index) => replication().loop.installed(index),
      log,
    });
  }

  async prepare(): Promise<void> {
    await this.archives.prepare();
    await this.installer.prepare();
  }

  /** Fetches a database anew from the leader; resolves when that has begun. */
  resync(database: string): Promise<void> {
    const { consensus, replication } = this.#options;
    const { loop } = replication();
    const work = loop.exclusively(() =>
      this.installer.install(database, () => consensus.status().leader, loop.applied),
    );
    work.catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error);
      this.#ground.log.error('a database could not be fetched anew', { database, reason });
    });
    return Promise.resolve();
  }

  /** A copy that differs from the others is fetched anew by itself (ha.md 9.7). @returns the way to stop */
  repairRegularly(): () => void {
    let stop = () => {};
    const later = () => {
      stop = systemRuntime.timers.after(repairEveryMs, () => {
        this.#repair();
        later();
      });
    };
    later();
    return () => stop();
  }

  #repair(): void {
    const { consensus, replication } = this.#options;
    const { role, leader } = consensus.status();
    if (role === 'leader' || leader === undefined || this.installer.isRunning) return;
    const damaged = replication()
      .seats()
      .find((seat) => seat.damage !== undefined);
    if (damaged !== undefined) void this.resync(damaged.member.name);
  }
}
