import type { Manifest } from './objects.ts';

/** A pod beside the members that runs a command of the image on a data volume, at `/volume`. */
export function volumePod(
  name: string,
  given: {
    readonly image: string;
    readonly claim: string;
    readonly command: readonly string[];
  },
): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 0,
      automountServiceAccountToken: false,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: 1000,
        seccompProfile: { type: 'RuntimeDefault' },
      },
      containers: [
        {
          name,
          image: given.image,
          imagePullPolicy: 'IfNotPresent',
          command: given.command,
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
          volumeMounts: [{ name: 'data', mountPath: '/volume' }],
        },
      ],
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: given.claim } }],
    },
  };
}
