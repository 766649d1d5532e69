import type { JsonObject } from '../api/kubernetes-object.ts';

/** What the restricted profile of Kubernetes asks of pods, and more. */
export const podSecurity: JsonObject = {
  runAsNonRoot: true,
  fsGroup: 1000,
  // Without it each start changes the owner of every file of the volume.
  fsGroupChangePolicy: 'OnRootMismatch',
  seccompProfile: { type: 'RuntimeDefault' },
};

export const containerSecurity: JsonObject = {
  runAsUser: 1000,
  runAsGroup: 1000,
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
};

/** Without fields that are undefined: the API server is told nothing about them. */
export function compact(fields: Readonly<Record<string, unknown>>): JsonObject {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as JsonObject;
}
