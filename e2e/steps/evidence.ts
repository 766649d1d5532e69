import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type KubernetesObject, type Namespace, valueAt } from './objects.ts';
import { run } from './programs.ts';
import { secretsOf } from './leaks.ts';

const bytesMax = 50 * 1024 * 1024;
const kinds =
  'clusters.polyad.io,statefulsets,pods,services,configmaps,persistentvolumeclaims,networkpolicies,endpointslices,events';

/**
 * What a person wants to see of a failed scenario, in a folder of its own: objects, events, logs, volumes, the trace of the
 * watchdog. Secrets are left out, and their values are blackened wherever they stand.
 */
export async function keepEvidence(
  folder: string,
  {
    scenario,
    operator,
    trace,
    metrics,
  }: {
    readonly scenario: Namespace;
    readonly operator: Namespace;
    readonly trace: string;
    readonly metrics: string;
  },
): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const secrets = await secretsOf(scenario).catch(() => []);
  let bytesLeft = bytesMax;
  const keep = (file: string, text: string): void => {
    let clean = text;
    for (const secret of secrets) clean = clean.replaceAll(secret, '********');
    if (Buffer.byteLength(clean) > bytesLeft) clean = `${clean.slice(0, bytesLeft)}\n(cut)\n`;
    bytesLeft -= Buffer.byteLength(clean);
    writeFileSync(join(folder, file), clean);
  };
  const save = async (file: string, from: Namespace, words: readonly string[]): Promise<void> => {
    const { output, error } = await from.tryKubectl(words);
    keep(file, output + error);
  };
  keep('watchdog.txt', trace);
  keep('operator-metrics.txt', metrics);
  await save('cluster.yaml', scenario, ['get', 'clusters.polyad.io', '-o', 'yaml']);
  await save('objects.yaml', scenario, ['get', kinds, '-o', 'yaml']);
  await save('events.txt', scenario, ['get', 'events', '--sort-by=.lastTimestamp']);
  await save('volumes.txt', scenario, ['get', 'pvc', '-o', 'wide']);
  const logs = ['logs', '-l', 'app.kubernetes.io/name=polyad-operator', '--prefix', '--tail=5000'];
  await save('operator.log', operator, logs);
  await save('operator-previous.log', operator, [...logs, '--previous']);
  for (const pod of await scenario.list('pods').catch(() => []))
    for (const container of containersOf(pod)) {
      // One by one: asked together, a container that never ended hides the last words of those that did.
      const words = ['logs', pod.metadata.name, '-c', container];
      await save(`${pod.metadata.name}.${container}.log`, scenario, words);
      const before = await scenario.tryKubectl([...words, '--previous']);
      if (before.isGood) keep(`${pod.metadata.name}.${container}-previous.log`, before.output);
    }
  const nodes = await run('kubectl', ['describe', 'nodes']);
  keep('nodes.txt', nodes.output);
  const versions = await run('kubectl', ['version', '-o', 'json']);
  keep('versions.json', versions.output);
}

function containersOf(pod: KubernetesObject): readonly string[] {
  const lists = ['spec.initContainers', 'spec.containers'].map((path) => valueAt(pod, path) ?? []);
  return (lists as { readonly name: string }[][]).flat().map(({ name }) => name);
}
