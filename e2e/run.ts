import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  capabilitiesOf,
  imageUnderTest,
  installOperator,
  makeNamespace,
  whyNot,
  widespreadOperator,
} from './cluster-under-test.ts';
import type { Scenario, ScenarioContext } from './scenario.ts';
import { clientScenarios } from './scenarios/clients.ts';
import { failureScenarios } from './scenarios/failure.ts';
import { installScenarios } from './scenarios/install.ts';
import { lifecycleScenarios } from './scenarios/lifecycle.ts';
import { rollingScenarios } from './scenarios/rolling.ts';
import { e2eSettings } from './settings.ts';
import { findLeaks } from './steps/leaks.ts';
import { startLoad } from './steps/load.ts';
import { isReady, type Namespace, valueAt } from './steps/objects.ts';
import { must, run } from './steps/programs.ts';

// npm run e2e: the scenarios of the e2e text on a real cluster. Ends with `e2e: N passed, N failed, N skipped`.

/** Scenarios that take the operator or a node from the others run alone, after them. */
const serial: ReadonlySet<string> = new Set(['F3', 'F4', 'F5', 'L4']);

const all: readonly Scenario[] = [
  ...installScenarios,
  ...rollingScenarios,
  ...failureScenarios,
  ...lifecycleScenarios,
  ...clientScenarios,
];

interface Result {
  readonly id: string;
  readonly title: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  readonly seconds: number;
  readonly remarks: readonly string[];
}

const results: Result[] = [];

function note(result: Result): void {
  results.push(result);
  const { id, title, outcome, seconds, remarks } = result;
  const tail = remarks.length === 0 ? '' : ` (${remarks.join('; ')})`;
  process.stdout.write(
    `${outcome.padEnd(7)} ${id.padEnd(4)} ${seconds.toFixed(0).padStart(4)} s  ${title}${tail}\n`,
  );
}

function finish(): never {
  const count = (outcome: Result['outcome']): number =>
    results.filter((result) => result.outcome === outcome).length;
  if (e2eSettings.artifacts) {
    mkdirSync(e2eSettings.artifacts, { recursive: true });
    const lines = results.map((result) => JSON.stringify(result));
    writeFileSync(join(e2eSettings.artifacts, 'scenarios.jsonl'), `${lines.join('\n')}\n`);
  }
  process.stdout.write(
    `e2e: ${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped\n`,
  );
  process.exit(count('failed') > 0 ? 1 : 0);
}

const chosen = all.filter(({ id, level }) =>
  e2eSettings.only.size > 0 ? e2eSettings.only.has(id) : level <= e2eSettings.level,
);
const reason = await whyNot();
if (reason !== undefined) {
  process.stdout.write(`${reason}\n`);
  for (const { id, title } of chosen)
    note({ id, title, outcome: 'skipped', seconds: 0, remarks: ['no Kubernetes here'] });
  process.stdout.write(`e2e: 0 passed, 0 failed, ${chosen.length} skipped\n`);
  process.exit(process.env['CI'] ? 0 : 2);
}
const wide = await widespreadOperator();
if (wide !== undefined) {
  process.stdout.write(`an operator for the whole cluster runs in ${wide}; remove it first\n`);
  process.exit(2);
}

const runName = Date.now().toString(36);
const image = await imageUnderTest();
const capabilities = await capabilitiesOf();
const namespaceOf = (id: string): string => `pyd-e2e-${runName}-${id.toLowerCase()}`;
const runnable = chosen.filter((scenario) => {
  const lacking = (scenario.needs ?? []).filter((need) => !capabilities.has(need));
  if (lacking.length === 0) return true;
  const { id, title } = scenario;
  note({ id, title, outcome: 'skipped', seconds: 0, remarks: [`no ${lacking.join(', ')} here`] });
  return false;
});
const home = await makeNamespace(`pyd-e2e-${runName}-operator`, runName);
const namespaces = new Map<string, Namespace>();
for (const { id } of runnable) namespaces.set(id, await makeNamespace(namespaceOf(id), runName));
const installSeconds = await installOperator(
  home,
  [...namespaces.values()].map(({ name }) => name),
  image,
);
process.stdout.write(`image ${image}; operator ready after ${installSeconds.toFixed(1)} s\n`);

const parallel = runnable.filter(({ id }) => !serial.has(id));
const lanes = Array.from({ length: e2eSettings.parallel }, async () => {
  for (let next = parallel.shift(); next; next = parallel.shift()) await runScenario(next);
});
await Promise.all(lanes);
for (const scenario of runnable.filter(({ id }) => serial.has(id))) await runScenario(scenario);
await run('helm3', ['uninstall', 'polyad-operator', '-n', home.name]);
if (!e2eSettings.keep) await run('kubectl', ['delete', 'namespace', home.name, '--wait=false']);
finish();

async function runScenario(scenario: Scenario): Promise<void> {
  const { id, title } = scenario;
  const namespace = namespaces.get(id) as Namespace;
  const remarks: string[] = [];
  let mayRestart = false;
  const start = performance.now();
  const seconds = (): number => (performance.now() - start) / 1000;
  const context: ScenarioContext = {
    namespace,
    image,
    operatorNamespace: home,
    node: (name, action, ...words) => must(e2eSettings.nodeHook ?? '', [name, action, ...words]),
    async cluster(name, spec = {}) {
      await namespace.apply({
        apiVersion: 'polyad.io/v1alpha1',
        kind: 'Cluster',
        metadata: { name },
        spec: { replicas: 1, ...spec },
      });
      const found = await namespace.waitFor('pyd', name, 'Ready', 'clusterReady', isReady);
      if (found === undefined) throw new Error(`${name} is gone`);
      return found;
    },
    load: (cluster, rootSecret = `${cluster}-root`) =>
      startLoad(namespace, { cluster, image, rootSecret }),
    report: (text) => remarks.push(text),
    expectRestarts() {
      mayRestart = true;
    },
  };
  try {
    await scenario.run(context);
    if (!mayRestart) await mustNotHaveRestarted(namespace);
    const leaks = await findLeaks(namespace, home);
    if (leaks.length > 0) throw new Error(leaks.join('\n'));
    note({ id, title, outcome: 'passed', seconds: seconds(), remarks });
    await run('kubectl', ['delete', 'namespace', namespace.name, '--wait=false']);
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    note({ id, title, outcome: 'failed', seconds: seconds(), remarks: [...remarks, text] });
    await keepEvidence(id, namespace);
    if (!e2eSettings.keep)
      await run('kubectl', ['delete', 'namespace', namespace.name, '--wait=false']);
  }
}

async function mustNotHaveRestarted(namespace: Namespace): Promise<void> {
  for (const pod of await namespace.list('pods')) {
    const statuses = (valueAt(pod, 'status.containerStatuses') ?? []) as { restartCount: number }[];
    if (statuses.some(({ restartCount }) => restartCount > 0))
      throw new Error(`a container of ${pod.metadata.name} restarted`);
  }
}

/** What a person wants to see of a failed scenario; Secrets are left out. */
async function keepEvidence(id: string, namespace: Namespace): Promise<void> {
  if (!e2eSettings.artifacts) return;
  const folder = join(e2eSettings.artifacts, id);
  mkdirSync(folder, { recursive: true });
  const kinds =
    'clusters.polyad.io,statefulsets,pods,services,configmaps,persistentvolumeclaims,events';
  const save = async (file: string, from: Namespace, words: readonly string[]): Promise<void> => {
    const { output, error } = await from.tryKubectl(words);
    writeFileSync(join(folder, file), output + error);
  };
  await save('objects.yaml', namespace, ['get', kinds, '-o', 'yaml']);
  await save('events.txt', namespace, ['get', 'events', '--sort-by=.lastTimestamp']);
  await save('operator.log', home, [
    'logs',
    '-l',
    'app.kubernetes.io/name=polyad-operator',
    '--tail=2000',
  ]);
  for (const pod of await namespace.list('pods'))
    await save(`${pod.metadata.name}.log`, namespace, [
      'logs',
      pod.metadata.name,
      '--all-containers',
    ]);
}
