import type { ClusterObject } from '../../api/cluster.ts';
import type { ClusterStatus } from '../../api/cluster-status.ts';
import { annotationKeys } from '../../api/names.ts';
import type { ObservedMember } from '../../api/observation.ts';
import { contentHash } from '../../resources/content-hash.ts';
import type { GroupView } from './group-view.ts';

/*
 * Members that did not catch up in time and were taken out of the group (operator.md 8.2). They are not tried again by themselves:
 * a change of the spec, the annotation that restarts members, or the word for this very failure does.
 */

export type FailedJoin = NonNullable<ClusterStatus['failedJoin']>;

/** What is written of members that failed now, beside those that had failed before. */
export function failureOf(
  cluster: ClusterObject,
  given: { readonly members: readonly string[]; readonly message: string; readonly nowMs: number },
): FailedJoin {
  const { members, nowMs } = given;
  const { name, namespace = 'default', uid } = cluster.metadata;
  const token = `join-${contentHash([uid, members, nowMs]).slice(0, 10)}`;
  const retry = `kubectl -n ${namespace} annotate --overwrite clusters.polyad.io ${name} ${annotationKeys.adopt}=${token}`;
  const message = `${given.message}. Tried again when the spec changes, or after: ${retry}`;
  return {
    members: [...members],
    message: message.slice(0, 2048),
    token,
    inputs: inputsOf(cluster),
  };
}

/** The failure that still stands; undefined: there is none, or it has to be tried again. */
export function standingFailure(
  cluster: ClusterObject,
  { members, group }: { readonly members: readonly ObservedMember[]; readonly group: GroupView },
): FailedJoin | undefined {
  const failed = cluster.status?.failedJoin;
  const word = cluster.metadata.annotations?.[annotationKeys.adopt];
  if (failed === undefined || failed.inputs !== inputsOf(cluster) || failed.token === word)
    return undefined;
  const names = failed.members.filter((name) => {
    const peerId = members.find((member) => member.name === name)?.peerId;
    return peerId !== undefined && !group.voters.includes(peerId);
  });
  return names.length === 0 ? undefined : { ...failed, members: names };
}

function inputsOf({ metadata }: ClusterObject): string {
  return contentHash([metadata.generation ?? 0, metadata.annotations?.[annotationKeys.restart]]);
}
