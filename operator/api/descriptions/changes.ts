/** What a change of a field of the spec does, by the longest path that it begins with. */
const effects = {
  live: 'A change takes effect without a restart.',
  restart: 'A change restarts the members.',
  fixed: 'It cannot be changed.',
} as const;

export type Effect = keyof typeof effects;

const byPath: Readonly<Record<string, Effect>> = {
  spec: 'live',
  ...of('fixed', [
    ...['clusterName', 'clusterDomain', 'ports', 'ephemeral', 'bootstrap'],
    ...['storage.storageClassName', 'storage.accessMode', 'storage.raft', 'storage.backups'],
  ]),
  ...of('live', ['storage.raft.size', 'storage.backups.size']),
  ...of('restart', [
    ...['image', 'imagePullPolicy', 'imagePullSecrets', 'quorum', 'readConsistency'],
    ...['electionTimeout', 'secretSettings', 'extraArgs', 'env', 'envFrom', 'plugins'],
    ...['auth', 'tls.raft', 'tls.http', 'tls.issuer'],
    ...['resources', 'nodeSelector', 'tolerations', 'affinity', 'antiAffinity'],
    ...['topologySpreadConstraints', 'priorityClassName', 'podSecurityContext'],
    ...['securityContext', 'serviceAccount', 'podMetadata', 'volumes', 'volumeMounts'],
    ...['initContainers', 'sidecars', 'terminationGracePeriodSeconds', 'probes', 'heapPercent'],
  ]),
};

function of(effect: Effect, paths: readonly string[]): Record<string, Effect> {
  return Object.fromEntries(paths.map((path) => [`spec.${path}`, effect]));
}

/** @returns a sentence; undefined where the description itself says it, key by key */
export function effectOfChange(path: string): string | undefined {
  if (path === 'spec' || path === 'spec.settings' || !path.startsWith('spec.')) return undefined;
  const effect = changeEffect(path);
  return effect && effects[effect];
}

/** By the longest path known that it begins with. */
export function changeEffect(path: string): Effect | undefined {
  for (let at = path; at !== ''; at = at.slice(0, Math.max(0, at.lastIndexOf('.')))) {
    const effect = byPath[at];
    if (effect !== undefined) return effect;
  }
  return undefined;
}
