import type { ClusterDoor } from '#cluster/cluster-door.ts';
import type { PeerProgress } from '#cluster/consensus-port.ts';
import {
  counter,
  countersBy,
  gauge,
  histogram,
  type MetricFamily,
  type Sample,
} from './telemetry.ts';

const logStates = ['OK', 'PRESSURE', 'FAILED', 'GAVE_UP'];
const replicaStates = ['UNKNOWN', 'HEALTHY', 'CATCHING_UP', 'FALLING_BEHIND', 'STALLED'];

/** What scrapes see of a cluster from this server (ha.md 15). */
export function clusterFamilies(cluster: ClusterDoor): readonly MetricFamily[] {
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
  { report }: ClusterDoor,
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
      name: 'ha_follower_status',
      help: replicaStates.join(', '),
      type: 'gauge',
      samples: by(({ id }) => replicaStates.indexOf(report.replicaStatus(id))),
    },
  ];
}
