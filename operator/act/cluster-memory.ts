import type { KubernetesObject } from '../api/kubernetes-object.ts';
import type { GroupCall, Rejection } from '../api/observation.ts';
import { learnersOf, nextPolls } from '../observe/leader-polls.ts';
import type { LeaderPolls } from '../observe/leader-polls.ts';
import type { Recall, Remembered } from '../observe/observe-cluster.ts';

const doneMax = 50;
/** How long a Cluster is left to another installation of the operator before it is taken again. */
const yieldMs = 600_000;

export interface GroupWork {
  readonly target: string;
  readonly work: () => Promise<void>;
  readonly now: () => number;
  /** @param error why it failed; undefined: it was done */
  readonly ended: (error?: unknown) => void;
}

/**
 * What one process remembers about one Cluster: what its own applies left behind, what was refused, what was brought about.
 * Losing it costs a comparison or a repeated call, never a wrong step.
 */
export class ClusterMemory {
  readonly #applied = new Map<string, { readonly hash: string; readonly version: string }>();
  readonly #rejections = new Map<string, Rejection>();
  readonly #done = new Set<string>();
  readonly #running = new Set<string>();
  /** Id of an operation that stalled while it was under way: what becomes of it is told by that. */
  stalledOperation: string | undefined;
  #hasActed = false;
  #yieldsUntilMs: number | undefined;

  #polls: LeaderPolls | undefined;
  #leaderSinceMs: number | undefined;
  #groupCall: GroupCall | undefined;
  #silentSinceMs: ReadonlyMap<string, number> = new Map();

  /** @param nowMs of the monotonic clock */
  recall([objects, { leader, lagMax, silent }]: Parameters<Recall>, nowMs: number): Remembered {
    const since = this.#silentSinceMs;
    this.#silentSinceMs = new Map(silent.map((name) => [name, since.get(name) ?? nowMs]));
    const silentForMs = new Map(
      [...this.#silentSinceMs].map(([name, sinceMs]) => [name, nowMs - sinceMs]),
    );
    const leaderForMs = this.#notePoll(nextPolls(this.#polls, leader, { lagMax, nowMs }), nowMs);
    const learners = learnersOf(this.#polls, nowMs);
    const settled = new Map<string, string>();
    for (const [key, { hash, version }] of this.#applied) {
      if (objects.get(key)?.metadata.resourceVersion === version) settled.set(key, hash);
    }
    const marks = { done: this.#done, running: this.#running, groupCall: this.#groupCall };
    const said = { leaderForMs, learners, silentForMs };
    return { settled, rejections: this.#rejections, ...marks, ...said };
  }

  /** @returns for how long the same member has been seen to lead */
  #notePoll(polls: LeaderPolls | undefined, nowMs: number): number | undefined {
    if (polls?.mark !== this.#polls?.mark) this.#leaderSinceMs = polls && nowMs;
    this.#polls = polls;
    return this.#leaderSinceMs === undefined ? undefined : nowMs - this.#leaderSinceMs;
  }

  noteApplied(key: string, hash: string, answer: KubernetesObject): void {
    this.#applied.set(key, { hash, version: answer.metadata.resourceVersion ?? '' });
  }

  noteRejected(target: string, rejection: Rejection): void {
    this.#rejections.set(target, rejection);
  }

  noteAccepted(target: string): void {
    this.#rejections.delete(target);
  }

  /** Begins what takes long; later looks see how it ended. Once at a time. */
  begin(mark: string, work: () => Promise<void>, failed: (error: unknown) => void): void {
    if (this.#running.has(mark)) return;
    this.#running.add(mark);
    work()
      .then(() => this.noteDone(mark), failed)
      .finally(() => this.#running.delete(mark));
  }

  /** Begins a change of the group, one at a time; later looks see that it is under way, and how it failed. */
  beginGroupCall({ target, work, now, ended }: GroupWork): void {
    if (this.#groupCall?.isRunning === true) return;
    const before = this.#groupCall?.target === target ? this.#groupCall : undefined;
    const begun = {
      target,
      failures: before?.failures ?? 0,
      message: before?.message ?? '',
      atMs: now(),
    };
    this.#groupCall = { ...begun, isRunning: true };
    work().then(
      () => {
        this.#groupCall = undefined;
        ended();
      },
      (error: unknown) => {
        const message = error instanceof Error ? error.message : String(error);
        this.#groupCall = {
          target,
          isRunning: false,
          failures: begun.failures + 1,
          message,
          atMs: now(),
        };
        ended(error);
      },
    );
  }

  noteDone(mark: string): void {
    this.#done.add(mark);
    const [oldest] = this.#done;
    if (this.#done.size > doneMax && oldest !== undefined) this.#done.delete(oldest);
  }

  /**
   * Two installations that care for the same Cluster would undo each other's work. One that comes takes over; the one that
   * finds it taken leaves it alone for a while.
   * @param actor the installation that acted last, from the status
   * @returns how long it is left alone; `isNew` on the first look of that time
   */
  yieldTo(
    actor: string | undefined,
    own: string,
    nowMs: number,
  ): { readonly forMs: number; readonly isNew: boolean } | undefined {
    if (actor === undefined || actor === own) {
      this.#hasActed = actor === own;
      this.#yieldsUntilMs = undefined;
      return undefined;
    }
    const isNew = this.#hasActed && this.#yieldsUntilMs === undefined;
    if (isNew) this.#yieldsUntilMs = nowMs + yieldMs;
    if (nowMs < (this.#yieldsUntilMs ?? 0))
      return { forMs: (this.#yieldsUntilMs ?? nowMs) - nowMs, isNew };
    this.#hasActed = false;
    this.#yieldsUntilMs = undefined;
    return undefined;
  }
}
