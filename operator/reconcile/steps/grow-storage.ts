import { annotationKeys } from '../../api/names.ts';
import type { Claim } from '../../api/kubernetes-object.ts';
import { compareQuantities } from '../../resources/quantity.ts';
import { wantedSizes } from '../../resources/stateful-set.ts';
import { canDisrupt } from '../group/predicates.ts';
import { lookAgain, note, rejectionOf, stall } from '../pass.ts';
import type { Draft, Pass, Step, StepEnd } from '../pass.ts';
import { reasonToWait } from './reason-to-wait.ts';

/** So long a claim that grows is waited for: by its own pod, whose restart may be what it lacks, and by the claims behind it. */
const patienceMs = 120_000;

/**
 * Storage only grows (operator.md 8.6): claims first, one at a time, whatever state the member is in, since a full disk is a common
 * reason for being down; then the StatefulSet is made anew around its running pods, because its claim templates cannot be
 * changed.
 */
export const growStorage: Step = (pass, draft) => {
  for (const [template, size] of wantedSizes(pass.spec)) {
    const end = growTemplate(pass, draft, template, size);
    if (end) return end;
  }
  return undefined;
};

/** What a claim is at: `here` is as it should be, `later` keeps the template as it is, `alone` those behind it, too. */
type Growing = StepEnd | 'here' | 'later' | 'alone';

function growTemplate(
  pass: Pass,
  draft: Draft,
  template: string,
  size: string,
): StepEnd | undefined {
  const { seen, cluster } = pass;
  const templateSize = seen.statefulSet?.spec?.volumeClaimTemplates?.find(
    ({ metadata }) => metadata.name === template,
  )?.spec.resources?.requests?.['storage'];
  const count = Math.max(1, seen.members.length);
  let isWaiting = false;
  for (let ordinal = 0; ordinal < count; ordinal++) {
    const name = `${template}-${cluster.metadata.name}-${ordinal}`;
    const claim = seen.claims.find(({ metadata }) => metadata.name === name);
    if (claim === undefined && ordinal > 0) continue;
    const end = growClaim(pass, draft, { name, claim, size, templateSize, ordinal });
    if (end === 'alone') return undefined;
    if (end === 'later') isWaiting = true;
    else if (end !== 'here') return end;
  }
  return isWaiting ? undefined : adoptTemplateSize(pass, draft, { size, templateSize });
}

interface Growth {
  readonly name: string;
  readonly claim: Claim | undefined;
  readonly size: string;
  readonly templateSize: string | undefined;
  readonly ordinal: number;
}

function growClaim(pass: Pass, draft: Draft, growth: Growth): Growing {
  const { name, claim, size, templateSize } = growth;
  const requested = claim?.spec?.resources?.requests?.['storage'] ?? templateSize;
  if (requested === undefined || claim?.metadata.deletionTimestamp !== undefined) return 'later';
  const difference = compareQuantities(size, requested);
  if (claim !== undefined && (difference > 0 || (difference < 0 && canTakeBack(claim, size))))
    return askForSize(pass, draft, claim, size);
  if (difference < 0 && isShrink(templateSize, size)) {
    const message = `spec.storage: ${name} has ${requested} and cannot shrink to ${size}`;
    stall(draft, 'StorageShrinkRefused', message);
    return 'later';
  }
  if (difference < 0)
    draft.warnings.push({
      reason: 'StorageUneven',
      message: `spec.storage: ${name} has ${requested}, more than ${size}: it stays so`,
    });
  return claim === undefined ? 'here' : waitForCapacity(pass, draft, claim, growth);
}

/** The spec was lowered; otherwise somebody made this one claim larger by hand. */
function isShrink(templateSize: string | undefined, size: string): boolean {
  return templateSize === undefined || compareQuantities(size, templateSize) < 0;
}

/** A size that the operator asked for and the storage system never reached may be lowered again, down to what is really there. */
function canTakeBack({ metadata, spec, status }: Claim, size: string): boolean {
  const capacity = status?.capacity?.['storage'];
  const isAsked =
    metadata.annotations?.[annotationKeys.askedSize] === spec?.resources?.requests?.['storage'];
  return isAsked && capacity !== undefined && compareQuantities(size, capacity) >= 0;
}

function askForSize(pass: Pass, draft: Draft, claim: Claim, size: string): Growing {
  const name = claim.metadata.name;
  const refusal =
    pass.seen.isExpandable.get(claim.spec?.storageClassName ?? '') === false
      ? `the storage class of ${name} does not allow volumes to grow`
      : rejectionOf(pass, draft, `grow-claim PersistentVolumeClaim/${name}`);
  if (refusal !== undefined) {
    draft.storage.push({ claim: name, reason: 'NotExpandable', message: refusal });
    return 'later';
  }
  note(draft, 'StorageResizing', `${name} grows to ${size}`);
  return {
    action: {
      kind: 'grow-claim',
      size,
      target: {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        name,
        ...(claim.metadata.uid === undefined ? undefined : { uid: claim.metadata.uid }),
      },
    },
  };
}

function waitForCapacity(
  pass: Pass,
  draft: Draft,
  claim: Claim,
  { size, ordinal }: Growth,
): Growing {
  const capacity = claim.status?.capacity?.['storage'];
  if (capacity === undefined || compareQuantities(capacity, size) >= 0) return 'here';
  const { conditions = [] } = claim.status ?? {};
  const pending = conditions.find(({ type }) => type === 'FileSystemResizePending');
  draft.storage.push({
    claim: claim.metadata.name,
    reason: pending === undefined ? 'ResizePending' : 'FileSystemResizePending',
    message: `${claim.metadata.name} has ${capacity} of ${size}`,
  });
  lookAgain(draft, 5000);
  const hasLasted = (since: string | undefined) =>
    pass.nowMs - Date.parse(since ?? '') > patienceMs;
  if (pending === undefined) {
    const resizing = conditions.find(({ type }) => type === 'Resizing');
    return hasLasted(resizing?.lastTransitionTime) ? 'later' : 'alone';
  }
  if (!hasLasted(pending.lastTransitionTime)) return 'later';
  return restartForGrowth(pass, draft, ordinal) ?? 'later';
}

/** The volume has grown; its file system does when it is mounted anew. */
function restartForGrowth(pass: Pass, draft: Draft, ordinal: number): StepEnd | undefined {
  const member = pass.seen.members[ordinal];
  const pod = member?.pod;
  if (member === undefined || pod === undefined || pod.metadata.deletionTimestamp !== undefined)
    return undefined;
  if (reasonToWait(pass, draft) !== undefined) return undefined;
  if (!canDisrupt(member, pass.facts).isAllowed) return undefined;
  note(draft, 'SingleMemberRestart', `${pod.metadata.name} restarts so that its volume can grow`);
  const uid = pod.metadata.uid === undefined ? undefined : { uid: pod.metadata.uid };
  return {
    action: {
      kind: 'evict',
      target: { apiVersion: 'v1', kind: 'Pod', name: pod.metadata.name, ...uid },
    },
  };
}

function adoptTemplateSize(
  { seen }: Pass,
  draft: Draft,
  { size, templateSize }: { readonly size: string; readonly templateSize: string | undefined },
): StepEnd | undefined {
  const set = seen.statefulSet;
  if (set === undefined || templateSize === undefined) return undefined;
  if (compareQuantities(size, templateSize) === 0) return undefined;
  if (set.metadata.deletionTimestamp !== undefined) return {};
  note(
    draft,
    'StorageResized',
    `new volumes have ${size}; the StatefulSet is made anew, pods keep running`,
  );
  lookAgain(draft, 0);
  return {
    action: {
      kind: 'delete',
      propagation: 'orphan',
      target: {
        apiVersion: 'apps/v1',
        kind: 'StatefulSet',
        name: set.metadata.name,
        ...(set.metadata.uid === undefined ? undefined : { uid: set.metadata.uid }),
      },
    },
  };
}
