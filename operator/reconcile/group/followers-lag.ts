import type { Operation } from '../../api/cluster-status.ts';
import type { ObservedMember } from '../../api/observation.ts';
import type { GroupView } from './group-view.ts';
import type { GroupFacts } from './predicates.ts';

/*
 * Before all members end (operator.md 8.11) the followers get a minute to have all that the leader has: what one member alone holds
 * is at the mercy of one volume.
 */

const patienceMs = 60_000;

/** What is not known to be the same everywhere; empty: every member has all. */
export function lackOf(members: readonly ObservedMember[], group: GroupView): readonly string[] {
  if (group.kind === 'solo') return [];
  if (group.kind === 'unknown') return [group.why];
  return members.flatMap(({ name, peerId }) => {
    const peer = group.peers.get(peerId);
    if (peer === undefined || peerId === group.leader?.peerId || peer.lag === 0) return [];
    const { lag = -1 } = peer;
    return [lag > 0 ? `${name} lacks ${lag} entries` : `what ${name} lacks is not known`];
  });
}

/** Whether the pods stay for now. @param operation since when the Cluster hibernates; of another kind: since now */
export function awaitsFollowers(
  { members, group, nowMs }: GroupFacts,
  operation: Operation | undefined,
): boolean {
  const pods = members.filter(({ pod }) => pod !== undefined);
  if (pods.length <= 1 || lackOf(members, group).length === 0) return false;
  return !isPatienceOver(operation, nowMs);
}

export function isPatienceOver(operation: Operation | undefined, nowMs: number): boolean {
  return operation?.type === 'Hibernate' && nowMs - Date.parse(operation.startedAt) >= patienceMs;
}
