import type { RaftAnswer } from '../api/group.ts';
import type { ObservedLearner, ObservedMember } from '../api/observation.ts';

/*
 * What the one that leads has said of its learners, poll by poll (operator.md 8.2): how often in a row that one has caught up, and
 * since when it has got no further entry. A poll that failed, another leader and another term begin anew: what was said before is about
 * another log.
 */

/** So long after the last one an answer is a poll of its own: looks may follow each other within milliseconds. */
const pollMsMin = 500;

/** What the one that leads has said. */
export interface LeaderWord {
  readonly peerId: string;
  readonly answer: RaftAnswer;
}

interface Learner {
  /** Polls in a row in which it had caught up. */
  readonly polls: number;
  /** The last entry that it has, and since when. */
  readonly match: number;
  readonly sinceMs: number;
}

export interface LeaderPolls {
  /** Who leads in which term. */
  readonly mark: string;
  readonly answer: RaftAnswer;
  readonly atMs: number;
  /** By name in the group. */
  readonly learners: ReadonlyMap<string, Learner>;
}

const nobody: ReadonlyMap<string, never> = new Map<string, never>();

/** The highest term that anybody claims to lead in. */
export function leaderWord(members: readonly ObservedMember[]): LeaderWord | undefined {
  const said = members.flatMap(({ peerId, raft }) =>
    raft?.isLeader === true ? [{ peerId, answer: raft }] : [],
  );
  return said.toSorted((a, b) => b.answer.term - a.answer.term)[0];
}

/**
 * @param word undefined: nobody says that he leads
 * @param lagMax entries that one that has caught up may lack
 * @param nowMs of the monotonic clock
 */
export function nextPolls(
  known: LeaderPolls | undefined,
  word: LeaderWord | undefined,
  { lagMax, nowMs }: { readonly lagMax: number; readonly nowMs: number },
): LeaderPolls | undefined {
  if (word === undefined) return undefined;
  const { peerId, answer } = word;
  // The same answer again: no other one has come since.
  if (known?.answer === answer) return known;
  const mark = `${peerId}/${answer.term}`;
  const before = known?.mark === mark ? known : undefined;
  const isPoll = before === undefined || nowMs - before.atMs >= pollMsMin;
  const learners = answer.peers.filter((peer) => peer.inConfiguration && !peer.isVoter);
  const next = learners.map((peer) => {
    const { id, match = -1 } = peer;
    const was = before?.learners.get(id);
    const polls = (was?.polls ?? 0) + (isPoll || was === undefined || was.polls === 0 ? 1 : 0);
    const sinceMs = was !== undefined && match <= was.match ? was.sinceMs : nowMs;
    return [id, { polls: hasCaughtUp(peer, lagMax) ? polls : 0, match, sinceMs }] as const;
  });
  return {
    mark,
    answer,
    atMs: isPoll ? nowMs : before.atMs,
    learners: next.length === 0 ? nobody : new Map(next),
  };
}

/** As looks see them. */
export function learnersOf(
  polls: LeaderPolls | undefined,
  nowMs: number,
): ReadonlyMap<string, ObservedLearner> {
  if (polls === undefined || polls.learners.size === 0) return nobody;
  const seen = [...polls.learners].map(
    ([id, learner]) =>
      [id, { caughtUpPolls: learner.polls, standstillMs: nowMs - learner.sinceMs }] as const,
  );
  return new Map(seen);
}

function hasCaughtUp(
  { isReachable, status, lag = -1 }: RaftAnswer['peers'][number],
  lagMax: number,
): boolean {
  const isHealthy = status === undefined || status === 'HEALTHY';
  return isReachable === true && isHealthy && lag >= 0 && lag <= lagMax;
}
