import type { KubernetesObject } from '../../api/kubernetes-object.ts';
import { annotationKeys, finalizerName, labelKeys } from '../../api/names.ts';
import { statefulSet } from '../../resources/stateful-set.ts';
import { ownershipOf } from '../ownership.ts';
import { isReady } from '../../resources/pod-state.ts';
import { hasPods, lookAgain, note, rejectionOf, stall } from '../pass.ts';
import type { Draft, Pass, Step, StepEnd } from '../pass.ts';
import { backUpAll } from './back-up.ts';

/*
 * Deletion (operator.md 8.16). With `Retain` there is no finalizer and this never runs: owned objects are collected, claims
 * and Secrets stay. Otherwise: back up if asked, end the pods, delete the claims, delete the Secrets, let go. A claim that
 * holds the backups that were just made is kept; deleting it would make `BackupThenDelete` a plain `Delete`.
 */
export const tearDown: Step = (pass, draft) => {
  const { cluster, spec } = pass;
  if (!(cluster.metadata.finalizers?.includes(finalizerName) ?? false)) return {};
  draft.progress = { reason: 'Deleting', message: 'the Cluster is being deleted' };
  if (spec.deletionPolicy === 'Retain') return letGo();
  if (spec.deletionPolicy === 'BackupThenDelete') {
    const end = backUp(pass, draft);
    if (end) return end;
  }
  return stopPods(pass, draft) ?? deleteClaims(pass, draft) ?? deleteSecrets(pass) ?? letGo();
};

function letGo(): StepEnd {
  return { action: { kind: 'set-finalizer', isPresent: false } };
}

function backUp(pass: Pass, draft: Draft): StepEnd | undefined {
  const { seen, cluster, annotations, previous, group } = pass;
  const uid = cluster.metadata.uid ?? '';
  if (previous.backups?.final === uid || seen.isNamespaceTerminating) return undefined;
  if (annotations[annotationKeys.skipFinalBackup] === uid) return undefined;
  const mark = `back-up ${uid}`;
  const begun = previous.backups?.begun;
  if (seen.done.has(mark) && begun?.mark === mark && begun.member !== undefined) {
    draft.backups = { ...draft.backups, final: uid, finalMember: begun.member };
    lookAgain(draft, 0);
    return {};
  }
  const refusal = rejectionOf(pass, draft, 'back-up');
  const hint = `to delete without a backup: kubectl -n ${cluster.metadata.namespace ?? 'default'} annotate clusters.polyad.io ${cluster.metadata.name} ${annotationKeys.skipFinalBackup}=${uid}`;
  if (refusal !== undefined) {
    stall(draft, 'BackupFailed', `${refusal}; ${hint}`);
    return {};
  }
  if (group.leader === undefined || !isReady(group.leader.pod)) {
    stall(draft, 'BackupFailed', `the last backup waits for a ready member; ${hint}`);
    lookAgain(draft, 5000);
    return {};
  }
  draft.progress = { reason: 'Deleting', message: 'the last backup is made' };
  return backUpAll(pass, draft, mark);
}

function stopPods(pass: Pass, draft: Draft): StepEnd | undefined {
  const { seen, cluster, spec } = pass;
  const set = seen.statefulSet;
  if (set !== undefined && ownershipOf(set, cluster) === 'ours' && set.spec?.replicas !== 0) {
    const object = statefulSet({
      cluster,
      spec,
      image: pass.image,
      restartHash: pass.restartHash,
      replicas: 0,
      isReplicated: pass.isReplicated,
      presentTemplates: set.spec?.volumeClaimTemplates,
    });
    return { action: { kind: 'apply', objects: [object] } };
  }
  if (!hasPods(pass)) return undefined;
  draft.progress = { reason: 'Deleting', message: 'waiting for the pods to end' };
  lookAgain(draft, 1000);
  return {};
}

function deleteClaims(pass: Pass, draft: Draft): StepEnd | undefined {
  const { seen } = pass;
  const kept = keptClaim(pass);
  for (const claim of seen.claims) {
    if (claim.metadata.deletionTimestamp !== undefined) continue;
    if (claim.metadata.name === kept) {
      if (claim.metadata.labels?.[labelKeys.retired] !== undefined) continue;
      note(draft, 'Deleting', `${kept} is kept: it holds the last backup`);
      return {
        action: {
          kind: 'label',
          target: referenceTo(claim),
          labels: { [labelKeys.retired]: 'true' },
        },
      };
    }
    return { action: { kind: 'delete', propagation: 'background', target: referenceTo(claim) } };
  }
  if (!seen.claims.some(({ metadata }) => metadata.name !== kept)) return undefined;
  draft.progress = { reason: 'Deleting', message: 'waiting for the volumes to be deleted' };
  lookAgain(draft, 1000);
  return {};
}

function keptClaim({ spec, names, previous, cluster }: Pass): string | undefined {
  if (spec.deletionPolicy !== 'BackupThenDelete') return undefined;
  if (previous.backups?.final !== cluster.metadata.uid) return undefined;
  const ordinal = Number(/-(\d+)$/.exec(previous.backups?.finalMember ?? '')?.[1] ?? 0);
  return spec.storage.backups === undefined
    ? names.dataClaim(ordinal)
    : names.backupsClaim(ordinal);
}

/** Secrets that we made; one that the user gave is not ours to delete. */
function deleteSecrets({ seen, names, cluster }: Pass): StepEnd | undefined {
  for (const name of [names.root, names.rootApplied, names.token, names.tokenApplied]) {
    const secret = seen.objects.get(`Secret/${name}`);
    if (secret === undefined || secret.metadata.deletionTimestamp !== undefined) continue;
    if (ownershipOf(secret, cluster) === 'foreign') continue;
    return { action: { kind: 'delete', propagation: 'background', target: referenceTo(secret) } };
  }
  return undefined;
}

function referenceTo({ apiVersion, kind, metadata: { name, uid } }: KubernetesObject) {
  return { apiVersion, kind, name, ...(uid === undefined ? undefined : { uid }) };
}
