import type { ClusterObject } from '../api/cluster.ts';
import { conditionOf } from '../api/conditions.ts';
import type { RaftAnswer } from '../api/group.ts';
import type { Node, Pod, StatefulSet } from '../api/kubernetes-object.ts';
import { objectNames } from '../api/names.ts';
import { unknownMember } from '../api/observation.ts';
import type { MemberView, ObservedMember, ObservedNode } from '../api/observation.ts';
import { memberNeeds } from '../resources/member-needs.ts';
import { isReady, isRunning } from '../resources/pod-state.ts';
import { replicates } from '../resources/replication.ts';
import { peerIdOfOrdinal } from '../resources/server-list.ts';
import type { ClusterReader } from './cluster-reader.ts';
import { MemberError } from './database-client.ts';
import type { DatabaseClient } from './database-client.ts';
import { memberOf } from './member-address.ts';
import type { Reach } from './member-address.ts';
import type { MemberPoller, Probes } from './member-poller.ts';

/*
 * Every member of a Cluster: those that are wanted, those that are there. All are asked at the same time, so that one that hangs
 * costs one time limit, or a moment where a poller asks.
 */

interface Question extends Reach {
  readonly statefulSet: StatefulSet | undefined;
  readonly password: string | undefined;
}

interface Askers {
  readonly reader: ClusterReader;
  readonly databases: DatabaseClient;
  /** Asks beside the looks; without one each look waits for the members themselves. */
  readonly poller?: MemberPoller | undefined;
}

export async function readMembers(askers: Askers, question: Question): Promise<ObservedMember[]> {
  const { cluster, spec, statefulSet } = question;
  const { name, namespace } = cluster.metadata;
  const pods = (await askers.reader.list('Pod', namespace, name)) as readonly Pod[];
  const byOrdinal = new Map(
    pods.flatMap((pod) => {
      const ordinal = podOrdinal(name, pod);
      return ordinal === undefined ? [] : [[ordinal, pod] as const];
    }),
  );
  const count = Math.max(
    1,
    spec === undefined ? 0 : spec.replicas + spec.readReplicas,
    statefulSet?.spec?.replicas ?? 0,
    ...[...byOrdinal.keys()].map((ordinal) => ordinal + 1),
  );
  const ordinals = Array.from({ length: count }, (_, ordinal) => ordinal);
  return Promise.all(
    ordinals.map((ordinal) => readMember(askers, question, ordinal, byOrdinal.get(ordinal))),
  );
}

function podOrdinal(cluster: string, { metadata }: Pod): number | undefined {
  const ordinal = Number(/-(0|[1-9]\d?)$/.exec(metadata.name)?.[1]);
  return metadata.name === objectNames(cluster).pod(ordinal) ? ordinal : undefined;
}

/** Names of members that serve, as far as Kubernetes knows, and were asked of their group in vain; a password that is refused is an answer. */
export function silentMembers(
  databases: DatabaseClient,
  question: Question,
  members: readonly ObservedMember[],
): readonly string[] {
  const { password } = question;
  const isSilent = ({ isReplicated, pod, raft, node }: ObservedMember) => {
    const member = memberOf(pod, question);
    if (!isReplicated || raft !== undefined || !isReady(pod) || node?.isReady === false)
      return false;
    return member !== undefined && password !== undefined && !databases.refuses(member, password);
  };
  return members.filter(isSilent).map(({ name }) => name);
}

async function readMember(
  askers: Askers,
  question: Question,
  ordinal: number,
  listed: Pod | undefined,
): Promise<ObservedMember> {
  const { cluster, spec, statefulSet } = question;
  const name = objectNames(cluster.metadata.name).pod(ordinal);
  const pod = listed ?? (await readUnlabelledPod(askers.reader, statefulSet, ordinal, name));
  const isReplicated = replicates(pod?.spec);
  const { namespace } = cluster.metadata;
  const probes = askers.poller?.of(namespace, cluster.metadata.name) ?? askers.databases;
  const raft = isReplicated ? readRaft(probes, question, pod) : undefined;
  const isAtRest = isReplicated && rests(cluster);
  const isServing = async () => (isAtRest && raft !== undefined ? servesBy(await raft) : undefined);
  const [node, view, said] = await Promise.all([
    readNode(askers.reader, pod),
    readView(askers.databases, { probes, isServing }, question, pod),
    raft,
  ]);
  const peerId = spec === undefined ? name : peerIdOfOrdinal(cluster, spec, ordinal);
  return { ordinal, name, peerId, pod, isReplicated, node, view, raft: said };
}

/** Nothing is under way: what Kubernetes says of a member, and it of its group, is enough to see that something comes up. */
function rests({ status, metadata }: ClusterObject): boolean {
  const isReached = status?.observedGeneration === metadata.generation;
  const ready = conditionOf(status?.conditions, 'Ready');
  return isReached && status?.operation === undefined && ready?.status === 'True';
}

/** @returns undefined when its group does not tell: it has to be asked itself, unless it has no answer at all */
function servesBy(raft: RaftAnswer | undefined): boolean | 'unknown' | undefined {
  if (raft === undefined) return 'unknown';
  const isPart = raft.isAdmitted !== false && raft.leaderId !== undefined;
  return isPart ? true : undefined;
}

/** A pod whose labels somebody took away is still there; its StatefulSet cannot make another of that name. */
async function readUnlabelledPod(
  reader: ClusterReader,
  set: StatefulSet | undefined,
  ordinal: number,
  name: string,
): Promise<Pod | undefined> {
  if (set === undefined || ordinal >= (set.spec?.replicas ?? 0)) return undefined;
  return (await reader.getLive('Pod', set.metadata.namespace, name)) as Pod | undefined;
}

async function readView(
  databases: DatabaseClient,
  {
    probes,
    isServing,
  }: {
    readonly probes: Probes;
    /** What its group says of it. */
    readonly isServing: () => Promise<ReturnType<typeof servesBy>>;
  },
  question: Question,
  pod: Pod | undefined,
): Promise<MemberView> {
  const { cluster, spec, password } = question;
  const member = memberOf(pod, question);
  if (member === undefined || spec === undefined || !isReady(pod)) return unknownMember;
  const needs = memberNeeds(pod, spec, cluster.status ?? {});
  const told = await isServing();
  const ready = told === 'unknown' ? undefined : (told ?? (await probes.isReady(member)));
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

async function readRaft(
  probes: Probes,
  question: Question,
  pod: Pod | undefined,
): Promise<RaftAnswer | undefined> {
  const { password } = question;
  const member = memberOf(pod, question);
  if (member === undefined || password === undefined || !isRunning(pod)) return undefined;
  return probes.group(member, password);
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
