import type { ClusterObject } from '../api/cluster.ts';
import type { DesiredObject, JsonObject, OwnerReference } from '../api/kubernetes-object.ts';
import { annotationKeys, apiVersion, clusterKind, labelKeys, ownedLabels } from '../api/names.ts';
import { contentHash } from './content-hash.ts';

export interface Parts {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly inherited?: {
    readonly labels?: Readonly<Record<string, string>> | undefined;
    readonly annotations?: Readonly<Record<string, string>> | undefined;
  };
  readonly spec?: JsonObject;
  readonly data?: Readonly<Record<string, string>>;
  readonly automountServiceAccountToken?: boolean;
}

export function ownerReference(cluster: ClusterObject): OwnerReference {
  return {
    apiVersion,
    kind: clusterKind,
    name: cluster.metadata.name,
    uid: cluster.metadata.uid ?? '',
    controller: true,
    blockOwnerDeletion: true,
  };
}

/**
 * An object that goes when its Cluster goes. The hash of its content is kept on it: a field that the operator no longer
 * writes shows as a difference even to a process that did not write it.
 */
export function ownedObject(cluster: ClusterObject, parts: Parts): DesiredObject {
  const { name: clusterName, namespace } = cluster.metadata;
  const content = {
    ...(parts.spec === undefined ? undefined : { spec: parts.spec }),
    ...(parts.data === undefined ? undefined : { data: parts.data }),
    ...(parts.automountServiceAccountToken === undefined
      ? undefined
      : { automountServiceAccountToken: parts.automountServiceAccountToken }),
  };
  const labels = { ...parts.inherited?.labels, ...parts.labels, ...ownedLabels(clusterName) };
  const annotations = { ...parts.inherited?.annotations, ...parts.annotations };
  return {
    apiVersion: parts.apiVersion,
    kind: parts.kind,
    metadata: {
      name: parts.name,
      ...(namespace === undefined ? undefined : { namespace }),
      labels,
      annotations: {
        ...annotations,
        [annotationKeys.appliedHash]: contentHash({ content, labels, annotations }),
      },
      ownerReferences: [ownerReference(cluster)],
    },
    ...content,
  };
}

const versionPattern = /^[0-9A-Za-z]([-._0-9A-Za-z]{0,61}[0-9A-Za-z])?$/;

/** What the version label says: what the spec says, or the tag of the image when it is a number. */
export function versionLabel(given: string | undefined, image: string): string | undefined {
  const [, tag] = /:(v?[0-9][^:/@]*)(?:@.*)?$/.exec(image) ?? [];
  const version = given ?? tag;
  return version !== undefined && versionPattern.test(version) ? version : undefined;
}

/** The object with the label of the version that its Cluster runs. Pod templates have none: it would restart pods. */
export function versioned(object: DesiredObject, version: string | undefined): DesiredObject {
  if (version === undefined) return object;
  const { apiVersion: group, kind, metadata, ...content } = object;
  const { [annotationKeys.appliedHash]: _, ...annotations } = metadata.annotations ?? {};
  const labels = { ...metadata.labels, [labelKeys.version]: version };
  const hash = contentHash({ content, labels, annotations });
  return {
    apiVersion: group,
    kind,
    metadata: {
      ...metadata,
      labels,
      annotations: { ...annotations, [annotationKeys.appliedHash]: hash },
    },
    ...content,
  };
}
