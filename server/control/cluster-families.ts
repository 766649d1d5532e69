import type { ClusterDoor } from '#cluster/cluster-door.ts';
import type { ConsensusCounts, PeerProgress } from '#cluster/consensus-port.ts';
import {
  counter,
  countersBy,
  gauge,
  histogram,
  type MetricFamily,
  type Sample,
} from './telemetry.ts';

const logStates = ['OK', 'PRESSURE', 'FAILED', 'GAVE_UP'];
const stepDownReasons = ['transfer', 'removed', 'log', 'apply', 'term', 'quorum'];
const replicaStates = ['UNKNOWN', 'HEALTHY', 'CATCHING_UP', 'FALLING_BEHIND', 'STALLED'];

/** What other parts of the server count for it. */
export interface ClusterCounts {
  /** Commits that met a change of somebody else. */
  readonly conflicts: () => number;
  /** Repetitions of requests that were not executed again, by database. */
  readonly repetitions: () => Iterable<readonly [string, number]>;
}

/** What scrapes see of a cluster from this server (ha.md 15). */
export function clusterFamilies(
  cluster: ClusterDoor,
  counts: ClusterCounts,
): readonly MetricFamily[] {
  const { view, forwarder, reads } = cluster;
  const status = view.consensus.status();
  const { voters, learners } = status.configuration;
  const flag = (value: boolean) => (value ? 1 : 0);
  return [
    gauge('ha_term', 'Raft term', status.term),
    gauge('ha_commit_index', 'Index up to which the log is committed', status.commitIndex),
    gauge('ha_applied_index', 'Index up to which it is applied here', view.appliedIndex()),
    gauge('ha_last_log_index', 'Last index of the log here', status.lastIndex),
    gauge('ha_is_leader', '1 when this server leads', flag(status.role === 'leader')),
    gauge('ha_leader_ready', '1 when it takes writes', flag(status.leaderReady)),
    gauge('ha_peers', 'Members of the configuration', voters.length + learners.length),
    gauge('ha_voters', 'Members that vote', voters.length),
    counter('ha_elections', 'Elections that this server has seen', status.electionCount),
    gauge('ha_log_state', logStates.join(', '), logStates.indexOf(status.logState)),
    gauge(
      'ha_quarantined_databases',
      'Databases that differ from those of the other members',
      view.databases().filter((database) => database.status === 'DIVERGED').length,
    ),
    ...followerFamilies(cluster, status.progress, status.commitIndex),
    ...leadFamilies(status.counts),
    ...writeFamilies(cluster, status.counts?.uncommittedBytes ?? 0),
    countersBy(
      'kind',
      { name: 'ha_conflicts', help: 'Commits that met a change of somebody else, by kind' },
      [['version', counts.conflicts()]],
    ),
    countersBy(
      'database',
      { name: 'ha_dedup_hits', help: 'Repetitions of requests that were not executed again' },
      counts.repetitions(),
    ),
    ...threadFamilies(cluster),
    countersBy(
      'result',
      { name: 'ha_forwarded', help: 'Requests sent on to another server, by result' },
      forwarder.counts.entries(),
    ),
    histogram(
      'ha_forward_seconds',
      "Time to the head of the other server's answer",
      forwarder.seconds,
    ),
    {
      name: 'ha_read_wait_seconds',
      help: 'Time that reads waited for this server to catch up, by level',
      type: 'histogram',
      samples: Object.entries(reads.waits).map(([level, waits]) => ({
        labels: { level },
        histogram: waits.read(),
      })),
    },
    gauge('ha_reads_waiting', 'Reads that wait now', reads.waiterCount),
    counter('ha_read_index_rounds', 'Rounds that linearizable reads asked for', reads.roundCount),
  ];
}

function followerFamilies(
  { report, snapshotBytes }: ClusterDoor,
  progress: readonly PeerProgress[],
  commitIndex: number,
): readonly MetricFamily[] {
  const by = (value: (peer: PeerProgress) => number): Sample[] =>
    progress.map((peer) => ({ labels: { peer: peer.id }, value: value(peer) }));
  return [
    {
      name: 'ha_follower_lag',
      help: 'Entries that a follower is behind, on the leader',
      type: 'gauge',
      samples: by(({ match }) => Math.max(0, commitIndex - match)),
    },
    {
      name: 'ha_follower_rtt_seconds',
      help: 'Time of a round to a follower, on the leader',
      type: 'gauge',
      samples: by(({ roundTripMs }) => (roundTripMs ?? 0) / 1000),
    },
    {
      name: 'ha_append_bytes',
      help: 'Bytes of entries sent to a peer',
      type: 'counter',
      samples: by(({ appendBytes }) => appendBytes ?? 0),
    },
    {
      name: 'ha_append_rejected',
      help: 'Appends that a peer refused',
      type: 'counter',
      samples: by(({ appendRejections }) => appendRejections ?? 0),
    },
    countersBy(
      'peer',
      { name: 'ha_snapshot_bytes', help: 'Bytes of archives of databases sent to a peer' },
      new Map([...progress.map(({ id }) => [id, 0] as const), ...snapshotBytes.entries()]),
    ),
    {
      name: 'ha_follower_status',
      help: replicaStates.join(', '),
      type: 'gauge',
      samples: by(({ id }) => replicaStates.indexOf(report.replicaStatus(id))),
    },
  ];
}

function leadFamilies(counts: ConsensusCounts | undefined): readonly MetricFamily[] {
  if (counts === undefined) return [];
  const { leaderChanges, stepDowns, logFreeBytes } = counts;
  return [
    counter('ha_leader_changes', 'Times that another server began to lead', leaderChanges),
    countersBy(
      'reason',
      { name: 'ha_stepdowns', help: 'Times that this server ceased to lead, by reason' },
      stepDownReasons.map((reason) => [reason, stepDowns[reason] ?? 0]),
    ),
    gauge('ha_log_free_bytes', 'Free on the volume of the Raft log', logFreeBytes),
  ];
}

/** The way of writes on the leader; how the log is applied, everywhere. */
function writeFamilies(
  { view: { measures } }: ClusterDoor,
  uncommittedBytes: number,
): readonly MetricFamily[] {
  if (measures === undefined) return [];
  const { commits, applies } = measures;
  return [
    gauge('ha_queue_transactions', 'Transactions that wait for the log', commits.queueLength),
    gauge('ha_queue_bytes', 'Their bytes', commits.queuedBytes),
    gauge('ha_uncommitted_bytes', 'In the log and not committed yet', uncommittedBytes),
    histogram('ha_commit_wait_seconds', 'From the queue to the commit', commits.waits),
    histogram('ha_group_commit_batch_size', 'Transactions of a batch', commits.batchSizes),
    histogram('ha_apply_seconds', 'Time of a step of applying the log', applies),
    countersBy(
      'database',
      { name: 'ha_unknown_outcomes', help: 'Writes whose fate was not known in time' },
      commits.unknownOutcomes.entries(),
    ),
  ];
}

function threadFamilies({ view: { consensus } }: ClusterDoor): readonly MetricFamily[] {
  const { measures } = consensus;
  if (measures === undefined) return [];
  return [
    histogram('ha_log_fsync_seconds', 'Time of writes of the Raft log', measures.flushes),
    {
      name: 'ha_event_loop_delay_seconds',
      help: 'Time by which turns of a thread came late',
      type: 'histogram',
      samples: [{ labels: { thread: 'consensus' }, histogram: measures.loopDelays.read() }],
    },
  ];
}
