import type { ClusterObject } from '../api/cluster.ts';
import type { ClusterSpec } from '../api/cluster-spec.ts';
import type { DesiredObject, JsonObject } from '../api/kubernetes-object.ts';
import { apiVersion, labelKeys, managedByValue, objectNames } from '../api/names.ts';
import type { MembersRecord } from './members-record.ts';
import { ownerReference } from './owner.ts';
import { compact } from './pod-security.ts';

/*
 * Where the data of a new Cluster come from (operator.md 8.9, 8.10). A backup is restored by a Restore like any other one, before
 * others join; volumes that are there are taken over as they are.
 */

export function bootstrapName(cluster: string): string {
  return `${cluster}-bootstrap`;
}

export function isBringingData(spec: ClusterSpec, { restored }: MembersRecord): boolean {
  return spec.bootstrap?.fromBackup !== undefined && restored !== true;
}

/** The Restore that brings the data; it goes with the Cluster. */
export function bootstrapRestore(cluster: ClusterObject, spec: ClusterSpec): DesiredObject {
  const { name, namespace } = cluster.metadata;
  const { backupRef, source, databases, targetNames = {} } = spec.bootstrap?.fromBackup ?? {};
  // All that have other names are named with those that keep theirs; a Restore without names restores all.
  const names = databases ?? (Object.keys(targetNames).length > 0 ? Object.keys(targetNames) : []);
  const renamed = names.map((database) => compact({ name: database, as: targetNames[database] }));
  return {
    apiVersion,
    kind: 'Restore',
    metadata: {
      name: bootstrapName(name),
      ...(namespace === undefined ? undefined : { namespace }),
      labels: { [labelKeys.cluster]: name, [labelKeys.managedBy]: managedByValue },
      ownerReferences: [ownerReference(cluster)],
    },
    spec: compact({
      clusterRef: { name },
      source: compact({ backupRef, ...source }) as JsonObject,
      databases: renamed.length > 0 ? renamed : undefined,
    }),
  };
}

/** Whether all voters of a new Cluster start together, instead of one after the other. */
export function formsTogether(spec: ClusterSpec): boolean {
  return spec.bootstrap?.empty?.formation === 'Static' && spec.replicas > 1;
}

/** The claims that the Cluster starts on. @returns undefined when it starts on none that were given */
export function givenVolumes(spec: ClusterSpec): 'Retained' | readonly unknown[] | undefined {
  const claims = (spec.bootstrap?.fromVolumes as { readonly claims?: unknown } | undefined)?.claims;
  if (spec.bootstrap?.fromVolumes === undefined) return undefined;
  return Array.isArray(claims) ? claims : 'Retained';
}

/** @returns a sentence that names the field when nothing can be begun with it */
export function bootstrapProblem(cluster: string, spec: ClusterSpec): string | undefined {
  const { fromBackup, fromVolumes } = spec.bootstrap ?? {};
  const at = 'spec.bootstrap';
  if (fromBackup?.source !== undefined && fromBackup.databases?.length !== 1)
    return `${at}.fromBackup.databases needs exactly one database with source: an archive holds one`;
  const unknown = Object.keys(fromBackup?.targetNames ?? {}).find(
    (name) => fromBackup?.databases !== undefined && !fromBackup.databases.includes(name),
  );
  if (unknown !== undefined)
    return `${at}.fromBackup.targetNames names ${unknown}, which is not in databases`;
  if (fromVolumes === undefined) return undefined;
  const { claims } = fromVolumes as { readonly claims?: unknown };
  if (spec.ephemeral) return `${at}.fromVolumes needs spec.ephemeral to be false`;
  if (claims === 'Retained') return undefined;
  if (!Array.isArray(claims) || claims.length === 0)
    return `${at}.fromVolumes.claims must be 'Retained' or a list of names of claims`;
  // A StatefulSet finds its claims by their names.
  const { dataClaim } = objectNames(cluster);
  const wrong = claims.findIndex((claim, ordinal) => claim !== dataClaim(ordinal));
  return wrong === -1
    ? undefined
    : `${at}.fromVolumes.claims[${wrong}] is '${String(claims[wrong])}' and must be '${dataClaim(wrong)}': members find their volumes by name`;
}
