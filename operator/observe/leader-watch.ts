import type { ObservedMember } from '../api/observation.ts';
import type { Runtime } from '../api/runtime.ts';
import type { DatabaseClient, Member } from './database-client.ts';
import { memberOf } from './member-address.ts';
import type { Reach } from './member-address.ts';

/*
 * Kubernetes tells nothing of a lead that is handed over, of a leader that hangs, or of one on a node that has just been lost.
 * Between looks each known leader is asked whether it still leads; an answer that differs asks for a look. One request for each
 * group and second, fewer when there are many groups, and nobody waits for a leader that does not answer.
 */

const tickMs = 1000;
const requestsPerTickMax = 50;
/** One on a node that has just been lost says nothing over a connection that is open: others may lead by then. */
const answerMs = 1000;

interface Known {
  readonly member: Member;
  readonly password: string;
  readonly term: number;
  isAsking: boolean;
}

export interface LeaderWatchOptions {
  readonly databases: Pick<DatabaseClient, 'group'>;
  readonly runtime: Runtime;
  /** The leader of this Cluster is not what it was. */
  readonly onDoubt: (namespace: string | undefined, name: string) => void;
}

export class LeaderWatch {
  readonly #options: LeaderWatchOptions;
  /** In the order in which they are asked next. */
  readonly #known = new Map<string, Known>();
  #cancel: (() => void) | undefined;

  constructor(options: LeaderWatchOptions) {
    this.#options = options;
  }

  /** Who was seen to lead at a look; nobody is asked where that is not known. */
  note(
    reach: Reach,
    seen: { readonly members: readonly ObservedMember[]; readonly password: string | undefined },
  ): void {
    const { metadata } = reach.cluster;
    const key = keyOf(metadata.namespace, metadata.name);
    const [leader] = seen.members
      .filter(({ raft }) => raft?.isLeader)
      .sort((a, b) => (b.raft?.term ?? 0) - (a.raft?.term ?? 0));
    const member = memberOf(leader?.pod, reach);
    const { password } = seen;
    const term = leader?.raft?.term;
    if (member === undefined || password === undefined || term === undefined) {
      this.#known.delete(key);
      return;
    }
    const isAsking = this.#known.get(key)?.isAsking ?? false;
    this.#known.set(key, { member, password, term, isAsking });
  }

  forget(namespace: string | undefined, name: string): void {
    this.#known.delete(keyOf(namespace, name));
  }

  start(): void {
    this.#cancel = this.#options.runtime.timers.after(tickMs, () => {
      this.#tick();
      this.start();
    });
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #tick(): void {
    const turn = [...this.#known].slice(0, requestsPerTickMax);
    for (const [key, known] of turn) {
      // Behind all others.
      this.#known.delete(key);
      this.#known.set(key, known);
      if (!known.isAsking) void this.#ask(key, known);
    }
  }

  async #ask(key: string, known: Known): Promise<void> {
    known.isAsking = true;
    const answer = await this.#options.databases
      .group(known.member, known.password, answerMs)
      .catch(() => undefined);
    const now = this.#known.get(key);
    if (now !== undefined) now.isAsking = false;
    // A look that came meanwhile knows better.
    if (now?.term !== known.term || now.member.incarnation !== known.member.incarnation) return;
    if (answer?.isLeader && answer.term === known.term) return;
    const at = key.indexOf('/');
    this.#options.onDoubt(key.slice(0, at) || undefined, key.slice(at + 1));
  }
}

function keyOf(namespace: string | undefined, name: string): string {
  return `${namespace ?? ''}/${name}`;
}
