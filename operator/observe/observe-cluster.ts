import { createHash } from 'node:crypto';
import type { ClusterObject } from '../api/cluster.ts';
import { parseSpec } from '../api/cluster.ts';
import type { ClusterSpec } from '../api/cluster-spec.ts';
import type {
  Claim,
  ConfigMap,
  Job,
  KubernetesObject,
  Node,
  Pod,
  Secret,
  StatefulSet,
  StorageClass,
} from '../api/kubernetes-object.ts';
import {
  labelKeys,
  monitorKinds,
  objectNames,
  rootPasswordKey,
  volumeIdentityKey,
} from '../api/names.ts';
import { unknownMember } from '../api/observation.ts';
import type {
  MemberView,
  ObservedNode,
  ObservedPassword,
  ObservedSecrets,
  Observation,
  OperatorFacts,
} from '../api/observation.ts';
import { expectedObjects } from '../resources/expected-objects.ts';
import { memberNeeds } from '../resources/member-needs.ts';
import { incarnationOf, isReady } from '../resources/pod-state.ts';
import { readCertificates } from './certificates.ts';
import type { ClusterReader } from './cluster-reader.ts';
import { MemberError } from './database-client.ts';
import type { DatabaseClient, Member } from './database-client.ts';

export interface Observers {
  readonly reader: ClusterReader;
  readonly databases: DatabaseClient;
  readonly facts: OperatorFacts;
}

/** What this process remembers about a Cluster between looks; all of it may be lost at any time. */
export type Remembered = Pick<Observation, 'settled' | 'rejections' | 'done'>;

/** Reads the world around one Cluster: caches, a few objects the caches cannot hold, and the member itself. */
export async function observeCluster(
  cluster: ClusterObject,
  remembered: (objects: ReadonlyMap<string, KubernetesObject>) => Remembered,
  observers: Observers,
): Promise<Observation> {
  const { reader, facts } = observers;
  const { name, namespace } = cluster.metadata;
  const { spec } = parseSpec(cluster);
  const present = new Set(monitorKinds.filter((kind) => reader.canRead(kind, namespace)));
  const objects = spec === undefined ? new Map() : await readObjects(cluster, spec, reader);
  const pods = (await reader.list('Pod', namespace, name)) as readonly Pod[];
  const names = objectNames(name);
  const statefulSet = objects.get(`StatefulSet/${names.statefulSet}`) as StatefulSet | undefined;
  const pod =
    pods.find(({ metadata }) => metadata.name === names.pod(0)) ??
    (await readUnlabelledPod(reader, statefulSet, names.pod(0)));
  const claims = (await reader.list('PersistentVolumeClaim', namespace, name)) as readonly Claim[];
  const secrets = await readSecrets(cluster, spec, reader);
  return {
    cluster,
    operator: facts,
    objects,
    ...remembered(objects),
    statefulSet,
    membersRecord: objects.get(`ConfigMap/${names.members}`) as ConfigMap | undefined,
    secrets: secrets.observed,
    certificates: await readCertificates(cluster, spec, reader),
    pod,
    otherPods: pods.filter(({ metadata }) => metadata.name !== names.pod(0)),
    claims: ownClaims(name, claims),
    jobs: reader.canRead('Job', namespace)
      ? ((await reader.list('Job', namespace, name)) as readonly Job[])
      : undefined,
    node: await readNode(reader, pod),
    monitorKinds: present,
    isExpandable: await readExpandable(reader, spec, claims),
    member: await readMember(observers, { cluster, spec, pod, password: secrets.password }),
    isNamespaceTerminating: await readTerminating(reader, cluster, spec),
  };
}

/** Claims of the templates of this Cluster, not those that a user made with our label. */
function ownClaims(cluster: string, claims: readonly Claim[]): readonly Claim[] {
  const names = objectNames(cluster);
  const own = new Set<string>([names.dataClaim(0), names.backupsClaim(0)]);
  return claims.filter(({ metadata }) => own.has(metadata.name));
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

/** A pod whose labels somebody took away is still there; its StatefulSet cannot make another of that name. */
async function readUnlabelledPod(
  reader: ClusterReader,
  set: StatefulSet | undefined,
  name: string,
): Promise<Pod | undefined> {
  if (set === undefined || set.spec?.replicas === 0) return undefined;
  const pod = await reader.getLive('Pod', set.metadata.namespace, name);
  return pod as Pod | undefined;
}

async function readSecrets(
  cluster: ClusterObject,
  spec: ClusterSpec | undefined,
  reader: ClusterReader,
): Promise<{ readonly observed: ObservedSecrets; readonly password: string | undefined }> {
  const { name, namespace } = cluster.metadata;
  const names = objectNames(name);
  const given = spec?.auth.rootPassword ?? { secretName: names.root, key: rootPasswordKey };
  const read = async (secretName: string) =>
    ((await reader.get('Secret', namespace, secretName)) ??
      (await readGivenSecret(reader, spec, namespace, secretName))) as Secret | undefined;
  const root = secretText(await read(given.secretName), given.key);
  const applied = secretText(await read(names.rootApplied), rootPasswordKey);
  const token = await read(names.token);
  return {
    password: applied ?? root,
    observed: {
      root: observedPassword(given.secretName, root),
      applied: observedPassword(names.rootApplied, applied),
      token: token && { volumeIdentity: secretText(token, volumeIdentityKey) },
    },
  };
}

/** A Secret of the user carries no label of ours; until the watch of its name has begun it has to be asked for. */
async function readGivenSecret(
  reader: ClusterReader,
  spec: ClusterSpec | undefined,
  namespace: string | undefined,
  secretName: string,
): Promise<KubernetesObject | undefined> {
  if (spec?.auth.rootPassword?.secretName !== secretName) return undefined;
  return reader.getLive('Secret', namespace, secretName);
}

export function secretText(secret: Secret | undefined, key: string): string | undefined {
  const encoded = secret?.data?.[key];
  // The server trims the file that it reads the password from.
  return encoded === undefined ? undefined : Buffer.from(encoded, 'base64').toString('utf8').trim();
}

function observedPassword(
  secretName: string,
  password: string | undefined,
): ObservedPassword | undefined {
  if (password === undefined) return undefined;
  const hash = createHash('sha256').update(password).digest('hex').slice(0, 16);
  return { secretName, hash, lengthInCharacters: [...password].length };
}

async function readNode(
  reader: ClusterReader,
  pod: Pod | undefined,
): Promise<ObservedNode | undefined> {
  const name = pod?.spec?.nodeName;
  if (name === undefined || name === '') return undefined;
  let node: Node | undefined;
  try {
    node = (await reader.get('Node', undefined, name)) as Node | undefined;
  } catch {
    // Nodes may not be read in namespaced installations: nothing is known about them then.
    return undefined;
  }
  const ready = node?.status?.conditions?.find(({ type }) => type === 'Ready');
  const taints = node?.spec?.taints ?? [];
  return {
    name,
    zone: node?.metadata.labels?.['topology.kubernetes.io/zone'],
    exists: node !== undefined,
    isReady: ready?.status === 'True',
    isOutOfService: taints.some(({ key }) => key === 'node.kubernetes.io/out-of-service'),
  };
}

/** Asked only when something has to grow. */
async function readExpandable(
  reader: ClusterReader,
  spec: ClusterSpec | undefined,
  claims: readonly Claim[],
): Promise<boolean | undefined> {
  const claim = claims.find(
    ({ metadata, spec: own }) =>
      metadata.name.startsWith('data-') &&
      own?.resources?.requests?.['storage'] !== String(spec?.storage.size),
  );
  const className = claim?.spec?.storageClassName;
  if (className === undefined) return undefined;
  try {
    const found = await reader.get('StorageClass', undefined, className);
    return found === undefined
      ? undefined
      : ((found as StorageClass).allowVolumeExpansion ?? false);
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

interface MemberQuestion {
  readonly cluster: ClusterObject;
  readonly spec: ClusterSpec | undefined;
  readonly pod: Pod | undefined;
  readonly password: string | undefined;
}

/** The member of a pod, if the pod has an address. */
export function memberOf(pod: Pod | undefined, httpPort: number): Member | undefined {
  const host = pod?.status?.podIP;
  if (pod === undefined || host === undefined || host === '') return undefined;
  return { address: { host, port: httpPort }, incarnation: incarnationOf(pod) };
}

async function readMember(
  { databases }: Observers,
  { cluster, spec, pod, password }: MemberQuestion,
): Promise<MemberView> {
  const member = spec === undefined ? undefined : memberOf(pod, spec.ports.http);
  if (member === undefined || spec === undefined || !isReady(pod)) return unknownMember;
  const needs = memberNeeds(pod, spec, cluster.status ?? {});
  const ready = await databases.isReady(member);
  const seen = { ...unknownMember, isReady: ready };
  if (password === undefined || ready !== true) return seen;
  if (!(needs.info || needs.backup || needs.mcp || needs.backups)) return seen;
  try {
    const info = needs.info ? await databases.info(member, password) : undefined;
    const backup = needs.backup ? await databases.backupConfig(member, password) : undefined;
    const mcp = needs.mcp ? await databases.mcpConfig(member, password) : undefined;
    const backups = needs.backups ? await databases.backups(member, password) : undefined;
    return { ...seen, version: info?.version, settings: info?.settings, backup, mcp, backups };
  } catch (error) {
    if (error instanceof MemberError) return { ...seen, problem: error.message };
    throw error;
  }
}
