import type { RaftAnswer } from '../api/group.ts';
import type { Runtime } from '../api/runtime.ts';
import { stableJson } from '../resources/content-hash.ts';
import type { DatabaseClient, Member } from './database-client.ts';
import type { Pace } from './pace.ts';

/*
 * Members are asked beside the looks. A look begins a question to each member, waits a moment for the answers, and goes on with
 * what was last said when one does not come; an answer that comes late and says something else asks for another look. So a member
 * that hangs costs its own Cluster a moment and the others nothing. That nothing was said yet is no answer: a look that has nothing
 * to go on with ends (`StillAsking`) and comes again with the answer, or a second later, when none counts as none.
 */

/** So long a look waits; a member on the same network answers within a few milliseconds. */
const patienceMs = 50;
/** Whoever has not answered by then does not answer, for looks; the question itself may take longer. */
const silenceMs = 1000;
/** What is older is no reason for anything (operator.md 7.2 rule 5). */
const validMs = 10_000;
/** Of a Cluster: lives of members that are over go first. */
const entriesMax = 100;

/** How members are asked what they are at; of a look. */
export type Probes = Pick<DatabaseClient, 'isReady' | 'group'>;

/** A member was asked and has neither answered nor failed to: the look has to come again, which the answer asks for. */
export class StillAsking extends Error {
  constructor() {
    super('members were asked and have not answered yet');
    this.name = 'StillAsking';
  }
}

interface Entry {
  answer: unknown;
  /** Of the monotonic clock; undefined: it was never answered. */
  atMs: number | undefined;
  pending: Promise<void> | undefined;
  /** When the question that is pending was asked. */
  askedMs: number;
  /** What a look that did not wait went on with. */
  used: string | undefined;
  /** The look that asked ended without it, and comes again for it. */
  isUnread: boolean;
}

/** A look could not go on: whatever comes is news. */
const nothing = '';

export interface MemberPollerOptions {
  readonly databases: Probes & Pick<DatabaseClient, 'hasSession'>;
  readonly runtime: Runtime;
  readonly pace: Pace;
  /** A late answer says something else than what a look went on with. */
  readonly onLate: (namespace: string | undefined, name: string) => void;
}

export class MemberPoller {
  readonly #options: MemberPollerOptions;
  /** By Cluster, then by what was asked of which life of which member. */
  readonly #entries = new Map<string, Map<string, Entry>>();

  constructor(options: MemberPollerOptions) {
    this.#options = options;
  }

  /** To ask members of a Cluster. */
  of(namespace: string | undefined, name: string): Probes {
    const { databases } = this.#options;
    const onLate = () => this.#options.onLate(namespace, name);
    const entryOf = (question: string, member: Member) =>
      this.#entryOf(clusterKey(namespace, name), `${question} ${keyOf(member)}`);
    return {
      isReady: (member) =>
        this.#ask(entryOf('ready', member), {
          requests: 1,
          ask: () => databases.isReady(member),
          onLate,
        }),
      group: (member, password) =>
        this.#ask(entryOf('group', member), {
          requests: databases.hasSession(member, password) ? 1 : 2,
          ask: () => databases.group(member, password),
          onLate,
        }),
    };
  }

  /** Something was done to the members, or the Cluster is gone: what was said before counts no more. */
  renew(namespace: string | undefined, name: string): void {
    this.#entries.delete(clusterKey(namespace, name));
  }

  async #ask<T>(
    entry: Entry,
    {
      requests,
      ask,
      onLate,
    }: {
      readonly requests: number;
      readonly ask: () => Promise<T | undefined>;
      readonly onLate: () => void;
    },
  ): Promise<T | undefined> {
    if (entry.isUnread && this.#isValid(entry)) {
      entry.isUnread = false;
      return entry.answer as T | undefined;
    }
    if (entry.pending === undefined) {
      // A look that waits is late; one that went on without an answer would say of members that serve that they do not.
      await this.#options.pace.turns(requests);
      // Another look may have come first.
      if (entry.pending === undefined) this.#begin(entry, ask, onLate);
    }
    if (entry.pending !== undefined && (await this.#comesInTime(entry.pending)))
      return entry.answer as T | undefined;
    const known = this.#isValid(entry) ? (entry.answer as T | undefined) : undefined;
    const isYoung = this.#now() - entry.askedMs < silenceMs;
    if (!this.#isValid(entry) && isYoung) {
      entry.used = nothing;
      throw new StillAsking();
    }
    entry.used = digestOf(known);
    return known;
  }

  #isValid({ atMs }: Entry): boolean {
    return this.#now() - (atMs ?? Number.NEGATIVE_INFINITY) <= validMs;
  }

  #begin<T>(entry: Entry, ask: () => Promise<T | undefined>, onLate: () => void): void {
    entry.askedMs = this.#now();
    const silent = this.#options.runtime.timers.after(silenceMs, () => {
      if (entry.used === nothing) onLate();
    });
    const done = (answer: T | undefined) => {
      silent();
      entry.answer = answer;
      entry.atMs = this.#now();
      entry.pending = undefined;
      const { used } = entry;
      entry.isUnread = used === nothing;
      entry.used = undefined;
      if (used !== undefined && used !== digestOf(answer)) onLate();
    };
    entry.pending = ask().then(done, () => done(undefined));
  }

  async #comesInTime(pending: Promise<void>): Promise<boolean> {
    const { timers } = this.#options.runtime;
    let cancel = () => {};
    const tooLate = new Promise<boolean>((resolve) => {
      cancel = timers.after(patienceMs, () => {
        // What has arrived while this process was busy is read before it is called late.
        cancel = timers.after(0, () => resolve(false));
      });
    });
    const isInTime = await Promise.race([pending.then(() => true), tooLate]);
    cancel();
    return isInTime;
  }

  #entryOf(cluster: string, key: string): Entry {
    const entries = this.#entries.get(cluster) ?? new Map<string, Entry>();
    this.#entries.set(cluster, entries);
    const fresh = {
      answer: undefined,
      atMs: undefined,
      pending: undefined,
      askedMs: 0,
      used: undefined,
      isUnread: false,
    };
    const entry = entries.get(key) ?? fresh;
    entries.delete(key);
    entries.set(key, entry);
    const [oldest] = entries.keys();
    if (entries.size > entriesMax && oldest !== undefined) entries.delete(oldest);
    return entry;
  }

  #now(): number {
    return this.#options.runtime.clock.monotonicMs();
  }
}

function clusterKey(namespace: string | undefined, name: string): string {
  return `${namespace ?? ''}/${name}`;
}

function keyOf({ incarnation, address }: Member): string {
  return `${incarnation} ${address.host}`;
}

/** What a decision could turn on: not how many entries there are. */
function digestOf(answer: unknown): string {
  if (typeof answer !== 'object' || answer === null) return String(answer);
  const { peers, ...raft } = answer as RaftAnswer;
  return stableJson({
    ...raft,
    commitIndex: undefined,
    lastIndex: undefined,
    lastTerm: undefined,
    peers: peers.map((peer) => ({ ...peer, lag: undefined, match: undefined })),
  });
}
