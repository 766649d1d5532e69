import {
  capabilitiesOf,
  imageUnderTest,
  installOperator,
  lendMonitorKinds,
  makeNamespace,
  widespreadOperator,
} from './cluster-under-test.ts';
import { chooseProvider } from './providers/choose-provider.ts';
import { Report } from './report.ts';
import { runScenario } from './run-scenario.ts';
import { choose } from './choose-scenarios.ts';
import type { Scenario } from './scenario.ts';
import { apiFaultScenarios } from './scenarios/api-faults.ts';
import { clientScenarios } from './scenarios/clients.ts';
import { groupFaultScenarios } from './scenarios/group-faults.ts';
import { failureScenarios } from './scenarios/failure.ts';
import { installScenarios } from './scenarios/install.ts';
import { lifecycleScenarios } from './scenarios/lifecycle.ts';
import { memberScenarios } from './scenarios/members.ts';
import { operatorScenarios } from './scenarios/operator.ts';
import { rollingScenarios } from './scenarios/rolling.ts';
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
  ...groupFaultScenarios,
  ...apiFaultScenarios,
  ...lifecycleScenarios,
  ...clientScenarios,
  ...operatorScenarios,
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
    const wide = await widespreadOperator();
    if (wide !== undefined) {
      process.stdout.write(`an operator for the whole cluster runs in ${wide}; remove it first\n`);
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
  const seconds = await installOperator(home, scope, image);
  const where = e2eSettings.isClusterScoped ? 'the whole cluster' : 'its namespaces';
  process.stdout.write(
    `${provider.name} ${provider.context}, image ${image}; operator of ${where} ready after ${seconds.toFixed(1)} s\n`,
  );
  const api = await ApiServer.start();
  const audit = new RightsAudit();
  const start = (scenario: Scenario): Promise<void> =>
    runScenario(scenario, {
      ...{ api, audit, image, home, report, provider, runName },
      namespace: namespaces.get(scenario.id) as Namespace,
    });
  const parallel = scenarios.filter(({ isSerial }) => !isSerial);
  const lanes = Array.from({ length: e2eSettings.parallel }, async () => {
    for (let next = parallel.shift(); next; next = parallel.shift()) await start(next);
  });
  await Promise.all(lanes);
  for (const scenario of scenarios) if (scenario.isSerial) await start(scenario);
  if (scenarios.length > 0) report.note(await auditRights({ api, audit, home }));
  api.close();
  await takeBack();
  await run(e2eSettings.helm, ['uninstall', 'polyad-operator', '-n', home.name]);
  if (!e2eSettings.keep) await run('kubectl', ['delete', 'namespace', home.name, '--wait=false']);
}

process.exit(await main());
