import { applyTarget } from '../../api/decision.ts';
import type { DesiredObject, KubernetesObject } from '../../api/kubernetes-object.ts';
import { annotationKeys, monitorKinds, objectNames } from '../../api/names.ts';
import { objectKey } from '../../api/observation.ts';
import { certificateRequests } from '../../resources/cert-manager.ts';
import { configMap, membersConfigMap } from '../../resources/config-maps.ts';
import { disruptionBudgets } from '../../resources/disruption-budget.ts';
import { monitors } from '../../resources/monitors.ts';
import { networkPolicies, networkPolicyNames } from '../../resources/network-policy.ts';
import { versioned, versionLabel } from '../../resources/owner.ts';
import { serverList } from '../../resources/server-list.ts';
import { serviceAccount } from '../../resources/service-account.ts';
import { services } from '../../resources/services.ts';
import { statefulSet } from '../../resources/stateful-set.ts';
import { lastRejection, lookAgain, note, rejectionOf, stall, stallReasonOf } from '../pass.ts';
import type { Draft, Pass, Step } from '../pass.ts';
import { holds } from '../same-content.ts';

/** Everything that the Cluster owns, in the order in which it is made. */
export function desiredObjects(pass: Pass, draft: Pick<Draft, 'record'>): readonly DesiredObject[] {
  const { cluster, spec, seen } = pass;
  const version = versionLabel(spec.version, pass.image);
  const objects = [
    ...serviceAccount(cluster, spec),
    configMap(cluster, spec, listOf(pass)),
    ...(draft.record === undefined ? [] : [membersConfigMap(cluster, draft.record)]),
    ...services(cluster, spec),
    ...networkPolicies(cluster, spec, seen.operator.namespace),
    ...disruptionBudgets(cluster, spec),
    ...(seen.hasCertManager ? certificateRequests(cluster, spec) : []),
    ...monitors(cluster, spec, seen.monitorKinds),
    statefulSet({
      cluster,
      spec,
      image: pass.image,
      restartHash: pass.restartHash,
      replicas: pass.podCount,
      isReplicated: pass.isReplicated,
      presentTemplates: seen.statefulSet?.spec?.volumeClaimTemplates,
    }),
  ];
  return objects.map((object) => versioned(object, version));
}

/**
 * The members by name. Before the group is formed ordinal 0 alone, which then forms it at once, or all that form it together;
 * afterwards every pod that there is. What a running group consists of is its own matter: the list is how members find each other when they start.
 */
function listOf({ cluster, spec, isReplicated: replicates, record, podCount, seen }: Pass) {
  if (!replicates) return undefined;
  const present = seen.statefulSet?.spec?.replicas ?? 0;
  const known = Object.keys(record.members).filter(
    (key) => record.members[key]?.state === 'member',
  );
  // Stopped members come back with the list that they had.
  const count = podCount === 0 ? known.length : Math.max(podCount, present);
  const isAll = record.initialised || record.formation === 'static';
  return serverList(cluster, spec, isAll ? Math.max(1, count) : 1);
}

/** Applies what is missing or different, and removes what the spec no longer asks for. */
export const ensureObjects: Step = (pass, draft) => {
  const wanted = desiredObjects(pass, draft);
  const different = wanted.filter((object) => !isCurrent(pass, object));
  if (different.length > 0) {
    const objects = different.filter((object) => !isRefused(pass, draft, object));
    if (isNew(pass) && objects.some(({ kind }) => kind === 'StatefulSet'))
      note(draft, 'Created', 'services, files and the StatefulSet are being made');
    return objects.length > 0 ? { action: { kind: 'apply', objects } } : undefined;
  }
  const surplus = surplusOf(pass, wanted);
  if (surplus === undefined) return undefined;
  lookAgain(draft, 0);
  return {
    action: {
      kind: 'delete',
      propagation: 'background',
      target: {
        apiVersion: surplus.apiVersion,
        kind: surplus.kind,
        name: surplus.metadata.name,
        ...(surplus.metadata.uid === undefined ? undefined : { uid: surplus.metadata.uid }),
      },
    },
  };
};

/** Reported until it is taken; asked for again now and then. */
function isRefused(pass: Pass, draft: Draft, object: DesiredObject): boolean {
  const target = applyTarget(object);
  const rejection = lastRejection(pass, target);
  if (rejection === undefined) return false;
  stall(draft, stallReasonOf(rejection), `${objectKey(object)}: ${rejection.message}`);
  return rejectionOf(pass, draft, target) !== undefined;
}

/** Nothing of it has run yet. */
function isNew({ seen, previous }: Pass): boolean {
  return seen.statefulSet === undefined && previous.lastGoodImage === undefined;
}

function isCurrent({ seen }: Pass, desired: DesiredObject): boolean {
  const key = objectKey(desired);
  const present = seen.objects.get(key);
  if (present === undefined || present.metadata.deletionTimestamp !== undefined) {
    // Something that is being deleted cannot be applied; its deletion will wake us.
    return present !== undefined;
  }
  const hash = desired.metadata.annotations?.[annotationKeys.appliedHash];
  if (hash !== undefined && seen.settled.get(key) === hash) return true;
  return holds(present, desired);
}

function surplusOf(
  { seen, cluster }: Pass,
  wanted: readonly DesiredObject[],
): KubernetesObject | undefined {
  const names = objectNames(cluster.metadata.name);
  const wantedKeys = new Set(wanted.map(objectKey));
  const removable = [
    `Service/${names.readWrite}`,
    `Service/${names.readOnly}`,
    `ServiceAccount/${names.serviceAccount}`,
    `PodDisruptionBudget/${names.budget}`,
    `PodDisruptionBudget/${names.readersBudget}`,
    ...networkPolicyNames(cluster.metadata.name).map((name) => `NetworkPolicy/${name}`),
    ...monitorKinds.map((kind) => `${kind}/${names.monitor}`),
  ];
  for (const key of removable) {
    const present = seen.objects.get(key);
    if (present?.metadata.deletionTimestamp === undefined && !wantedKeys.has(key)) {
      if (present !== undefined) return present;
    }
  }
  return undefined;
}
