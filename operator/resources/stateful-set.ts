import type { ClusterSpec } from '../api/cluster-spec.ts';
import type { ClaimTemplate, DesiredObject, JsonObject } from '../api/kubernetes-object.ts';
import { objectNames, ownedLabels, selectorLabels } from '../api/names.ts';
import { ownedObject } from './owner.ts';
import type { PodInputs } from './pod-template.ts';
import { podTemplate } from './pod-template.ts';

export interface StatefulSetInputs extends PodInputs {
  /** Always written: an apply without it would let the API server set 1, also for a hibernated Cluster. */
  readonly replicas: number;
  /** The templates of the existing StatefulSet, which cannot be changed; undefined takes those of the spec. */
  readonly presentTemplates: readonly ClaimTemplate[] | undefined;
}

/**
 * The StatefulSet of the members. `OnDelete`: the operator decides when a pod restarts. `Parallel`: members that wait for
 * each other must all exist. The claim policy is always `Retain`, since hibernating scales to zero.
 */
export function statefulSet(inputs: StatefulSetInputs): DesiredObject {
  const { cluster, spec } = inputs;
  const names = objectNames(cluster.metadata.name);
  return ownedObject(cluster, {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    name: names.statefulSet,
    inherited: spec.inheritedMetadata,
    spec: {
      replicas: inputs.replicas,
      serviceName: names.headless,
      podManagementPolicy: 'Parallel',
      updateStrategy: { type: 'OnDelete' },
      persistentVolumeClaimRetentionPolicy: { whenScaled: 'Retain', whenDeleted: 'Retain' },
      revisionHistoryLimit: 5,
      selector: { matchLabels: selectorLabels(cluster.metadata.name) },
      template: podTemplate(inputs),
      ...(spec.ephemeral
        ? undefined
        : { volumeClaimTemplates: claimTemplates(cluster.metadata.name, spec, inputs) }),
    },
  });
}

/** Sizes wanted by the spec, by the name of the claim template. */
export function wantedSizes(spec: ClusterSpec): ReadonlyMap<string, string> {
  if (spec.ephemeral) return new Map();
  const sizes = new Map([['data', String(spec.storage.size)]]);
  const { backups, raft } = spec.storage;
  if (backups !== undefined) sizes.set('backups', String(backups.size));
  if (raft !== undefined) sizes.set('raft', String(raft.size));
  return sizes;
}

function claimTemplates(
  cluster: string,
  spec: ClusterSpec,
  { presentTemplates }: StatefulSetInputs,
): readonly JsonObject[] {
  const { storage } = spec;
  return [...wantedSizes(spec)].map(([name, size]) => {
    const present = presentTemplates?.find((template) => template.metadata.name === name);
    const storageClassName =
      name === 'data'
        ? storage.storageClassName
        : storage[name as 'backups' | 'raft']?.storageClassName;
    return {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: {
        name,
        // Templates that are there cannot be changed; what they lack is put on the claims themselves.
        labels: present === undefined ? ownedLabels(cluster) : (present.metadata.labels ?? {}),
      },
      spec: {
        accessModes: [storage.accessMode],
        volumeMode: 'Filesystem',
        ...(storageClassName === undefined ? undefined : { storageClassName }),
        resources: {
          requests: { storage: present?.spec.resources?.requests?.['storage'] ?? size },
        },
      },
    };
  });
}
