import { clusterSpec } from './cluster-spec.ts';
import type { ClusterSpec } from './cluster-spec.ts';
import type { ClusterStatus } from './cluster-status.ts';
import type { KubernetesObject } from './kubernetes-object.ts';

/** A `Cluster` as the API server gives it. */
export interface ClusterObject extends KubernetesObject {
  readonly spec?: unknown;
  readonly status?: ClusterStatus;
}

export type ParsedSpec =
  | { readonly spec: ClusterSpec; readonly problem?: undefined }
  | { readonly spec?: undefined; readonly problem: string };

/**
 * The spec with its defaults. The API server has checked it against the same schema; the second look is for definitions of
 * another version.
 * @returns `problem`, a sentence that names the field, when it does not fit
 */
export function parseSpec(cluster: ClusterObject): ParsedSpec {
  const result = clusterSpec.safeParse(cluster.spec ?? {});
  if (!result.success) {
    const [issue] = result.error.issues;
    const field = ['spec', ...(issue?.path ?? [])].map(String).join('.');
    return { problem: `${field}: ${issue?.message ?? 'is not valid'}` };
  }
  return { spec: result.data };
}
