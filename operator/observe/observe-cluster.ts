import { createHash } from 'node:crypto';
import type { ClusterObject } from '../api/cluster.ts';
import { parseSpec } from '../api/cluster.ts';
import { conditionOf } from '../api/conditions.ts';
import type { RestoreObject } from '../api/kinds/restore.ts';
import type { ClusterSpec } from '../api/cluster-spec.ts';
import type {
  Claim,
  ConfigMap,
  Job,
  KubernetesObject,
  Secret,
  StatefulSet,
  StorageClass,
} from '../api/kubernetes-object.ts';
import {
  annotationKeys,
  labelKeys,
  monitorKinds,
  objectNames,
  rootPasswordKey,
  tokenKey,
  volumeIdentityKey,
} from '../api/names.ts';
import type {
  ObservedPassword,
  ObservedSecrets,
  Observation,
  OperatorFacts,
} from '../api/observation.ts';
import { expectedObjects } from '../resources/expected-objects.ts';
import { bootstrapName } from '../resources/bootstrap.ts';
import { claimOrdinal } from '../resources/claims.ts';
import { wantedSizes } from '../resources/stateful-set.ts';
import { readCertificates } from './certificates.ts';
import { readPrechecks } from './read-prechecks.ts';
import type { ClusterReader } from './cluster-reader.ts';
import type { DatabaseClient } from './database-client.ts';
import type { MemberPoller } from './member-poller.ts';
import type { LeaderWatch } from './leader-watch.ts';
import { leaderWord } from './leader-polls.ts';
import type { LeaderWord } from './leader-polls.ts';
import { readMembers, silentMembers } from './read-members.ts';

export interface Observers {
  readonly reader: ClusterReader;
  readonly databases: DatabaseClient;
  readonly facts: OperatorFacts;
  /** Asks between looks whether the leader still leads. */
  readonly poller?: MemberPoller | undefined;
  readonly leaders?: Pick<LeaderWatch, 'note'> | undefined;
}

/** What this process remembers about a Cluster between looks; all of it may be lost at any time. */
export type Remembered = Pick<
  Observation,
  | 'settled'
  | 'rejections'
  | 'done'
  | 'running'
  | 'groupCall'
  | 'leaderForMs'
  | 'silentForMs'
  | 'learners'
>;

export type Recall = (
  objects: ReadonlyMap<string, KubernetesObject>,
  said: {
    /** Of the one that leads, as far as anybody says so. */
    readonly leader: LeaderWord | undefined;
    /** Entries that a learner that has caught up may lack. */
    readonly lagMax: number;
    /** Names of members that are ready and were asked in vain. */
    readonly silent: readonly string[];
  },
) => Remembered;

/** Reads the world around one Cluster: caches, a few objects the caches cannot hold, and the members themselves. */
export async function observeCluster(
  cluster: ClusterObject,
  recall: Recall,
  observers: Observers,
): Promise<Observation> {
  const { reader, facts, leaders } = observers;
  const { name, namespace } = cluster.metadata;
  const { spec } = parseSpec(cluster);
  const present = new Set(monitorKinds.filter((kind) => reader.canRead(kind, namespace)));
  const objects = spec === undefined ? new Map() : await readObjects(cluster, spec, reader);
  const names = objectNames(name);
  const statefulSet = objects.get(`StatefulSet/${names.statefulSet}`) as StatefulSet | undefined;
  const claims = await readClaims(cluster, spec, { reader, statefulSet });
  const secrets = await readSecrets(cluster, spec, reader);
  const { password } = secrets;
  const certificates = await readCertificates(cluster, spec, reader);
  const reach = { cluster, spec, certificates };
  const question = { ...reach, statefulSet, password };
  const members = await readMembers(observers, question);
  leaders?.note(reach, { members, password });
  const jobs = reader.canRead('Job', namespace)
    ? ((await reader.list('Job', namespace, name)) as readonly Job[])
    : undefined;
  return {
    cluster,
    operator: facts,
    objects,
    ...recall(objects, {
      leader: leaderWord(members),
      lagMax: spec?.readiness.maxLag ?? 0,
      silent: silentMembers(observers.databases, question, members),
    }),
    statefulSet,
    membersRecord: objects.get(`ConfigMap/${names.members}`) as ConfigMap | undefined,
    secrets: secrets.observed,
    certificates,
    members,
    claims: ownClaims(name, claims),
    jobs,
    prechecks: await readPrechecks(reader, cluster, jobs ?? []),
    monitorKinds: present,
    hasCertManager: reader.canRead('Certificate', namespace),
    bootstrap: await readBootstrap(reader, cluster, spec),
    isExpandable: await readExpandable(reader, cluster, spec, claims),
    isNamespaceTerminating: await readTerminating(reader, cluster, spec),
  };
}

/** Those of a release that is taken over have no label of ours before the first look at them. */
async function readClaims(
  { metadata: { name, namespace } }: ClusterObject,
  spec: ClusterSpec | undefined,
  {
    reader,
    statefulSet,
  }: { readonly reader: ClusterReader; readonly statefulSet: StatefulSet | undefined },
): Promise<readonly Claim[]> {
  const labelled = await reader.list('PersistentVolumeClaim', namespace, name);
  const wanted =
    (statefulSet?.spec?.replicas ?? 0) * (statefulSet?.spec?.volumeClaimTemplates?.length ?? 0);
  if (spec?.bootstrap?.fromRelease === undefined || labelled.length >= wanted)
    return labelled as readonly Claim[];
  return (await reader.listRelease('PersistentVolumeClaim', namespace, name)) as readonly Claim[];
}

/** Claims of the templates of this Cluster, not those that a user made with our label. */
function ownClaims(cluster: string, claims: readonly Claim[]): readonly Claim[] {
  return claims.filter(({ metadata }) => claimOrdinal(cluster, metadata.name) !== undefined);
}

async function readObjects(
  cluster: ClusterObject,
  spec: ClusterSpec,
  reader: ClusterReader,
): Promise<Map<string, KubernetesObject>> {
  const { name, namespace } = cluster.metadata;
  const found = new Map<string, KubernetesObject>();
  for (const { kind, name: objectName, isWanted } of expectedObjects(name, spec)) {
    if (!reader.canRead(kind, namespace)) continue;
    let object = await reader.get(kind, namespace, objectName);
    // Caches hold what carries our label; a stranger under a name that we want shows only when asked for.
    if (object === undefined && isWanted && cluster.metadata.deletionTimestamp === undefined)
      object = await reader.getLive(kind, namespace, objectName);
    const isOurs = object?.metadata.labels?.[labelKeys.cluster] === name;
    if (object !== undefined && (isWanted || isOurs)) found.set(`${kind}/${objectName}`, object);
  }
  return found;
}

/** What is known of the Secrets of a Cluster, and the password that its members are known to take. */
export async function readSecrets(
  cluster: ClusterObject,
  spec: ClusterSpec | undefined,
  reader: ClusterReader,
): Promise<{ readonly observed: ObservedSecrets; readonly password: string | undefined }> {
  const { name, namespace } = cluster.metadata;
  const names = objectNames(name);
  const given = spec?.auth.rootPassword ?? { secretName: names.root, key: rootPasswordKey };
  const givenToken = spec?.auth.clusterToken;
  const ofUser = [spec?.auth.rootPassword?.secretName, givenToken?.secretName];
  const read = async (secretName: string) =>
    (await (ofUser.includes(secretName)
      ? reader.getGiven(namespace, secretName)
      : reader.get('Secret', namespace, secretName))) as Secret | undefined;
  const root = secretText(await read(given.secretName), given.key);
  const applied = secretText(await read(names.rootApplied), rootPasswordKey);
  // A release made it, without an identity of volumes: what its members share tells them from others.
  const isReleased = spec?.bootstrap?.fromRelease !== undefined;
  const token = isReleased
    ? ((await reader.get('Secret', namespace, names.token)) ??
      (await reader.getLive('Secret', namespace, names.token)))
    : await read(names.token);
  const shared = firstLine(
    givenToken === undefined ? token : await read(givenToken.secretName),
    givenToken?.key ?? tokenKey,
  );
  const lines = await read(names.tokenApplied);
  return {
    password: applied ?? root,
    observed: {
      root: observedPassword(given.secretName, root),
      applied: observedPassword(names.rootApplied, applied),
      wantedToken:
        shared === undefined || shared === ''
          ? undefined
          : { secretName: givenToken?.secretName ?? names.token, hash: hashOf(shared) },
      appliedToken: appliedToken(lines),
      token: token && {
        volumeIdentity:
          secretText(token, volumeIdentityKey) ??
          (isReleased ? identityOf(secretText(token, tokenKey)) : undefined),
      },
    },
  };
}

function identityOf(token: string | undefined): string | undefined {
  return token && createHash('sha256').update(`volumes of ${token}`).digest('hex').slice(0, 32);
}

export function secretText(secret: Secret | undefined, key: string): string | undefined {
  const encoded = secret?.data?.[key];
  // The server trims the file that it reads the password from.
  return encoded === undefined ? undefined : Buffer.from(encoded, 'base64').toString('utf8').trim();
}

/** The token that a Secret of the user names; what else stands there is none of ours. */
export function firstLine(secret: Secret | undefined, key: string): string | undefined {
  return secretText(secret, key)?.split('\n')[0]?.trim();
}

/** Enough to see a difference, useless otherwise. */
export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** The lines of the Secret that members read. */
export function tokenLines(secret: Secret | undefined): readonly string[] {
  return (secretText(secret, tokenKey) ?? '').split('\n').filter((line) => line !== '');
}

function appliedToken(secret: Secret | undefined): ObservedSecrets['appliedToken'] {
  if (secret === undefined) return undefined;
  const since = Date.parse(secret.metadata.annotations?.[annotationKeys.tokenSince] ?? '');
  const sinceMs = Number.isNaN(since) ? undefined : since;
  return { hashes: tokenLines(secret).map(hashOf), sinceMs };
}

function observedPassword(
  secretName: string,
  password: string | undefined,
): ObservedPassword | undefined {
  if (password === undefined) return undefined;
  return { secretName, hash: hashOf(password), lengthInCharacters: [...password].length };
}

async function readBootstrap(
  reader: ClusterReader,
  { metadata }: ClusterObject,
  spec: ClusterSpec | undefined,
): Promise<Observation['bootstrap']> {
  if (spec?.bootstrap?.fromBackup === undefined) return undefined;
  const name = bootstrapName(metadata.name);
  const found = (await reader.get('Restore', metadata.namespace, name)) as
    | RestoreObject
    | undefined;
  if (found === undefined) return undefined;
  const ready = conditionOf(found.status?.conditions, 'Ready');
  return { phase: found.status?.phase, message: ready?.message ?? 'it has not begun yet' };
}

/** Asked only of classes of which something has to grow. */
async function readExpandable(
  reader: ClusterReader,
  { metadata }: ClusterObject,
  spec: ClusterSpec | undefined,
  claims: readonly Claim[],
): Promise<ReadonlyMap<string, boolean>> {
  const found = new Map<string, boolean>();
  for (const [template, size] of spec === undefined ? [] : wantedSizes(spec))
    for (const { metadata: own, spec: claim } of claims) {
      const className = claim?.storageClassName;
      const isOfTemplate = own.name.startsWith(`${template}-${metadata.name}-`);
      const isOther = claim?.resources?.requests?.['storage'] !== size;
      if (!isOfTemplate || !isOther || className === undefined || found.has(className)) continue;
      const isExpandable = await readClass(reader, className);
      if (isExpandable !== undefined) found.set(className, isExpandable);
    }
  return found;
}

/** @returns undefined where it is not there, or may not be read */
async function readClass(reader: ClusterReader, name: string): Promise<boolean | undefined> {
  try {
    const found = await reader.get('StorageClass', undefined, name);
    return found && ((found as StorageClass).allowVolumeExpansion ?? false);
  } catch {
    return undefined;
  }
}

async function readTerminating(
  reader: ClusterReader,
  { metadata }: ClusterObject,
  spec: ClusterSpec | undefined,
): Promise<boolean> {
  if (metadata.deletionTimestamp === undefined || metadata.namespace === undefined) return false;
  if (spec?.deletionPolicy !== 'BackupThenDelete') return false;
  try {
    const found = await reader.getLive('Namespace', undefined, metadata.namespace);
    return found?.metadata.deletionTimestamp !== undefined;
  } catch {
    return false;
  }
}
