import type { ConfState, Member, PeerId } from './vocabulary.ts';

/**
 * A change of membership as it stands in the log (ha.md 2.12). `simple` changes one voter at most; `joint` lets two sets decide
 * until `leave`, which the leader appends by itself.
 */
export type ConfChange =
  | { readonly kind: 'simple' | 'joint'; readonly steps: readonly ConfStep[] }
  | { readonly kind: 'leave' };

export type ConfStep =
  | { readonly op: 'voter' | 'learner'; readonly member: Member }
  /** Without a time it goes of its own accord, and may come back by itself. */
  | { readonly op: 'remove'; readonly id: PeerId; readonly atMs?: number };

/** So many removed members are remembered. */
const removedMax = 64;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function encodeConfChange(change: ConfChange): Uint8Array {
  return encoder.encode(JSON.stringify(change));
}

export function decodeConfChange(data: Uint8Array): ConfChange {
  return JSON.parse(decoder.decode(data)) as ConfChange;
}

export function isJoint(conf: ConfState): boolean {
  return conf.votersOutgoing.length > 0;
}

type Members = ReadonlyMap<PeerId, Member | undefined>;
/** It is asked for with every message, and a configuration never changes in itself. */
const known = new WeakMap<ConfState, Members>();

/** Voters of both sets and learners, by id. */
export function membersOf(conf: ConfState): Members {
  const before = known.get(conf);
  if (before !== undefined) return before;
  const members = listed(conf);
  known.set(conf, members);
  return members;
}

function listed(conf: ConfState): Members {
  const members = new Map<PeerId, Member | undefined>();
  for (const id of conf.votersOutgoing) members.set(id, undefined);
  for (const member of [...conf.learners, ...conf.voters]) members.set(member.id, member);
  return new Map([...members].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Why the change cannot be made in this configuration (ha.md 2.12 rule 3); undefined: it can. */
export function refusalOf(conf: ConfState, change: ConfChange): string | undefined {
  if (change.kind === 'leave') return isJoint(conf) ? undefined : 'no joint change is under way';
  if (isJoint(conf)) return 'a joint change is under way';
  const next = withSteps(conf, change.steps);
  if (next.voters.length === 0) return 'no voter would be left';
  if (change.kind === 'joint') return undefined;
  const before = new Set(conf.voters.map(({ id }) => id));
  const after = new Set(next.voters.map(({ id }) => id));
  const changed =
    [...before].filter((id) => !after.has(id)).length +
    [...after].filter((id) => !before.has(id)).length;
  return changed > 1 ? 'a simple change adds or removes one voter' : undefined;
}

/** The configuration once the change is committed. */
export function changed(conf: ConfState, change: ConfChange): ConfState {
  switch (change.kind) {
    case 'simple':
      return withSteps(conf, change.steps);
    case 'joint':
      return entered(conf, change.steps);
    case 'leave':
      return left(conf);
  }
}

function withSteps(conf: ConfState, steps: readonly ConfStep[]): ConfState {
  const voters = new Map(conf.voters.map((member) => [member.id, member]));
  const learners = new Map(conf.learners.map((member) => [member.id, member]));
  const { removed: before = [], ...rest } = conf;
  const removed = new Map(before.map((gone) => [gone.id, gone]));
  for (const step of steps) {
    const id = step.op === 'remove' ? step.id : step.member.id;
    const known = voters.get(id) ?? learners.get(id);
    removed.delete(id);
    if (step.op === 'remove' && step.atMs !== undefined)
      removed.set(id, { id, storageId: known?.storageId ?? '', atMs: step.atMs });
    voters.delete(id);
    learners.delete(id);
    if (step.op === 'voter') voters.set(id, { ...step.member, voter: true });
    else if (step.op === 'learner') learners.set(id, { ...step.member, voter: false });
  }
  const told = removed.size > 0 ? { removed: [...removed.values()].slice(-removedMax) } : undefined;
  return { ...rest, voters: sorted(voters), learners: sorted(learners), ...told };
}

/** A voter that becomes a learner stays a voter of the old set and is listed as learner only when that is left. */
function entered(conf: ConfState, steps: readonly ConfStep[]): ConfState {
  const next = withSteps(conf, steps);
  const outgoing = conf.voters.map(({ id }) => id).sort();
  const waiting = next.learners.filter(({ id }) => outgoing.includes(id));
  return {
    ...next,
    votersOutgoing: outgoing,
    learnersNext: waiting.map(({ id }) => id),
    autoLeave: true,
  };
}

function left(conf: ConfState): ConfState {
  return { ...conf, votersOutgoing: [], learnersNext: [], autoLeave: false };
}

function sorted(members: ReadonlyMap<PeerId, Member>): readonly Member[] {
  return [...members.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}
