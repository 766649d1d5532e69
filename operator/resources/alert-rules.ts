import type { JsonObject } from '../api/kubernetes-object.ts';

/*
 * When people are woken (operator.md 10.7). Written once, for Clusters and for releases of the chart: those of members ask what
 * members and kubelets tell, those of the operator what it tells of a Cluster.
 */

export interface AlertScope {
  readonly namespace: string;
  /** Of the Cluster, or of the release. */
  readonly name: string;
}

export interface AlertLimits {
  /** Undefined: nothing is backed up by itself. */
  readonly backupAgeSeconds: number | undefined;
  /** Undefined: the operator keeps no certificate. */
  readonly certificateSeconds: number | undefined;
}

/** Entries of the log. */
const lagMax = 10_000;
const freeShares = { low: 0.15, empty: 0.05 } as const;

interface Alert {
  readonly title: string;
  readonly expr: string;
  readonly for: string;
  readonly severity: 'critical' | 'warning';
  readonly summary: string;
}

/** What can be told without an operator. */
export function memberAlerts(scope: AlertScope): readonly JsonObject[] {
  const { namespace, name } = scope;
  const members = `{namespace="${namespace}",pod=~"${name}-[0-9]+"}`;
  const volumes = `{namespace="${namespace}",persistentvolumeclaim=~"(data|raft|backups)-${name}-[0-9]+"}`;
  const free = `kubelet_volume_stats_available_bytes${volumes} / kubelet_volume_stats_capacity_bytes${volumes}`;
  return rulesOf(scope, [
    {
      title: 'PolyadMemberDown',
      expr: `up${members} == 0`,
      for: '5m',
      severity: 'critical',
      summary: 'A member has not been reached for five minutes',
    },
    {
      title: 'PolyadNoLeader',
      expr: `max(polyad_ha_is_leader${members}) == 0`,
      for: '1m',
      severity: 'critical',
      summary: 'No member leads: nothing can be written',
    },
    {
      title: 'PolyadToleranceReduced',
      expr: `count(up${members} == 1) < max(polyad_ha_voters${members})`,
      for: '15m',
      severity: 'warning',
      summary: 'Fewer members run than vote: the group bears fewer failures than it should',
    },
    {
      title: 'PolyadMemberLags',
      expr: `scalar(max(polyad_ha_commit_index${members})) - polyad_ha_applied_index${members} > ${lagMax}`,
      for: '10m',
      severity: 'warning',
      summary: 'A member is far behind the others',
    },
    {
      title: 'PolyadDatabaseDiverged',
      expr: `polyad_ha_quarantined_databases${members} > 0`,
      for: '5m',
      severity: 'critical',
      summary: 'A member holds a database that differs from that of the others',
    },
    {
      title: 'PolyadVolumeFilling',
      expr: `${free} < ${freeShares.low}`,
      for: '10m',
      severity: 'warning',
      summary: 'A volume has little room left',
    },
    {
      title: 'PolyadVolumeFull',
      expr: `${free} < ${freeShares.empty}`,
      for: '5m',
      severity: 'critical',
      summary: 'A volume is almost full: writes will stop',
    },
  ]);
}

/** What only the operator knows. */
export function operatorAlerts(scope: AlertScope, limits: AlertLimits): readonly JsonObject[] {
  const of = `{namespace="${scope.namespace}",name="${scope.name}"}`;
  const { backupAgeSeconds, certificateSeconds } = limits;
  const alerts: Alert[] = [
    {
      title: 'PolyadClusterUnavailable',
      expr: `max(polyad_cluster_available${of}) == 0`,
      for: '5m',
      severity: 'critical',
      summary: 'The database takes no writes',
    },
    {
      title: 'PolyadClusterNotReady',
      expr: `max(polyad_cluster_ready${of}) == 0`,
      for: '30m',
      severity: 'warning',
      summary: 'The Cluster has not reached its spec for half an hour; its conditions say why',
    },
    {
      title: 'PolyadVotersMissing',
      expr: `max(polyad_cluster_healthy_voters${of}) < max(polyad_cluster_voters${of})`,
      for: '15m',
      severity: 'warning',
      summary: 'A voter is missing: the group bears fewer failures than it should',
    },
  ];
  if (certificateSeconds !== undefined)
    alerts.push({
      title: 'PolyadCertificateExpires',
      expr: `min(polyad_cluster_certificate_expiry_timestamp_seconds${of}) - time() < ${certificateSeconds}`,
      for: '1h',
      severity: 'critical',
      summary: 'A certificate ends soon and was not renewed',
    });
  if (backupAgeSeconds !== undefined)
    alerts.push({
      title: 'PolyadBackupOld',
      expr: `time() - max(polyad_cluster_last_backup_success_timestamp_seconds${of}) > ${backupAgeSeconds}`,
      for: '15m',
      severity: 'warning',
      summary: 'The last good backup is older than its schedule allows',
    });
  return rulesOf(scope, alerts);
}

function rulesOf({ namespace, name }: AlertScope, alerts: readonly Alert[]): readonly JsonObject[] {
  return alerts.map(({ title, expr, severity, summary, for: lasting }) => ({
    alert: title,
    expr,
    for: lasting,
    labels: { severity },
    annotations: { summary: `${summary} (${namespace}/${name})` },
  }));
}
