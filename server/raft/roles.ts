import { membersOf } from './membership.ts';
import type { RaftState } from './state.ts';
import { ReadRounds } from './read-index.ts';
import type { PeerId, Term } from './vocabulary.ts';

/** Changes of role but that to leader (ha.md 2.4, 2.5). */

export function becomeFollower(state: RaftState, term: Term, leader: PeerId | undefined): void {
  if (state.leader !== undefined && leader === undefined) state.isFirstAttempt = true;
  if (term > state.term) state.setTerm(term, null);
  reset(state);
  state.role = 'follower';
  if (leader !== undefined) state.follow(leader);
}

export function becomePreCandidate(state: RaftState): void {
  reset(state);
  state.role = 'preCandidate';
}

export function becomeCandidate(state: RaftState): void {
  state.setTerm(state.term + 1, null);
  state.setTerm(state.term, state.self);
  reset(state);
  state.role = 'candidate';
}

const quickAttemptsMax = 3;

/** Nothing of an earlier role is left; the timer begins anew. */
export function reset(state: RaftState): void {
  state.leader = undefined;
  state.votes.clear();
  state.progress.clear();
  state.reads = new ReadRounds();
  state.transferTo = undefined;
  state.isCaretaker = false;
  state.noopIndex = 0;
  state.isLeaving = false;
  state.uncommitted = [];
  state.uncommittedBytes = 0;
  state.electionElapsed = 0;
  state.heartbeatElapsed = 0;
  drawTimeout(state);
}

/** Uniform in [min, max]; longer by half of min, once, for a member that others are preferred to (ha.md 2.11). */
export function drawTimeout(state: RaftState): void {
  const { electionTicksMin, electionTicksMax } = state.limits;
  const drawn = electionTicksMin + state.options.rand(electionTicksMax - electionTicksMin + 1);
  state.timeoutTicks = drawn + bias(state, Math.floor(electionTicksMin / 2));
}

/** The leader's process is gone: no lease any more, and a short timeout (ha.md 2.5 rule 11). */
export function forgetLeader(state: RaftState): void {
  if (state.role !== 'follower' || state.leader === undefined) return;
  state.leader = undefined;
  state.isFirstAttempt = true;
  state.electionElapsed = 0;
  const { forgottenTicksMax } = state.limits;
  const drawn = 1 + state.options.rand(forgottenTicksMax);
  state.timeoutTicks = drawn + bias(state, Math.ceil(forgottenTicksMax / 2));
  state.quickAttempts = quickAttemptsMax;
}

/**
 * The process has just started, and does not know how long there has been no leader: it asks as soon as one would have been heard.
 * Where somebody leads, whoever hears that leader does not listen (ha.md 2.5 rule 3).
 */
export function begin(state: RaftState): void {
  const { heartbeatTicks, forgottenTicksMax, preVote, checkQuorum } = state.limits;
  if (!preVote || !checkQuorum || state.role !== 'follower' || state.leader !== undefined) return;
  const drawn = 2 * heartbeatTicks + 1 + state.options.rand(forgottenTicksMax);
  state.timeoutTicks = drawn + bias(state, forgottenTicksMax);
  state.quickAttempts = quickAttemptsMax;
}

/** Others that lost the leader, too, have campaigned at the same moment: both try again, each after a moment of its own. */
export function againSoon(state: RaftState): void {
  if (state.quickAttempts === 0) return;
  state.quickAttempts -= 1;
  const drawn = state.electionElapsed + 1 + state.options.rand(state.limits.forgottenTicksMax);
  state.timeoutTicks = Math.min(state.timeoutTicks, drawn);
}

function bias(state: RaftState, ticks: number): number {
  if (!state.isFirstAttempt) return 0;
  const priorities = [...membersOf(state.conf)].map(([, member]) => member?.priority ?? 0);
  const own = membersOf(state.conf).get(state.self)?.priority ?? 0;
  return own < Math.max(0, ...priorities) ? ticks : 0;
}
