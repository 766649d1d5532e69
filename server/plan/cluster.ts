import { join } from 'node:path';
import { DatabaseLog } from '#cluster/catalog/database-log.ts';
import { encodeBody } from '#cluster/catalog/entry-bodies.ts';
import { ServerCatalog } from '#cluster/catalog/server-catalog.ts';
import type { ClusterDoor } from '#cluster/cluster-door.ts';
import { Cluster } from '#cluster/cluster.ts';
import { parseDialMap } from '#cluster/forwarding/peer-addresses.ts';
import { sessionIdOf } from '#cluster/forwarding/session-owner.ts';
import type { ApplyLoopOptions } from '#cluster/replication/apply-loop.ts';
import { entryBytesMax, entryKind } from '#cluster/replication/entry-codec.ts';
import { diskRoom } from '#cluster/replication/disk-room.ts';
import { ClusterReplication } from '#cluster/replication/replication.ts';
import { parseServerList, type ServerList } from '#cluster/server-list.ts';
import type { ClusterToken } from '#cluster/token/cluster-token.ts';
import { endOf, type RaftTls } from '#cluster/transport/raft-tls.ts';
import { type Trace, verboseLog } from '#cluster/status/verbose-log.ts';
import { WorkerConsensus } from '#cluster/worker-consensus.ts';
import {
  haAppendBufferSize,
  haGroupCommitBatchSize,
  haGroupCommitMaxQueuedBytes,
  haSnapshotInterval,
  haSnapshotMinEntries,
} from '#config/cluster-log-settings.ts';
import {
  haClusterName,
  haElectionTimeoutMax,
  haGroupCommitQueueSize,
  haK8sSuffix,
  haQuorum,
  haQuorumTimeout,
  haSnapshotThreshold,
  haRaftPort,
  haServerList,
  haStopServerOnReplicationFailure,
} from '#config/cluster-settings.ts';
import {
  haK8s,
  serverDefaultDatabases,
  serverName,
  serverReloadEvery,
} from '#config/server-settings.ts';
import type { StopStep } from '#control/server-control.ts';
import { DatabaseError } from '#core/errors.ts';
import { optimizeForLoad } from '#platform/code-optimization.ts';
import { collectWithoutHelpers } from '#platform/collector-helpers.ts';
import { makeDirectories } from '#platform/files.ts';
import type { DatabasesLog } from '#database/catalogue/databases.ts';
import type { Replication } from '#database/catalogue/replication.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import { BootstrapPlan } from './cluster-bootstrap.ts';
import { handOverStep, openDoorOfCluster, openToken } from './cluster-door.ts';
import { SnapshotPlan, type SnapshotSources } from './cluster-snapshots.ts';
import { VerifyPlan } from './cluster-verify.ts';
import { consensusOptions, liveConsensusOptions, watchRaftTls } from './consensus-options.ts';
import { lockDirectory } from './directory-lock.ts';
import type { Ground } from './ground.ts';
import { GroupEntry } from './group-entry.ts';
import type { Security } from './security.ts';

/*
 * A server in a cluster: consensus in its threads, the catalog, the log that is applied to the databases, and what the doors get of
 * it. Loaded with `service.ha.enabled=true` only.
 */

const formingPauseMs = 50;
/** Whoever starts servers again may do so: another one may lead then. */
const replicationFailedExitCode = 70;
/** Until the log is written. */
const exitDelayMs = 200;

/** What databases are made with, before the cluster is there. */
export interface ClusterHooks {
  readonly newSessionId: () => string;
  readonly replication: () => Replication | undefined;
  readonly throughLog: () => DatabasesLog | undefined;
}

export interface Ports {
  readonly http: number;
  readonly https: number | undefined;
}

/** Level 3 of `service.ha.logVerbose`. */
function traceOfEntries(trace: Trace): ApplyLoopOptions['trace'] {
  return ({ index, data }, { kind, database }) =>
    trace(3, 'entry applied', { index, kind, database: database ?? '', bytes: data.length });
}

/** The parts of a cluster in the order in which they come up. */
export class ClusterPlan {
  readonly #ground: Ground;
  readonly #security: Security;
  readonly #list: ServerList;
  readonly #token: ClusterToken;
  #replication: ClusterReplication | undefined;
  #catalog: ServerCatalog | undefined;
  #log: DatabaseLog | undefined;
  #cluster: Cluster | undefined;
  #snapshots: SnapshotPlan | undefined;
  #verify: VerifyPlan | undefined;
  #bootstrap: BootstrapPlan | undefined;
  #entry: GroupEntry | undefined;
  #door: ClusterDoor | undefined;
  #stopRepairs = () => {};
  #stopTls = () => {};
  #certificateEndsAt: number | undefined;

  private constructor(given: {
    ground: Ground;
    security: Security;
    list: ServerList;
    token: ClusterToken;
  }) {
    this.#ground = given.ground;
    this.#security = given.security;
    this.#list = given.list;
    this.#token = given.token;
  }

  /** Everything that can be wrong with the settings. @throws DatabaseError `InvalidSetting` */
  static async prepare(ground: Ground, security: Security): Promise<ClusterPlan> {
    const { settings } = ground;
    if (settings.get(haQuorum) === 'all')
      ground.events.report(
        'WARNING',
        'HA',
        `${haQuorum.key} is 'all': the cluster takes no writes while one member is away`,
      );
    const list = parseServerList(settings.get(haServerList), {
      raftPort: settings.get(haRaftPort),
      serverName: settings.get(serverName),
      k8sSuffix: settings.get(haK8sSuffix),
      isK8s: settings.get(haK8s),
    });
    const token = await openToken(ground, security);
    return new ClusterPlan({ ground, security, list, token });
  }

  get hooks(): ClusterHooks {
    return {
      newSessionId: () => sessionIdOf(this.#list.self.id, systemRuntime.random),
      replication: () => this.#replication,
      throughLog: () => this.#log,
    };
  }

  /** Ready to write. */
  get leads(): boolean {
    return this.#replication?.isReadyLeader === true;
  }

  /** Opens the Raft port; consensus goes on by itself from here. @throws DatabaseError `InvalidSetting` */
  async open(sources: SnapshotSources, ports: () => Ports): Promise<ClusterDoor> {
    const { databases } = sources;
    const { paths, log } = this.#ground;
    const { users, groups } = this.#security;
    const directory = join(paths.databases, '.catalog');
    makeDirectories(directory, 0o750);
    const catalog = await ServerCatalog.open({
      directory,
      databases: () => databases,
      staged: () => snapshots.staged,
      baselineStep: (database, source) => bootstrap.step(database, source),
      refuse: (reason) => bootstrap.refuse(reason),
      users,
      groups,
      log,
    });
    const consensus = await this.#startConsensus();
    const entry = new GroupEntry({
      consensus,
      catalog,
      databases,
      loop: () => replication.loop,
      timers: systemRuntime.timers,
      report: (text) => this.#ground.events.report('ERROR', 'HA', text),
    });
    await entry.beforeDatabases();
    this.#entry = entry;
    const parts = { consensus, catalog, databases, entry };
    catalog.onFeatures((active) => consensus.useFeatures(active));
    const snapshots = new SnapshotPlan(this.#ground, {
      ...sources,
      consensus,
      catalog,
      replication: () => replication,
      hasEntered: () => entry.hasBegun,
      door: () => this.#door,
      token: this.#token,
    });
    const bootstrap = new BootstrapPlan(this.#ground, {
      consensus,
      databases,
      catalog,
      hasEntered: () => entry.hasBegun,
      door: () => this.#door,
      token: this.#token,
    });
    this.#bootstrap = bootstrap;
    await snapshots.prepare();
    this.#snapshots = snapshots;
    const verify = new VerifyPlan({ catalog, databases, replication: () => replication, log });
    this.#verify = verify;
    const replication = this.#replicate({ consensus, catalog, databases, snapshots, verify });
    this.#catalog = catalog;
    this.#replication = replication;
    this.#log = new DatabaseLog(catalog, {
      proposer: replication,
      desk: snapshots.desk(replication),
      random: systemRuntime.random,
    });
    this.#cluster = this.#view({ ...parts, snapshots, bootstrap, verify, replication });
    this.#door = await openDoorOfCluster(this.#ground, this.#security, {
      view: this.#cluster,
      token: this.#token,
      databases,
      ports,
    });
    return this.#door;
  }

  /** The cluster as the doors of this server see it. */
  #view({
    consensus,
    catalog,
    databases,
    entry,
    snapshots,
    bootstrap,
    verify,
    replication,
  }: {
    readonly consensus: WorkerConsensus;
    readonly catalog: ServerCatalog;
    readonly databases: SnapshotSources['databases'];
    readonly entry: GroupEntry;
    readonly snapshots: SnapshotPlan;
    readonly bootstrap: BootstrapPlan;
    readonly verify: VerifyPlan;
    readonly replication: ClusterReplication;
  }): Cluster {
    const { settings } = this.#ground;
    return new Cluster({
      consensus,
      replication,
      server: catalog,
      clusterName: settings.get(haClusterName),
      serverName: settings.get(serverName),
      declared: this.#list.peers,
      databaseNames: () => databases.names(),
      verifier: verify.verifier,
      bootstrapState: () => bootstrap.own(),
      bootstrapRefusal: () => bootstrap.refusal,
      entering: () => entry.reason,
      raftCertificateEndsAt: () => this.#certificateEndsAt,
      baseline: () => catalog.document.baseline,
      snapshots: snapshots.port,
      stageOf: (uuid) => snapshots.staged.stateOf(uuid),
      resync: (database) => snapshots.resync(database),
      resyncOf: (database) => snapshots.installer.progressOf(database),
      acquisitionOf: (database) => snapshots.installer.acquisitionOf(database),
      awaited: () => databases.failed(),
      features: {
        active: () => catalog.document.features,
        activate: async (feature) => {
          await replication.propose(entryKind.feature, encodeBody({ feature }));
        },
      },
    });
  }

  #replicate(given: {
    readonly consensus: WorkerConsensus;
    readonly catalog: ServerCatalog;
    readonly databases: SnapshotSources['databases'];
    readonly snapshots: SnapshotPlan;
    readonly verify: VerifyPlan;
  }): ClusterReplication {
    const { settings } = this.#ground;
    return new ClusterReplication({
      port: given.consensus,
      server: given.catalog,
      bounds: {
        queueLengthMax: () => settings.get(haGroupCommitQueueSize),
        queuedBytesMax: () => settings.get(haGroupCommitMaxQueuedBytes),
        batchLengthMax: () => settings.get(haGroupCommitBatchSize),
        quorumTimeoutMs: () => settings.get(haQuorumTimeout),
      },
      entryBytesMax: Math.min(entryBytesMax, settings.get(haAppendBufferSize)),
      openForApply: (name) => given.databases.openForLog(name),
      marked: given.verify.marked,
      checkpointed: (index) => given.snapshots.snapshots.offer(index),
      allWithinMs:
        settings.get(haQuorum) === 'all' ? () => settings.get(haElectionTimeoutMax) : undefined,
      hasRoom: diskRoom(this.#ground.paths.databases, systemRuntime.clock),
      compaction: {
        entriesMax: () => settings.get(haSnapshotThreshold),
        intervalMs: () => settings.get(haSnapshotInterval),
        entriesMin: () => settings.get(haSnapshotMinEntries),
      },
      trace: traceOfEntries(verboseLog(settings, this.#ground.log)),
      cannotStepDown: (database, reason) => this.#cannotStepDown(database, reason),
      loading: optimizeForLoad,
      runtime: systemRuntime,
      log: this.#ground.log,
    });
  }

  #cannotStepDown(database: string, reason: string): void {
    const { events, settings } = this.#ground;
    const isEnd = settings.get(haStopServerOnReplicationFailure);
    const what = `this server leads, cannot apply what is committed to database '${database}' (${reason}), and no other server takes the lead`;
    const then = isEnd ? `; it ends (${haStopServerOnReplicationFailure.key})` : '';
    events.report('CRITICAL', 'HA', `${what}${then}`, database);
    if (isEnd)
      systemRuntime.timers.after(exitDelayMs, () => process.exit(replicationFailedExitCode));
  }

  /** To be called when the databases are open: applies the log, and leads when it is elected. */
  async begin(createDefaults: (text: string) => Promise<void>): Promise<void> {
    const { users, groups } = this.#security;
    const replication = this.#replication;
    if (replication === undefined) return;
    const publish = async (operations: readonly object[]) => {
      await this.#initialized();
      await replication.propose(entryKind.users, encodeBody(operations));
    };
    users.publishBy(publish);
    groups.publishBy(publish);
    replication.onLeadership((leads) => {
      if (leads) this.#lead(replication, createDefaults).catch((error) => this.#report(error));
    });
    await this.#snapshots?.awaitMissing();
    await this.#entry?.follow(() => replication.start());
    this.#verify?.watch.start();
    this.#stopRepairs = this.#snapshots?.repairRegularly() ?? this.#stopRepairs;
  }

  /** What a cluster begins with comes from its first leader, once. */
  async #lead(
    replication: ClusterReplication,
    createDefaults: (text: string) => Promise<void>,
  ): Promise<void> {
    const { users, groups } = this.#security;
    if (this.#catalog?.isInitialized === false) {
      const found = await this.#bootstrap?.desk.baseline();
      if (found === undefined) return;
      const body = {
        createdAt: systemRuntime.clock.now(),
        baseline: found,
        security: [
          { op: 'users', text: users.text },
          { op: 'groups', text: groups.text },
        ],
      };
      await replication.propose(entryKind.clusterInit, encodeBody(body));
    }
    // Whoever began them leads no more.
    for (const { uuid } of this.#catalog?.staged() ?? [])
      await replication.propose(entryKind.databaseStageAbort, encodeBody({ uuid }));
    await createDefaults(this.#ground.settings.get(serverDefaultDatabases));
  }

  /** Users that come before the first entry of the cluster would be lost with it. */
  async #initialized(): Promise<void> {
    const { clock, timers } = systemRuntime;
    const untilMs = clock.monotonicMs() + this.#ground.settings.get(haQuorumTimeout);
    while (this.#catalog?.isInitialized === false) {
      if (clock.monotonicMs() > untilMs)
        throw new DatabaseError('QuorumNotReached', 'the cluster is being formed; run it again');
      await timers.sleep(formingPauseMs);
    }
  }

  #report(error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    this.#ground.events.report(
      'WARNING',
      'HA',
      `the new leader did not finish its start: ${reason}`,
    );
  }

  /** Of the stop, around those of the server (ha.md 12.4). */
  steps(door: ClusterDoor): { readonly first: StopStep; readonly last: StopStep } {
    return {
      first: handOverStep(door),
      last: {
        name: 'cluster',
        run: async () => {
          this.#stopRepairs();
          this.#stopTls();
          this.#verify?.watch.stop();
          door.close();
          await this.#cluster?.close(0);
        },
      },
    };
  }

  async #startConsensus(): Promise<WorkerConsensus> {
    const { settings, paths, log } = this.#ground;
    const dialMap = Object.fromEntries(parseDialMap(process.env['POLYAD_DIAL_MAP']));
    const options = consensusOptions(settings, this.#list, {
      root: paths.root,
      dialMap,
      nowMs: systemRuntime.clock.now(),
      warn: (text) => log.warn(text),
    });
    makeDirectories(options.directory, 0o750);
    const tell = (text: string) => log.warn(text);
    await lockDirectory(options.directory, settings, { ...systemRuntime, tell });
    collectWithoutHelpers();
    try {
      const consensus = await WorkerConsensus.start(options, {
        log: (level, text) => log[level](text),
      });
      const { clock, timers } = systemRuntime;
      const everyMs = settings.get(serverReloadEvery);
      this.#certificateEndsAt = options.tls && endOf(options.tls);
      const use = (tls: RaftTls) => {
        this.#certificateEndsAt = endOf(tls);
        consensus.useTls(tls);
      };
      settings.onChange(() => consensus.tune(liveConsensusOptions(settings)));
      const warn = (text: string) => log.warn(text);
      this.#stopTls = watchRaftTls(settings, this.#list, { clock, timers, everyMs, use, warn });
      return consensus;
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new DatabaseError('InvalidSetting', `the Raft server cannot start: ${reason}`);
    }
  }
}
