import type { Namespace } from './objects.ts';

/** Every value of the Secrets of a namespace that must stand nowhere else. Certificates are public. */
export async function secretsOf(namespace: Namespace): Promise<readonly string[]> {
  const secrets = new Set<string>();
  for (const secret of await namespace.list('secrets')) {
    if (String(secret['type'] ?? '').startsWith('helm.sh')) continue;
    const data = (secret['data'] ?? {}) as Readonly<Record<string, string>>;
    for (const [key, value] of Object.entries(data)) {
      // An identity that happens to be kept with the token.
      if (key === 'volumeIdentity' || key.endsWith('.crt')) continue;
      const text = Buffer.from(value, 'base64').toString('utf8').trim();
      if (text.length >= 12) secrets.add(text);
    }
  }
  return [...secrets];
}

/** Secrets' values that stand in a log, an event, a ConfigMap, an argument or a status. @returns where */
export async function findLeaks(
  namespace: Namespace,
  operator: Namespace,
): Promise<readonly string[]> {
  const secrets = await secretsOf(namespace);
  const places = new Map<string, string>();
  places.set(
    'objects',
    await namespace.kubectl([
      'get',
      'clusters.polyad.io,configmaps,events,pods,statefulsets',
      '-o',
      'json',
    ]),
  );
  for (const pod of await namespace.list('pods'))
    for (const previous of [[], ['--previous']]) {
      const words = ['logs', pod.metadata.name, '--all-containers', ...previous];
      places.set(`log of ${pod.metadata.name}`, (await namespace.tryKubectl(words)).output);
    }
  const operatorLog = ['logs', '-l', 'app.kubernetes.io/name=polyad-operator', '--tail=-1'];
  places.set('log of the operator', (await operator.tryKubectl(operatorLog)).output);
  const leaks: string[] = [];
  for (const [place, text] of places)
    for (const secret of secrets)
      if (text.includes(secret))
        leaks.push(`${place} holds a secret of ${secret.length} characters`);
  return leaks;
}
