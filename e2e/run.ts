import {
  capabilitiesOf,
  imageUnderTest,
  installOperator,
  lendMonitorKinds,
  makeNamespace,
  widespreadOperator,
} from './cluster-under-test.ts';
import { budgetMs } from './config/timeouts.ts';
import { chooseProvider } from './providers/choose-provider.ts';
import { Report } from './report.ts';
import { runScenario } from './run-scenario.ts';
import { clearAbandonedRuns, removeNamespaces, startBeating } from './abandoned-runs.ts';
import { choose } from './choose-scenarios.ts';
import type { Scenario } from './scenario.ts';
import { apiFaultScenarios } from './scenarios/api-faults.ts';
import { backupScenarios } from './scenarios/backups.ts';
import { certificateScenarios } from './scenarios/certificates.ts';
import { clientScenarios } from './scenarios/clients.ts';
import { fullDiskScenarios } from './scenarios/full-disks.ts';
import { groupChangeScenarios } from './scenarios/group-changes.ts';
import { groupFaultScenarios } from './scenarios/group-faults.ts';
import { failureScenarios } from './scenarios/failure.ts';
import { installScenarios } from './scenarios/install.ts';
import { lifecycleScenarios } from './scenarios/lifecycle.ts';
import { memberScenarios } from './scenarios/members.ts';
import { outageScenarios } from './scenarios/outages.ts';
import { operatorScenarios } from './scenarios/operator.ts';
import { rollingScenarios } from './scenarios/rolling.ts';
import { streamScenarios } from './scenarios/streams.ts';
import { twoOperatorScenarios } from './scenarios/two-operators.ts';
import { waitScenarios } from './scenarios/waits.ts';
import { e2eSettings } from './settings.ts';
import { auditRights } from './rights.ts';
import { ApiServer } from './steps/api-server.ts';
import type { Namespace } from './steps/objects.ts';
import { RightsAudit } from './steps/operator-metrics.ts';
import { run } from './steps/programs.ts';

// npm run e2e: the scenarios of the e2e text on a real cluster. Ends with `e2e: N passed, N failed, N skipped`.

const all: readonly Scenario[] = [
  ...installScenarios,
  ...rollingScenarios,
  ...memberScenarios,
  ...failureScenarios,
  ...groupChangeScenarios,
  ...groupFaultScenarios,
  ...certificateScenarios,
  ...outageScenarios,
  ...fullDiskScenarios,
  ...backupScenarios,
  ...apiFaultScenarios,
  ...lifecycleScenarios,
  ...clientScenarios,
  ...streamScenarios,
  ...waitScenarios,
  ...operatorScenarios,
  ...twoOperatorScenarios,
];

async function main(): Promise<number> {
  const chosen = choose(all, e2eSettings);
  const report = new Report(e2eSettings.artifacts);
  const runName = Date.now().toString(36);
  const provider = await chooseProvider(runName);
  if (typeof provider === 'string') {
    process.stdout.write(`${provider}\n`);
    const remarks = ['no Kubernetes here'];
    for (const { id, title } of chosen)
      report.note({ id, title, outcome: 'skipped', seconds: 0, remarks });
    report.finish();
    return process.env['CI'] ? 0 : 2;
  }
  try {
    const { cleared, living } = await clearAbandonedRuns();
    for (const one of cleared)
      process.stdout.write(`run ${one} was killed: what it left is gone\n`);
    const wide = await widespreadOperator();
    if (wide !== undefined) {
      const whose = living.some((one) => wide.includes(one)) ? 'of a run that is under way ' : '';
      process.stdout.write(
        `an operator ${whose}cares for the whole cluster from ${wide}; wait for it, or remove it first\n`,
      );
      return 2;
    }
    const capabilities = await capabilitiesOf(provider);
    const runnable = chosen.filter(({ id, title, needs = [] }) => {
      const remarks = needs
        .filter((need) => !capabilities.has(need))
        .map((need) => `no ${need} here`);
      if (remarks.length > 0) report.note({ id, title, outcome: 'skipped', seconds: 0, remarks });
      return remarks.length === 0;
    });
    await runAll(runnable, { runName, report, provider });
    return report.finish();
  } finally {
    if (!e2eSettings.keep) await provider.down();
  }
}

type Given = {
  readonly runName: string;
  readonly report: Report;
  readonly provider: Exclude<Awaited<ReturnType<typeof chooseProvider>>, string>;
};

async function runAll(scenarios: readonly Scenario[], given: Given): Promise<void> {
  const { runName, report, provider } = given;
  const image = await imageUnderTest(provider);
  const home = await makeNamespace(`pyd-e2e-${runName}-operator`, runName);
  const namespaces = new Map<string, Namespace>();
  for (const { id } of scenarios)
    namespaces.set(id, await makeNamespace(`pyd-e2e-${runName}-${id.toLowerCase()}`, runName));
  const watched = scenarios
    .filter(({ hasOwnOperator }) => !hasOwnOperator)
    .map(({ id }) => namespaces.get(id)?.name ?? '');
  const scope = e2eSettings.isClusterScoped ? [] : [home.name, ...watched];
  const takeBack = await lendMonitorKinds();
  const api = await ApiServer.start();
  const stopBeating = startBeating(api, home.name);
  const leave = async (): Promise<void> => {
    await takeBack();
    if (e2eSettings.keep)
      await run(e2eSettings.helm, ['uninstall', 'polyad-operator', '-n', home.name]);
    else await endRun(home, [...namespaces.values()]);
    stopBeating();
    api.close();
  };
  const endEarly = (): void => void leave().finally(() => process.exit(130));
  process.once('SIGINT', endEarly).once('SIGTERM', endEarly);
  try {
    const seconds = await installOperator(home, scope, image);
    const where = e2eSettings.isClusterScoped ? 'the whole cluster' : 'its namespaces';
    process.stdout.write(
      `${provider.name} ${provider.context}, image ${image}; operator of ${where} ready after ${seconds.toFixed(1)} s\n`,
    );
    const audit = new RightsAudit();
    const start = async (scenario: Scenario): Promise<void> => {
      const { id, title } = scenario;
      if (Date.now() / 1000 > e2eSettings.until) {
        report.note({ id, title, outcome: 'skipped', seconds: 0, remarks: ['no time left'] });
        return;
      }
      await runScenario(scenario, {
        ...{ api, audit, image, home, report, provider, runName },
        namespace: namespaces.get(id) as Namespace,
      });
    };
    await inTheirTurn(scenarios, start);
    if (scenarios.length > 0) report.note(await auditRights({ api, audit, home }));
  } finally {
    await leave();
  }
}

/** Some beside each other, then those that need the cluster for themselves. */
async function inTheirTurn(
  scenarios: readonly Scenario[],
  start: (scenario: Scenario) => Promise<void>,
): Promise<void> {
  const parallel = scenarios.filter(({ isSerial }) => !isSerial);
  const lanes = Array.from({ length: e2eSettings.parallel }, async () => {
    for (let next = parallel.shift(); next; next = parallel.shift()) await start(next);
  });
  await Promise.all(lanes);
  for (const scenario of scenarios) if (scenario.isSerial) await start(scenario);
}

/** Clusters that are being deleted still need the operator: it goes last. */
async function endRun(home: Namespace, others: readonly Namespace[]): Promise<void> {
  const names = others.map(({ name }) => name);
  for (const name of names)
    await run('kubectl', ['delete', 'namespace', name, '--wait=false', '--ignore-not-found']);
  await run('kubectl', [
    ...['wait', '--for=delete', `--timeout=${budgetMs('namespaceGone') / 1000}s`],
    ...names.map((name) => `namespace/${name}`),
  ]);
  await removeNamespaces([
    { name: home.name, hasOperator: true },
    ...names.map((name) => ({ name, hasOperator: false })),
  ]);
}

process.exit(await main());
