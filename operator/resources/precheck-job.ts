import type { ClusterObject } from '../api/cluster.ts';
import type { ClusterSpec } from '../api/cluster-spec.ts';
import type { DesiredObject, JsonObject } from '../api/kubernetes-object.ts';
import { labelKeys } from '../api/names.ts';
import { contentHash } from './content-hash.ts';
import { ownedObject } from './owner.ts';
import { compact, containerSecurity, podSecurity } from './pod-security.ts';

const keptSeconds = 3600;
const retriesMax = 2;

/** Each spec tries its image anew: behind the same name there may be another one by now. */
export function precheckName({ metadata }: ClusterObject, image: string): string {
  return `${metadata.name}-precheck-${contentHash([image, metadata.generation]).slice(0, 10)}`;
}

/**
 * Starts an image beside the member that runs, on its node and without its volume: whether it is there, and is a server. What
 * the node has pulled then is not waited for when the member restarts.
 */
export function precheckJob(
  cluster: ClusterObject,
  spec: ClusterSpec,
  given: { readonly image: string; readonly node: string | undefined },
): DesiredObject {
  return ownedObject(cluster, {
    apiVersion: 'batch/v1',
    kind: 'Job',
    name: precheckName(cluster, given.image),
    inherited: spec.inheritedMetadata,
    spec: {
      backoffLimit: retriesMax,
      activeDeadlineSeconds: spec.update.progressDeadlineSeconds,
      ttlSecondsAfterFinished: keptSeconds,
      template: {
        // Not the labels of members: no Service may lead here.
        metadata: {
          labels: {
            [labelKeys.name]: 'polyad-precheck',
            [labelKeys.instance]: cluster.metadata.name,
          },
        },
        spec: compact({
          restartPolicy: 'Never',
          nodeName: given.node,
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          imagePullSecrets: spec.imagePullSecrets,
          tolerations: spec.tolerations,
          securityContext: (spec.podSecurityContext as JsonObject | undefined) ?? podSecurity,
          containers: [
            {
              name: 'precheck',
              image: given.image,
              imagePullPolicy: spec.imagePullPolicy,
              command: ['node', 'server/cli/polyad.mjs', '--version', '--json'],
              securityContext:
                (spec.securityContext as JsonObject | undefined) ?? containerSecurity,
            },
          ],
        }),
      },
    },
  });
}
