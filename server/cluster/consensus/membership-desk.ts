import type { Runtime } from '#core/runtime.ts';
import { type ConfChange, isJoint, membersOf } from '#raft/membership.ts';
import type { ConfProposal, NodeStatus } from '#raft/node.ts';
import type { Member, PeerId } from '#raft/vocabulary.ts';
import type { MembershipChange, MembershipChanged } from '../consensus-port.ts';

export interface MembershipPort {
  readonly runtime: Runtime;
  readonly self: PeerId;
  /** A learner this close to the end of the log is promoted. */
  readonly lagEntriesMax: number;
  status(): NodeStatus;
  propose(change: ConfChange): ConfProposal;
  /** Answered within `peerUnreachableThreshold`. */
  isReachable(id: PeerId): boolean;
  /** Hands leadership over before the leader removes itself. @returns whether it did */
  handOver(deadlineMs: number): Promise<boolean>;
}

const pollMs = 20;

/** Changes of membership on the leader, step by step (ha.md 2.12): each waits until the one before is committed. */
export class MembershipDesk {
  readonly #port: MembershipPort;

  constructor(port: MembershipPort) {
    this.#port = port;
  }

  async change(change: MembershipChange, timeoutMs: number): Promise<MembershipChanged> {
    const deadline = this.#port.runtime.clock.monotonicMs() + timeoutMs;
    const { confIndex } = this.#port.status();
    if (
      'expectedIndex' in change &&
      change.expectedIndex !== undefined &&
      change.expectedIndex !== confIndex
    )
      return refused(
        'index-mismatch',
        `the configuration index is ${confIndex}, not ${change.expectedIndex}`,
      );
    switch (change.kind) {
      case 'add':
        return this.#add(change.member, deadline);
      case 'promote':
        return this.#promote(change.ids, deadline);
      case 'remove':
        return this.#remove(change.id, change.force, deadline);
      case 'replace':
        return this.#replace(change.member, deadline);
    }
  }

  async #add(member: Member, deadline: number): Promise<MembershipChanged> {
    const known = membersOf(this.#port.status().conf).get(member.id);
    if (known !== undefined && known.storageId === member.storageId && known.voter)
      return this.#done(member.id);
    if (known !== undefined && member.storageId !== '' && known.storageId !== member.storageId)
      return this.#replace(member, deadline);
    if (known === undefined) {
      const failed = await this.#commit(
        { kind: 'simple', steps: [{ op: 'learner', member }] },
        deadline,
      );
      if (failed !== undefined) return failed;
    }
    return member.voter ? this.#promote([member.id], deadline) : this.#done(member.id);
  }

  /** The old incarnation goes and the new one comes in one change; who is to vote is then promoted. */
  async #replace(member: Member, deadline: number): Promise<MembershipChanged> {
    const known = membersOf(this.#port.status().conf).get(member.id);
    if (known?.storageId !== member.storageId) {
      const failed = await this.#commit(
        { kind: 'joint', steps: [{ op: 'learner', member }] },
        deadline,
      );
      if (failed !== undefined) return failed;
    }
    return member.voter ? this.#promote([member.id], deadline) : this.#done(member.id);
  }

  async #promote(ids: readonly PeerId[], deadline: number): Promise<MembershipChanged> {
    const { conf } = this.#port.status();
    const members = membersOf(conf);
    for (const id of ids)
      if (members.get(id) === undefined) return refused('unknown-peer', `${id} is no member`);
    if (!(await this.#until(() => ids.every((id) => this.#hasCaughtUp(id)), deadline)))
      return refused('lagging', `${ids.join(', ')} did not catch up in time`);
    const now = membersOf(this.#port.status().conf);
    const steps = ids.flatMap((id) => {
      const member = now.get(id);
      return member === undefined || member.voter ? [] : [{ op: 'voter' as const, member }];
    });
    // Several in one step: there is never a group of two on the way from one voter to three.
    const kind = steps.length > 1 ? 'joint' : 'simple';
    const failed = steps.length > 0 ? await this.#commit({ kind, steps }, deadline) : undefined;
    if (failed !== undefined) return failed;
    return this.#done(ids[0] ?? this.#port.self);
  }

  async #remove(id: PeerId, force: boolean, deadline: number): Promise<MembershipChanged> {
    const { conf } = this.#port.status();
    if (!membersOf(conf).has(id)) return this.#done(id);
    const problem = force ? undefined : this.#guard(id);
    if (problem !== undefined) return refused('guard', problem);
    if (id === this.#port.self && conf.voters.length > 1 && (await this.#port.handOver(deadline)))
      return { kind: 'no-leader' };
    const failed = await this.#commit({ kind: 'simple', steps: [{ op: 'remove', id }] }, deadline);
    return failed ?? this.#done(id);
  }

  /** A group must not lose its quorum by a removal (ha.md 2.12 rule 7). */
  #guard(id: PeerId): string | undefined {
    const { voters } = this.#port.status().conf;
    if (!voters.some((member) => member.id === id)) return undefined;
    const remaining = voters.filter((member) => member.id !== id);
    const needed = Math.floor(voters.length / 2) + 1;
    const quorum = Math.floor(remaining.length / 2) + 1;
    // Who has no entry yet cannot help to elect anybody (ha.md 2.5 rule 10).
    const { progress } = this.#port.status();
    const hasEntries = (other: PeerId) =>
      progress.some((known) => known.id === other && known.match > 0);
    const active = remaining.filter(
      ({ id: other }) =>
        other === this.#port.self || (this.#port.isReachable(other) && hasEntries(other)),
    ).length;
    if (remaining.length < needed)
      return `${remaining.length} of ${voters.length} voters would be left, a majority of them is ${needed}`;
    if (active < quorum)
      return `${active} of the remaining ${remaining.length} voters are reachable, their quorum is ${quorum}`;
    return undefined;
  }

  #hasCaughtUp(id: PeerId): boolean {
    const { progress, lastIndex } = this.#port.status();
    const peer = progress.find((known) => known.id === id);
    if (id === this.#port.self) return true;
    return (
      peer !== undefined &&
      this.#port.isReachable(id) &&
      peer.match > 0 &&
      lastIndex - peer.match <= this.#port.lagEntriesMax
    );
  }

  /** Proposes until it is accepted, then waits until it is committed and no joint state is left. */
  async #commit(change: ConfChange, deadline: number): Promise<MembershipChanged | undefined> {
    let proposal: ConfProposal = 'pending';
    const before = this.#port.status().confIndex;
    const isTaken = await this.#until(() => {
      proposal = this.#port.propose(change);
      return proposal !== 'pending' && proposal !== 'transfer-pending';
    }, deadline);
    if (!isTaken) return refused('pending', 'another change of membership is under way');
    const answer = proposal as ConfProposal;
    if (typeof answer === 'object') return refused('guard', answer.refused);
    if (answer !== 'ok') return { kind: 'no-leader' };
    const isCommitted = await this.#until(() => {
      const { confIndex, conf, role } = this.#port.status();
      return role !== 'leader' || (confIndex > before && !isJoint(conf));
    }, deadline);
    if (!isCommitted) return refused('pending', 'the change is in the log and not committed yet');
    return this.#port.status().confIndex > before ? undefined : { kind: 'no-leader' };
  }

  #done(id: PeerId): MembershipChanged {
    const { conf, confIndex } = this.#port.status();
    return {
      kind: 'done',
      configurationIndex: confIndex,
      isVoter: conf.voters.some((member) => member.id === id),
    };
  }

  async #until(test: () => boolean, deadline: number): Promise<boolean> {
    const { clock, timers } = this.#port.runtime;
    while (!test()) {
      if (clock.monotonicMs() >= deadline) return false;
      await timers.sleep(pollMs);
    }
    return true;
  }
}

function refused(
  reason: Extract<MembershipChanged, { kind: 'refused' }>['reason'],
  detail: string,
): MembershipChanged {
  return { kind: 'refused', reason, detail };
}
