import { conditionOf, mergeConditions } from '../api/conditions.ts';
import type { WantedCondition } from '../api/conditions.ts';
import type { ClusterStatus, MemberStatus } from '../api/cluster-status.ts';
import type { StallReason } from '../api/decision.ts';
import { annotationKeys } from '../api/names.ts';
import type { ObservedMember } from '../api/observation.ts';
import { lastBackupCondition } from './backup-status.ts';
import { majority, memberIsUp } from './group/group-view.ts';
import { lacksQuorum } from './group/lost-quorum.ts';
import type { GroupView } from './group/group-view.ts';
import { impairment, memberTrouble } from './group/member-trouble.ts';
import { contributing } from './group/predicates.ts';
import { hasPods } from './pass.ts';
import type { Draft, Pass, Trouble } from './pass.ts';
import { topologyCondition } from './topology.ts';
import { hasCertificates, servedSecret } from '../resources/certificates.ts';
import { incarnationOf, podProblem } from '../resources/pod-state.ts';
import { warningsOf } from './spec-warnings.ts';
import { isUnsupported } from './steps/apply-settings.ts';
import { factsOf } from './steps/recover-quorum.ts';

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
  const { group } = pass;
  const version = versionOf(pass);
  const phase = phaseOf(pass, draft, mode);
  const count = countMembers(pass);
  // While paused nothing is done about a newer spec, so it does not count as seen.
  const observedGeneration = mode.isPaused ? (previous.observedGeneration ?? 0) : generation;
  return pruned({
    observedGeneration,
    operator: seen.operator.identity,
    phase,
    ...count,
    selector: `app.kubernetes.io/name=polyad,app.kubernetes.io/instance=${cluster.metadata.name}`,
    leader: group.leader?.name,
    leaderPeerId: group.kind === 'known' ? group.leader?.peerId : undefined,
    term: group.term ?? previous.term,
    commitIndex: group.leader?.raft?.commitIndex ?? previous.commitIndex,
    configurationIndex: group.configurationIndex,
    version,
    image: pass.image,
    lastGoodImage: draft.lastGoodImage,
    failedImage: draft.failedImage,
    members: seen.members.filter(isShown).map((member) => memberStatus(pass, member)),
    operation: draft.operation,
    upgrade: upgradeOf(pass, draft),
    storage: storageOf(pass, draft),
    certificates: draft.certificates,
    backups: draft.backups,
    endpoints: endpointsOf(pass),
    secrets: {
      root: spec.auth.rootPassword?.secretName ?? names.root,
      token: names.token,
      ...certificateSecrets(pass),
    },
    recovery: recoveryOf(pass, draft),
    failedJoin: draft.failedJoin,
    applied: {
      ...draft.applied,
      restartHash: pass.restartHash,
      renderVersion: seen.operator.renderVersion,
    },
    conditions: mergeConditions(conditionsOf(pass, draft, mode, phase), previous.conditions ?? [], {
      now: iso(pass),
      generation: observedGeneration,
    }),
  });
}

function iso({ nowMs }: Pass): string {
  return new Date(nowMs).toISOString().replace(/\.\d+Z$/, 'Z');
}

/** A lost quorum is told of before a volume: nothing is approved without it. */
function recoveryOf(pass: Pass, { quorum, incidentToken }: Draft): ClusterStatus['recovery'] {
  const { recovery } = pass.previous;
  if (quorum !== undefined)
    return pruned({
      incidentToken: quorum.token,
      since: quorum.since,
      candidates: [...quorum.candidates],
    });
  if (incidentToken === undefined) return undefined;
  const isKnown = recovery?.incidentToken === incidentToken;
  return pruned({ incidentToken, since: isKnown ? recovery.since : iso(pass) });
}

function upgradeOf({ wantedImage }: Pass, draft: Draft): ClusterStatus['upgrade'] {
  const { operation } = draft;
  const isBack = operation?.type === 'RollBack';
  if (operation === undefined || !(isBack || operation.type === 'Upgrade')) return undefined;
  const [from, to] = isBack
    ? [draft.failedImage, draft.lastGoodImage]
    : [draft.lastGoodImage, wantedImage];
  const phase = isBack ? 'RollingBack' : (draft.upgradePhase ?? 'Rolling');
  const { canary, oneWay, newFeatures } = draft;
  return pruned({
    from,
    to,
    phase,
    startedAt: operation.startedAt,
    canary,
    oneWay: isBack ? undefined : oneWay?.slice(0, 512),
    features: isBack || newFeatures.length === 0 ? undefined : [...newFeatures],
  });
}

function isShown({ pod }: ObservedMember): boolean {
  return pod !== undefined;
}

/** What can be said of the members in numbers; voters that nobody can count now stay what they were. */
function countMembers({ seen, spec, group, facts, previous, restartHash }: Pass) {
  const pods = seen.members.slice(0, spec.replicas).filter(isShown);
  const voters = spec.hibernate
    ? 0
    : group.kind === 'unknown'
      ? (previous.voters ?? 0)
      : group.voters.length;
  const healthyVoters = seen.members.filter(
    (member) => memberIsUp(member) && isVoterNow(group, member),
  ).length;
  const contributors = seen.members.filter((member) => contributing(member, facts)).length;
  return {
    replicas: pods.length,
    readyReplicas: pods.filter(memberIsUp).length,
    updatedReplicas: pods.filter(({ pod }) => podHash(pod) === restartHash).length,
    voters,
    learners: group.learners.length,
    healthyVoters,
    faultTolerance:
      group.kind === 'unknown' ? 0 : Math.max(0, contributors - majority(Math.max(1, voters))),
  };
}

function isVoterNow(group: GroupView, { peerId, ordinal }: ObservedMember): boolean {
  return group.kind === 'solo' ? ordinal === 0 : group.voters.includes(peerId);
}

function podHash(pod: ObservedMember['pod']): string | undefined {
  return pod?.metadata.annotations?.[annotationKeys.restartHash];
}

/** Every member that is there runs with what the spec says. */
function podIsUpdated({ seen, restartHash }: Pass): boolean {
  return seen.members.filter(isShown).every(({ pod }) => podHash(pod) === restartHash);
}

function versionOf({ seen, spec, previous, group }: Pass): string | undefined {
  const said = (group.leader ?? seen.members[0])?.view.version;
  return spec.version ?? said ?? previous.version;
}

function memberStatus(pass: Pass, member: ObservedMember): MemberStatus {
  const { seen, group, previous } = pass;
  const { pod, name, ordinal, peerId, node, view } = member;
  const claim = seen.claims.find(({ metadata }) => metadata.name === pass.names.dataClaim(ordinal));
  const before = previous.members?.find((entry) => entry.name === name);
  const isKnown = group.kind === 'known';
  const peer = group.peers.get(peerId);
  const isSolo = group.kind === 'solo' && ordinal === 0;
  return pruned({
    name,
    ordinal,
    peerId: isKnown ? peerId : undefined,
    role: isSolo ? 'leader' : roleOf(group, peerId),
    voter: isSolo || peer?.isVoter === true || (group.kind === 'unknown' && before?.voter === true),
    inConfiguration: isKnown ? peer !== undefined : undefined,
    ready: memberIsUp(member),
    version: isSolo
      ? versionOf(pass)
      : (view.version ?? peer?.version ?? before?.version ?? previous.version),
    node: pod?.spec?.nodeName,
    zone: node?.zone,
    lag: isKnown && peer?.lag !== undefined ? bucketOf(peer.lag) : undefined,
    state: peer?.status,
    learnerSince:
      peer?.isVoter === false || (!isKnown && before?.learnerSince !== undefined)
        ? (before?.learnerSince ?? iso(pass))
        : undefined,
    volumeUid: claim?.metadata.uid,
    storageId: member.raft?.storageId ?? before?.storageId,
    incarnation: pod === undefined ? undefined : incarnationOf(pod),
    restartHash: podHash(pod),
    message: (podProblem(pod)?.message ?? memberTrouble(member, group))?.slice(0, 1024),
  });
}

function roleOf(group: GroupView, peerId: string): string {
  if (group.learners.includes(peerId)) return 'learner';
  if (!group.voters.includes(peerId)) return 'unknown';
  return group.leader?.peerId === peerId ? 'leader' : 'follower';
}

/** Every entry would be a write of the status; a size is enough. */
function bucketOf(lag: number): string {
  if (lag < 0) return 'unknown';
  for (const [limit, word] of [
    [0, '0'],
    [100, '<=100'],
    [1000, '<=1k'],
    [10_000, '<=10k'],
  ] as const)
    if (lag <= limit) return word;
  return 'more';
}

/** A leader is there and a majority answers: writes are taken. */
function isAvailable({ group }: Pass): boolean {
  return group.leader !== undefined;
}

/** Every wanted member is there, ready and a part of the group. */
function isWhole({ seen, group, spec, wanted }: Pass): boolean {
  if (!isAvailableGroup(group)) return false;
  return seen.members.slice(0, Math.max(1, wanted)).every((member) => {
    if (!memberIsUp(member)) return false;
    if (group.kind === 'solo') return member.ordinal === 0;
    const peer = group.peers.get(member.peerId);
    return member.ordinal < spec.replicas ? peer?.isVoter === true : peer !== undefined;
  });
}

function isAvailableGroup(group: GroupView): boolean {
  return group.kind !== 'unknown' && group.leader !== undefined;
}

function storageOf({ seen }: Pass, draft: Draft): ClusterStatus['storage'] {
  return seen.claims.map((claim) =>
    pruned({
      claim: claim.metadata.name,
      requested: claim.spec?.resources?.requests?.['storage'],
      capacity: claim.status?.capacity?.['storage'],
      state:
        draft.storage.find(({ claim: name }) => name === claim.metadata.name)?.reason ??
        claim.status?.phase,
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
  if (pass.spec.hibernate) return hasPods(pass) ? 'Hibernating' : 'Hibernated';
  if (draft.progress?.reason === 'Restoring') return 'Restoring';
  switch (draft.operation?.type) {
    case 'Create':
      return 'Creating';
    case 'Scale':
      return 'Scaling';
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
  if (growing(draft) !== undefined) return 'Resizing';
  if (isWhole(pass)) return 'Running';
  if (draft.lastGoodImage === undefined) return 'Creating';
  return lacksQuorum(factsOf(pass)) ? 'NoQuorum' : 'Degraded';
}

function conditionsOf(
  pass: Pass,
  draft: Draft,
  mode: Mode,
  phase: string,
): readonly WantedCondition[] {
  const { spec } = pass;
  const isHibernated = spec.hibernate && !hasPods(pass);
  const stalled = draft.stalled ?? upgradeTrouble(pass, draft) ?? stalledBefore(pass, mode);
  const progress = stalled === undefined ? progressOf(pass, draft, mode) : undefined;
  const found: WantedCondition[] = [
    readyCondition(pass, { stalled, progress, isHibernated, mode }),
  ];
  if (progress !== undefined)
    found.push({
      type: 'Reconciling',
      status: 'True',
      // The word of the phase (operator.md 3.6); what is under way in a Cluster that runs has a word of its own.
      reason: phase === 'Running' ? progress.reason : phase,
      message: progress.message,
    });
  if (stalled !== undefined) found.push({ type: 'Stalled', status: 'True', ...stalled });
  found.push(
    availableCondition(pass, isHibernated),
    toleranceCondition(pass),
    configCondition(pass, draft),
    storageCondition(pass, draft),
  );
  if (hasCertificates(spec)) found.push(certificateCondition(draft));
  if (spec.backup !== undefined) found.push(backupCondition(draft));
  const lastBackup = lastBackupCondition(pass, draft);
  if (lastBackup !== undefined) found.push(lastBackup);
  const topology = topologyCondition(
    pass.seen.members.filter(isShown).map((member) => memberStatus(pass, member)),
  );
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

function availableCondition(pass: Pass, isHibernated: boolean): WantedCondition {
  if (isHibernated) return untruth('Available', 'Hibernated', 'no member is ready');
  const { group, seen } = pass;
  if (group.kind === 'known')
    return truth('Available', 'LeaderReady', 'a leader is there and a majority follows it');
  if (isAvailable(pass))
    return truth('Available', 'LeaderReady', 'the member answers and takes writes');
  if (!lacksQuorum(factsOf(pass)))
    return untruth(
      'Available',
      'NoLeader',
      group.kind === 'solo' || seen.members.length === 1 ? 'no member is ready' : group.why,
    );
  const missing = seen.members.filter(({ raft }) => raft === undefined).map(absence);
  return untruth('Available', 'NoQuorum', `a majority is missing: ${missing.join('; ')}`);
}

/** Why a member does not answer, as far as Kubernetes says. */
function absence({ name, pod, node }: ObservedMember): string {
  if (pod === undefined) return `${name} has no pod`;
  if (node !== undefined && !node.isReady)
    return `${name}: node ${node.name} is ${node.exists ? 'not ready' : 'gone'}`;
  if (pod.metadata.deletionTimestamp !== undefined) return `${name} is ending`;
  return `${name}: ${podProblem(pod)?.message ?? 'does not answer'}`;
}

function toleranceCondition(pass: Pass): WantedCondition {
  const { group, facts, seen } = pass;
  const voters = group.voters.length;
  if (voters <= 1 || group.kind !== 'known')
    return isAvailable(pass)
      ? truth('FaultTolerant', 'Full', 'one member: as much as its number allows')
      : untruth(
          'FaultTolerant',
          'None',
          seen.members.length === 1 ? 'the only member is not ready' : 'no leader is known',
        );
  const impaired = seen.members.filter((member) => impairment(member) !== undefined);
  const isWhole = (member: ObservedMember) =>
    contributing(member, facts) && !impaired.includes(member);
  const there = seen.members.filter(isWhole).length;
  const full = voters - majority(voters);
  const rest = Math.max(0, there - majority(voters));
  const troubles = impaired.map((member) => `; ${member.name} ${impairment(member) ?? ''}`);
  const message = `${there} of ${voters} voters: ${rest} may be lost${troubles.join('')}`;
  if (rest >= full) return truth('FaultTolerant', 'Full', message);
  return untruth('FaultTolerant', rest > 0 ? 'Reduced' : 'None', message);
}

function truth(type: string, reason: string, message: string): WantedCondition {
  return { type, status: 'True', reason, message };
}

function untruth(type: string, reason: string, message: string): WantedCondition {
  return { type, status: 'False', reason, message };
}

/** While paused nobody looks whether it has ended. */
function stalledBefore({ previous }: Pass, { isPaused }: Mode): Draft['stalled'] {
  const before = isPaused ? conditionOf(previous.conditions, 'Stalled') : undefined;
  return before && { reason: before.reason as StallReason, message: before.message };
}

/** What members that are up again end, also while nothing else is looked at. */
const healthReasons: ReadonlySet<string> = new Set(['MemberUnhealthy', 'NoLeader', 'NoQuorum']);

/** What was on its way to the spec when a pause began: members that are ready are no sign that it has arrived. */
function unreachedBefore({ previous }: Pass): WantedCondition | undefined {
  const ready = conditionOf(previous.conditions, 'Ready');
  return ready?.status === 'False' && !healthReasons.has(ready.reason) ? ready : undefined;
}

function upgradeTrouble(pass: Pass, draft: Draft): Draft['stalled'] {
  const { failedImage } = draft;
  if (failedImage === undefined) return undefined;
  const before = conditionOf(pass.previous.conditions, 'Stalled');
  // What was found when it was taken back is not found again.
  if (pass.previous.failedImage === failedImage && before?.reason === 'UpgradeFailed')
    return { reason: 'UpgradeFailed', message: before.message };
  return {
    reason: 'UpgradeFailed',
    message: `image ${failedImage} is not taken on; running ${draft.lastGoodImage ?? pass.image} until spec.image changes`,
  };
}

function progressOf(pass: Pass, draft: Draft, mode: Mode): Draft['progress'] {
  if (mode.isPaused) return undefined;
  if (draft.progress !== undefined) return draft.progress;
  if (pass.spec.hibernate && hasPods(pass))
    return { reason: 'Hibernating', message: 'the members are ending' };
  if (draft.operation !== undefined)
    return { reason: draft.operation.type, message: `step ${draft.operation.step}` };
  return growing(draft);
}

/** A claim on its way to its size. */
function growing({ storage }: Draft): Trouble | undefined {
  const found = storage.find(({ reason }) => reason !== 'NotExpandable');
  return found && { reason: found.reason, message: found.message };
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
  const unreached = mode.isPaused ? unreachedBefore(pass) : undefined;
  if (unreached !== undefined) return unreached;
  if (isHibernated) return truth('Ready', 'Hibernated', 'no pods, as spec.hibernate asks');
  if (isWhole(pass))
    return truth(
      'Ready',
      'AllMembersReady',
      pass.wanted === 1 ? 'the member is ready' : `all ${pass.wanted} members are ready`,
    );
  return notWhole(pass);
}

/** Claims that were never bound hold nothing; those of a hibernated Cluster are there. */
function storageCondition({ seen, spec }: Pass, draft: Draft): WantedCondition {
  const [first] = draft.storage;
  if (first !== undefined) {
    const message = draft.storage.map((one) => one.message).join('; ');
    return untruth('StorageReady', first.reason, message);
  }
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

function notWhole(pass: Pass): WantedCondition {
  const { seen, group, wanted } = pass;
  const down = seen.members.slice(0, Math.max(1, wanted)).find((member) => !memberIsUp(member));
  if (down === undefined)
    return untruth('Ready', lacksQuorum(factsOf(pass)) ? 'NoQuorum' : 'NoLeader', group.why);
  const message = podProblem(down.pod)?.message;
  const subject = wanted <= 1 ? 'the member' : down.name;
  return untruth('Ready', 'MemberUnhealthy', message ?? `${subject} is not ready`);
}

function configCondition(pass: Pass, draft: Draft): WantedCondition {
  if (draft.hotProblem !== undefined)
    return untruth('ConfigApplied', 'HotApplyFailed', draft.hotProblem);
  if (draft.pendingRestart !== undefined)
    return untruth('ConfigApplied', 'RestartPending', draft.pendingRestart);
  if (!hasPods(pass))
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

/** Without fields that are undefined, so that the status equals what the API server gives back. */
function pruned<T extends object>(fields: T): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}
