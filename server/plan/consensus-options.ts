import type { ConsensusOptions, LiveConsensusOptions } from '#cluster/consensus/worker-messages.ts';
import { features } from '#cluster/features.ts';
import type { ServerList } from '#cluster/server-list.ts';
import { type RaftTls, type RaftTlsFiles, readRaftTls } from '#cluster/transport/raft-tls.ts';
import { haReplicationLagWarning } from '#config/cluster-http-settings.ts';
import {
  haAppendElementLimit,
  haGroupCommitMaxQueuedBytes,
  haGrpcFlowControlWindow,
  haGrpcMessageSizeMax,
  haHealthCheckInterval,
  haLogPurgeGap,
  haLogPurgeUptoSnapshot,
  haLogSegmentSize,
  haRaftStorageMinFreeSpacePerc,
  haRatisRestartMaxRetries,
} from '#config/cluster-log-settings.ts';
import {
  haDivergedFollowerMaxReformats,
  haDivergedFollowerRecovery,
} from '#config/cluster-resync-settings.ts';
import {
  haAutoJoin,
  haK8sSuffix,
  haBootstrapTimeoutMs,
  haClusterName,
  haElectionTimeoutMax,
  haElectionTimeoutMin,
  haGrpcAllowlistRefreshMs,
  haPeerAllowlistEnabled,
  haPeerAllowlistStartupGraceMs,
  haPeerAllowlistStickyTtlMs,
  haPeerChannelResetDuration,
  haPeerChannelResetEscalation,
  haPeerUnreachableThreshold,
  haQuorumRecovery,
  haRaftPersistStorage,
  haServerRole,
  haStartMode,
  haTlsCertChainFile,
  haTlsEnabled,
  haTlsMutualAuth,
  haTlsPrivateKeyFile,
  haTlsTrustCertCollectionFile,
} from '#config/cluster-settings.ts';
import { checkClusterSettings } from '#config/cluster-rules.ts';
import type { Settings, SettingsReader } from '#config/effective-settings.ts';
import type { SettingSpec } from '#config/setting.ts';
import { haK8s, serverHttpIncomingHost } from '#config/server-settings.ts';
import type { Clock, Timers } from '#core/runtime.ts';
import { defaultRaftLimits } from '#raft/options.ts';
import { raftDirectory } from './raft-directory.ts';
import { version } from './version.ts';

const mebi = 1024 * 1024;
/** So many ticks fit into the shortest election timeout, within these bounds. */
const ticksPerTimeout = 40;
const tickMsMin = 5;
const tickMsMax = 50;
/** Followers that are further behind are served from the disk. */
const cacheBytesMax = 16 * mebi;

export interface OptionsGround {
  readonly root: string;
  readonly dialMap: Readonly<Record<string, string>>;
  readonly nowMs: number;
  warn(text: string): void;
}

/** @throws DatabaseError `InvalidSetting` */
export function consensusOptions(
  settings: Settings,
  { peers, self }: ServerList,
  ground: OptionsGround,
): ConsensusOptions {
  const { dialMap } = ground;
  for (const text of checkClusterSettings(settings)) ground.warn(text);
  const minMs = settings.get(haElectionTimeoutMin);
  const maxMs = settings.get(haElectionTimeoutMax);
  const tickMs = Math.min(tickMsMax, Math.max(tickMsMin, Math.round(minMs / ticksPerTimeout)));
  return {
    self: self.id,
    declared: peers.map(({ id, host, raftPort, name, priority }) => ({
      id,
      address: `${host}:${raftPort}`,
      name,
      priority,
    })),
    clusterName: settings.get(haClusterName),
    build: { version, features },
    canLead: settings.get(haServerRole) === 'any',
    listenHost: settings.get(serverHttpIncomingHost),
    listenPort: self.raftPort,
    allowlist: settings.get(haPeerAllowlistEnabled)
      ? {
          refreshMs: settings.get(haGrpcAllowlistRefreshMs),
          graceMs: settings.get(haPeerAllowlistStartupGraceMs),
          stickyMs: settings.get(haPeerAllowlistStickyTtlMs),
          headless: headlessOf(settings),
        }
      : undefined,
    tls: settings.get(haTlsEnabled) ? tlsOf(settings, self.host, ground) : undefined,
    directory: raftDirectory(settings, { ...ground, self: self.id }),
    dialMap,
    limits: {
      ...defaultRaftLimits,
      electionTicksMin: Math.max(10, Math.round(minMs / tickMs)),
      electionTicksMax: Math.max(12, Math.round(maxMs / tickMs)),
      tellsCommitLater: true,
      messageEntriesMax: settings.get(haAppendElementLimit),
      uncommittedBytesMax: settings.get(haGroupCommitMaxQueuedBytes),
    },
    tickMs,
    segmentBytes: settings.get(haLogSegmentSize),
    cacheBytesMax,
    purgeGap: settings.get(haLogPurgeGap),
    messageBytesMax: settings.get(haGrpcMessageSizeMax),
    flowControlWindow: settings.get(haGrpcFlowControlWindow),
    persists: settings.get(haRaftPersistStorage),
    bootstrapTimeoutMs: settings.get(haBootstrapTimeoutMs),
    startMode: settings.get(haStartMode),
    quorumRecovery: settings.get(haQuorumRecovery),
    formsWithoutAbsent: settings.get(haK8s),
    joinsByItself: settings.get(haK8s) && settings.get(haAutoJoin),
    ...liveConsensusOptions(settings),
    purgesForAll: settings.get(haLogPurgeUptoSnapshot),
    reformatsMax: settings.get(haDivergedFollowerRecovery)
      ? settings.get(haDivergedFollowerMaxReformats)
      : 0,
    healthCheckMs: settings.get(haHealthCheckInterval),
    restartsMax: settings.get(haRatisRestartMaxRetries),
    freePercMin: settings.get(haRaftStorageMinFreeSpacePerc),
  };
}

/** What may change while the server runs. */
export function liveConsensusOptions(settings: SettingsReader): LiveConsensusOptions {
  return {
    unreachableMs: settings.get(haPeerUnreachableThreshold),
    channelResetMs: settings.get(haPeerChannelResetDuration),
    escalates: settings.get(haPeerChannelResetEscalation),
    lagEntriesMax: settings.get(haReplicationLagWarning),
  };
}

function tlsFiles(settings: SettingsReader): RaftTlsFiles {
  const file = (setting: SettingSpec<string>) => ({
    setting: setting.key,
    path: settings.get(setting),
  });
  return {
    certificates: file(haTlsCertChainFile),
    key: file(haTlsPrivateKeyFile),
    trusted: file(haTlsTrustCertCollectionFile),
    isMutual: settings.get(haTlsMutualAuth),
  };
}

function tlsOf(settings: SettingsReader, ownHost: string, { nowMs, warn }: OptionsGround): RaftTls {
  const { tls, warnings } = readRaftTls(tlsFiles(settings), { ownHost, nowMs });
  for (const text of warnings) warn(text);
  return tls;
}

/**
 * Follows the files of certificates (ha.md 4.5 rule 8): what is replaced by something that can serve is used for new connections,
 * what cannot is told once and changes nothing. @returns the way to stop
 */
export function watchRaftTls(
  settings: SettingsReader,
  { self }: ServerList,
  {
    clock,
    timers,
    everyMs,
    use,
    warn,
  }: {
    readonly clock: Pick<Clock, 'now'>;
    readonly timers: Pick<Timers, 'after'>;
    readonly everyMs: number;
    readonly use: (tls: RaftTls) => void;
    readonly warn: (text: string) => void;
  },
): () => void {
  if (!settings.get(haTlsEnabled)) return () => {};
  const read = () =>
    readRaftTls(tlsFiles(settings), { ownHost: self.host, nowMs: clock.now() }).tls;
  let known = JSON.stringify(read());
  let told = '';
  let stop = () => {};
  const look = () => {
    try {
      const tls = read();
      const text = JSON.stringify(tls);
      if (text !== known) use(tls);
      known = text;
      told = '';
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (reason !== told) warn(`the certificates stay as they were: ${reason}`);
      told = reason;
    }
    stop = timers.after(everyMs, look);
  };
  stop = timers.after(everyMs, look);
  return () => stop();
}

/** `.orders.shop.svc.cluster.local` is the suffix of the pods that service `orders` leads to. */
function headlessOf(settings: SettingsReader): string | undefined {
  const suffix = settings.get(haK8s) ? settings.get(haK8sSuffix) : '';
  return suffix.startsWith('.') ? suffix.slice(1) : undefined;
}
