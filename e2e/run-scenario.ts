import { join } from 'node:path';
import { makeNamespace, ownOperatorLabel } from './cluster-under-test.ts';
import type { Provider } from './providers/provider.ts';
import type { Report } from './report.ts';
import type { Scenario, ScenarioContext } from './scenario.ts';
import { e2eSettings } from './settings.ts';
import type { ApiServer } from './steps/api-server.ts';
import { keepEvidence } from './steps/evidence.ts';
import { findLeaks } from './steps/leaks.ts';
import { startLoad } from './steps/load.ts';
import { isReady, type Namespace, valueAt } from './steps/objects.ts';
import { operatorNumbers, type RightsAudit } from './steps/operator-metrics.ts';
import { run } from './steps/programs.ts';
import { Watchdog } from './steps/watchdog.ts';

export interface RunOfScenario {
  readonly api: ApiServer;
  readonly audit: RightsAudit;
  readonly image: string;
  /** Where the operator of the run is. */
  readonly home: Namespace;
  readonly namespace: Namespace;
  readonly report: Report;
  readonly provider: Provider;
  readonly runName: string;
}

interface Expectations {
  mayRestart: boolean;
  readonly remarks: string[];
  readonly more: Namespace[];
}

/** One scenario with all that runs beside it (e2e text, 3). Its outcome goes to the report. */
export async function runScenario(scenario: Scenario, given: RunOfScenario): Promise<void> {
  const { id, title } = scenario;
  const { namespace, api, audit, home, report } = given;
  const start = performance.now();
  const watchdog = new Watchdog(api, namespace.name);
  const expected: Expectations = { mayRestart: false, remarks: [], more: [] };
  const { remarks } = expected;
  const noteRights = async (): Promise<void> => audit.note(await operatorNumbers(api, home));
  const end = (outcome: 'passed' | 'failed'): void => {
    const seconds = (performance.now() - start) / 1000;
    report.note({ id, title, outcome, seconds, remarks });
  };
  try {
    // Those that end the operator would take its numbers along.
    if (scenario.isSerial) await noteRights();
    await scenario.run(contextOf(scenario, given, { expected, watchdog }));
    await noteRights();
    if (!expected.mayRestart) await mustNotHaveRestarted(namespace);
    const faults = [...watchdog.end(), ...(await findLeaks(namespace, home))];
    if (faults.length > 0) throw new Error(faults.join('\n'));
    end('passed');
    await remove([namespace, ...expected.more]);
  } catch (error) {
    watchdog.end();
    remarks.push(error instanceof Error ? error.message : String(error));
    end('failed');
    if (e2eSettings.artifacts !== undefined) {
      const numbers = JSON.stringify([...(await operatorNumbers(api, home))], undefined, 1);
      await keepEvidence(join(e2eSettings.artifacts, id), {
        scenario: namespace,
        operator: scenario.hasOwnOperator ? (expected.more[0] ?? home) : home,
        trace: watchdog.trace(),
        metrics: numbers,
      });
    }
    if (!e2eSettings.keep) await remove([namespace, ...expected.more]);
  }
}

async function remove(namespaces: readonly Namespace[]): Promise<void> {
  for (const { name } of namespaces)
    await run('kubectl', ['delete', 'namespace', name, '--wait=false', '--ignore-not-found']);
}

function contextOf(
  { hasOwnOperator = false }: Scenario,
  { namespace, api, image, home, provider, runName }: RunOfScenario,
  { expected, watchdog }: { readonly expected: Expectations; readonly watchdog: Watchdog },
): ScenarioContext {
  return {
    namespace,
    api,
    image,
    operatorNamespace: home,
    async anotherNamespace(suffix) {
      const made = await makeNamespace(`${namespace.name}-${suffix}`, runName);
      expected.more.push(made);
      return made;
    },
    node(name, action, ...words) {
      if (provider.node === undefined) throw new Error('nodes may not be touched here');
      return provider.node(name, action, words);
    },
    async cluster(name, spec = {}) {
      await namespace.apply({
        apiVersion: 'polyad.io/v1alpha1',
        kind: 'Cluster',
        metadata: { name, ...(hasOwnOperator ? { labels: ownOperatorLabel } : {}) },
        spec: { replicas: 1, ...spec },
      });
      const found = await namespace.waitFor('pyd', name, 'Ready', 'clusterReady', isReady);
      if (found === undefined) throw new Error(`${name} is gone`);
      return found;
    },
    load: (cluster, rootSecret = `${cluster}-root`) =>
      startLoad(namespace, { cluster, image, rootSecret }),
    report: (text) => expected.remarks.push(text),
    expectRestarts() {
      expected.mayRestart = true;
    },
    expectLostVolumes: () => watchdog.allowLostVolumes(),
  };
}

async function mustNotHaveRestarted(namespace: Namespace): Promise<void> {
  for (const pod of await namespace.list('pods')) {
    const statuses = (valueAt(pod, 'status.containerStatuses') ?? []) as { restartCount: number }[];
    if (statuses.some(({ restartCount }) => restartCount > 0))
      throw new Error(`a container of ${pod.metadata.name} restarted`);
  }
}
