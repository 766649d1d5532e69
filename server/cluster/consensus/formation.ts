import type { Runtime } from '#core/runtime.ts';
import { membersOf } from '#raft/membership.ts';
import type { NodeStatus } from '#raft/node.ts';
import type { ConfState, Index, Member, PeerId, Term } from '#raft/vocabulary.ts';
import type { Build } from '../features.ts';
import type { Identity } from '../log-store/raft-directory.ts';
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
}

/** The beginning of a group: kept by each member for ever, since the log goes on from it. */
export interface Formation {
  readonly clusterId: string;
  readonly conf: ConfState;
}

/** @returns undefined for a directory that belongs to no group yet */
export function formationOf({ clusterId, firstConf }: Identity): Formation | undefined {
  if (clusterId === undefined || firstConf === undefined) return undefined;
  return { clusterId, conf: firstConf };
}

/** What a member says of itself. */
export function helloOf({
  options: { clusterName, self, build },
  identity,
  lastIndex,
  status,
}: {
  readonly options: Pick<ConsensusOptions, 'clusterName' | 'self' | 'build'>;
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
  };
}

export interface FormationPort {
  readonly options: ConsensusOptions;
  readonly runtime: Runtime;
  readonly storageId: string;
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

/**
 * Looks for the group that this empty storage belongs to, or forms one (ha.md 8.2, 8.3). Only the member with the lowest id of
 * those who see each other forms, and only with a majority of the declared ones, all of them empty: two majorities of one list
 * share a member, and a member takes the first formation that it meets.
 */
export async function findGroup(port: FormationPort): Promise<Found> {
  const { options, runtime } = port;
  const others = options.declared.filter(({ id }) => id !== options.self);
  const deadline = runtime.clock.monotonicMs() + options.bootstrapTimeoutMs;
  for (;;) {
    if (port.isClosed()) return { kind: 'closed' };
    const answers = await Promise.all(
      others.map((member) => port.ask(member).catch(() => undefined)),
    );
    const heard = answers.filter((answer) => answer !== undefined);
    const formed = formationAmong(heard);
    if (formed === 'many') {
      await runtime.timers.sleep(pauseMs);
      continue;
    }
    if (formed !== undefined)
      return { kind: isNamed(formed.conf, port) ? 'member' : 'outsider', formation: formed };
    const isLate = runtime.clock.monotonicMs() >= deadline;
    const formation = formedBy(port, heard, isLate);
    if (formation !== undefined) return { kind: 'member', formation };
    await runtime.timers.sleep(pauseMs);
  }
}

/** A group that was given up may still have members about: among several it is the one that somebody leads. */
function formationAmong(heard: readonly Hello[]): Formation | 'many' | undefined {
  const formed = heard.filter(({ formation }) => formation !== undefined);
  const led = formed.find(({ leader }) => leader !== undefined);
  if (led !== undefined) return led.formation;
  const ids = new Set(formed.map(({ clusterId }) => clusterId));
  return ids.size > 1 ? 'many' : formed[0]?.formation;
}

function isNamed(conf: ConfState, { options, storageId }: FormationPort): boolean {
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
  present.set(options.self, port.storageId);
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
      priority,
      canLead: id === options.self ? options.canLead : true,
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
    priority: own?.priority ?? 0,
    canLead,
    storageId,
    voter,
  };
}
