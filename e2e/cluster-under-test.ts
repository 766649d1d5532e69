import { resolve } from 'node:path';
import { e2eSettings } from './settings.ts';
import type { Capability } from './scenario.ts';
import { Namespace } from './steps/objects.ts';
import { isOnPath, must, run } from './steps/programs.ts';

const chart = resolve(import.meta.dirname, '../chart');

/** What must be there before the first scenario; @returns why nothing can run here */
export async function whyNot(): Promise<string | undefined> {
  const { provider, context } = e2eSettings;
  if (provider === 'sim') return 'E2E_PROVIDER=sim runs only the crash tests: npm run e2e:sim';
  const none =
    'no Kubernetes: set KUBECONFIG (a cluster of your own), or start Docker and install kind; E2E_PROVIDER=sim runs only the crash tests of the operator';
  if (!isOnPath('kubectl') || !isOnPath(e2eSettings.helm))
    return `${none}; kubectl and helm3 or helm4 are needed`;
  const current = await run('kubectl', ['config', 'current-context']);
  if (!current.isGood) return none;
  const name = current.output.trim();
  if (context !== name) return `set E2E_CONTEXT=${name} to allow tests there`;
  return undefined;
}

/** The image under test: the one that is named, or built from these files and handed to the nodes. */
export async function imageUnderTest(): Promise<string> {
  if (e2eSettings.image) return e2eSettings.image;
  const output = await must(resolve(import.meta.dirname, 'build-image.sh'), []);
  return output.trim().split('\n').at(-1) ?? '';
}

export async function capabilitiesOf(): Promise<ReadonlySet<Capability>> {
  const found = new Set<Capability>();
  const nodes = (await must('kubectl', ['get', 'nodes', '-o', 'name'])).trim().split('\n');
  if (nodes.length > 2) found.add('several nodes');
  if (e2eSettings.nodeHook && e2eSettings.allowsNodeChaos) {
    found.add('node chaos');
    found.add('container kill');
  }
  const classes = await must('kubectl', [
    ...['get', 'storageclasses', '-o', 'jsonpath={.items[*].allowVolumeExpansion}'],
  ]);
  if (classes.includes('true')) found.add('volume expansion');
  return found;
}

/** A namespace for restricted pods, made anew. */
export async function makeNamespace(name: string, run: string): Promise<Namespace> {
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted', 'polyad.io/e2e': run };
  await must(
    'kubectl',
    ['apply', '-f', '-'],
    JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } }),
  );
  return new Namespace(name);
}

/** Two operators must not care for the same Clusters. @returns the namespace of one that cares for all */
export async function widespreadOperator(): Promise<string | undefined> {
  const path =
    '{range .items[*]}{.metadata.namespace} {.spec.template.spec.containers[0].args}{"\\n"}{end}';
  const words = ['get', 'deployments', '-A', '-l', 'app.kubernetes.io/name=polyad-operator'];
  const lines = (await run('kubectl', [...words, `-o=jsonpath=${path}`])).output.split('\n');
  return lines.find((line) => line !== '' && !line.includes('--watch-namespaces'))?.split(' ')[0];
}

/** The operator from the chart, caring for `namespaces` only. @returns seconds until it was ready */
export async function installOperator(
  home: Namespace,
  namespaces: readonly string[],
  image: string,
): Promise<number> {
  const start = performance.now();
  const hasDefinition = (await run('kubectl', ['get', 'crd', 'clusters.polyad.io'])).isGood;
  // A definition that nobody's release owns is brought up to date; one of a release is that release's.
  if (hasDefinition)
    await run('kubectl', [
      ...['apply', '--server-side', '--force-conflicts', '-f'],
      resolve(import.meta.dirname, '../crds/clusters.polyad.io.yaml'),
    ]);
  const colon = image.lastIndexOf(':');
  await must(e2eSettings.helm, [
    ...['install', 'polyad-operator', chart, '-n', home.name, '--set', 'mode=operator'],
    ...['--set', `image.repository=${image.slice(0, colon)},image.tag=${image.slice(colon + 1)}`],
    ...['--set', `operator.watchNamespaces={${namespaces.join(',')}}`],
    ...['--set', `operator.crds.install=${!hasDefinition}`],
    ...['--wait', '--timeout', '180s'],
  ]);
  return (performance.now() - start) / 1000;
}
