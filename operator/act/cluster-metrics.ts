import type { ClusterObject } from '../api/cluster.ts';
import type { ClusterStatus, Operation } from '../api/cluster-status.ts';
import { conditionOf } from '../api/conditions.ts';
import type { Metrics } from '../kubernetes/metrics.ts';
import { parseQuantity } from '../resources/quantity.ts';

/*
 * What the operator tells of each Cluster (operator.md 10.7), labelled with its namespace and name. All of it goes with the
 * Cluster.
 */

type Labels = Readonly<Record<string, string>>;
type Gauge = readonly [name: string, help: string, read: (status: ClusterStatus) => number];

const isTrue = (status: ClusterStatus, type: string): number =>
  conditionOf(status.conditions, type)?.status === 'True' ? 1 : 0;

const gauges: readonly Gauge[] = [
  ['polyad_cluster_ready', 'Whether the Cluster is Ready', (status) => isTrue(status, 'Ready')],
  ['polyad_cluster_available', 'Whether writes work', (status) => isTrue(status, 'Available')],
  ['polyad_cluster_voters', 'Voting members', ({ voters }) => voters ?? 0],
  [
    'polyad_cluster_healthy_voters',
    'Voting members that are ready',
    ({ healthyVoters }) => healthyVoters ?? 0,
  ],
  [
    'polyad_cluster_fault_tolerance',
    'Members that may fail',
    ({ faultTolerance }) => faultTolerance ?? 0,
  ],
];

/** Numbers with labels beside the Cluster's: they are set anew each time. */
const contents = {
  info: 'polyad_cluster_info',
  storage: 'polyad_cluster_storage_capacity_bytes',
  running: 'polyad_cluster_operation_running',
  backup: 'polyad_cluster_last_backup_success_timestamp_seconds',
  certificate: 'polyad_cluster_certificate_expiry_timestamp_seconds',
  lag: 'polyad_cluster_member_lag',
} as const;

const leaderChanges = 'polyad_cluster_leader_changes_total';
const durations = 'polyad_cluster_operation_duration_seconds';

/** Whether a Cluster was told of since this process started. */
export function isReported(metrics: Metrics, { metadata }: ClusterObject): boolean {
  const { namespace = '', name } = metadata;
  return metrics.has('polyad_cluster_ready', { namespace, name });
}

export interface Found {
  readonly status: ClusterStatus;
  /** Id of an operation that stalled while it was under way. */
  readonly stalledOperation: string | undefined;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
}

/** Tells what one look found. */
export function reportCluster(metrics: Metrics, cluster: ClusterObject, found: Found): void {
  const { status } = found;
  const { namespace = '', name } = cluster.metadata;
  const labels = { namespace, name };
  for (const [gauge, help, read] of gauges) metrics.set(gauge, help, labels, read(status));
  reportContents(metrics, labels, status);
  const before = cluster.status ?? {};
  const hasChanged = before.term !== undefined && (status.term ?? 0) > before.term;
  metrics.add(leaderChanges, 'Times that another led', labels, hasChanged ? 1 : 0);
  reportEnd(metrics, labels, before, found);
}

function reportContents(
  metrics: Metrics,
  labels: Labels & { readonly namespace: string; readonly name: string },
  status: ClusterStatus,
): void {
  for (const metric of Object.values(contents)) metrics.removeAll(metric, labels);
  const {
    version = '',
    operation,
    storage = [],
    backups,
    certificates = [],
    members = [],
  } = status;
  for (const [bucket, count] of countedBy(members.map(({ lag }) => lag)))
    metrics.set(contents.lag, 'Members by entries they are behind', { ...labels, bucket }, count);
  metrics.set(contents.info, 'What a Cluster runs', { ...labels, version }, 1);
  for (const { claim, capacity } of storage) {
    const bytes = parseQuantity(capacity ?? '');
    if (bytes !== undefined)
      metrics.set(contents.storage, 'Size of a volume', { ...labels, claim }, bytes);
  }
  if (operation !== undefined)
    metrics.set(contents.running, 'What is under way', { ...labels, type: operation.type }, 1);
  const backedUpAtMs = Date.parse(backups?.lastSuccessful ?? '');
  if (!Number.isNaN(backedUpAtMs))
    metrics.set(contents.backup, 'When a backup succeeded last', labels, backedUpAtMs / 1000);
  for (const { name: certificate, notAfter } of certificates) {
    const expiresAtMs = Date.parse(notAfter);
    if (!Number.isNaN(expiresAtMs))
      metrics.set(
        contents.certificate,
        'When a certificate expires',
        { ...labels, certificate },
        expiresAtMs / 1000,
      );
  }
}

/** How often each word stands there; members without one are not counted. */
function countedBy(words: readonly (string | undefined)[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const word of words) if (word !== undefined) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

/** An operation that was under way and is so no more. */
function reportEnd(metrics: Metrics, labels: Labels, before: ClusterStatus, found: Found): void {
  const { operation } = before;
  if (operation === undefined || isSame(operation, found.status.operation)) return;
  const seconds = (found.nowMs - Date.parse(operation.startedAt)) / 1000;
  if (!(seconds >= 0)) return;
  const end = { ...labels, type: operation.type, result: resultOf(operation, before, found) };
  metrics.observeSeconds(durations, 'Time an operation took', end, seconds);
}

/** In another step, or for another generation. */
function isSame({ id, type, startedAt }: Operation, now: Operation | undefined): boolean {
  return now?.id === id || (now?.type === type && now.startedAt === startedAt);
}

/**
 * What was not reached has failed when it was taken back, or had stalled until a person wished for something else; otherwise another
 * wish has taken its place.
 */
function resultOf(
  { id, type }: Operation,
  before: ClusterStatus,
  { status, stalledOperation }: Found,
): 'success' | 'failed' | 'replaced' {
  const isNew = (read: (status: ClusterStatus) => string | undefined) =>
    read(status) !== undefined && read(status) !== read(before);
  const isTakenBack =
    isNew(({ failedImage }) => failedImage) || isNew(({ failedJoin }) => failedJoin?.token);
  if (isTakenBack) return 'failed';
  const isAwake = type === 'Hibernate' && status.phase !== 'Hibernated';
  if (status.operation === undefined && !isAwake) return 'success';
  return stalledOperation === id ? 'failed' : 'replaced';
}

/** Forgets a Cluster that is gone. */
export function forgetCluster(metrics: Metrics, namespace: string, name: string): void {
  const labels = { namespace, name };
  const own = [...gauges.map(([gauge]) => gauge), ...Object.values(contents)];
  for (const metric of [...own, leaderChanges, durations]) metrics.removeAll(metric, labels);
}
