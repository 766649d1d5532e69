import type { Runtime } from '#core/runtime.ts';
import { membersOf } from '#raft/membership.ts';
import type { Message, MessageType } from '#raft/message.ts';
import type { ConfState, PeerId } from '#raft/vocabulary.ts';
import type { Envelope } from '../transport/envelope.ts';

export interface DoorkeeperPort {
  readonly self: PeerId;
  readonly clusterName: string;
  readonly declared: readonly PeerId[];
  readonly runtime: Runtime;
  identity(): { readonly clusterId: string | undefined; readonly storageId: string };
  conf(): ConfState | undefined;
  /** The members of the group as that one knows them. */
  askMembers(id: PeerId): Promise<readonly PeerId[]>;
  report(text: string): void;
}

/** Between two texts about strangers, and two questions about them. */
const reportEveryMs = 30_000;
const askEveryMs = 1000;
const strangersMax = 16;

const responses: ReadonlySet<MessageType> = new Set([
  'PreVoteResp',
  'VoteResp',
  'AppendResp',
  'HeartbeatResp',
]);

/**
 * Who may talk to this member (ha.md 4.3, 8.1, 8.2). A member whose configuration is old may not know a leader that was added since:
 * it asks the members it knows, and lets that one in when one of them names it.
 */
export class Doorkeeper {
  readonly #port: DoorkeeperPort;
  #vouchedFor = new Set<PeerId>();
  #reportedMs = -reportEveryMs;
  #askedMs = -askEveryMs;

  constructor(port: DoorkeeperPort) {
    this.#port = port;
  }

  /** @returns why the envelope is refused; nothing of it may reach the core then */
  refusalOf(envelope: Envelope): string | undefined {
    const { self } = this.#port;
    const { clusterId, storageId } = this.#port.identity();
    const { clusterName, fromPeer, toPeer, toStorage, messages } = envelope;
    const strange = this.strangeness(clusterName, envelope.clusterId);
    if (strange !== undefined) return strange;
    if (clusterId !== undefined && envelope.clusterId === '') return 'the cluster id is missing';
    if (toPeer !== self) return `this is ${self}, not ${toPeer}`;
    if (toStorage !== '' && toStorage !== storageId)
      return `the storage here is ${storageId}, not ${toStorage}`;
    if (fromPeer === self) return `${self} does not talk to itself`;
    return (
      this.#refusalOfPeer(envelope) ?? messages.map(problemOf).find((text) => text !== undefined)
    );
  }

  strangeness(clusterName: string, clusterId: string | undefined): string | undefined {
    const own = this.#port.identity().clusterId;
    if (clusterName !== this.#port.clusterName)
      return `cluster name '${clusterName}' is not '${this.#port.clusterName}'`;
    if (!clusterId || !own || clusterId === own) return undefined;
    const text = `cluster id ${clusterId} is not ${own}`;
    this.#report(`A member of another cluster was refused: ${text}`);
    return text;
  }

  #refusalOfPeer({ fromPeer, fromStorage, messages }: Envelope): string | undefined {
    const conf = this.#port.conf();
    if (conf === undefined) return undefined;
    const members = membersOf(conf);
    if (!members.has(fromPeer)) {
      if (this.#vouchedFor.has(fromPeer)) return undefined;
      this.#inquire(fromPeer, [...members.keys()]);
      return `${fromPeer} is no member`;
    }
    const storageId = members.get(fromPeer)?.storageId;
    // Its vote and its log are those of the storage that the configuration names (ha.md 8.2 rule 5).
    if (storageId && storageId !== fromStorage && messages.some(({ type }) => responses.has(type)))
      return `the storage of ${fromPeer} is ${storageId}, not ${fromStorage}`;
    return undefined;
  }

  /** It was removed: whoever named it before does so no more. */
  forget(peer: PeerId): void {
    this.#vouchedFor.delete(peer);
  }

  #inquire(stranger: PeerId, members: readonly PeerId[]): void {
    const { runtime, declared, self, askMembers } = this.#port;
    const nowMs = runtime.clock.monotonicMs();
    if (nowMs - this.#askedMs < askEveryMs) return;
    this.#askedMs = nowMs;
    for (const id of new Set([...members, ...declared])) {
      if (id === self || id === stranger) continue;
      askMembers(id).then(
        (named) => {
          if (!named.includes(stranger)) return;
          if (this.#vouchedFor.size >= strangersMax) this.#vouchedFor.clear();
          this.#vouchedFor.add(stranger);
        },
        () => {},
      );
    }
  }

  #report(text: string): void {
    const nowMs = this.#port.runtime.clock.monotonicMs();
    if (nowMs - this.#reportedMs < reportEveryMs) return;
    this.#reportedMs = nowMs;
    this.#port.report(text);
  }
}

/** A sender of a snapshot waits for its answer, unless it hears that nobody has taken it. */
export function refusalAtStart({ messages }: Envelope): string | undefined {
  return messages.some(({ type }) => type === 'Snapshot') ? 'this member is starting' : undefined;
}

/** What no member ever sends: the core relies on it. */
function problemOf(message: Message): string | undefined {
  const { type, index, term, entries, snapshot } = message;
  if (entries.length > 0 && type !== 'Append') return `${type} carries entries`;
  let last = message.logTerm;
  for (const [i, entry] of entries.entries()) {
    if (entry.index !== index + 1 + i) return `entry ${entry.index} stands at ${index + 1 + i}`;
    if (entry.term < last || entry.term > term)
      return `entry ${entry.index} has term ${entry.term}`;
    last = entry.term;
  }
  if (type !== 'Snapshot') return undefined;
  if (snapshot === undefined) return 'a snapshot is missing';
  const { voters, learners, votersOutgoing, learnersNext } = snapshot.conf ?? {};
  const areLists = [voters, learners, votersOutgoing, learnersNext].every(Array.isArray);
  return areLists && voters.length > 0 ? undefined : 'a snapshot has no configuration';
}
