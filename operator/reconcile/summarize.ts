import { mergeConditions } from '../api/conditions.ts';
import type { WantedCondition } from '../api/conditions.ts';
import type { ClusterStatus, MemberStatus } from '../api/cluster-status.ts';
import { annotationKeys } from '../api/names.ts';
import { lastBackupCondition } from './backup-status.ts';
import type { Draft, Pass } from './pass.ts';
import { topologyCondition } from './topology.ts';
import { servedSecret } from '../resources/certificates.ts';
import { wantedMonitors } from '../resources/monitors.ts';
import { incarnationOf, isReady, podProblem } from '../resources/pod-state.ts';
import { isUnsupported } from './steps/apply-settings.ts';

/*
 * The status of a look (operator.md 3.5, 3.6): `Ready` is always there; `Reconciling` and `Stalled` are there only when true,
 * which is how generic tools read a Cluster.
 */

export interface Mode {
  readonly isPaused?: boolean;
  readonly isDeleting?: boolean;
}

export function summarize(pass: Pass, draft: Draft, mode: Mode): ClusterStatus {
  const { seen, spec, previous, names, cluster, generation } = pass;
  const pod = seen.pod;
  const isUp = memberIsUp(pass);
  const version = versionOf(pass);
  const isLeading = isUp ? names.pod(0) : undefined;
  return pruned({
    // While paused nothing is done about a newer spec, so it does not count as seen.
    observedGeneration: mode.isPaused ? (previous.observedGeneration ?? 0) : generation,
    operator: seen.operator.identity,
    phase: phaseOf(pass, draft, mode),
    replicas: pod === undefined ? 0 : 1,
    readyReplicas: isUp ? 1 : 0,
    updatedReplicas: podIsUpdated(pass) ? 1 : 0,
    voters: spec.hibernate ? 0 : 1,
    learners: 0,
    healthyVoters: isUp ? 1 : 0,
    faultTolerance: 0,
    selector: `app.kubernetes.io/name=polyad,app.kubernetes.io/instance=${cluster.metadata.name}`,
    leader: isLeading,
    version,
    image: pass.image,
    lastGoodImage: draft.lastGoodImage,
    failedImage: draft.failedImage,
    members: pod === undefined ? [] : [memberStatus(pass)],
    operation: draft.operation,
    storage: storageOf(pass, draft),
    certificates: draft.certificates,
    backups: draft.backups,
    endpoints: endpointsOf(pass),
    secrets: {
      root: spec.auth.rootPassword?.secretName ?? names.root,
      token: names.token,
      ...certificateSecrets(pass),
    },
    recovery:
      draft.incidentToken === undefined
        ? undefined
        : {
            incidentToken: draft.incidentToken,
            since:
              previous.recovery?.incidentToken === draft.incidentToken
                ? previous.recovery.since
                : iso(pass),
          },
    applied: {
      ...draft.applied,
      restartHash: pass.restartHash,
      renderVersion: seen.operator.renderVersion,
    },
    conditions: mergeConditions(conditionsOf(pass, draft, mode), previous.conditions ?? [], {
      now: iso(pass),
      generation,
    }),
  });
}

function iso({ nowMs }: Pass): string {
  return new Date(nowMs).toISOString().replace(/\.\d+Z$/, 'Z');
}

/** Ready for the kubelet, and not denied by the member itself. */
export function memberIsUp({ seen }: Pass): boolean {
  return isReady(seen.pod) && seen.member.isReady !== false;
}

function podIsUpdated({ seen, restartHash }: Pass): boolean {
  return seen.pod?.metadata.annotations?.[annotationKeys.restartHash] === restartHash;
}

function versionOf({ seen, spec, previous }: Pass): string | undefined {
  return spec.version ?? seen.member.version ?? previous.version;
}

function memberStatus(pass: Pass): MemberStatus {
  const { seen } = pass;
  const pod = seen.pod;
  const problem = podProblem(pod);
  const claim = seen.claims.find(({ metadata }) => metadata.name === pass.names.dataClaim(0));
  return pruned({
    name: pass.names.pod(0),
    ordinal: 0,
    role: 'leader',
    voter: true,
    ready: memberIsUp(pass),
    version: versionOf(pass),
    node: pod?.spec?.nodeName,
    zone: seen.node?.zone,
    volumeUid: claim?.metadata.uid,
    incarnation: pod === undefined ? undefined : incarnationOf(pod),
    restartHash: pod?.metadata.annotations?.[annotationKeys.restartHash],
    message: problem?.message.slice(0, 1024),
  });
}

function storageOf({ seen }: Pass, draft: Draft): ClusterStatus['storage'] {
  return seen.claims.map((claim) =>
    pruned({
      claim: claim.metadata.name,
      requested: claim.spec?.resources?.requests?.['storage'],
      capacity: claim.status?.capacity?.['storage'],
      state: draft.storage?.reason ?? claim.status?.phase,
    }),
  );
}

function endpointsOf({ cluster, spec, names }: Pass): ClusterStatus['endpoints'] {
  const at = (service: string, port: number) =>
    `http://${service}.${cluster.metadata.namespace ?? 'default'}.svc.${spec.clusterDomain}:${port}`;
  const { http, readWrite, readOnly } = spec.services;
  return pruned({
    http: at(names.http, http.port ?? spec.ports.http),
    readWrite: readWrite.enabled
      ? at(names.readWrite, readWrite.port ?? spec.ports.http)
      : undefined,
    readOnly: readOnly.enabled ? at(names.readOnly, readOnly.port ?? spec.ports.http) : undefined,
    headless: at(names.headless, spec.ports.http),
  });
}

function phaseOf(pass: Pass, draft: Draft, { isPaused, isDeleting }: Mode): string {
  if (isDeleting) return 'Deleting';
  if (isPaused) return 'Paused';
  if (draft.stalled?.reason === 'InvalidSpec') return 'Invalid';
  if (pass.spec.hibernate) return pass.seen.pod === undefined ? 'Hibernated' : 'Hibernating';
  switch (draft.operation?.type) {
    case 'Create':
      return 'Creating';
    case 'Upgrade':
      return 'Upgrading';
    case 'RollBack':
      return 'RollingBack';
    case 'Restart':
      return 'Updating';
    case 'Resume':
      return 'Resuming';
    default:
      break;
  }
  if (draft.storage !== undefined && draft.storage.reason !== 'NotExpandable') return 'Resizing';
  if (memberIsUp(pass)) return 'Running';
  return draft.lastGoodImage === undefined ? 'Creating' : 'Degraded';
}

function conditionsOf(pass: Pass, draft: Draft, mode: Mode): readonly WantedCondition[] {
  const { spec, seen } = pass;
  const isUp = memberIsUp(pass);
  const isHibernated = spec.hibernate && seen.pod === undefined;
  const stalled = draft.stalled ?? upgradeTrouble(pass, draft);
  const progress = stalled === undefined ? progressOf(pass, draft, mode) : undefined;
  const found: WantedCondition[] = [
    readyCondition(pass, { stalled, progress, isHibernated, mode }),
  ];
  if (progress !== undefined) found.push({ type: 'Reconciling', status: 'True', ...progress });
  if (stalled !== undefined) found.push({ type: 'Stalled', status: 'True', ...stalled });
  found.push(
    isUp
      ? truth('Available', 'LeaderReady', 'the member answers and takes writes')
      : untruth('Available', isHibernated ? 'Hibernated' : 'NoLeader', 'no member is ready'),
    isUp
      ? truth('FaultTolerant', 'Full', 'one member: as much as its number allows')
      : untruth('FaultTolerant', 'None', 'the only member is not ready'),
    configCondition(pass, draft),
    storageCondition(pass, draft),
  );
  if (spec.tls.http.enabled) found.push(certificateCondition(draft));
  if (spec.backup !== undefined) found.push(backupCondition(draft));
  const lastBackup = lastBackupCondition(pass, draft);
  if (lastBackup !== undefined) found.push(lastBackup);
  const topology = topologyCondition(pass.seen.pod === undefined ? [] : [memberStatus(pass)]);
  if (topology !== undefined) found.push(topology);
  if (isHibernated) found.push(truth('Hibernated', 'Hibernated', 'spec.hibernate is true'));
  if (mode.isPaused)
    found.push(truth('Paused', 'Paused', `annotation ${annotationKeys.reconcile}=paused`));
  const warnings = warningsOf(pass, draft);
  if (warnings.length > 0)
    found.push({
      type: 'SpecWarnings',
      status: 'True',
      reason: warnings[0]?.reason ?? '',
      message: warnings.map(({ message }) => message).join('; '),
    });
  if (draft.isTemplateOutdated && podIsUpdated(pass))
    found.push(
      truth(
        'TemplateOutdated',
        'TemplateOutdated',
        'pods take a newer template when they restart; spec.update.rollTemplate makes them',
      ),
    );
  return found;
}

function truth(type: string, reason: string, message: string): WantedCondition {
  return { type, status: 'True', reason, message };
}

function untruth(type: string, reason: string, message: string): WantedCondition {
  return { type, status: 'False', reason, message };
}

function upgradeTrouble(pass: Pass, draft: Draft): Draft['stalled'] {
  if (draft.failedImage === undefined) return undefined;
  return {
    reason: 'UpgradeFailed',
    message: `image ${draft.failedImage} did not get ready within spec.update.progressDeadlineSeconds; running ${draft.lastGoodImage ?? pass.image} until spec.image changes`,
  };
}

function progressOf(pass: Pass, draft: Draft, mode: Mode): Draft['progress'] {
  if (mode.isPaused) return undefined;
  if (draft.progress !== undefined) return draft.progress;
  if (pass.spec.hibernate && pass.seen.pod !== undefined)
    return { reason: 'Hibernating', message: 'the member is ending' };
  if (draft.operation !== undefined)
    return { reason: draft.operation.type, message: `step ${draft.operation.step}` };
  if (draft.storage !== undefined && draft.storage.reason !== 'NotExpandable') return draft.storage;
  return undefined;
}

function readyCondition(
  pass: Pass,
  given: {
    readonly stalled: Draft['stalled'];
    readonly progress: Draft['progress'];
    readonly isHibernated: boolean;
    readonly mode: Mode;
  },
): WantedCondition {
  const { stalled, progress, isHibernated, mode } = given;
  const no = (reason: string, message: string) => untruth('Ready', reason, message);
  if (mode.isDeleting) return no('Deleting', 'the Cluster is being deleted');
  if (stalled !== undefined) return no(stalled.reason, stalled.message);
  if (progress !== undefined) return no(progress.reason, progress.message);
  if (isHibernated) return truth('Ready', 'Hibernated', 'no pods, as spec.hibernate asks');
  if (memberIsUp(pass)) return truth('Ready', 'AllMembersReady', 'the member is ready');
  return no('MemberUnhealthy', podProblem(pass.seen.pod)?.message ?? 'the member is not ready');
}

/** Claims that were never bound hold nothing; those of a hibernated Cluster are there. */
function storageCondition({ seen, spec }: Pass, draft: Draft): WantedCondition {
  if (draft.storage !== undefined)
    return { type: 'StorageReady', status: 'False', ...draft.storage };
  if (spec.ephemeral) return truth('StorageReady', 'Ephemeral', 'data lives as long as its pod');
  const unbound = seen.claims.filter(({ status }) => status?.phase !== 'Bound');
  if (unbound.length === 0 && seen.claims.length > 0)
    return truth('StorageReady', 'Ready', 'volumes have the size that is asked for');
  const names = unbound.map(({ metadata }) => metadata.name).join(', ');
  return untruth(
    'StorageReady',
    'Pending',
    names === '' ? 'the claim is not there yet' : `${names} is not bound yet`,
  );
}

function configCondition(pass: Pass, draft: Draft): WantedCondition {
  if (draft.hotProblem !== undefined)
    return untruth('ConfigApplied', 'HotApplyFailed', draft.hotProblem);
  if (draft.pendingRestart !== undefined)
    return untruth('ConfigApplied', 'RestartPending', draft.pendingRestart);
  if (pass.seen.pod === undefined)
    return pass.spec.hibernate
      ? truth(
          'ConfigApplied',
          'Hibernated',
          'no member runs; it starts with the settings of the spec',
        )
      : untruth('ConfigApplied', 'Pending', 'no member runs yet');
  if (!podIsUpdated(pass))
    return untruth('ConfigApplied', 'RestartPending', 'the member restarts with the new settings');
  return truth('ConfigApplied', 'Applied', 'the member runs with the settings of the spec');
}

function certificateCondition({ certificates, certificateProblem }: Draft): WantedCondition {
  if (certificateProblem !== undefined)
    return untruth('CertificatesValid', 'NotValid', certificateProblem);
  return certificates === undefined
    ? untruth('CertificatesValid', 'Pending', 'certificates are being made')
    : truth('CertificatesValid', 'Valid', `until ${certificates.at(-1)?.notAfter ?? ''}`);
}

/** Names only. */
function certificateSecrets({ cluster, spec, names }: Pass): { ca?: string; tls?: string } {
  const served = servedSecret(cluster.metadata.name, spec);
  if (served === undefined) return {};
  return served.isGiven ? { tls: served.name } : { ca: names.ca, tls: served.name };
}

function backupCondition(draft: Draft): WantedCondition {
  const hash = draft.applied.backupHash;
  if (isUnsupported(hash))
    return untruth(
      'BackupConfigured',
      'UnsupportedByServer',
      'backup.json is written, but the server of this image has no backup scheduler',
    );
  return hash === undefined
    ? untruth('BackupConfigured', 'Pending', 'the member has not taken over spec.backup yet')
    : truth('BackupConfigured', 'Configured', 'the member runs the schedules of spec.backup');
}

/** The server asks for a user by default, and monitors carry none. */
const scrapeUserKey = 'service.prometheus.requireAuthentication';

function warningsOf(pass: Pass, draft: Draft): Draft['warnings'] {
  const { spec } = pass;
  const found = [...draft.warnings];
  if (isUnsupported(draft.applied.mcpHash))
    found.push({
      reason: 'McpUnsupported',
      message: 'spec.mcp has no effect: the image has no tool server',
    });
  const warn = (reason: string, message: string) => found.push({ reason, message });
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

/** Without fields that are undefined, so that the status equals what the API server gives back. */
function pruned<T extends object>(fields: T): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}
