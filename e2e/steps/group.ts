import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import type { ApiServer } from './api-server.ts';
import { ask } from './member.ts';
import {
  conditionOf,
  isReady,
  type KubernetesObject,
  memberPods,
  type Namespace,
  reasonOf,
  valueAt,
} from './objects.ts';

// What scenarios with several members ask of a group, and see of its pods.

export interface GroupAnswer {
  readonly isLeader: boolean;
  readonly leaderId: string;
  readonly currentTerm: number;
  readonly clusterId?: string;
  readonly peers: readonly {
    readonly id: string;
    readonly voter: boolean;
    readonly inConfiguration: boolean;
  }[];
}

const idOf = (peerId: string): string => peerId.split('.')[0] ?? '';

/** What one member says of its group; undefined when it does not answer. */
export async function groupSeenBy(
  namespace: Namespace,
  pod: string,
): Promise<GroupAnswer | undefined> {
  try {
    const { status, body } = await ask(namespace, pod, { path: '/cluster' });
    return status === 200 ? (JSON.parse(body) as GroupAnswer) : undefined;
  } catch {
    return undefined;
  }
}

/** Who leads in which term, by the word of the leader itself. @throws Error when nobody has for 30 s */
export async function leaderOf(
  namespace: Namespace,
  cluster: string,
): Promise<{ readonly pod: string; readonly term: number }> {
  const deadline = performance.now() + 30_000;
  while (performance.now() < deadline) {
    const pods = await memberPods(namespace, cluster);
    const asked = pods.map(async ({ metadata }) => {
      const said = await groupSeenBy(namespace, metadata.name);
      if (!said?.isLeader) throw new Error('it does not lead');
      return { pod: metadata.name, term: said.currentTerm };
    });
    // A member on a node that is gone answers late, if at all.
    const found = await Promise.race([Promise.any(asked).catch(() => undefined), pause(3000)]);
    if (found !== undefined) return found;
    await pause(300);
  }
  throw new Error(`nobody leads ${cluster}`);
}

/** The group is what it was founded as. */
export async function clusterIdOf(namespace: Namespace, cluster: string): Promise<string> {
  const { pod } = await leaderOf(namespace, cluster);
  const id = (await groupSeenBy(namespace, pod))?.clusterId ?? '';
  assert.notEqual(id, '');
  return id;
}

/** Hands leadership over, as a person would. */
export async function handLeadershipTo(
  namespace: Namespace,
  cluster: string,
  pod: string,
): Promise<void> {
  const { pod: from } = await leaderOf(namespace, cluster);
  if (from === pod) return;
  const said = await groupSeenBy(namespace, from);
  const peerId = said?.peers.find(({ id }) => idOf(id) === pod)?.id;
  const body = { peerId, timeoutMs: 20_000 };
  const { status, body: text } = await ask(namespace, from, { path: '/cluster/leader', body });
  assert.equal(status, 200, text);
}

interface ComparedPeer {
  readonly peerId: string;
  readonly status: string;
}

/**
 * Every replica of a database holds the same. A member that was started while there were more of them still lists those, which it
 * cannot compare (ha.md 9.6.4): what counts are the members of the configuration.
 */
export async function mustBeConsistent(
  namespace: Namespace,
  cluster: string,
  database: string,
): Promise<void> {
  const { pod } = await leaderOf(namespace, cluster);
  const path = `/cluster/verify/${database}`;
  const { status, body } = await ask(namespace, pod, { path, body: {} });
  assert.equal(status, 200, body);
  const { result } = JSON.parse(body) as { result: { readonly peers: readonly ComparedPeer[] } };
  const equal = result.peers.filter((peer) => peer.status === 'CONSISTENT');
  const group = await groupSeenBy(namespace, pod);
  for (const { id, inConfiguration } of group?.peers ?? assert.fail('no view of the group'))
    if (inConfiguration && idOf(id) !== pod)
      assert.ok(
        equal.some(({ peerId }) => peerId === id),
        `${id}: ${JSON.stringify(result.peers)}`,
      );
}

export async function uidsOf(
  namespace: Namespace,
  cluster: string,
): Promise<Readonly<Record<string, string>>> {
  const pods = await memberPods(namespace, cluster);
  return Object.fromEntries(pods.map(({ metadata }) => [metadata.name, metadata.uid]));
}

/** Names of the pods of a Cluster of three. */
export function podsOf(cluster: string): readonly string[] {
  return [0, 1, 2].map((ordinal) => `${cluster}-${ordinal}`);
}

/** All three ready, the Cluster too, and all of them voters. */
export async function backToThree(namespace: Namespace, cluster: string): Promise<void> {
  const isUp = (pod: KubernetesObject | undefined): boolean => conditionOf(pod, 'Ready') === 'True';
  for (const pod of podsOf(cluster)) await namespace.waitFor('pod', pod, 'ready', 'nodeBack', isUp);
  await namespace.waitFor('pyd', cluster, 'Ready', 'memberBack', isReady);
  assert.equal(valueAt(await namespace.require('pyd', cluster), 'status.voters'), 3);
}

/** Sees how a Cluster goes: numbers of voters, and pods in the order in which they were ended, with who was not ready then. */
export class GroupWatch {
  readonly voters: number[] = [];
  /** Why the Cluster was not Ready, each time. */
  readonly unready: string[] = [];
  readonly ended: string[] = [];
  /** Pods that were ended while another one was not ready. */
  readonly doubled: string[] = [];
  readonly #stop = new AbortController();
  readonly #notReady = new Map<string, Set<string>>();

  constructor(api: ApiServer, namespace: string, cluster: string) {
    const { signal } = this.#stop;
    const onBegin = (): void => {};
    void api.watch(`/apis/polyad.io/v1alpha1/namespaces/${namespace}/clusters`, {
      onBegin,
      signal,
      onChange: ({ object }) => {
        const count = Number(valueAt(object, 'status.voters') ?? 0);
        if (object.metadata.name !== cluster) return;
        if (count > 0 && this.voters.at(-1) !== count) this.voters.push(count);
        if (conditionOf(object, 'Ready') === 'False') this.unready.push(reasonOf(object, 'Ready'));
      },
    });
    void api.watch(`/api/v1/namespaces/${namespace}/pods`, {
      onBegin,
      signal,
      onChange: ({ type, object }) => {
        const isOurs = object.metadata.labels?.['polyad.io/cluster'] === cluster;
        // Pods of Jobs are no members.
        if (isOurs && /-\d+$/.test(object.metadata.name)) this.#note(type, object);
      },
    });
  }

  #note(type: string, pod: KubernetesObject): void {
    const { name, uid, deletionTimestamp } = pod.metadata;
    const isEnding = deletionTimestamp !== undefined || type === 'DELETED';
    if (isEnding && !this.ended.includes(`${name} ${uid}`)) {
      this.ended.push(`${name} ${uid}`);
      const others = [...this.#notReady].filter(([other, uids]) => other !== name && uids.size > 0);
      if (others.length > 0) this.doubled.push(name);
    }
    const uids = this.#notReady.get(name) ?? new Set();
    this.#notReady.set(name, uids);
    if (!isEnding && conditionOf(pod, 'Ready') === 'True') uids.clear();
    else uids.add(uid);
  }

  /** Names of the pods that were ended, in their order. */
  end(): readonly string[] {
    this.#stop.abort();
    return this.ended.map((text) => text.split(' ')[0] ?? '');
  }
}
