import type { ConfigMap, KubernetesObject } from '../../api/kubernetes-object.ts';
import { annotationKeys, labelKeys } from '../../api/names.ts';
import { ownershipOf } from '../ownership.ts';
import { lookAgain, note, stall } from '../pass.ts';
import type { Pass, Step } from '../pass.ts';
import { releaseProblem } from '../release/release-problem.ts';
import { releaseDifferences, releaseSettings } from '../release/release-settings.ts';

/*
 * A release of the chart is taken over while its members run (operator.md 8.15). First all is compared and nothing touched; then
 * pods that run with what the spec says are marked so; then the objects change hands, the StatefulSet last: until it has, all of
 * this is looked at anew.
 */
export const adoptRelease: Step = (pass, draft) => {
  const { seen, spec, cluster, names, image } = pass;
  const wanted = spec.bootstrap?.fromRelease?.statefulSet;
  if (wanted === undefined || isAdopted(pass)) return undefined;
  draft.progress = { reason: 'Adopting', message: `taking over the release of ${wanted}` };
  const { statefulSet: set } = seen;
  if (set === undefined || wanted !== names.statefulSet) {
    const what =
      wanted === names.statefulSet
        ? `there is no StatefulSet ${wanted}`
        : `it is '${wanted}' and must be '${names.statefulSet}': members are found by their names`;
    stall(draft, 'InvalidSpec', `spec.bootstrap.fromRelease.statefulSet: ${what}`);
    lookAgain(draft, 10_000);
    return {};
  }
  const stranger = strangersOf(pass).find((object) => !isOfRelease(object, cluster.metadata.name));
  // The next step names it.
  if (stranger !== undefined) return undefined;
  const config = seen.objects.get(`ConfigMap/${names.config}`) as ConfigMap | undefined;
  const settings = releaseSettings(set, config);
  const problem = releaseProblem(cluster, spec, set, settings);
  if (problem !== undefined) {
    stall(draft, 'InvalidSpec', `spec.bootstrap.fromRelease: ${problem}`);
    lookAgain(draft, 10_000);
    return {};
  }
  const differences = releaseDifferences(cluster, spec, image, { set, settings });
  const marked = differences.length === 0 ? markPod(pass) : undefined;
  if (marked !== undefined) return marked;
  const objects = strangersOf(pass);
  const [next = set] = objects.filter(({ kind }) => kind !== 'StatefulSet');
  if (next === set) {
    const rest =
      differences.length === 0
        ? 'its members go on as they are'
        : `its members restart one after the other: ${differences.slice(0, 10).join(', ')}`;
    note(draft, 'ReleaseAdopted', `the release of ${wanted} is taken over; ${rest}`);
  }
  const { apiVersion, kind, metadata } = next;
  return {
    action: {
      kind: 'take-over',
      target: { apiVersion, kind, name: metadata.name, ...withUid(metadata) },
    },
  };
};

/** Its StatefulSet is ours, or the record says that it once was. */
function isAdopted({ seen, cluster }: Pass): boolean {
  const { statefulSet, membersRecord } = seen;
  if (statefulSet === undefined) return membersRecord !== undefined;
  return ownershipOf(statefulSet, cluster) !== 'foreign';
}

function strangersOf({ seen, cluster }: Pass): readonly KubernetesObject[] {
  return [...seen.objects.values()].filter((object) => ownershipOf(object, cluster) === 'foreign');
}

/** Made by the chart or by its hook, for the release of this name, and controlled by nobody. */
export function isOfRelease({ metadata }: KubernetesObject, release: string): boolean {
  const labels = metadata.labels ?? {};
  const isControlled = metadata.ownerReferences?.some(({ controller }) => controller === true);
  if (isControlled || labels[labelKeys.instance] !== release) return false;
  return labels[labelKeys.name] === 'polyad' || labels['polyad.io/generated-by'] === 'job';
}

/** A pod of the release that runs with what the spec says needs no restart. */
function markPod({ seen, restartHash }: Pass) {
  const member = seen.members.find(
    ({ pod }) =>
      pod !== undefined &&
      pod.metadata.deletionTimestamp === undefined &&
      pod.metadata.annotations?.[annotationKeys.restartHash] !== restartHash,
  );
  if (member?.pod === undefined) return undefined;
  const { name } = member.pod.metadata;
  return {
    action: {
      kind: 'label' as const,
      target: { apiVersion: 'v1', kind: 'Pod', name, ...withUid(member.pod.metadata) },
      labels: {},
      annotations: { [annotationKeys.restartHash]: restartHash },
    },
  };
}

function withUid({ uid }: { readonly uid?: string }): { readonly uid?: string } {
  return uid === undefined ? {} : { uid };
}
