import type { Settings } from '#config/effective-settings.ts';
import {
  haClusterName,
  haElectionTimeoutMax,
  haElectionTimeoutMin,
  haQuorum,
  haQuorumTimeout,
  haReadConsistency,
  haStalledReplicaResyncDurationMs,
  haTlsEnabled,
} from '#config/cluster-settings.ts';
import {
  haSnapshotGapTolerance,
  haStaleFollowerLagThreshold,
  haStaleFollowerRecoveryDurationMs,
} from '#config/cluster-resync-settings.ts';
import { snapshotWatchdogMs } from '#config/cluster-rules.ts';
import { LabelledCounts } from '#core/instruments.ts';
import type { Log } from '#core/log.ts';
import type { Runtime, Timers } from '#core/runtime.ts';
import type { ClusterDoor } from './cluster-door.ts';
import type { ClusterView } from './cluster-view.ts';
import type { ConsensusStatus } from './consensus-port.ts';
import { Forwarder } from './forwarding/forwarder.ts';
import { type DialMap, type OwnPorts, PeerAddresses } from './forwarding/peer-addresses.ts';
import { PeerHttp } from './forwarding/peer-http.ts';
import { followTrustedAuthorities, trustedAuthorities } from './forwarding/trusted-authorities.ts';
import { ClusterManagement } from './management/management.ts';
import { PeerResync } from './management/peer-resync.ts';
import { ClusterVerify } from './management/verify.ts';
import { CaughtUp } from './reads/caught-up.ts';
import { ReadBarrier } from './reads/read-barrier.ts';
import { clusterCapabilities as capabilities, features, formats } from './features.ts';
import type { PeerId } from '#raft/vocabulary.ts';
import { CapabilityPoll } from './status/capabilities.ts';
import { FeatureSwitch } from './status/feature-switch.ts';
import { OwnLag, type OwnPosition } from './status/own-lag.ts';
import { Readiness } from './status/readiness.ts';
import { ReplicaMonitor } from './status/replica-monitor.ts';
import { StalledReplicas } from './status/stalled-replicas.ts';
import { ClusterStatusReport } from './status/status-report.ts';
import { type Trace, traceLeadership, verboseLog } from './status/verbose-log.ts';
import type { ClusterToken } from './token/cluster-token.ts';
import { LoginTokens } from './token/login-tokens.ts';
import type { RemoteTokens } from '#security/token-sessions.ts';

export interface ClusterDoorOptions {
  readonly view: ClusterView;
  readonly token: ClusterToken;
  readonly settings: Settings;
  readonly runtime: Runtime;
  readonly log: Log;
  /** Of this server; asked when others are dialled, since ports may be found when the doors listen. */
  readonly ownPorts: () => OwnPorts;
  readonly dialMap?: DialMap;
  readonly version: string;
  readonly databaseNames: () => readonly string[];
  /** Rolls back the transaction sessions of this server, when it leads no more. */
  readonly endSessions: () => void;
  /** Before the password of a user is checked. */
  readonly catchUpLogins: (caughtUp: () => Promise<void>) => void;
  /** From now on tokens of other servers are honoured. */
  readonly shareTokens: (remote: RemoteTokens) => void;
}

const ofThisBuild = { capabilities, formatVersions: formats };

const sampleEveryMs = 5000;

/** What must be the same on all servers (ha.md 13). */
function sharedSettings(settings: Settings): Readonly<Record<string, string>> {
  return Object.fromEntries(
    [
      haClusterName,
      haQuorum,
      haQuorumTimeout,
      haReadConsistency,
      haElectionTimeoutMin,
      haElectionTimeoutMax,
      haTlsEnabled,
    ].map((setting) => [setting.key, String(settings.get<unknown>(setting))]),
  );
}

/** Puts together what the doors of a server in a cluster use of it. */
export async function openClusterDoor(options: ClusterDoorOptions): Promise<ClusterDoor> {
  const { view, token, settings, runtime, log, version, databaseNames } = options;
  const { clock, timers } = runtime;
  const addresses = new PeerAddresses(view, options);
  const { http, close: closeHttp } = await openPeerHttp(settings, timers, log);
  const timing = { settings, clock, timers };
  const { reads, caughtUp } = openReads(options);
  const trace = verboseLog(settings, log);
  const forwarder = new Forwarder({
    ...timing,
    view,
    token,
    addresses,
    http,
    trace,
  });
  const monitor = new ReplicaMonitor(settings, log, (peer) => addresses.shownName(peer));
  const poll = new CapabilityPoll({
    view,
    addresses,
    http,
    token,
    timers,
    settings: sharedSettings(settings),
    log,
  });
  const readiness = new Readiness(view, settings, log);
  const report = new ClusterStatusReport({
    view,
    settings,
    clock,
    addresses,
    monitor,
    poll,
    version,
    capabilities,
    databaseNames,
  });
  const management = new ClusterManagement({
    ...options,
    addresses,
    readiness,
    http,
    poll,
  });
  const resync = new PeerResync({ addresses, http, token });
  const verify = new ClusterVerify({ view, addresses, http, token, resync, runtime });
  options.shareTokens(new LoginTokens({ view, addresses, http, token, reads, clock }));
  const stopWatches = startWatches(options, { monitor, resync, trace });
  poll.start();
  const stopFeatures = switchFeatures(options, poll);
  return {
    view,
    token,
    addresses,
    http,
    reads,
    caughtUp,
    forwarder,
    report,
    management,
    verify,
    readiness,
    ...ofThisBuild,
    snapshotBytes: new LabelledCounts(),
    sharedSettings: sharedSettings(settings),
    close: () => {
      stopWatches();
      stopFeatures();
      poll.close();
      report.close();
      reads.close();
      closeHttp();
    },
  };
}

function openReads({ view, settings, runtime, catchUpLogins }: ClusterDoorOptions) {
  const reads = new ReadBarrier(view, { ...runtime, settings });
  const caughtUp = new CaughtUp(view, reads, runtime.timers);
  catchUpLogins(() => caughtUp.withAll());
  return { reads, caughtUp };
}

async function openPeerHttp(settings: Settings, timers: Timers, log: Log) {
  const http = new PeerHttp({ settings, timers }, await trustedAuthorities(settings));
  const stop = followTrustedAuthorities(settings, { timers, log }, (all) => http.trust(all));
  const close = () => {
    stop();
    http.close();
  };
  return { http, close };
}

/** @returns the way to stop */
function switchFeatures(
  { view, runtime: { timers }, log }: ClusterDoorOptions,
  poll: CapabilityPoll,
): () => void {
  const { features: port, consensus } = view;
  if (port === undefined) return () => {};
  const capabilitiesOf = (peer: PeerId) => poll.known(peer)?.capabilities;
  const found = new FeatureSwitch({ features, port, consensus, capabilitiesOf, timers, log });
  found.start();
  return () => found.close();
}

/** What goes on by itself beside requests. @returns the way to stop */
function startWatches(
  { view, settings, runtime, log, endSessions }: ClusterDoorOptions,
  {
    monitor,
    resync,
    trace,
  }: { readonly monitor: ReplicaMonitor; readonly resync: PeerResync; readonly trace: Trace },
): () => void {
  const stalled = new StalledReplicas({
    monitor,
    resync,
    databases: () => onlineDatabases(view),
    durationMs: () => settings.get(haStalledReplicaResyncDurationMs),
    log,
  });
  const ownLag = new OwnLag({
    lagMax: () => settings.get(haStaleFollowerLagThreshold),
    standstillMs: () => settings.get(haStaleFollowerRecoveryDurationMs),
    gapMax: () => settings.get(haSnapshotGapTolerance),
    gapMs: () => snapshotWatchdogMs(settings),
  });
  const stops = [
    traceLeadership(view.consensus, trace),
    endSessionsWhenDeposed(view, endSessions),
    sampleRegularly(view, { monitor, stalled, ownLag }, { runtime, log }),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}

/** A session cannot commit under another leader, and is never moved (ha.md 6.4). */
function endSessionsWhenDeposed(view: ClusterView, endSessions: () => void): () => void {
  let led = view.consensus.status().role === 'leader';
  return view.consensus.onStatus(({ role }) => {
    const leads = role === 'leader';
    if (led && !leads) endSessions();
    led = leads;
  });
}

function onlineDatabases(view: ClusterView): readonly string[] {
  return view.databases().flatMap(({ name, status }) => (status === 'ONLINE' ? [name] : []));
}

function sampleRegularly(
  view: ClusterView,
  {
    monitor,
    stalled,
    ownLag,
  }: {
    readonly monitor: ReplicaMonitor;
    readonly stalled: StalledReplicas;
    readonly ownLag: OwnLag;
  },
  { runtime: { clock, timers }, log }: { readonly runtime: Runtime; readonly log: Log },
): () => void {
  let cancel = () => {};
  const sample = () => {
    const status = view.consensus.status();
    monitor.sample(status, clock.monotonicMs());
    const followers = status.role === 'leader' ? status.progress.map(({ id }) => id) : [];
    void stalled.look(followers, clock.monotonicMs());
    const reason = ownLag.look(positionOf(view, status), clock.monotonicMs());
    if (reason !== undefined) fetchAll(view, reason, log);
    cancel = timers.after(sampleEveryMs, sample);
  };
  sample();
  return () => cancel();
}

function positionOf(view: ClusterView, status: ConsensusStatus): OwnPosition {
  const { role, leader, commitIndex, firstIndex } = status;
  return {
    isLeader: role === 'leader',
    hasLeader: leader !== undefined,
    commitIndex,
    firstIndex,
    appliedIndex: view.appliedIndex(),
    isInstalling: view.databases().some(({ status: state }) => state === 'INSTALLING'),
  };
}

function fetchAll(view: ClusterView, reason: string, log: Log): void {
  log.warn(`This server fetches its databases anew: ${reason}`);
  for (const name of onlineDatabases(view))
    view.resync?.(name).catch((error: unknown) => {
      log.error(`database '${name}' is not fetched anew: ${String(error)}`);
    });
}
