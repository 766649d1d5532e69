/**
 * Raft without configuration changes as a transition system: slow, plain, and written apart from the core (ha.md 2.5 to 2.7). Logs
 * are lists of terms, since an entry is known by its index and term. `explore.ts` visits all its states within bounds,
 * `comparison.ts` holds the core against it step by step.
 */
export type SpecRole = 'follower' | 'candidate' | 'leader';

export interface SpecNode {
  readonly term: number;
  /** -1: nobody. */
  readonly vote: number;
  readonly role: SpecRole;
  /** Terms of the entries 1, 2, ... */
  readonly log: readonly number[];
  /** So many of them survive a crash. Term and vote are durable before anybody hears of them. */
  readonly synced: number;
  readonly commit: number;
  /** Who granted, as bits. */
  readonly votes: number;
  /** What a leader knows of each node. */
  readonly match: readonly number[];
}

export interface SpecAppend {
  readonly term: number;
  readonly previous: number;
  readonly previousTerm: number;
  readonly entries: readonly number[];
  readonly commit: number;
}

export interface SpecVote {
  readonly from: number;
  readonly term: number;
  readonly last: number;
  readonly lastTerm: number;
}

/** The answer to an append: an index, a refusal, or that the sender's term is over. */
export type SpecAnswer = { readonly index: number } | 'rejected' | 'stale';

export const firstNode: SpecNode = {
  term: 0,
  vote: -1,
  role: 'follower',
  log: [],
  synced: 0,
  commit: 0,
  votes: 0,
  match: [],
};

export function lastTerm(log: readonly number[]): number {
  return log.at(-1) ?? 0;
}

/** A newer term makes a follower of anybody. */
export function newerTerm(node: SpecNode, term: number): SpecNode {
  return term > node.term ? { ...asFollower(node), term, vote: -1 } : node;
}

function asFollower(node: SpecNode): SpecNode {
  return { ...node, role: 'follower', votes: 0, match: [] };
}

export function campaign(node: SpecNode, self: number): SpecNode {
  return { ...asFollower(node), role: 'candidate', term: node.term + 1, vote: self };
}

export function onVote(node: SpecNode, vote: SpecVote): { node: SpecNode; isGranted: boolean } {
  const next = newerTerm(node, vote.term);
  const own = lastTerm(next.log);
  const isUpToDate = vote.lastTerm > own || (vote.lastTerm === own && vote.last >= next.log.length);
  const isFree = next.vote === -1 || next.vote === vote.from;
  const isGranted = vote.term === next.term && isFree && isUpToDate;
  return { node: isGranted ? { ...next, vote: vote.from } : next, isGranted };
}

/** A grant, of others or, when it is durable, of itself. A majority makes a leader, who appends a no-op. */
export function onGrant(node: SpecNode, from: number, term: number, size: number): SpecNode {
  if (node.role !== 'candidate' || term !== node.term) return newerTerm(node, term);
  const votes = node.votes | (1 << from);
  if (!isMajority(votes, size)) return { ...node, votes };
  const match = Array.from({ length: size }, () => 0);
  return { ...node, role: 'leader', votes: 0, match, log: [...node.log, node.term] };
}

export function isMajority(votes: number, size: number): boolean {
  let count = 0;
  for (let i = 0; i < size; i++) if ((votes & (1 << i)) !== 0) count += 1;
  return count * 2 > size;
}

export function propose(node: SpecNode): SpecNode {
  return { ...node, log: [...node.log, node.term] };
}

export function onAppend(
  node: SpecNode,
  append: SpecAppend,
): { node: SpecNode; answer: SpecAnswer } {
  const { term, previous, previousTerm, entries, commit } = append;
  if (term < node.term) return { node, answer: 'stale' };
  const next = asFollower(newerTerm(node, term));
  if (previous < next.commit) return { node: next, answer: { index: next.commit } };
  const isKnown = previous <= next.log.length && (next.log[previous - 1] ?? 0) === previousTerm;
  if (!isKnown) return { node: next, answer: 'rejected' };
  const log = [...next.log];
  let { synced } = next;
  entries.forEach((entry, i) => {
    const at = previous + i;
    if (log[at] === entry) return;
    synced = Math.min(synced, at);
    log.length = at;
    log.push(entry);
  });
  const covered = previous + entries.length;
  const known = Math.max(next.commit, Math.min(commit, covered));
  return { node: { ...next, log, synced, commit: known }, answer: { index: covered } };
}

/** A heartbeat of the own term: never more than the sender knows this node to have. */
export function onHeartbeat(node: SpecNode, term: number, commit: number): SpecNode {
  if (term < node.term) return node;
  const next = asFollower(newerTerm(node, term));
  return { ...next, commit: Math.max(next.commit, Math.min(commit, next.log.length)) };
}

/** What a follower, or the own disk, acknowledged. */
export function onAcknowledged(
  node: SpecNode,
  from: number,
  term: number,
  index: number,
): SpecNode {
  if (node.role !== 'leader' || term !== node.term) return newerTerm(node, term);
  const match = node.match.map((known, i) => (i === from ? Math.max(known, index) : known));
  return { ...node, match, commit: committable({ ...node, match }) };
}

/** The newest entry of the own term that a majority has. */
export function committable({ log, match, term, commit }: SpecNode): number {
  for (let index = log.length; index > commit; index--) {
    let having = 0;
    for (let i = 0; i < match.length; i++) if ((match[i] ?? 0) >= index) having |= 1 << i;
    if (log[index - 1] === term && isMajority(having, match.length)) return index;
  }
  return commit;
}

/** What an append of this leader may say. */
export function maySend(node: SpecNode, append: SpecAppend): boolean {
  const { term, previous, previousTerm, entries, commit } = append;
  return (
    node.role === 'leader' &&
    term === node.term &&
    commit <= node.commit &&
    previous <= node.log.length &&
    (node.log[previous - 1] ?? 0) === previousTerm &&
    entries.every((entry, i) => node.log[previous + i] === entry)
  );
}

/** Role, votes and what was not synced are gone; of the commit index no more is known than what was told again. */
export function crash(node: SpecNode, synced: number): SpecNode {
  return { ...asFollower(node), log: node.log.slice(0, synced), synced, commit: 0 };
}
