import type { RaftAnswer } from '../api/group.ts';
import type { ObservedMember } from '../api/observation.ts';

/*
 * How often in a row the one that leads has said of a learner that it has caught up (operator.md 8.2). A poll that failed, another
 * leader and another term begin anew: what was said before is about another log.
 */

/** So long after the last one an answer is a poll of its own: looks may follow each other within milliseconds. */
const pollMsMin = 500;

/** What the one that leads has said. */
export interface LeaderWord {
  readonly peerId: string;
  readonly answer: RaftAnswer;
}

export interface LeaderPolls {
  /** Who leads in which term. */
  readonly mark: string;
  readonly answer: RaftAnswer;
  readonly atMs: number;
  /** Polls in a row, by the name of the learner in the group. */
  readonly caughtUp: ReadonlyMap<string, number>;
}

const none: ReadonlyMap<string, number> = new Map();

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
  const counts = learnersCaughtUp(answer, lagMax).map((id) => {
    const count = before?.caughtUp.get(id) ?? 0;
    return [id, isPoll ? count + 1 : Math.max(1, count)] as const;
  });
  return {
    mark,
    answer,
    atMs: isPoll ? nowMs : before.atMs,
    caughtUp: counts.length === 0 ? none : new Map(counts),
  };
}

function learnersCaughtUp({ peers }: RaftAnswer, lagMax: number): readonly string[] {
  return peers
    .filter(({ inConfiguration, isVoter, isReachable, status, lag = -1 }) => {
      const isHealthy = status === undefined || status === 'HEALTHY';
      const isClose = lag >= 0 && lag <= lagMax;
      return inConfiguration && !isVoter && isReachable === true && isHealthy && isClose;
    })
    .map(({ id }) => id);
}
