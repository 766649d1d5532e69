import type { Claim } from '../../api/kubernetes-object.ts';
import { compareQuantities } from '../../resources/quantity.ts';
import { wantedSizes } from '../../resources/stateful-set.ts';
import { canDisrupt } from '../group/predicates.ts';
import { lookAgain, note, rejectionOf, stall } from '../pass.ts';
import type { Draft, Pass, Step, StepEnd } from '../pass.ts';

const fileSystemResizeMs = 120_000;

/**
 * Storage only grows (operator.md 8.6): claims first, whatever state the member is in, since a full disk is a common reason for
 * being down; then the StatefulSet is made anew around its running pod, because its claim templates cannot be changed.
 */
export const growStorage: Step = (pass, draft) => {
  for (const [template, size] of wantedSizes(pass.spec)) {
    const end = growTemplate(pass, draft, template, size);
    if (end) return end;
  }
  return undefined;
};

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
    if (end === 'wait') isWaiting = true;
    else if (end !== undefined) return end;
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

/** `wait`: this claim is not there yet, so the template stays. */
function growClaim(
  pass: Pass,
  draft: Draft,
  { name, claim, size, templateSize, ordinal }: Growth,
): StepEnd | 'wait' | undefined {
  const requested = claim?.spec?.resources?.requests?.['storage'] ?? templateSize;
  if (requested === undefined || claim?.metadata.deletionTimestamp !== undefined) return 'wait';
  const difference = compareQuantities(size, requested);
  if (difference < 0 && !canTakeBack(claim, size)) {
    const message = `spec.storage: ${name} has ${requested} and cannot shrink to ${size}`;
    stall(draft, 'StorageShrinkRefused', message);
    return 'wait';
  }
  if (claim !== undefined && difference !== 0)
    return askForSize(pass, draft, claim, size) ?? 'wait';
  return claim === undefined ? undefined : waitForCapacity(pass, draft, claim, { size, ordinal });
}

/** A size that the storage system never reached may be lowered again, down to what is really there. */
function canTakeBack(claim: Claim | undefined, size: string): boolean {
  const capacity = claim?.status?.capacity?.['storage'];
  return capacity !== undefined && compareQuantities(size, capacity) >= 0;
}

function askForSize(pass: Pass, draft: Draft, claim: Claim, size: string): StepEnd | undefined {
  const name = claim.metadata.name;
  const refusal =
    pass.seen.isExpandable === false
      ? `the storage class of ${name} does not allow volumes to grow`
      : rejectionOf(pass, draft, `grow-claim PersistentVolumeClaim/${name}`);
  if (refusal !== undefined) {
    draft.storage = { reason: 'NotExpandable', message: refusal };
    return undefined;
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
  { size, ordinal }: { readonly size: string; readonly ordinal: number },
): StepEnd | 'wait' | undefined {
  const capacity = claim.status?.capacity?.['storage'];
  if (capacity === undefined || compareQuantities(capacity, size) >= 0) return undefined;
  const pending = claim.status?.conditions?.find(({ type }) => type === 'FileSystemResizePending');
  const name = claim.metadata.name;
  draft.storage = {
    reason: pending === undefined ? 'ResizePending' : 'FileSystemResizePending',
    message: `${name} has ${capacity} of ${size}`,
  };
  lookAgain(draft, 5000);
  const sinceMs = pass.nowMs - Date.parse(pending?.lastTransitionTime ?? '');
  const member = pass.seen.members[ordinal];
  const pod = member?.pod;
  if (!(sinceMs > fileSystemResizeMs) || pod === undefined) return 'wait';
  if (pod.metadata.deletionTimestamp !== undefined || pass.spec.update.paused) return 'wait';
  if (member === undefined || !canDisrupt(member, pass.facts).isAllowed) return 'wait';
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
