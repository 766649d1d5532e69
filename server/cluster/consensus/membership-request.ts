import { membersOf } from '#raft/membership.ts';
import type { ConfState, Member } from '#raft/vocabulary.ts';
import type { MembershipChange } from '../consensus-port.ts';
import type { Build } from '../features.ts';
import { peerIdOf } from '../server-list.ts';
import type { Hello } from './formation.ts';

/** A change of membership that another server asks for (ha.md 4.1 ChangeMembership), with what it says of itself. */
export interface MembershipRequest {
  readonly change: MembershipChange;
  readonly timeoutMs: number;
  /** By a member that does not lead: it goes no further. */
  readonly isPassedOn: boolean;
  readonly from: Hello;
  /** It asks for itself, also when a member passes it on. */
  readonly asker?: Asker | undefined;
}

/** Who asks to be taken in. */
export interface Asker {
  /** Undefined: a build that says nothing of itself. */
  readonly build?: Build | undefined;
}

export interface MembershipDoor {
  conf(): ConfState | undefined;
  /** Why it is of another cluster. */
  strangeness(clusterName: string, clusterId: string | undefined): string | undefined;
}

type Fields = Readonly<Record<string, unknown>>;

const timeoutMsMax = 3_600_000;
const textMax = 512;
const priorityMax = 1_000_000;
const idsMax = 64;
const featuresMax = 1000;

/**
 * What comes on the Raft port is what a member, or one that wants to be one, would send; else nothing of it reaches the group: what
 * stands in the log once is there on every server. @throws Error that says what is wrong
 */
export function readMembershipRequest(given: unknown, door: MembershipDoor): MembershipRequest {
  const { change, timeoutMs, isPassedOn, from, asker } = fieldsOf(given, 'request');
  // What is left of a time, which is no whole number.
  if (typeof timeoutMs !== 'number' || !(timeoutMs >= 0 && timeoutMs <= timeoutMsMax))
    throw new Error('timeoutMs is wrong');
  if (typeof isPassedOn !== 'boolean') throw new Error('isPassedOn is wrong');
  const read = changeOf(fieldsOf(change, 'change'));
  const sender = fieldsOf(from, 'from');
  requireSender(sender, read, door);
  return {
    change: read,
    timeoutMs,
    isPassedOn,
    from: sender as unknown as Hello,
    asker: isForItself(sender, read) ? askerOf(sender) : passedOn(asker),
  };
}

function isForItself({ peer, storage }: Fields, change: MembershipChange): boolean {
  if (!('member' in change)) return false;
  return change.member.id === peer && change.member.storageId === storage;
}

function passedOn(asker: unknown): Asker | undefined {
  return asker === undefined ? undefined : askerOf(fieldsOf(asker, 'asker'));
}

function askerOf({ build }: Fields): Asker {
  if (build === undefined) return {};
  const { version, features } = fieldsOf(build, 'build');
  if (!Array.isArray(features) || features.length > featuresMax)
    throw new Error('features is wrong');
  return {
    build: {
      version: textOf(version, 'version'),
      features: features.map((one) => textOf(one, 'features')),
    },
  };
}

/** A member with the disk that the group knows it by; somebody else may only ask to be taken in. */
function requireSender(sender: Fields, change: MembershipChange, door: MembershipDoor): void {
  const { clusterName, clusterId, peer, storage } = sender;
  const strange = door.strangeness(
    textOf(clusterName, 'clusterName'),
    textOf(clusterId, 'clusterId'),
  );
  if (strange !== undefined) throw new Error(strange);
  const conf = door.conf();
  const id = textOf(peer, 'peer');
  const known = conf && membersOf(conf).get(id);
  if (isForItself(sender, change)) return;
  // Who leaves may ask again, and be none already.
  if (known === undefined && change.kind === 'remove' && change.id === id) return;
  if (known === undefined) throw new Error(`${id} is no member`);
  if (known.storageId !== '' && known.storageId !== storage)
    throw new Error(`the storage of ${id} is ${known.storageId}, not ${String(storage)}`);
}

function changeOf(given: Fields): MembershipChange {
  const { kind, expectedIndex } = given;
  if (expectedIndex !== undefined && !isCount(expectedIndex, Number.MAX_SAFE_INTEGER))
    throw new Error('expectedIndex is wrong');
  const expected = expectedIndex === undefined ? undefined : { expectedIndex };
  if (kind === 'add') return { kind, member: memberOf(given['member']), ...expected };
  if (kind === 'replace') return { kind, member: memberOf(given['member']) };
  if (kind === 'promote') return { kind, ids: idsOf(given['ids']), ...expected };
  if (kind !== 'remove') throw new Error('kind is wrong');
  const { force, isLeaving } = given;
  if (typeof force !== 'boolean') throw new Error('force is wrong');
  const leaving = isLeaving === true ? { isLeaving } : undefined;
  return { kind, id: textOf(given['id'], 'id'), force, ...leaving, ...expected };
}

function memberOf(given: unknown): Member {
  const { id, address, name, priority, canLead, storageId, voter, http, https } = fieldsOf(
    given,
    'member',
  );
  const at = textOf(address, 'address');
  const colon = at.lastIndexOf(':');
  const port = Number(at.slice(colon + 1));
  if (colon < 1 || !isPort(port)) throw new Error('address is wrong');
  if (id !== peerIdOf(at.slice(0, colon), port)) throw new Error(`id is not that of ${at}`);
  if (!Number.isSafeInteger(priority) || Math.abs(Number(priority)) > priorityMax)
    throw new Error('priority is wrong');
  if (typeof canLead !== 'boolean' || typeof voter !== 'boolean')
    throw new Error('canLead or voter is wrong');
  for (const one of [http, https])
    if (one !== undefined && !isPort(one)) throw new Error('a port is wrong');
  return {
    id,
    address: at,
    ...(name === undefined ? undefined : { name: textOf(name, 'name') }),
    priority: Number(priority),
    canLead,
    storageId: storageId === '' ? '' : textOf(storageId, 'storageId'),
    voter,
    ...(http === undefined ? undefined : { http: Number(http) }),
    ...(https === undefined ? undefined : { https: Number(https) }),
  };
}

function idsOf(given: unknown): readonly string[] {
  if (!Array.isArray(given) || given.length === 0 || given.length > idsMax)
    throw new Error('ids is wrong');
  return given.map((id) => textOf(id, 'ids'));
}

function fieldsOf(given: unknown, what: string): Fields {
  if (typeof given === 'object' && given !== null && !Array.isArray(given)) return given as Fields;
  throw new Error(`${what} is no object`);
}

function textOf(given: unknown, what: string): string {
  if (typeof given === 'string' && given !== '' && given.length <= textMax) return given;
  throw new Error(`${what} is wrong`);
}

function isCount(given: unknown, max: number): given is number {
  return Number.isSafeInteger(given) && Number(given) >= 0 && Number(given) <= max;
}

function isPort(given: unknown): boolean {
  return Number.isInteger(given) && Number(given) >= 1 && Number(given) <= 65_535;
}
