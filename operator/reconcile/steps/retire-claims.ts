import type { Claim } from '../../api/kubernetes-object.ts';
import { labelKeys } from '../../api/names.ts';
import { claimOrdinal } from '../../resources/claims.ts';
import type { Pass, Step } from '../pass.ts';

/**
 * Volumes of members that have left (operator.md 8.3): kept with a label that says since when, or deleted. The label goes when a
 * member of that name is wanted again; what is on the volume belongs to an earlier life, which the guard's record says.
 */
export const retireClaims: Step = (pass) => {
  const { seen, cluster, spec, isReplicated } = pass;
  if (!isReplicated || spec.hibernate) return undefined;
  for (const claim of seen.claims) {
    if (claim.metadata.deletionTimestamp !== undefined) continue;
    const ordinal = claimOrdinal(cluster.metadata.name, claim.metadata.name) ?? 0;
    const isRetired = claim.metadata.labels?.[labelKeys.retired] !== undefined;
    if (isUsed(pass, ordinal)) {
      if (isRetired) return label(claim, null);
      continue;
    }
    if (spec.storage.whenScaled === 'Delete')
      return { action: { kind: 'delete', propagation: 'background', target: referenceTo(claim) } };
    if (!isRetired) return label(claim, new Date(pass.nowMs).toISOString().replace(/[:.]/g, '-'));
  }
  return undefined;
};

/** Only what has left for good: the record says so after the pod has gone. */
function isUsed({ seen, podCount, record, wanted }: Pass, ordinal: number): boolean {
  const replicas = seen.statefulSet?.spec?.replicas ?? 0;
  if (ordinal < Math.max(1, wanted, podCount, replicas)) return true;
  return (
    seen.members[ordinal]?.pod !== undefined || record.members[String(ordinal)]?.state !== 'replace'
  );
}

function label(claim: Claim, value: string | null) {
  return {
    action: {
      kind: 'label' as const,
      target: referenceTo(claim),
      labels: { [labelKeys.retired]: value },
    },
  };
}

function referenceTo({ apiVersion, kind, metadata: { name, uid } }: Claim) {
  return { apiVersion, kind, name, ...(uid === undefined ? undefined : { uid }) };
}
