import type { NodeStatus } from '#raft/node.ts';
import type { PeerId } from '#raft/vocabulary.ts';

/** To whom a leader gives its lead (ha.md 2.10 rule 6, 2.11 rule 3). Pure: time and what is seen come in. */

export interface TargetRules {
  readonly self: PeerId;
  /** Who is further behind the end of the log gets no lead. */
  readonly lagEntriesMax: number;
  isReachable(id: PeerId): boolean;
}

/** The best voter when none was named: by priority, then by what it has, then by id. */
export function bestTarget(
  { conf, progress, lastIndex }: Pick<NodeStatus, 'conf' | 'progress' | 'lastIndex'>,
  { self, lagEntriesMax, isReachable }: TargetRules,
  except?: PeerId,
): PeerId | undefined {
  const matches = new Map(progress.map(({ id, match }) => [id, match]));
  const eligible = conf.voters.filter(
    ({ id, canLead }) =>
      id !== self &&
      id !== except &&
      canLead &&
      isReachable(id) &&
      lastIndex - (matches.get(id) ?? 0) <= lagEntriesMax,
  );
  eligible.sort(
    (a, b) =>
      b.priority - a.priority ||
      (matches.get(b.id) ?? 0) - (matches.get(a.id) ?? 0) ||
      (a.id < b.id ? -1 : 1),
  );
  return eligible[0]?.id;
}

const readyForMs = 10_000;
const lookEveryMs = 5000;
const reachableForMs = 30_000;
const pauseMs = 60_000;

export interface YieldSight {
  readonly status: Pick<NodeStatus, 'conf' | 'progress' | 'lastIndex' | 'isLeaderReady' | 'term'>;
  isReachable(id: PeerId): boolean;
  /** Its channel was given up a while ago: it gets no lead (ha.md 10.4). */
  isCoolingDown(id: PeerId): boolean;
}

/** A leader yields to a voter of higher priority that has long been there and lacks nothing. */
export class PriorityYield {
  readonly #self: PeerId;
  #term = 0;
  #readySinceMs: number | undefined;
  #lookedMs = Number.NEGATIVE_INFINITY;
  #yieldedMs = Number.NEGATIVE_INFINITY;
  readonly #reachableSinceMs = new Map<PeerId, number>();

  constructor(self: PeerId) {
    this.#self = self;
  }

  /** Call often while this node leads. @returns to whom to transfer now */
  look({ status, isReachable, isCoolingDown }: YieldSight, nowMs: number): PeerId | undefined {
    if (status.term !== this.#term) this.forget();
    this.#term = status.term;
    if (status.isLeaderReady) this.#readySinceMs ??= nowMs;
    else this.#readySinceMs = undefined;
    for (const { id } of status.conf.voters) {
      if (!isReachable(id)) this.#reachableSinceMs.delete(id);
      else if (!this.#reachableSinceMs.has(id)) this.#reachableSinceMs.set(id, nowMs);
    }
    const readyMs = nowMs - (this.#readySinceMs ?? nowMs);
    if (readyMs < readyForMs || nowMs - this.#lookedMs < lookEveryMs) return undefined;
    this.#lookedMs = nowMs;
    if (nowMs - this.#yieldedMs < pauseMs) return undefined;
    const own = status.conf.voters.find(({ id }) => id === this.#self)?.priority ?? 0;
    const isLongReachable = (id: PeerId) =>
      nowMs - (this.#reachableSinceMs.get(id) ?? nowMs) >= reachableForMs && !isCoolingDown(id);
    const voters = status.conf.voters.filter(({ priority }) => priority > own);
    const rules = { self: this.#self, lagEntriesMax: 0, isReachable: isLongReachable };
    const target = bestTarget({ ...status, conf: { ...status.conf, voters } }, rules);
    if (target !== undefined) this.#yieldedMs = nowMs;
    return target;
  }

  /** The node leads no longer. What it yielded is remembered: two servers must not hand the lead to and fro. */
  forget(): void {
    this.#readySinceMs = undefined;
    this.#reachableSinceMs.clear();
  }
}
