import { grantedRights } from './cluster-under-test.ts';
import type { Result } from './report.ts';
import { e2eSettings } from './settings.ts';
import type { ApiServer } from './steps/api-server.ts';
import type { Namespace } from './steps/objects.ts';
import { run } from './steps/programs.ts';
import { operatorNumbers, type RightsAudit } from './steps/operator-metrics.ts';

/** Rights that this cluster or this run cannot use, and why. */
const cannotUse: Readonly<Record<string, string>> = {
  'delete apps/statefulsets': 'only volumes that grow need it',
  'delete /configmaps': 'asked by the admission of owner references when a release is taken over',
  'update polyad.io/clusters/finalizers':
    'asked by the admission of owner references, not by a call',
};
const onlyOfWholeRuns = 'E2E_ONLY, E2E_PART, E2E_UNTIL or a low level leaves rights unused';

/** I1: over the whole run the operator was denied nothing, and used every right it has. */
export async function auditRights({
  api,
  audit,
  home,
}: {
  readonly api: ApiServer;
  readonly audit: RightsAudit;
  readonly home: Namespace;
}): Promise<Result> {
  audit.note(await operatorNumbers(api, home));
  const unused = audit.unused(await grantedRights('polyad-operator'));
  const hasMonitors = (await run('kubectl', ['get', 'crd', 'podmonitors.monitoring.coreos.com']))
    .isGood;
  const isExcused = (right: string): boolean =>
    cannotUse[right] !== undefined || (!hasMonitors && right.includes('monitoring.coreos.com'));
  const excused = unused.filter(isExcused);
  const idle = unused.filter((right) => !excused.includes(right));
  const { only, level, part, until } = e2eSettings;
  const isWhole = only.size === 0 && level >= 1 && part.of === 1 && until === Infinity;
  const faults = [
    ...audit.denied.map((call) => `denied: ${call}`),
    ...(isWhole ? idle.map((right) => `never used: ${right}`) : []),
  ];
  const remarks = [
    `${audit.size} kinds of calls`,
    ...excused.map((right) => `${right}: ${cannotUse[right] ?? 'no such kind here'}`),
    ...(isWhole ? [] : [onlyOfWholeRuns]),
    ...faults,
  ];
  const title = 'the rights of the operator: none missing, none unused';
  return { id: 'I1', title, outcome: faults.length > 0 ? 'failed' : 'passed', seconds: 0, remarks };
}
