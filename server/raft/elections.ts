import { assert } from '#core/assert.ts';
import type { Message } from './message.ts';
import { voteResult } from './quorum.ts';
import { becomeLeader, mayLead } from './replication.ts';
import { againSoon, becomeCandidate, becomeFollower, becomePreCandidate } from './roles.ts';
import type { RaftState } from './state.ts';
import type { PeerId } from './vocabulary.ts';

/** Campaigns and votes (ha.md 2.5). */

export type Campaign = 'pre-vote' | 'vote' | 'transfer';

export function campaign(state: RaftState, kind: Campaign): void {
  const isPre = kind === 'pre-vote';
  // Before the next timeout is drawn: priorities weigh in once (ha.md 2.11 rule 2).
  state.isFirstAttempt = false;
  if (isPre) becomePreCandidate(state);
  else becomeCandidate(state);
  const { log } = state;
  const term = isPre ? state.term + 1 : state.term;
  // The vote for itself counts when the disk has it (ha.md 2.5 rule 2).
  state.send(isPre ? 'PreVoteResp' : 'VoteResp', state.self, {
    term,
    emptyLog: log.lastIndex === 0,
  });
  const fields = {
    term,
    index: log.lastIndex,
    logTerm: log.lastTerm,
    transfer: kind === 'transfer',
  };
  for (const id of new Set(state.voterSets.flat()))
    if (id !== state.self) state.send(isPre ? 'PreVote' : 'Vote', id, fields);
}

/** A node that has heard from a current leader lately lets nobody disturb it (ha.md 2.5 rule 3). */
export function isProtectedByLease(state: RaftState, message: Message): boolean {
  return (
    state.limits.checkQuorum &&
    !message.transfer &&
    state.leader !== undefined &&
    state.electionElapsed < state.limits.electionTicksMin
  );
}

/** Vote or pre-vote of this term, or of a later one. */
export function onVoteRequest(state: RaftState, message: Message): void {
  const isPre = message.type === 'PreVote';
  const answer = isPre ? 'PreVoteResp' : 'VoteResp';
  const isFree =
    state.vote === message.from ||
    (state.vote === null && state.leader === undefined) ||
    (isPre && message.term > state.term);
  const isUpToDate = state.log.isUpToDate(message.index, message.logTerm);
  const isGranted = state.admitted && isFree && isUpToDate;
  const emptyLog = state.log.lastIndex === 0;
  if (!isGranted) {
    if (!isUpToDate) refusedOlder(state, message.from);
    state.send(answer, message.from, { reject: true, emptyLog });
    return;
  }
  // A pre-vote says the term that was asked for (ha.md 2.5 rule 5).
  state.send(answer, message.from, { term: message.term, emptyLog });
  if (isPre) return;
  state.electionElapsed = 0;
  state.setTerm(state.term, message.from);
}

/** It cannot be elected by this one; this one, or another, by it. */
function refusedOlder(state: RaftState, from: PeerId): void {
  if (state.role !== 'follower') return;
  if (mayLead(state, from)) state.hasRefusedOlder = true;
  if (state.leader === undefined) againSoon(state);
}

export function onVoteResponse(state: RaftState, message: Message): void {
  const isPre = message.type === 'PreVoteResp';
  if (state.role !== (isPre ? 'preCandidate' : 'candidate')) return;
  // An answer to an earlier campaign of this node.
  if (isPre && !message.reject && message.term !== state.term + 1) return;
  // Who lost its disk has forgotten its vote and its entries (ha.md 2.5 rule 10).
  const counts = !(message.emptyLog && !message.reject && state.log.commit > 0);
  // A vote that was given stands; a refusal may be of a campaign of this term before a crash.
  if (counts && state.votes.get(message.from) !== true)
    state.votes.set(message.from, !message.reject);
  const result = voteResult(state.voterSets, (id) => state.votes.get(id));
  if (result === 'lost') becomeFollower(state, state.term, undefined);
  if (result !== 'won') {
    if (message.reject) againSoon(state);
    return;
  }
  if (isPre) {
    campaign(state, 'vote');
    return;
  }
  assert(state.isVoter, 'a voter is elected');
  state.votesWon = [...state.votes.values()].filter((isGranted) => isGranted).length;
  becomeLeader(state);
}
