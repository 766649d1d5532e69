import type { Manifest, Namespace } from './objects.ts';

/** A pod of clients that reach a Cluster as an application does: away from its members, with root's password, by names of Services. */
export function clientPod(
  name: string,
  given: {
    readonly cluster: string;
    readonly image: string;
    readonly rootSecret: string;
    /** A module in TypeScript that imports nothing but what node has. */
    readonly program: string;
    readonly words: readonly string[];
  },
): Manifest {
  const { cluster, image, rootSecret, program, words } = given;
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
      affinity: {
        podAntiAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            {
              weight: 100,
              podAffinityTerm: {
                topologyKey: 'kubernetes.io/hostname',
                labelSelector: { matchLabels: { 'app.kubernetes.io/instance': cluster } },
              },
            },
          ],
        },
      },
      containers: [
        {
          name,
          image,
          imagePullPolicy: 'IfNotPresent',
          command: [
            ...['node', '--no-warnings', '--input-type=module-typescript', '-e', program],
            ...['--', ...words],
          ],
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
          volumeMounts: [{ name: 'secret', mountPath: '/secret', readOnly: true }],
        },
      ],
      volumes: [
        {
          name: 'secret',
          secret: { secretName: rootSecret, items: [{ key: 'rootPassword', path: 'password' }] },
        },
      ],
    },
  };
}

export type ClientEvent = Readonly<Record<string, number | string | boolean>>;

/** What the clients of a pod said so far. */
export async function eventsOf(namespace: Namespace, pod: string): Promise<readonly ClientEvent[]> {
  const log = await namespace.kubectl(['logs', pod]);
  const lines = log.split('\n').filter((line) => line.startsWith('{'));
  return lines.map((line) => JSON.parse(line) as ClientEvent);
}

/** Ends the clients of a pod, and waits until what they began is over. @returns all that they said */
export async function endClients(
  namespace: Namespace,
  pod: string,
): Promise<readonly ClientEvent[]> {
  await namespace.kubectl(['exec', pod, '--', 'touch', '/tmp/stop']);
  const deadline = performance.now() + 30_000;
  let events = await eventsOf(namespace, pod);
  while (!events.some((event) => event['over']) && performance.now() < deadline)
    events = await eventsOf(namespace, pod);
  return events;
}
