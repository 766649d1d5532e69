/** How long things may take, in seconds at factor 1 (e2e text, 4). Every wait names an entry. */
export const budgets = {
  operatorReady: 60,
  clusterReady: 60,
  scaled: 90,
  rolled: 180,
  electionSeen: 30,
  leaderMovedGap: 1,
  leaderKilledGap: 6,
  nodeStoppedGap: 8,
  noQuorum: 30,
  manyClustersReady: 300,
  installToFirstWrite: 60,
  memberBack: 60,
  memberRestart: 45,
  memberRestartGap: 6,
  hotSetting: 10,
  deliveredFile: 120,
  driftCorrected: 5,
  reaction: 2,
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
  afterFault: 60,
  certificateServed: 150,
  authorityStep: 600,
  quorumToken: 720,
  runOnce: 90,
  leaseTakenOver: 30,
  operatorEnded: 30,
} as const;

export type Budget = keyof typeof budgets;

const factor = Number(process.env['E2E_TIMEOUT_FACTOR'] ?? '1');
const overrides = JSON.parse(process.env['E2E_TIMEOUTS'] ?? '{}') as Partial<
  Record<Budget, number>
>;
const noteworthyShare = 0.7;
const longestMs = new Map<Budget, number>();

export function budgetMs(budget: Budget): number {
  return (overrides[budget] ?? budgets[budget]) * factor * 1000;
}

/** Remembers how much of a budget a wait that succeeded took. */
export function noteUse(budget: Budget, ms: number): void {
  longestMs.set(budget, Math.max(ms, longestMs.get(budget) ?? 0));
}

/** Waits that took more than 70 percent of their budget, although they succeeded. */
export function usedBudgets(): readonly string[] {
  return [...longestMs]
    .filter(([budget, ms]) => ms > noteworthyShare * budgetMs(budget))
    .map(([budget, ms]) => {
      const [took, may] = [ms / 1000, budgetMs(budget) / 1000];
      return `budget ${budget}: ${took.toFixed(1)} s of ${may.toFixed(0)} s used`;
    });
}
