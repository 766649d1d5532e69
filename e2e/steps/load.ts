import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { type ClientEvent, clientPod, endClients, eventsOf } from './client-pod.ts';
import { sql } from './member.ts';
import { type KubernetesObject, memberPods, type Namespace, valueAt } from './objects.ts';

/*
 * Clients that write and read all the time through the Service of a Cluster, from a pod of their own. Every acknowledged write
 * is in the pod's log; at the end each must be stored exactly once.
 */

const program = readFileSync(new URL('./load-clients.ts', import.meta.url), 'utf8');

export interface LoadReport {
  readonly acknowledged: number;
  /** Given up after a minute of tries, or refused for good. */
  readonly failed: number;
  /** What they were told: each distinct status and message with its count, the most frequent first. */
  readonly refusals: readonly string[];
  readonly retried: number;
  /** Longest time between two acknowledged writes, in seconds. */
  readonly longestGapSeconds: number;
}

/** Clients never had an error left after the retries that the documents ask for. */
export function mustHaveServed(
  { report }: { report(text: string): void },
  { longestGapSeconds, acknowledged, failed, refusals, retried }: LoadReport,
): void {
  report(`gap ${longestGapSeconds.toFixed(1)} s, ${acknowledged} writes, ${retried} tried again`);
  const told = refusals.slice(0, 5).join('; ');
  assert.equal(failed, 0, `writes failed after all retries: ${told}`);
}

/** Starts the clients; resolves once writes are acknowledged. */
export async function startLoad(
  namespace: Namespace,
  options: { readonly cluster: string; readonly image: string; readonly rootSecret: string },
): Promise<Load> {
  const { cluster, image, rootSecret } = options;
  const words = [`${cluster}-http`, '4'];
  await namespace.apply(clientPod('clients', { cluster, image, rootSecret, program, words }));
  const load = new Load(namespace, cluster);
  await namespace.waitFor('pod', 'clients', 'running', 'clusterReady', isRunning);
  await load.untilAcknowledged(1);
  return load;
}

function isRunning(pod: KubernetesObject | undefined): boolean {
  return valueAt(pod, 'status.phase') === 'Running';
}

export class Load {
  readonly #namespace: Namespace;
  readonly #cluster: string;

  constructor(namespace: Namespace, cluster: string) {
    this.#namespace = namespace;
    this.#cluster = cluster;
  }

  /** When each write was acknowledged, by the clock of the clients. */
  async #times(): Promise<readonly number[]> {
    const events = await eventsOf(this.#namespace, 'clients');
    return events.filter((event) => 'acknowledged' in event).map((event) => Number(event['at']));
  }

  /** How many writes were acknowledged so far. */
  async count(): Promise<number> {
    return (await this.#times()).length;
  }

  /** Waits until the clients have had this many more writes acknowledged. */
  async untilAcknowledged(more: number): Promise<void> {
    const wanted = (await this.count()) + more;
    const deadline = performance.now() + 90_000;
    while ((await this.count()) < wanted)
      if (performance.now() > deadline) throw new Error('the clients get no write acknowledged');
  }

  /** The longest time between two acknowledged writes from the `count`th on, in seconds. */
  async gapSince(count: number): Promise<number> {
    return longestGap((await this.#times()).slice(Math.max(0, count - 1)));
  }

  /** Stops the clients and checks that each acknowledged write is stored exactly once, on every member. */
  async stop(): Promise<LoadReport> {
    const events = await endClients(this.#namespace, 'clients');
    const acknowledged = events.filter((event) => 'acknowledged' in event);
    const pods = await memberPods(this.#namespace, this.#cluster);
    for (const { metadata } of pods) await this.#mustHold(metadata.name, acknowledged);
    const vanished = events.filter((event) => 'vanished' in event);
    assert.deepEqual(vanished.slice(0, 5), [], 'a reader saw records vanish');
    await this.#namespace.kubectl(['delete', 'pod', 'clients', '--wait=false']);
    const failed = events.filter((event) => 'failed' in event);
    return {
      acknowledged: acknowledged.length,
      failed: failed.length,
      refusals: countedTexts(failed.map(({ status, message }) => `${status} ${message}`)),
      retried: events.filter((event) => 'retried' in event).length,
      longestGapSeconds: longestGap(acknowledged.map((event) => Number(event['at']))),
    };
  }

  /** A follower may be some entries behind for a moment. */
  async #mustHold(pod: string, acknowledged: readonly ClientEvent[]): Promise<void> {
    const deadline = performance.now() + 10_000;
    for (;;) {
      const rows = await sql(this.#namespace, pod, 'load', 'SELECT n FROM Entry ORDER BY n');
      const stored = new Map<unknown, number>();
      for (const { n } of rows) stored.set(n, (stored.get(n) ?? 0) + 1);
      const wrong = acknowledged.filter((event) => stored.get(event['acknowledged']) !== 1);
      if (wrong.length === 0) return;
      const text = `${wrong.length} acknowledged writes are not on ${pod} once`;
      if (performance.now() > deadline) assert.deepEqual(wrong.slice(0, 5), [], text);
      await pause(500);
    }
  }
}

function countedTexts(texts: readonly string[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  const byCount = [...counts].toSorted(([, one], [, other]) => other - one);
  return byCount.map(([text, count]) => `${count} times ${text}`);
}

function longestGap(times: readonly number[]): number {
  let longest = 0;
  for (let at = 1; at < times.length; at += 1)
    longest = Math.max(longest, ((times[at] ?? 0) - (times[at - 1] ?? 0)) / 1000);
  return longest;
}
