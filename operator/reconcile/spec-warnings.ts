import { wantedMonitors } from '../resources/monitors.ts';
import type { Draft, Pass } from './pass.ts';
import { isUnsupported } from './steps/apply-settings.ts';

/** The server asks for a user by default, and monitors carry none. */
const scrapeUserKey = 'service.prometheus.requireAuthentication';

/** What is accepted and may not be meant so: the condition `SpecWarnings`. */
export function warningsOf(pass: Pass, draft: Draft): Draft['warnings'] {
  const { spec } = pass;
  const found = [...draft.warnings];
  if (isUnsupported(draft.applied.mcpHash))
    found.push({
      reason: 'McpUnsupported',
      message: 'spec.mcp has no effect: the image has no tool server',
    });
  const warn = (reason: string, message: string) => found.push({ reason, message });
  membershipWarnings(spec, warn);
  if (spec.resources?.limits?.['memory'] === undefined)
    warn('NoMemoryLimit', 'spec.resources.limits.memory is not set: the heap cannot follow it');
  if (spec.resources?.limits?.['cpu'] !== undefined)
    warn('CpuLimitSet', 'spec.resources.limits.cpu throttles the event loop');
  const lacking = wantedMonitors(spec).filter((kind) => !pass.seen.monitorKinds.has(kind));
  if (lacking.length > 0)
    warn(
      'NoMonitoringKinds',
      `spec.monitoring: this Kubernetes has no ${lacking.join(', ')}, or the operator may not make it`,
    );
  const scrapes = wantedMonitors(spec).some((kind) => kind !== 'PrometheusRule');
  const needsUser = spec.settings?.[scrapeUserKey] !== 'false';
  if (scrapes && (needsUser || spec.plugins.prometheus?.enabled !== true))
    warn(
      'MetricsNotServed',
      `spec.monitoring: set spec.plugins.prometheus.enabled, and ${scrapeUserKey} to false in spec.settings, or scrapes are refused`,
    );
  if (/:latest$/.test(pass.image) || !/[:@][^/]+$/.test(pass.image))
    warn('TagLatest', `image ${pass.image} names no fixed version`);
  return found;
}

function membershipWarnings(
  { replicas, antiAffinity, affinity }: Pass['spec'],
  warn: (reason: string, message: string) => void,
): void {
  if (replicas === 2)
    warn('TwoVoters', 'spec.replicas: two voters stop as soon as one of them is away');
  else if (replicas % 2 === 0)
    warn('EvenReplicas', `spec.replicas: ${replicas} voters outlive no more than ${replicas - 1}`);
  const spreads = affinity === undefined ? antiAffinity !== 'None' : 'podAntiAffinity' in affinity;
  if (replicas > 1 && !spreads)
    warn('NoAntiAffinity', 'nothing keeps members apart: one node may hold several of them');
}
