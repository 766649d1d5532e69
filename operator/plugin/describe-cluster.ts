import { conditionOf } from '../api/conditions.ts';
import type { ClusterObject } from '../api/cluster.ts';
import type { ClusterStatus, Condition, MemberStatus } from '../api/cluster-status.ts';

/** An event about the Cluster, as kubectl gives it. */
export interface ClusterEvent {
  readonly type?: string;
  readonly reason?: string;
  readonly note?: string;
  readonly eventTime?: string | null;
  readonly series?: { readonly lastObservedTime?: string; readonly count?: number };
}

const eventsMax = 8;
/** Conditions that people want to be True; the others speak up only when there is something to say. */
const wanted = [
  'Available',
  'FaultTolerant',
  'TopologySpread',
  'ConfigApplied',
  'StorageReady',
  'CertificatesValid',
  'BackupConfigured',
  'LastBackupSucceeded',
];
const notices = ['Paused', 'TemplateOutdated', 'SpecWarnings'];

/** Who leads, who lags, what waits and why: for people, a line each. @param nowMs milliseconds since 1970 */
export function describeCluster(
  cluster: ClusterObject,
  events: readonly ClusterEvent[],
  nowMs: number,
): readonly string[] {
  const { namespace = 'default', name } = cluster.metadata;
  const status = cluster.status ?? {};
  return [
    `${namespace}/${name}: ${status.phase ?? 'not seen by an operator yet'}, ${readiness(status)}`,
    ...facts(status),
    ...members(status),
    ...upgrade(status, nowMs),
    ...waiting(status, nowMs),
    ...volumes(status),
    ...upkeep(status, nowMs),
    ...recent(events, nowMs),
  ];
}

function readiness({ conditions }: ClusterStatus): string {
  const ready = conditionOf(conditions, 'Ready');
  if (ready === undefined) return 'readiness unknown';
  return ready.status === 'True' ? 'ready' : `not ready: ${ready.reason}`;
}

function facts(status: ClusterStatus): readonly string[] {
  const { leader, voters = 0, healthyVoters = 0, faultTolerance = 0, version, image } = status;
  const { term, learners = 0, endpoints } = status;
  const readers = learners === 0 ? '' : `, ${learners} that only read`;
  return [
    `  leader   ${leader ?? 'nobody leads'}${term === undefined ? '' : ` (term ${term})`}`,
    `  voters   ${healthyVoters} of ${voters} healthy, ${faultTolerance} may fail${readers}`,
    `  version  ${version ?? 'unknown'} (${image ?? 'no image yet'})`,
    ...(status.failedImage === undefined ? [] : [`  failed   image ${status.failedImage}`]),
    ...(endpoints?.http === undefined ? [] : [`  service  ${endpoints.http}`]),
  ];
}

/** An image that is on its way, and whether it is taken back by itself. */
function upgrade({ upgrade: present }: ClusterStatus, nowMs: number): readonly string[] {
  if (present === undefined) return [];
  const { from = '?', to = '?', phase, startedAt, canary, oneWay } = present;
  const alone = canary === undefined ? '' : `, ${canary} runs it alone`;
  return [
    '',
    `Upgrade from ${from} to ${to}: ${phase}${alone}, for ${since(startedAt, nowMs)}`,
    ...(oneWay === undefined ? [] : [`  not taken back by itself: ${oneWay}`]),
  ];
}

function members({ members: list = [], applied, version }: ClusterStatus): readonly string[] {
  if (list.length === 0) return [];
  const isOld = (member: MemberStatus) =>
    applied?.restartHash !== undefined && member.restartHash !== applied.restartHash;
  const rows = list.map((member) => [
    member.name,
    member.role ?? '?',
    member.voter === false ? 'learner' : 'voter',
    stateOf(member),
    lagOf(member),
    [member.node ?? '-', member.zone ?? '-'].join('/'),
    [
      member.version === version ? undefined : `version ${member.version ?? 'unknown'}`,
      isOld(member) ? 'waits for its restart' : undefined,
      member.message,
    ]
      .filter((word) => word !== undefined)
      .join('; '),
  ]);
  return ['', ...table([['MEMBER', 'ROLE', 'VOTES', 'STATE', 'LAG', 'NODE/ZONE', ''], ...rows])];
}

/** Of its pod, and how the leader sees it where that is news. */
function stateOf({ ready, state }: MemberStatus): string {
  const isNews = state !== undefined && state !== 'HEALTHY';
  return `${ready === true ? 'ready' : 'not ready'}${isNews ? ` (${state})` : ''}`;
}

function lagOf(member: MemberStatus): string {
  const { lag } = member as { readonly lag?: number | string };
  return lag === undefined ? '-' : String(lag);
}

export function table(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, at) =>
    Math.max(...rows.map((row) => row[at]?.length ?? 0)),
  );
  return rows.map((row) =>
    `  ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  ')}`.trimEnd(),
  );
}

/** What does not go on by itself, what goes on, and which promise does not hold. */
function waiting(status: ClusterStatus, nowMs: number): readonly string[] {
  const { conditions = [], operation, recovery } = status;
  const lines: string[] = [];
  const say = (word: string, { reason, message, lastTransitionTime }: Condition) =>
    lines.push(`  ${word} ${reason}: ${message} (for ${since(lastTransitionTime, nowMs)})`);
  for (const type of ['Stalled', 'Reconciling']) {
    const found = conditionOf(conditions, type);
    if (found?.status === 'True') say(type === 'Stalled' ? 'needs you:' : 'goes on:', found);
  }
  for (const type of wanted) {
    const found = conditionOf(conditions, type);
    if (found !== undefined && found.status !== 'True') say(`${type} ${found.status}:`, found);
  }
  for (const type of notices) {
    const found = conditionOf(conditions, type);
    if (found?.status === 'True') say(`${type}:`, found);
  }
  if (operation !== undefined)
    lines.push(
      `  operation ${operation.type}, step ${operation.step}, for ${since(operation.startedAt, nowMs)}`,
    );
  if (recovery?.incidentToken !== undefined)
    lines.push(`  incident ${recovery.incidentToken} waits for approval`);
  return lines.length === 0 ? ['', 'Nothing waits.'] : ['', 'What waits:', ...lines];
}

function volumes({ storage = [] }: ClusterStatus): readonly string[] {
  const growing = storage.filter(({ requested, capacity }) => requested !== capacity);
  return growing.map(
    ({ claim, requested, capacity, state }) =>
      `  ${claim}: ${capacity ?? 'nothing'} of ${requested ?? '?'} (${state ?? 'unknown'})`,
  );
}

function upkeep({ backups, certificates = [] }: ClusterStatus, nowMs: number): readonly string[] {
  const lines: string[] = [];
  if (backups?.lastSuccessful !== undefined)
    lines.push(`  last backup ${since(backups.lastSuccessful, nowMs)} ago`);
  for (const { name, notAfter } of certificates)
    lines.push(`  certificate ${name} until ${notAfter}`);
  return lines.length === 0 ? [] : ['', ...lines];
}

function recent(events: readonly ClusterEvent[], nowMs: number): readonly string[] {
  const timeOf = ({ series, eventTime }: ClusterEvent) =>
    series?.lastObservedTime ?? eventTime ?? '';
  const newest = [...events]
    .sort((a, b) => (timeOf(a) < timeOf(b) ? -1 : 1))
    .slice(-eventsMax)
    .map((event) => [
      `${since(timeOf(event), nowMs)} ago`,
      event.type === 'Warning' ? '!' : ' ',
      event.reason ?? '',
      event.note ?? '',
    ]);
  return newest.length === 0 ? [] : ['', 'Lately:', ...table(newest)];
}

const units = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
] as const;

function since(time: string, nowMs: number): string {
  const seconds = Math.max(0, Math.round((nowMs - Date.parse(time)) / 1000));
  if (Number.isNaN(seconds)) return 'an unknown time';
  const [unit, size] = units.find(([, each]) => seconds >= 2 * each) ?? ['s', 1];
  return `${Math.floor(seconds / size)} ${unit}`;
}
