import { contentHash } from '../../resources/content-hash.ts';
import { annotationKeys } from '../../api/names.ts';
import { isPatienceOver, lackOf } from '../group/followers-lag.ts';
import { wronglyMarked } from '../group/hibernation-mark.ts';
import { hasPods, lookAgain, note } from '../pass.ts';
import type { Draft, Pass, Step, StepEnd } from '../pass.ts';

const pollMs = 1000;

/**
 * `spec.hibernate` (operator.md 8.11): the members end together, when the followers have what the leader has or a minute has passed.
 * Nobody leaves the group; how many pods there are follows from the pass.
 */
export const hibernate: Step = (pass, draft) => {
  const { spec, seen, group, podCount, nowMs, previous } = pass;
  if (!spec.hibernate || !hasPods(pass)) {
    if (spec.hibernate || draft.operation?.type === 'Hibernate') draft.operation = undefined;
    if (!spec.hibernate && previous.phase === 'Hibernated') resume(pass, draft);
    return mark(pass);
  }
  const isWaiting = podCount > 0;
  begin(pass, draft, isWaiting ? 'CatchUp' : 'Stop');
  lookAgain(draft, pollMs);
  const lack = lackOf(seen.members, group).join(', ');
  const what = lack === '' ? 'the members learn that all of them end' : lack;
  const message = isWaiting ? `for a minute at most: ${what}` : 'the members are ending';
  draft.progress = { reason: 'Hibernating', message };
  const isDue = !isWaiting && (seen.statefulSet?.spec?.replicas ?? 0) > 0;
  if (isDue && lack !== '' && isPatienceOver(draft.operation, nowMs))
    note(
      draft,
      'HibernatesBehind',
      `the members end after a minute of waiting: ${lack}; it comes after the Cluster is resumed`,
      'Warning',
    );
  return mark(pass);
};

/** It ends when all members are ready. */
function resume({ generation, nowMs }: Pass, draft: Draft): void {
  draft.operation = {
    id: contentHash(['resume', generation]),
    type: 'Resume',
    target: 'members',
    step: 'Await',
    generation,
    startedAt: new Date(nowMs).toISOString(),
  };
}

/** When the record is there, or gone: what the kubelet brings with the change of the pod is then the new one. */
function mark({ spec, record, seen, nowMs }: Pass): StepEnd | undefined {
  if ((record.hibernating === true) !== spec.hibernate) return undefined;
  const pod = wronglyMarked(record, seen.members);
  if (pod === undefined) return undefined;
  const { name, uid } = pod.metadata;
  const value = spec.hibernate ? new Date(nowMs).toISOString() : null;
  return {
    action: {
      kind: 'label',
      target: { apiVersion: 'v1', kind: 'Pod', name, ...(uid === undefined ? undefined : { uid }) },
      labels: {},
      annotations: { [annotationKeys.hibernating]: value },
    },
  };
}

/** Written before the first pod goes: another instance knows since when it is waited. */
function begin({ generation, nowMs }: Pass, draft: Draft, step: 'CatchUp' | 'Stop'): void {
  const before = draft.operation?.type === 'Hibernate' ? draft.operation : undefined;
  draft.operation = {
    id: contentHash(['hibernate', generation]),
    type: 'Hibernate',
    target: 'members 0',
    step,
    generation,
    startedAt: before?.startedAt ?? new Date(nowMs).toISOString(),
  };
}
