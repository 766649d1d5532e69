import { join } from 'node:path';
import type { ServerCatalog } from '#cluster/catalog/server-catalog.ts';
import type { SnapshotPort, StageState } from '#cluster/cluster-view.ts';
import type { ClusterDoor } from '#cluster/cluster-door.ts';
import type { ConsensusPort } from '#cluster/consensus-port.ts';
import type { ClusterReplication } from '#cluster/replication/replication.ts';
import type { MemberDatabase } from '#cluster/replication/server-entries.ts';
import type { ServerProposer } from '#cluster/replication/server-proposer.ts';
import { StageDesk } from '#cluster/staging/stage-desk.ts';
import type { PeerId } from '#raft/vocabulary.ts';
import { unpackBackup } from '#database/operations/backup/restore.ts';
import { writeBackup } from '#database/operations/backup/backup.ts';
import { ClusterSnapshots } from '#cluster/snapshot/cluster-snapshots.ts';
import { DatabaseArchives } from '#cluster/snapshot/database-archives.ts';
import { SnapshotInstaller } from '#cluster/snapshot/snapshot-installer.ts';
import type { ClusterToken } from '#cluster/token/cluster-token.ts';
import {
  haAutoAcquireDatabases,
  haResyncCatchupLagThreshold,
  haResyncProgressInterval,
  haResyncProgressLogging,
  haSnapshotDownloadTimeout,
} from '#config/cluster-resync-settings.ts';
import {
  haSnapshotInstallRetries,
  haSnapshotInstallRetryBaseMs,
  haSnapshotMaxConcurrent,
} from '#config/cluster-log-settings.ts';
import type { Databases } from '#database/catalogue/databases.ts';
import type { Database } from '#database/database.ts';
import type { OperatedDatabase } from '#database/operations/operated-database.ts';
import type { ProgressRegistry, ProgressReporter } from '#database/progress/progress-registry.ts';
import { DatabaseError } from '#core/errors.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import { StagedDatabases, type StagedDatabasesOptions } from '#cluster/staging/staged-databases.ts';
import type { Ground } from './ground.ts';

type StageOrder = Parameters<StagedDatabasesOptions['archive']>[0];

/** What of the databases snapshots need. */
export interface SnapshotSources {
  readonly databases: Databases;
  readonly operated: (name: string) => OperatedDatabase;
  readonly progress: ProgressRegistry;
  readonly openAt: (name: string, directory: string) => Promise<Database>;
}

export interface SnapshotPlanOptions extends SnapshotSources {
  readonly consensus: ConsensusPort;
  readonly catalog: ServerCatalog;
  readonly replication: () => ClusterReplication;
  readonly hasEntered: () => boolean;
  readonly door: () => ClusterDoor | undefined;
  readonly token: ClusterToken;
}

/** How often a damaged copy is looked for. */
const repairEveryMs = 5000;
/** For an answer about what is staged. */
const stageAnswerMs = 5000;
const handOverMs = 5000;

/** Databases that travel between members: archives for others, installation here, mending of copies that differ. */
export class SnapshotPlan {
  readonly archives: DatabaseArchives;
  readonly staged: StagedDatabases;
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
      applied: () => replication().loop.applied,
      uuidOf: (name) => catalog.memberNamed(name)?.uuid,
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
      self: consensus.self,
      uuidOf: (name) => catalog.memberNamed(name)?.uuid,
      silentMsMax: () => settings.get(haSnapshotDownloadTimeout),
      progressEveryMs: () =>
        settings.get(haResyncProgressLogging) ? settings.get(haResyncProgressInterval) : 0,
      caughtUpWithin: () => settings.get(haResyncCatchupLagThreshold),
      lag: () => Math.max(0, consensus.status().commitIndex - replication().loop.applied),
      purgeLog: () => replication().loop.purge(),
      retries: () => settings.get(haSnapshotInstallRetries),
      retryBaseMs: () => settings.get(haSnapshotInstallRetryBaseMs),
      progress,
      settings,
      runtime: systemRuntime,
      log,
    });
    this.staged = new StagedDatabases({
      directory: join(paths.databases, '.staged'),
      archive: (order) => this.#buildArchive(order),
      unpack: (path, directory) =>
        this.#reported((reporter) =>
          unpackBackup({ path, directory, passphrase: undefined, settings, reporter }),
        ),
      fetch: (member, directory) =>
        this.installer.stage(member, { from: () => consensus.status().leader, directory }),
      log,
    });
    this.snapshots = new ClusterSnapshots({
      port: consensus,
      catalog,
      installer: this.installer,
      exclusively: (run) => replication().loop.exclusively(run),
      purgeLog: () => replication().loop.purge(),
      installed: (index) => replication().loop.installed(index),
      hasEntered: options.hasEntered,
      log,
    });
  }

  async prepare(): Promise<void> {
    await this.archives.prepare();
    await this.installer.prepare();
    await this.staged.prepare(this.#options.catalog.staged());
  }

  /** Archives of databases and of what is staged, for other members. */
  get port(): SnapshotPort {
    return {
      open: (database, { stage, ...part }) =>
        stage === undefined ? this.archives.open(database, part) : this.staged.open(stage),
    };
  }

  /** The leader's part of bringing a whole database into the cluster. */
  desk(proposer: ServerProposer): StageDesk {
    const { consensus } = this.#options;
    const ask = (peer: PeerId, { uuid }: MemberDatabase) => this.#askStage(peer, uuid);
    return new StageDesk({
      consensus,
      proposer,
      staged: this.staged,
      ask,
      runtime: systemRuntime,
    });
  }

  async #askStage(peer: PeerId, uuid: string): Promise<StageState> {
    const { door, token } = this.#options;
    const to = door()?.addresses.dial(peer);
    if (to === undefined || to.kind === 'refused')
      return { state: 'failed', error: to?.reason ?? 'the server is starting' };
    const { status, body } = await (door() as ClusterDoor).http.askWhole(to, {
      method: 'POST',
      path: `/api/v1/cluster/stage/${uuid}`,
      headers: { 'content-type': 'application/json', 'x-service-cluster-token': token.value },
      body: Buffer.from('{}'),
      firstByteMs: stageAnswerMs,
    });
    if (status !== 200) return { state: 'failed', error: `${peer} answers ${status}` };
    return JSON.parse(body.toString()) as StageState;
  }

  async #buildArchive({ work, fill, archive }: StageOrder): Promise<number> {
    const { settings } = this.#ground;
    await fill(work);
    const name = '.staged';
    const database = await this.#options.openAt(name, work);
    try {
      const { engine } = database;
      const options = { compressionLevel: 1, bytesPerSecondMax: 0, passphrase: undefined };
      const job = { database: name, engine, ...archive, options, settings };
      await this.#reported((reporter) => writeBackup({ ...job, reporter, runtime: systemRuntime }));
      return engine.applied().index;
    } finally {
      await database.close('closed');
    }
  }

  /** Of a step within an operation that reports for itself. */
  async #reported(work: (reporter: ProgressReporter) => Promise<unknown>): Promise<void> {
    const about = { database: '.staged', operation: 'stage a database', stepCount: 5 };
    const reporter = this.#options.progress.start(about);
    try {
      await work(reporter);
      reporter.finish();
    } catch (error) {
      reporter.fail(error);
      throw error;
    }
  }

  /** Fetches a database anew from the leader; resolves when that has begun. @param isWanted asked while nothing is applied */
  resync(
    database: string,
    isWanted: () => boolean = () => this.#isMember(database),
  ): Promise<void> {
    const { consensus, replication } = this.#options;
    const { loop } = replication();
    const work = this.installer.install(database, () => consensus.status().leader, {
      atLeast: () => loop.applied,
      exclusively: (run) => loop.exclusively(run),
      isWanted,
    });
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
    const { consensus } = this.#options;
    const { role, leader } = consensus.status();
    if (leader === undefined || this.installer.isRunning) return;
    const name = this.#damaged() ?? this.#missing();
    if (name === undefined) return;
    // Databases are fetched from the leader: one that has it goes on (ha.md 5.13).
    if (role === 'leader') consensus.transferLeadership(undefined, handOverMs).catch(() => {});
    else void this.resync(name, () => name === this.#damaged() || name === this.#missing());
  }

  #damaged(): string | undefined {
    const seats = this.#options.replication().seats();
    return seats.find((seat) => seat.damage !== undefined)?.member.name;
  }

  #isMember(name: string): boolean {
    return this.#options.catalog.memberNamed(name) !== undefined;
  }

  /** A member of the log that is not here, or that nobody can open (ha.md 9.4, reconcile). */
  #missing(): string | undefined {
    if (!this.#ground.settings.get(haAutoAcquireDatabases)) return undefined;
    const { databases, catalog } = this.#options;
    const failed = databases.failed();
    return catalog.members().find(({ name }) => failed.includes(name) || !databases.exists(name))
      ?.name;
  }

  /** Members that a stop kept from being fetched: they answer as such until they are here. */
  async awaitMissing(): Promise<void> {
    const { databases, catalog } = this.#options;
    for (const { name } of catalog.members())
      if (!databases.exists(name)) await databases.awaitHere(name);
    for (const member of catalog.staged()) this.staged.want(member);
  }
}
