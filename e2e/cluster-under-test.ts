import { resolve } from 'node:path';
import type { Provider } from './providers/provider.ts';
import type { Capability } from './scenario.ts';
import { e2eSettings } from './settings.ts';
import { Namespace } from './steps/objects.ts';
import { mayBringDefinitions } from './steps/definitions.ts';
import { must, run } from './steps/programs.ts';

export const chart = resolve(import.meta.dirname, '../chart');
const expiryMs = 6 * 3_600_000;
/** Of Clusters that the operator of the run leaves alone, since their scenario has one of its own. */
export const ownOperatorLabel = { 'polyad.io/e2e-operator': 'own' } as const;

/** The image under test: the one that is named, or built from these files and handed to the nodes. */
export async function imageUnderTest({ name, imageLoader }: Provider): Promise<string> {
  const given = e2eSettings.image;
  // A cluster that was there has it, or pulls it; one that was made for the run has nothing.
  if (given && name === 'existing') return given;
  if (imageLoader !== undefined) process.env['E2E_IMAGE_LOADER'] = imageLoader;
  const output = await must(resolve(import.meta.dirname, 'build-image.sh'), given ? [given] : []);
  return output.trim().split('\n').at(-1) ?? '';
}

export async function capabilitiesOf(provider: Provider): Promise<ReadonlySet<Capability>> {
  const found = new Set<Capability>();
  const nodes = (await must('kubectl', ['get', 'nodes', '-o', 'name'])).trim().split('\n');
  if (nodes.length > 2) found.add('several nodes');
  if (provider.node !== undefined) {
    found.add('node chaos');
    found.add('container kill');
  }
  const loads = provider.imageLoader ?? process.env['E2E_IMAGE_LOADER'];
  if (loads !== undefined && (await run('docker', ['info'])).isGood) found.add('image building');
  if (e2eSettings.bucket !== undefined) found.add('S3 storage');
  const classes = await must('kubectl', [
    ...['get', 'storageclasses', '-o', 'jsonpath={.items[*].allowVolumeExpansion}'],
  ]);
  if (classes.includes('true')) found.add('volume expansion');
  return found;
}

/** A namespace for restricted pods, made anew. `npm run e2e:sweep` removes it when the run could not. */
export async function makeNamespace(name: string, runName: string): Promise<Namespace> {
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted', 'polyad.io/e2e': runName };
  const annotations = { 'polyad.io/e2e-expires': new Date(Date.now() + expiryMs).toISOString() };
  const metadata = { name, labels, annotations };
  const object = { apiVersion: 'v1', kind: 'Namespace', metadata };
  await must('kubectl', ['apply', '-f', '-'], JSON.stringify(object));
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

/** The image as values of the chart. */
export function imageValues(image: string): string {
  const colon = image.lastIndexOf(':');
  return `image.repository=${image.slice(0, colon)},image.tag=${image.slice(colon + 1)}`;
}

/**
 * The operator from the chart.
 * @param namespaces those it cares for; none: the whole cluster, but for Clusters of scenarios with an operator of their own
 * @returns seconds until it was ready
 */
export async function installOperator(
  home: Namespace,
  namespaces: readonly string[],
  image: string,
): Promise<number> {
  const start = performance.now();
  const bringsDefinitions = await mayBringDefinitions(home.name);
  const scope =
    namespaces.length === 0
      ? 'operator.clusterSelector=polyad.io/e2e-operator!=own'
      : `operator.watchNamespaces={${namespaces.join(',')}}`;
  await must(e2eSettings.helm, [
    ...['install', 'polyad-operator', chart, '-n', home.name, '--set', 'mode=operator'],
    ...['--set', imageValues(image), '--set', scope],
    ...['--set', `operator.crds.install=${bringsDefinitions}`],
    ...['--wait', '--timeout', '180s'],
  ]);
  return (performance.now() - start) / 1000;
}

/**
 * Definitions of the kinds of the Prometheus operator that keep whatever they are given, so that an operator makes its monitors;
 * made only where the cluster is ours and has none. @returns takes them away again
 */
export async function lendMonitorKinds(): Promise<() => Promise<void>> {
  const group = 'monitoring.coreos.com';
  const isThere = (await run('kubectl', ['get', 'crd', `podmonitors.${group}`])).isGood;
  if (isThere || !e2eSettings.isClusterScoped) return async () => {};
  const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const definitions = ['PodMonitor', 'ServiceMonitor', 'PrometheusRule'].map((kind) => {
    const singular = kind.toLowerCase();
    const plural = `${singular}s`;
    const version = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: open } };
    return {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `${plural}.${group}` },
      spec: { group, scope: 'Namespaced', names: { kind, plural, singular }, versions: [version] },
    };
  });
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: definitions });
  await must('kubectl', ['apply', '-f', '-'], list);
  const names = definitions.map(({ metadata }) => `crd/${metadata.name}`);
  await must('kubectl', ['wait', '--for=condition=Established', '--timeout=30s', ...names]);
  return async () => void (await run('kubectl', ['delete', ...names, '--wait=false']));
}

/** The rights that the release of the operator has, as `verb group/resource`. */
export async function grantedRights(release: string): Promise<readonly string[]> {
  const words = ['get', 'roles,clusterroles', '-A', '-o', 'json'];
  const select = [
    '-l',
    `app.kubernetes.io/instance=${release},app.kubernetes.io/name=polyad-operator`,
  ];
  const { items } = JSON.parse(await must('kubectl', [...words, ...select])) as {
    readonly items: readonly {
      readonly metadata: { readonly labels?: Readonly<Record<string, string>> };
      readonly rules?: readonly {
        readonly apiGroups?: readonly string[];
        readonly resources?: readonly string[];
        readonly verbs: readonly string[];
      }[];
    }[];
  };
  const rights = new Set<string>();
  for (const { rules, metadata } of items) {
    // Those are of the people who use Clusters.
    if (metadata.labels?.['rbac.authorization.k8s.io/aggregate-to-edit'] !== undefined) continue;
    for (const { apiGroups = [], resources = [], verbs } of rules ?? [])
      for (const group of apiGroups)
        for (const resource of resources)
          for (const verb of verbs) rights.add(`${verb} ${group}/${resource}`);
  }
  return [...rights];
}
