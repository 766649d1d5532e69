import type { Runtime } from '#core/runtime.ts';
import { membersOf } from '#raft/membership.ts';
import type { NodeStatus } from '#raft/node.ts';
import type { ConfState, Index, Member, PeerId, Term } from '#raft/vocabulary.ts';
import type { Build } from '../features.ts';
import type { Identity } from '../log-store/raft-directory.ts';
import {
  type Formation,
  type FormationVote,
  missingFrom,
  nextVote,
  noVote,
  participantsOf,
} from './formation-vote.ts';
import type { ConsensusOptions, DeclaredMember } from './worker-messages.ts';

/** What a member says of itself before anything else (ha.md 4.1 Hello). Requests and replies have one shape. */
export interface Hello {
  readonly clusterName: string;
  readonly clusterId: string | undefined;
  readonly peer: PeerId;
  readonly storage: string;
  readonly lastIndex: Index;
  readonly term: Term;
  readonly admitted: boolean;
  readonly leader: PeerId | undefined;
  /** Of the group as it knows them. */
  readonly members?: readonly PeerId[];
  /** The configuration at which its log begins; undefined: it belongs to no group yet. */
  readonly formation: Formation | undefined;
  /** Undefined: a build before it was told. */
  readonly build?: Build | undefined;
  /** By its own settings; undefined: a build before it was told. */
  readonly canLead?: boolean | undefined;
  /** Of one that belongs to no group yet. */
  readonly vote?: FormationVote | undefined;
}

/** @returns undefined for a directory that belongs to no group yet */
export function formationOf({ clusterId, firstConf }: Identity): Formation | undefined {
  if (clusterId === undefined || firstConf === undefined) return undefined;
  return { clusterId, conf: firstConf };
}

/** What a member says of itself. */
export function helloOf({
  options: { clusterName, self, build, canLead },
  identity,
  lastIndex,
  status,
}: {
  readonly options: Pick<ConsensusOptions, 'clusterName' | 'self' | 'build' | 'canLead'>;
  readonly identity: Identity;
  readonly lastIndex: Index;
  readonly status: NodeStatus | undefined;
}): Hello {
  const { clusterId, storageId: storage, admitted } = identity;
  return {
    clusterName,
    clusterId,
    peer: self,
    storage,
    lastIndex,
    term: status?.term ?? 0,
    admitted,
    leader: status?.leader,
    members: status === undefined ? [] : [...membersOf(status.conf).keys()],
    formation: formationOf(identity),
    build,
    canLead,
    vote: identity.formationVote,
  };
}

/** Of a storage that has found its group; how it came to that is told to nobody any more. */
export function identityIn(
  { kind, formation }: Exclude<Found, { kind: 'closed' }>,
  { formationVote: _, ...identity }: Identity,
): Identity {
  const { clusterId, conf: firstConf } = formation;
  return { ...identity, clusterId, firstConf, admitted: kind === 'member' };
}

export interface FormationPort {
  readonly options: ConsensusOptions;
  readonly runtime: Runtime;
  readonly store: {
    readonly identity: Identity;
    /** Resolves when the disk has it. */
    setIdentity(identity: Identity): Promise<void>;
  };
  ask(member: DeclaredMember): Promise<Hello>;
  report(level: 'info' | 'warn' | 'error', text: string): void;
  isClosed(): boolean;
}

export type Found =
  /** This storage is named by it: the member has a vote from the start. */
  | { readonly kind: 'member'; readonly formation: Formation }
  /** There is a group, and it has to take this storage in. */
  | { readonly kind: 'outsider'; readonly formation: Formation }
  | { readonly kind: 'closed' };

const pauseMs = 500;
/** Between looks for the votes of the others. */
const votesPauseMs = 100;
/** Without their votes for so long a person is told, and again. */
const tellEveryMs = 30_000;

/**
 * Looks for the group that this empty storage belongs to, or forms one (ha.md 8.2, 8.3). The member with the lowest id of those who
 * see each other proposes one, with a majority of the declared ones, all of them empty. It begins when all of them have accepted it,
 * each on its disk and none of them two: two majorities of one list share a member, so two groups never begin.
 */
export async function findGroup(port: FormationPort): Promise<Found> {
  const { options, runtime, store } = port;
  const { storageId } = store.identity;
  const { monotonicMs } = runtime.clock;
  const others = options.declared.filter(({ id }) => id !== options.self);
  const deadline = monotonicMs() + options.bootstrapTimeoutMs;
  let toldMs = monotonicMs();
  for (;;) {
    if (port.isClosed()) return { kind: 'closed' };
    const answers = await Promise.all(
      others.map((member) => port.ask(member).catch(() => undefined)),
    );
    const heard = answers.filter((answer) => answer !== undefined);
    const before = store.identity.formationVote ?? noVote;
    let vote = nextVote(before, heard, { peer: options.self, storage: storageId });
    const formed = formationAmong(heard);
    if (formed === undefined && vote.accepted === undefined && !isUnderWay(heard)) {
      const accepted = formedBy(port, heard, monotonicMs() >= deadline);
      if (accepted !== undefined) vote = { ...vote, accepted };
    }
    const { accepted } = vote;
    if (accepted !== undefined && participantsOf(accepted).size === 1)
      return { kind: 'member', formation: accepted };
    // Nobody hears of it before the disk has it.
    if (vote !== before) await store.setIdentity({ ...store.identity, formationVote: vote });
    if (formed !== undefined && formed !== 'many') {
      if (accepted === undefined || accepted.clusterId === formed.clusterId)
        return { kind: isNamed(formed.conf, port) ? 'member' : 'outsider', formation: formed };
    }
    if (accepted !== undefined) {
      const missing = missingFrom(accepted, heard, options.self);
      if (missing.length === 0) return { kind: 'member', formation: accepted };
      if (monotonicMs() - toldMs >= tellEveryMs) {
        toldMs = monotonicMs();
        port.report('error', waitsFor(missing));
      }
    }
    await runtime.timers.sleep(accepted === undefined ? pauseMs : votesPauseMs);
  }
}

/** One that this member does not take part in may begin any moment. */
function isUnderWay(heard: readonly Hello[]): boolean {
  return heard.some(({ vote }) => vote?.accepted !== undefined);
}

function waitsFor(missing: readonly PeerId[]): string {
  return `The cluster begins when ${missing.join(', ')} agrees, which was there when it was proposed: start it with the disk that it had`;
}

/** A group that was given up may still have members about: among several it is the one that somebody leads. */
function formationAmong(heard: readonly Hello[]): Formation | 'many' | undefined {
  const formed = heard.filter(({ formation }) => formation !== undefined);
  const led = formed.find(({ leader }) => leader !== undefined);
  if (led !== undefined) return led.formation;
  const ids = new Set(formed.map(({ clusterId }) => clusterId));
  return ids.size > 1 ? 'many' : formed[0]?.formation;
}

function isNamed(conf: ConfState, { options, store }: FormationPort): boolean {
  const { storageId } = store.identity;
  return conf.voters.some((member) => member.id === options.self && member.storageId === storageId);
}

function formedBy(
  port: FormationPort,
  heard: readonly Hello[],
  isLate: boolean,
): Formation | undefined {
  const { options, runtime } = port;
  if (options.startMode === 'join') return undefined;
  const present = new Map(heard.map(({ peer, storage }) => [peer, storage]));
  present.set(options.self, port.store.identity.storageId);
  const pinned = new Set(heard.flatMap(({ peer, canLead }) => (canLead === false ? [peer] : [])));
  if (!options.canLead) pinned.add(options.self);
  const isWhole = options.declared.every(({ id }) => present.has(id));
  const isMajority = present.size > options.declared.length / 2;
  if (!isWhole && !(isLate && isMajority) && options.startMode !== 'bootstrap') return undefined;
  if ([...present.keys()].sort()[0] !== options.self) return undefined;
  const absent = options.declared.filter(({ id }) => !present.has(id));
  if (absent.length > 0)
    port.report(
      'error',
      `The cluster forms without ${absent.map(({ id }) => id).join(', ')}: data that only they hold would be missed`,
    );
  const named = options.formsWithoutAbsent
    ? options.declared.filter(({ id }) => present.has(id))
    : options.declared;
  const voters = named
    .map(({ id, address, name, priority }) => ({
      id,
      address,
      name,
      priority: pinned.has(id) ? 0 : priority,
      canLead: !pinned.has(id),
      storageId: present.get(id) ?? '',
      voter: true,
    }))
    .sort((a, b) => (a.id < b.id ? -1 : 1));
  const conf = { voters, votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false };
  return { clusterId: runtime.random.uuid(), conf };
}

/** This server as a member, by its own settings. */
export function ownMember(
  { self, declared, canLead }: Pick<ConsensusOptions, 'self' | 'declared' | 'canLead'>,
  { storageId, voter }: Pick<Member, 'storageId' | 'voter'>,
): Member {
  const own = declared.find(({ id }) => id === self);
  return {
    id: self,
    address: own?.address ?? self.replace(/_(\d+)$/, ':$1'),
    name: own?.name ?? self,
    priority: canLead ? (own?.priority ?? 0) : 0,
    canLead,
    storageId,
    voter,
  };
}
