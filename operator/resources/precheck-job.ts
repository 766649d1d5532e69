import type { ClusterObject } from '../api/cluster.ts';
import type { ClusterSpec } from '../api/cluster-spec.ts';
import type { DesiredObject, JsonObject } from '../api/kubernetes-object.ts';
import { labelKeys, managedByValue } from '../api/names.ts';
import { contentHash } from './content-hash.ts';
import { ownedObject } from './owner.ts';
import { compact, containerSecurity, podSecurity } from './pod-security.ts';

const keptSeconds = 3600;
const retriesMax = 2;
/** Containers: the image that runs, and the one that is tried. */
export const precheckContainers = { present: 'present', next: 'precheck' } as const;

/** Says in its last words what the build says of itself; an image that runs already may be too old to. */
function describeBuild(failing: 'fails' | 'ends well'): readonly string[] {
  const script = [
    "const { spawnSync } = require('node:child_process')",
    "const { writeFileSync } = require('node:fs')",
    "const words = ['server/cli/polyad.mjs', '--version', '--json']",
    "const { status, stdout, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8' })",
    "writeFileSync('/dev/termination-log', (status === 0 ? stdout : stderr).slice(-4000))",
    failing === 'fails' ? 'process.exitCode = status ?? 1' : '',
  ];
  return ['node', '-e', script.filter(Boolean).join('; ')];
}

/** Each spec tries its image anew: behind the same name there may be another one by now. */
export function precheckName({ metadata }: ClusterObject, image: string): string {
  return `${metadata.name}-precheck-${contentHash([image, metadata.generation]).slice(0, 10)}`;
}

export function isPrecheck({ metadata }: ClusterObject, job: string): boolean {
  return job.startsWith(`${metadata.name}-precheck-`);
}

/**
 * Starts an image beside the member that runs, on its node and without its volume: whether it is there, is a server, and can go on
 * with the data of the one that runs, which is asked first. What the node has pulled then is not waited for when the member restarts.
 */
export function precheckJob(
  cluster: ClusterObject,
  spec: ClusterSpec,
  given: {
    readonly image: string;
    /** The one that runs. */
    readonly present: string | undefined;
    readonly node: string | undefined;
  },
): DesiredObject {
  const security = (spec.securityContext as JsonObject | undefined) ?? containerSecurity;
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
            [labelKeys.component]: 'precheck',
            [labelKeys.managedBy]: managedByValue,
            [labelKeys.cluster]: cluster.metadata.name,
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
          initContainers:
            given.present === undefined
              ? undefined
              : [
                  {
                    name: precheckContainers.present,
                    image: given.present,
                    // A member of that node runs it.
                    imagePullPolicy: 'IfNotPresent',
                    command: describeBuild('ends well'),
                    securityContext: security,
                  },
                ],
          containers: [
            {
              name: precheckContainers.next,
              image: given.image,
              imagePullPolicy: spec.imagePullPolicy,
              command: describeBuild('fails'),
              terminationMessagePolicy: 'FallbackToLogsOnError',
              securityContext: security,
            },
          ],
        }),
      },
    },
  });
}
