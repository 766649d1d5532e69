import { membersOf } from '#raft/membership.ts';
import type { NodeStatus } from '#raft/node.ts';
import type { ConfState, PeerId } from '#raft/vocabulary.ts';
import type { MembershipChange, MembershipChanged } from '../consensus-port.ts';

/** For what is still on the way to and from a member that was removed. */
export const lastWordMs = 500;

/** This member wants to go and has gone already; else undefined. */
export function hasLeft(
  change: MembershipChange,
  status: Pick<NodeStatus, 'conf' | 'confIndex'> | undefined,
  self: PeerId,
): MembershipChanged | undefined {
  if (status === undefined || change.kind !== 'remove' || change.id !== self) return undefined;
  const { conf, confIndex } = status;
  if (membersOf(conf).has(self)) return undefined;
  return { kind: 'done', configurationIndex: confIndex, isVoter: false };
}

/** Tells of each other member that a change of the configuration took out, once. */
export class RemovedMembers {
  readonly #self: PeerId;
  readonly #told: (id: PeerId) => void;
  #members: ReturnType<typeof membersOf> | undefined;

  constructor(self: PeerId, told: (id: PeerId) => void) {
    this.#self = self;
    this.#told = told;
  }

  /** The configuration as it is now; nearly always it is the one of before. */
  look(conf: ConfState): void {
    const now = membersOf(conf);
    const before = this.#members;
    if (before === now) return;
    this.#members = now;
    for (const id of before?.keys() ?? []) if (!now.has(id) && id !== this.#self) this.#told(id);
  }
}
