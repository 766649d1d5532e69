import type { Runtime } from '#core/runtime.ts';
import { type ConfChange, isJoint } from '#raft/membership.ts';
import type { ConfProposal, NodeStatus } from '#raft/node.ts';
import type { Member, PeerId } from '#raft/vocabulary.ts';
import type { MembershipChange, MembershipChanged } from '../consensus-port.ts';
import { lackOfBuild } from '../features.ts';
import type { Asker } from './membership-request.ts';

/*
 * Changes of membership on the leader (ha.md 2.12). Each step is derived from the configuration as it is when the step is proposed
 * and has been taken when the configuration says so: others change it meanwhile, and the lead may go. Who is to vote is marked in
 * the configuration, so that whoever leads when it has caught up promotes it, asked or not.
 */

export interface MembershipPort {
  readonly runtime: Runtime;
  readonly self: PeerId;
  /** A learner this close to the end of the log is promoted. */
  readonly lagEntriesMax: number;
  status(): NodeStatus;
  propose(change: ConfChange): ConfProposal;
  /** Those that entries have switched on. */
  activeFeatures(): readonly string[];
  /** Told to who runs this server. */
  report(text: string): void;
  /** Answered within `peerUnreachableThreshold`. */
  isReachable(id: PeerId): boolean;
  /** Hands leadership over before the leader removes itself. @returns whether it did */
  handOver(deadlineMs: number): Promise<boolean>;
}

type Refused = Extract<MembershipChanged, { kind: 'refused' }>;

/** One change of the configuration on the way to what was asked for. */
interface Step {
  /** The configuration has it. */
  isDone(): boolean;
  /** What to propose now; `catching-up`: somebody is behind. */
  next(): ConfChange | Refused | 'catching-up';
}

const pollMs = 20;
/** For the change of somebody else. */
const patienceMs = 90_000;
/** So long who was removed does not come back by itself. */
const bannedMs = 24 * 3600 * 1000;

/** Changes of membership on the leader, step by step: each waits until the one before is committed. */
export class MembershipDesk {
  readonly #port: MembershipPort;
  /** Of the last one that lacked a feature. */
  #told = '';

  constructor(port: MembershipPort) {
    this.#port = port;
  }

  /** @param asker who asks to be taken in by itself; undefined: somebody else asks, who has looked what it lacks */
  async change(
    change: MembershipChange,
    timeoutMs: number,
    asker?: Asker,
  ): Promise<MembershipChanged> {
    const lack = asker && this.#lackOf(change, asker);
    if (lack !== undefined) return lack;
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
    const changed = await this.#carryOut(change, deadline, asker);
    // One of its steps may have been made before.
    if (changed.kind === 'no-leader' && this.#port.status().confIndex !== confIndex)
      return { kind: 'no-leader', mayBeDone: true };
    return changed;
  }

  #carryOut(
    change: MembershipChange,
    deadline: number,
    asker: Asker | undefined,
  ): Promise<MembershipChanged> {
    switch (change.kind) {
      case 'add':
        return this.#add(change.member, deadline, asker);
      case 'promote':
        return this.#unheard(change.ids) ?? this.#promote(change.ids, deadline);
      case 'remove':
        return this.#remove(change, deadline);
      case 'replace':
        return this.#replace(change.member, deadline);
    }
  }

  /** Each time it asks again; who is a member already stays one, and stops before what it does not know. */
  #lackOf(change: MembershipChange, { build }: Asker): Refused | undefined {
    if (!('member' in change)) return undefined;
    const { id, storageId } = change.member;
    if (this.#known(id)?.storageId === storageId) return undefined;
    const text = lackOfBuild(id, build, this.#port.activeFeatures());
    if (text === undefined) return undefined;
    if (text !== this.#told) this.#port.report(text);
    this.#told = text;
    return refused('lacks-feature', text);
  }

  /** A regular look of the leader: learners that are to vote do so once they have caught up, whoever asked for it. */
  promoteReady(): void {
    const { conf, isConfPending, role } = this.#port.status();
    if (role !== 'leader' || isJoint(conf) || isConfPending) return;
    const ids = conf.learners
      .filter(({ id, isToVote }) => isToVote === true && this.#hasCaughtUp(id))
      .map(({ id }) => id);
    if (ids.length > 0) this.#port.propose(this.#promotionOf(ids));
  }

  async #add(
    member: Member,
    deadline: number,
    asker: Asker | undefined,
  ): Promise<MembershipChanged> {
    const before = this.#known(member.id);
    if (before !== undefined && isOtherDisk(before, member)) return this.#replace(member, deadline);
    // A person does not know the settings of that server.
    if (before !== undefined && asker !== undefined && before.canLead !== member.canLead)
      return this.#renew(member, deadline);
    if (before === undefined && this.#isBanned(member))
      return refused('guard', `${member.id} was removed; POST /cluster/peer adds it again`);
    const failed = await this.#take(
      {
        isDone: () => {
          const known = this.#known(member.id);
          return known !== undefined && (!member.voter || known.voter || known.isToVote === true);
        },
        next: () => {
          const known = this.#known(member.id) ?? member;
          const learner = member.voter ? ({ ...known, isToVote: true } as const) : known;
          return { kind: 'simple', steps: [{ op: 'learner', member: learner }] };
        },
      },
      deadline,
    );
    if (failed !== undefined) return failed;
    return member.voter ? this.#promote([member.id], deadline) : this.#done(member.id);
  }

  /** Its settings say otherwise than before whether it may lead. */
  async #renew({ id, canLead, priority }: Member, deadline: number): Promise<MembershipChanged> {
    const failed = await this.#take(
      {
        isDone: () => this.#known(id)?.canLead === canLead,
        next: () => {
          const known = this.#known(id);
          if (known === undefined) return refused('unknown-peer', `${id} is no member`);
          const op = known.voter ? 'voter' : 'learner';
          return { kind: 'simple', steps: [{ op, member: { ...known, canLead, priority } }] };
        },
      },
      deadline,
    );
    return failed ?? this.#done(id);
  }

  /** The old incarnation goes and the new one comes in one change; who had a vote, or was to have one, gets it again. */
  async #replace(member: Member, deadline: number): Promise<MembershipChanged> {
    const unknown = refused('unknown-peer', `${member.id} is no member`);
    let votes = member.voter;
    const failed = await this.#take(
      {
        isDone: () => {
          const known = this.#known(member.id);
          votes ||= known?.voter === true || known?.isToVote === true;
          return known?.storageId === member.storageId;
        },
        next: () => {
          const known = this.#known(member.id);
          if (known === undefined) return unknown;
          const { canLead, storageId } = member;
          const toVote = votes ? ({ isToVote: true } as const) : undefined;
          const learner = { ...known, canLead, storageId, ...toVote };
          return { kind: 'joint', steps: [{ op: 'learner', member: learner }] };
        },
      },
      deadline,
    );
    if (failed !== undefined) return failed;
    return votes ? this.#promote([member.id], deadline) : this.#done(member.id);
  }

  /** Nobody waits for who is not there. */
  #unheard(ids: readonly PeerId[]): Promise<Refused> | undefined {
    const id = ids.find((one) => this.#known(one)?.voter === false && !this.#port.isReachable(one));
    if (id === undefined) return undefined;
    return Promise.resolve(refused('lagging', `${id} is not reachable; start it first`));
  }

  async #promote(ids: readonly PeerId[], deadline: number): Promise<MembershipChanged> {
    const failed = await this.#take(
      {
        isDone: () => ids.every((id) => this.#known(id)?.voter === true),
        next: () => {
          const gone = ids.find((id) => this.#known(id) === undefined);
          if (gone !== undefined) return refused('unknown-peer', `${gone} is no member`);
          return ids.every((id) => this.#hasCaughtUp(id)) ? this.#promotionOf(ids) : 'catching-up';
        },
      },
      deadline,
      `${ids.join(', ')} did not catch up in time`,
    );
    return failed ?? this.#done(ids[0] ?? this.#port.self);
  }

  /** Several in one step: there is never a group of two on the way from one voter to three. */
  #promotionOf(ids: readonly PeerId[]): ConfChange {
    const steps = ids.flatMap((id) => {
      const member = this.#known(id);
      return member === undefined || member.voter ? [] : [{ op: 'voter' as const, member }];
    });
    return { kind: steps.length > 1 ? 'joint' : 'simple', steps };
  }

  /**
   * Its restart must not undo its removal (ha.md 14.3 rule 5). A person adds whom it likes and does not know the disk, nor was the
   * disk known of one that was removed before it said hello.
   */
  #isBanned({ id, storageId }: Member): boolean {
    if (storageId === '') return false;
    const { removed = [] } = this.#port.status().conf;
    const sinceMs = this.#port.runtime.clock.now() - bannedMs;
    return removed.some(
      (gone) => gone.id === id && gone.storageId === storageId && gone.atMs > sinceMs,
    );
  }

  async #remove(
    { id, force, isLeaving }: Extract<MembershipChange, { kind: 'remove' }>,
    deadline: number,
  ): Promise<MembershipChanged> {
    const at = isLeaving === true ? {} : { atMs: this.#port.runtime.clock.now() };
    const { conf } = this.#port.status();
    if (this.#known(id) === undefined) return this.#done(id);
    const problem = force ? undefined : this.#guard(id);
    if (problem !== undefined) return problem;
    if (id === this.#port.self && conf.voters.length > 1 && (await this.#port.handOver(deadline)))
      return { kind: 'no-leader' };
    const failed = await this.#take(
      {
        isDone: () => this.#known(id) === undefined,
        // Another one may have gone since.
        next: () =>
          (force ? undefined : this.#guard(id)) ?? {
            kind: 'simple',
            steps: [{ op: 'remove', id, ...at }],
          },
      },
      deadline,
    );
    return failed ?? this.#done(id);
  }

  /** A group must not lose its quorum by a removal (ha.md 2.12 rule 7). */
  #guard(id: PeerId): Refused | undefined {
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
      return refused(
        'guard',
        `${remaining.length} of ${voters.length} voters would be left, a majority of them is ${needed}`,
      );
    if (active < quorum)
      return refused(
        'guard',
        `${active} of the remaining ${remaining.length} voters are reachable, their quorum is ${quorum}`,
      );
    return undefined;
  }

  #known(id: PeerId): Member | undefined {
    const { voters, learners } = this.#port.status().conf;
    const isIt = (member: Member) => member.id === id;
    return voters.find(isIt) ?? learners.find(isIt);
  }

  #hasCaughtUp(id: PeerId): boolean {
    const { progress, lastIndex } = this.#port.status();
    const peer = progress.find((known) => known.id === id);
    if (id === this.#port.self) return true;
    return (
      peer?.isCounted === true &&
      this.#port.isReachable(id) &&
      peer.match > 0 &&
      lastIndex - peer.match <= this.#port.lagEntriesMax
    );
  }

  /**
   * Proposes until the configuration has the step and is no joint one. @returns why it has not
   * @param behind what is told when somebody has not caught up in time
   */
  async #take(step: Step, deadline: number, behind = ''): Promise<MembershipChanged | undefined> {
    const { clock, timers } = this.#port.runtime;
    let patientMs = clock.monotonicMs() + patienceMs;
    let isProposed = false;
    for (;;) {
      const { conf, role, isConfPending } = this.#port.status();
      if (!isJoint(conf) && step.isDone()) return undefined;
      if (role !== 'leader') return { kind: 'no-leader', mayBeDone: isProposed };
      let isBehind = false;
      if (!isJoint(conf) && !isConfPending) {
        const next = step.next();
        if (next === 'catching-up') isBehind = true;
        else if (next.kind === 'refused') return next;
        else {
          const proposal = this.#port.propose(next);
          if (typeof proposal === 'object') return refused('guard', proposal.refused);
          isProposed ||= proposal === 'ok';
        }
      }
      const nowMs = clock.monotonicMs();
      if (isBehind) {
        if (nowMs >= deadline) return refused('lagging', behind);
        patientMs = nowMs + patienceMs;
      } else if (nowMs >= Math.min(deadline, patientMs))
        return refused(
          'pending',
          isProposed
            ? 'the change is in the log and not committed yet'
            : 'another change of membership is under way',
        );
      await timers.sleep(pollMs);
    }
  }

  #done(id: PeerId): MembershipChanged {
    const { conf, confIndex } = this.#port.status();
    return {
      kind: 'done',
      configurationIndex: confIndex,
      isVoter: conf.voters.some((member) => member.id === id),
    };
  }
}

/** The one that asks knows its disk; a person does not. */
function isOtherDisk(known: Member, { storageId }: Member): boolean {
  return storageId !== '' && known.storageId !== storageId;
}

function refused(reason: Refused['reason'], detail: string): Refused {
  return { kind: 'refused', reason, detail };
}
