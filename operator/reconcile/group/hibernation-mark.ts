import type { Operation } from '../../api/cluster-status.ts';
import type { Pod } from '../../api/kubernetes-object.ts';
import { annotationKeys } from '../../api/names.ts';
import type { ObservedMember } from '../../api/observation.ts';
import type { MembersRecord } from '../../resources/members-record.ts';
import { isPatienceOver } from './followers-lag.ts';
import type { GroupFacts } from './predicates.ts';

/*
 * Members that end together must not hand the lead to each other (operator.md 8.11). Their pre-stop hooks read that in the record of
 * the guard, which a kubelet brings to a pod within a minute, or at once when the pod itself changes: so pods are marked.
 */

/** A kubelet brings files within a second of the mark. */
const bringsMs = 2000;

/** Whether the pods stay until all can know that they end together. One alone has nobody to hand the lead to. */
export function awaitsMarks(
  record: MembersRecord,
  { members, nowMs }: GroupFacts,
  operation: Operation | undefined,
): boolean {
  const marks = livingPods(members).map(markOf);
  if (marks.length <= 1 || isPatienceOver(operation, nowMs)) return false;
  if (record.hibernating !== true) return true;
  return marks.some((mark) => mark === undefined || nowMs - Date.parse(mark) < bringsMs);
}

/** The next pod whose mark is not as the record has it. */
export function wronglyMarked(
  record: MembersRecord,
  members: readonly ObservedMember[],
): Pod | undefined {
  const pods = livingPods(members);
  const isWanted = record.hibernating === true && pods.length > 1;
  return pods.find((pod) => (markOf(pod) !== undefined) !== isWanted);
}

function livingPods(members: readonly ObservedMember[]): readonly Pod[] {
  return members.flatMap(({ pod }) =>
    pod === undefined || pod.metadata.deletionTimestamp !== undefined ? [] : [pod],
  );
}

function markOf({ metadata }: Pod): string | undefined {
  return metadata.annotations?.[annotationKeys.hibernating];
}
