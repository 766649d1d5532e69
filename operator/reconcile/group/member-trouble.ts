import type { ObservedMember } from '../../api/observation.ts';
import type { GroupView } from './group-view.ts';

/*
 * What is wrong with a member whose pod is well: in its own words, or in those of the leader.
 */

const badStates = new Set(['STALLED', 'FALLING_BEHIND']);
const failedLogs = new Set(['FAILED', 'GAVE_UP']);

/** The leader says that it lacks more and more, or takes nothing. */
export function isBehind(status: string | undefined): status is string {
  return status !== undefined && badStates.has(status);
}

/** Why its copy is none to fall back on, however well it answers; undefined: it is. */
export function impairment({ raft }: ObservedMember): string | undefined {
  const [database] = raft?.diverged ?? [];
  if (database !== undefined) return `holds another content of database ${database}`;
  const log = raft?.logState ?? '';
  return failedLogs.has(log) ? `cannot write its log (${log})` : undefined;
}

/** What a person should know of it; undefined: nothing. */
export function memberTrouble(member: ObservedMember, group: GroupView): string | undefined {
  const impaired = impairment(member);
  if (impaired !== undefined) return impaired;
  const { raft, peerId } = member;
  if (raft?.logState === 'PRESSURE')
    return 'has too little room for its log: the volume is filling';
  if (raft?.resync !== undefined) {
    const { database, percent } = raft.resync;
    return `fetches database ${database} from the leader${percent === undefined ? '' : `, ${percent} %`}`;
  }
  if (raft?.isAdmitted === false && group.peers.has(peerId))
    return 'came back with another disk: it joins anew';
  const peer = group.peers.get(peerId);
  if (peer?.isReachable === false) return 'is not reached by the leader';
  return isBehind(peer?.status) ? `does not keep up with the leader: ${peer?.status}` : undefined;
}
