import { hasCertificates } from './certificates.ts';
import type { ClusterObject } from '../api/cluster.ts';
import type { ClusterSpec } from '../api/cluster-spec.ts';
import type { DesiredObject, JsonObject } from '../api/kubernetes-object.ts';
import { labelKeys, monitorKinds, objectNames, selectorLabels } from '../api/names.ts';
import type { MonitorKind } from '../api/names.ts';
import { memberAlerts, operatorAlerts } from './alert-rules.ts';
import type { AlertLimits } from './alert-rules.ts';
import { ownedObject } from './owner.ts';

/*
 * What `spec.monitoring` asks for (operator.md 3.3): objects of the Prometheus operator. Its kinds may be missing from a
 * cluster; then nothing is made, and the Cluster says so.
 */

const apiVersion = 'monitoring.coreos.com/v1';
const path = '/metrics';

/** The kinds that the spec asks for. */
export function wantedMonitors({ monitoring }: ClusterSpec): readonly MonitorKind[] {
  const enabled: Readonly<Record<MonitorKind, boolean>> = {
    PodMonitor: monitoring.podMonitor.enabled,
    ServiceMonitor: monitoring.serviceMonitor.enabled,
    PrometheusRule: monitoring.prometheusRule.enabled,
  };
  return monitorKinds.filter((kind) => enabled[kind]);
}

/** @param kinds those that this Kubernetes has */
export function monitors(
  cluster: ClusterObject,
  spec: ClusterSpec,
  kinds: ReadonlySet<MonitorKind>,
): readonly DesiredObject[] {
  const { podMonitor, serviceMonitor, prometheusRule } = spec.monitoring;
  const given = {
    PodMonitor: { labels: podMonitor.labels, spec: podMonitorSpec(cluster, spec) },
    ServiceMonitor: { labels: serviceMonitor.labels, spec: serviceMonitorSpec(cluster, spec) },
    PrometheusRule: {
      labels: prometheusRule.labels,
      spec: ruleSpec(cluster, spec),
    },
  } as const;
  return wantedMonitors(spec)
    .filter((kind) => kinds.has(kind))
    .map((kind) =>
      ownedObject(cluster, {
        apiVersion,
        kind,
        name: objectNames(cluster.metadata.name).monitor,
        inherited: spec.inheritedMetadata,
        ...(given[kind].labels === undefined ? undefined : { labels: given[kind].labels }),
        spec: given[kind].spec,
      }),
    );
}

function podMonitorSpec({ metadata }: ClusterObject, { monitoring }: ClusterSpec): JsonObject {
  return {
    selector: { matchLabels: selectorLabels(metadata.name) },
    podMetricsEndpoints: [{ port: 'http', path, interval: monitoring.podMonitor.interval }],
  };
}

/** Of the service of all ready members; the others lead to the same pods. */
function serviceMonitorSpec({ metadata }: ClusterObject, { monitoring }: ClusterSpec): JsonObject {
  return {
    selector: { matchLabels: { ...selectorLabels(metadata.name), [labelKeys.service]: 'http' } },
    endpoints: [{ port: 'http', path, interval: monitoring.serviceMonitor.interval }],
  };
}

function ruleSpec({ metadata }: ClusterObject, spec: ClusterSpec): JsonObject {
  const { name, namespace = 'default' } = metadata;
  const scope = { name, namespace };
  const rules = [...memberAlerts(scope), ...operatorAlerts(scope, alertLimits(spec))];
  return {
    groups: [
      { name: `${namespace}.${name}`, interval: spec.monitoring.prometheusRule.interval, rules },
    ],
  };
}

const minuteSeconds = 60;
const daySeconds = 86_400;
/** Backups by a time of day, of which nothing is known but that there is one: two days without are too many. */
const cronSeconds = 2 * daySeconds;

/** A certificate that is renewed in time never comes near its end; a backup may be missed once. */
function alertLimits(spec: ClusterSpec): AlertLimits {
  const { backup } = spec;
  const schedule =
    backup?.enabled && backup.defaults.enabled ? backup.defaults.schedule : undefined;
  const everySeconds = (schedule?.frequencyMinutes ?? 0) * minuteSeconds;
  return {
    backupAgeSeconds:
      schedule && (schedule.type === 'cron' ? cronSeconds : 2 * everySeconds + 15 * minuteSeconds),
    certificateSeconds: hasCertificates(spec)
      ? (spec.tls.renewBeforeDays * daySeconds) / 2
      : undefined,
  };
}
