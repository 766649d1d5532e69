import type { NodeStatus } from '#raft/node.ts';
import type { PeerId } from '#raft/vocabulary.ts';
import type { ConsensusStatus, LogState, RaftState } from '../consensus-port.ts';
import type { Identity } from '../log-store/raft-directory.ts';
import type { LeadLog } from './lead-log.ts';
import type { Peers } from './peers.ts';

export interface StatusParts {
  /** undefined before there is a group. */
  readonly node: NodeStatus | undefined;
  readonly identity: Identity;
  readonly raftState: RaftState;
  readonly logState: LogState;
  readonly lead: LeadLog;
  readonly logFreeBytes: number;
  readonly peers: Peers;
  readonly isReachable: (id: PeerId) => boolean;
  readonly gaveUp: (id: PeerId) => string | undefined;
  readonly self: PeerId;
  readonly isNobodyAllowed: boolean;
}

const noConf = { voters: [], votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false };

/** What the main thread may know at any time. */
export function statusOf({
  node,
  identity,
  raftState,
  logState,
  lead,
  logFreeBytes,
  peers,
  isReachable,
  gaveUp,
  self,
  isNobodyAllowed,
}: StatusParts): ConsensusStatus {
  const others = (node?.progress ?? []).filter(({ id }) => id !== self);
  return {
    raftState,
    logState,
    clusterId: identity.clusterId,
    earlierClusterIds: identity.earlierClusterIds,
    storageId: identity.storageId,
    admitted: identity.admitted,
    role: node?.role ?? 'follower',
    term: node?.term ?? 0,
    leader: node?.leader,
    leaderReady: node?.isLeaderReady ?? false,
    commitIndex: node?.commit ?? 0,
    appliedIndex: node?.applied ?? 0,
    firstIndex: node?.firstIndex ?? 1,
    lastIndex: node?.lastIndex ?? 0,
    lastTerm: node?.lastTerm ?? 0,
    configuration: node?.conf ?? identity.firstConf ?? noConf,
    configurationIndex: node?.confIndex ?? 0,
    isNobodyAllowed,
    electionCount: lead.electionCount,
    lastElectionMs: lead.lastElectionMs,
    counts: {
      leaderChanges: lead.leaderChanges,
      stepDowns: lead.stepDowns,
      uncommittedBytes: node?.uncommittedBytes ?? 0,
      logFreeBytes,
    },
    progress: others.map(({ id, match, next, state }) => {
      const silentMs = peers.silentMs(id);
      const { last, p99 } = peers.roundTrip(id);
      return {
        id,
        match,
        next,
        state,
        // To half a second: the status is published when something of it changes.
        lastContactMs: silentMs === undefined ? undefined : Math.round(silentMs / 500) * 500,
        isReachable: isReachable(id),
        gaveUp: gaveUp(id),
        roundTripMs: last === undefined ? undefined : Math.round(last),
        roundTripP99Ms: p99 === undefined ? undefined : Math.round(p99),
        ...peers.counts(id),
      };
    }),
  };
}
