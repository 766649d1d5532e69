/** How long things may take, in seconds at factor 1 (e2e text, 4). Every wait names an entry. */
export const budgets = {
  operatorReady: 60,
  clusterReady: 60,
  installToFirstWrite: 45,
  memberBack: 60,
  memberRestart: 45,
  hotSetting: 10,
  deliveredFile: 120,
  driftCorrected: 5,
  stalled: 30,
  imageReturn: 240,
  hibernate: 90,
  deletion: 90,
  nodeLost: 90,
  nodeBack: 120,
  passwordRotation: 60,
  storageCondition: 60,
  refused: 10,
  namespaceGone: 120,
} as const;

export type Budget = keyof typeof budgets;

const factor = Number(process.env['E2E_TIMEOUT_FACTOR'] ?? '1');
const overrides = JSON.parse(process.env['E2E_TIMEOUTS'] ?? '{}') as Partial<
  Record<Budget, number>
>;

export function budgetMs(budget: Budget): number {
  return (overrides[budget] ?? budgets[budget]) * factor * 1000;
}
