import { assert } from '#core/assert.ts';
import { encodeConfChange, isJoint, membersOf } from './membership.ts';
import type { Message } from './message.ts';
import type { Progress } from './progress.ts';
import { quorumIndex, voteResult } from './quorum.ts';
import { becomeFollower, reset } from './roles.ts';
import type { RaftState } from './state.ts';
import type { Entry, EntryKind, Index, PeerId } from './vocabulary.ts';

/** What a leader does (ha.md 2.6 to 2.8, 2.10), and what everybody does when the commit index moves (2.12 rule 1). */

export function becomeLeader(state: RaftState): void {
  assert(state.role === 'candidate', 'only a candidate is elected');
  reset(state);
  state.role = 'leader';
  state.isCaretaker = !state.mayLead;
  state.follow(state.self);
  state.isFirstAttempt = true;
  for (const [id, member] of membersOf(state.conf))
    state.progress.set(id, state.newProgress(member));
  const own = state.progress.get(state.self);
  if (own !== undefined) {
    own.match = state.log.durableIndex;
    own.becomeReplicate();
    own.isActive = true;
  }
  state.noopIndex = appendOwn(state, 'noop', [new Uint8Array(0)]);
  // A change may be pending up to its last index, and none is made before the own no-op (ha.md 2.12 rules 1 and 9).
  state.confGate = state.noopIndex;
  broadcastAppend(state);
}

/** @returns the index of the first entry */
export function appendOwn(state: RaftState, kind: EntryKind, datas: readonly Uint8Array[]): Index {
  const first = state.log.lastIndex + 1;
  const entries: Entry[] = datas.map((data, i) => ({
    index: first + i,
    term: state.term,
    kind,
    data,
  }));
  state.log.append(entries);
  for (const entry of entries) state.noteConf(entry);
  let bytes = 0;
  for (const data of datas) bytes += data.length;
  if (bytes > 0) {
    state.uncommitted.push({ index: state.log.lastIndex, bytes });
    state.uncommittedBytes += bytes;
  }
  // Its own acknowledgement counts when the disk has given it (ha.md 2.7).
  state.send('AppendResp', state.self, { index: state.log.lastIndex });
  return first;
}

export function broadcastAppend(state: RaftState): void {
  for (const id of state.peers()) sendAppend(state, id, true);
}

export function broadcastHeartbeat(state: RaftState): void {
  for (const id of state.peers()) {
    const peer = state.progress.get(id);
    if (peer === undefined) continue;
    // Never the bare commit index: the follower may hold a divergent tail (ha.md 2.6 rule 4).
    const commit = Math.min(peer.match, state.log.commit);
    peer.sentCommit = Math.max(peer.sentCommit, commit);
    state.send('Heartbeat', id, { commit, context: state.reads.sent });
  }
}

/** @returns whether something was sent */
function sendAppend(state: RaftState, to: PeerId, mayBeEmpty: boolean): boolean {
  const peer = state.progress.get(to);
  if (peer === undefined || peer.waits) return false;
  const { log } = state;
  const previous = peer.next - 1;
  const logTerm = log.term(previous);
  if (logTerm === 'compacted') return sendSnapshot(state, to, peer);
  if (logTerm === 'unavailable') return waitFor(state, previous);
  let entries: readonly Entry[] = [];
  if (peer.state === 'probe' || !peer.isWindowFull) {
    const { messageBytesMax, messageEntriesMax } = state.limits;
    const end = Math.min(log.lastIndex + 1, peer.next + messageEntriesMax);
    const found = log.entries(peer.next, end, messageBytesMax);
    if (found === 'compacted') return sendSnapshot(state, to, peer);
    if (found === 'unavailable') return waitFor(state, peer.next);
    entries = found;
  }
  if (entries.length === 0 && !mayBeEmpty) return false;
  let bytes = 0;
  for (const { data } of entries) bytes += data.length;
  peer.sent(entries.length, bytes);
  peer.sentCommit = Math.max(peer.sentCommit, Math.min(log.commit, previous + entries.length));
  const context = peer.attempt;
  state.send('Append', to, { index: previous, logTerm, commit: log.commit, entries, context });
  return true;
}

function waitFor(state: RaftState, index: Index): boolean {
  state.wanted.add(Math.max(1, index));
  return false;
}

function sendSnapshot(state: RaftState, to: PeerId, peer: Progress): boolean {
  const snapshot = state.log.snapshotMeta();
  if (snapshot === undefined || !peer.isActive) return false;
  peer.becomeSnapshot(snapshot.index);
  const { index, term: logTerm } = snapshot;
  state.send('Snapshot', to, { snapshot, index, logTerm, context: peer.attempt });
  return true;
}

export function onAppendResp(state: RaftState, message: Message): void {
  const peer = state.progress.get(message.from);
  if (peer === undefined) return;
  heardFrom(peer, message);
  if (message.reject) {
    onRejected(state, message, peer);
    return;
  }
  const isNews = peer.reached(message.index);
  const endsProbe = peer.state === 'probe' && peer.attempt === message.context;
  if (!isNews && !endsProbe) {
    if (peer.state === 'replicate') peer.free(message.index);
    return;
  }
  if (endsProbe) peer.becomeReplicate();
  else if (peer.state === 'snapshot' && peer.match + 1 >= state.log.firstIndex) {
    peer.becomeProbe();
    peer.becomeReplicate();
  } else if (peer.state === 'snapshot' && peer.match + 1 >= peer.next) {
    // It has the snapshot, and the log has gone on beyond it: the next one follows.
    peer.becomeProbe();
  } else if (peer.state === 'replicate') peer.free(message.index);
  const { confIndex } = state;
  const isAdvanced = advanceCommit(state);
  if (state.limits.tellsCommitLater && state.confIndex === confIndex) {
    // `tellCommit` follows.
  } else if (isAdvanced) {
    broadcastAppend(state);
  } else if (message.from !== state.self && peer.sentCommit < state.log.commit) {
    sendAppend(state, message.from, true);
  }
  if (message.from === state.self) return;
  while (sendAppend(state, message.from, false));
  if (state.transferTo === message.from) timeoutNowWhenReady(state);
  if (state.isCaretaker) handOver(state);
}

/** Who is not admitted has no weight in any quorum (ha.md 8.2). */
function heardFrom(peer: Progress, { condition }: Message): void {
  peer.isActive = true;
  peer.isCounted = condition !== 'not-admitted';
}

/** Followers that could be told of a newer commit index than they were. */
function unaware(state: RaftState): readonly PeerId[] {
  const { commit } = state.log;
  return [...state.progress]
    .filter(([id, peer]) => id !== state.self && !peer.waits && peer.sentCommit < commit)
    .map(([id]) => id)
    .sort();
}

export function isCommitUntold(state: RaftState): boolean {
  // Of entries on their way the commit has to be told anyway.
  if (state.role !== 'leader' || state.log.commit < state.log.lastIndex) return false;
  for (const [id, peer] of state.progress)
    if (id !== state.self && !peer.waits && peer.sentCommit < state.log.commit) return true;
  return false;
}

export function tellCommit(state: RaftState): void {
  for (const id of unaware(state)) sendAppend(state, id, true);
}

function onRejected(state: RaftState, message: Message, peer: Progress): void {
  // Each answer to what an earlier attempt sent would begin another one, with a window of its own.
  if (peer.attempt !== message.context) return;
  const { log } = state;
  const hint =
    message.hintTerm > 0
      ? log.lastOfTerm(message.rejectHint, message.hintTerm).index
      : message.rejectHint;
  if (!peer.back(message.index, hint)) return;
  if (peer.state === 'replicate') peer.becomeProbe();
  sendAppend(state, message.from, true);
}

export function onHeartbeatResp(state: RaftState, message: Message): void {
  const peer = state.progress.get(message.from);
  if (peer === undefined) return;
  heardFrom(peer, message);
  peer.isPaused = false;
  if (peer.match < state.log.lastIndex || peer.state === 'probe')
    sendAppend(state, message.from, true);
  if (message.context > peer.readRound) {
    peer.readRound = message.context;
    releaseReads(state);
  }
}

export function onUnreachable(state: RaftState, id: PeerId): void {
  const peer = state.progress.get(id);
  // What is on its way is probably lost.
  if (peer?.state === 'replicate') peer.becomeProbe();
}

export function onSnapshotReport(state: RaftState, id: PeerId, isInstalled: boolean): void {
  const peer = state.progress.get(id);
  if (peer?.state !== 'snapshot') return;
  const { next } = peer;
  peer.becomeProbe();
  // Its own answer says what it has: the report only says where to begin.
  if (isInstalled) peer.next = Math.max(next, peer.next);
  peer.isPaused = !isInstalled;
}

/** To the newest entry of the own term that a quorum of each voter set has (ha.md 2.7). */
function advanceCommit(state: RaftState): boolean {
  const wasCommitted = state.log.commit >= state.noopIndex;
  const before = state.log.commit;
  // A change of membership may let more through.
  for (let index = committable(state); index > state.log.commit; index = committable(state)) {
    assert(
      state.log.term(index) === state.term,
      'I9: a leader commits by an entry of its own term',
    );
    commitTo(state, index);
  }
  if (state.log.commit === before) return false;
  if (!wasCommitted && state.log.commit >= state.noopIndex)
    for (const request of state.reads.takeEarly()) recordRead(state, request.from, request.context);
  return true;
}

function committable(state: RaftState): Index {
  const index = quorumIndex(state.voterSets, (id) => countedMatch(state, id));
  return state.log.term(index) === state.term ? index : 0;
}

function countedMatch(state: RaftState, id: PeerId): Index {
  const peer = state.progress.get(id);
  return peer?.isCounted === true ? peer.match : 0;
}

/** Everybody: what is committed takes effect, changes of membership at once. */
export function commitTo(state: RaftState, index: Index): void {
  if (!state.log.commitTo(index)) return;
  while (state.uncommitted.length > 0 && (state.uncommitted[0]?.index ?? 0) <= index)
    state.uncommittedBytes -= state.uncommitted.shift()?.bytes ?? 0;
  const isChanged = state.takeCommittedConfs();
  if (state.role !== 'leader') {
    // Who is no member follows nobody; one that is only behind hears its leader again.
    if (isChanged && state.role === 'follower' && !membersOf(state.conf).has(state.self))
      state.leader = undefined;
    return;
  }
  if (isChanged) membersChanged(state);
  leaveJoint(state);
}

/** Whoever leads when a joint change is committed ends it (ha.md 2.12 rule 2). */
function leaveJoint(state: RaftState): void {
  const { conf, log, noopIndex, pendingConfs } = state;
  if (!isJoint(conf) || !conf.autoLeave || pendingConfs.length > 0 || log.commit < noopIndex)
    return;
  state.confGate = appendOwn(state, 'conf', [encodeConfChange({ kind: 'leave' })]);
}

function membersChanged(state: RaftState): void {
  const members = membersOf(state.conf);
  for (const [id, peer] of state.progress) {
    if (members.has(id)) continue;
    if (id !== state.self) tellRemoved(state, id, peer);
    state.progress.delete(id);
  }
  for (const [id, member] of members) {
    const known = state.progress.get(id)?.storageId;
    if (known !== undefined && (member === undefined || member.storageId === known)) continue;
    const peer = state.newProgress(member);
    peer.isActive = true;
    state.progress.set(id, peer);
  }
  if (state.transferTo !== undefined && !mayLead(state, state.transferTo))
    state.transferTo = undefined;
  if (!state.isVoter) state.isLeaving = true;
}

/** It learns that it is no member, if it hears it: from now on nobody tells it anything. */
function tellRemoved(state: RaftState, to: PeerId, peer: Progress): void {
  const { log } = state;
  const index = peer.next - 1;
  const logTerm = log.term(index);
  const isSent = peer.state === 'replicate' && typeof logTerm === 'number';
  if (isSent)
    state.send('Append', to, { index, logTerm, commit: log.commit, context: peer.attempt });
  else state.send('Heartbeat', to, { commit: Math.min(peer.match, log.commit) });
}

/** After the commit index was told: a leader that is no member any more goes (ha.md 2.12 rule 5). */
export function leaveIfRemoved(state: RaftState): void {
  if (state.role !== 'leader' || !state.isLeaving || isJoint(state.conf)) return;
  broadcastHeartbeat(state);
  becomeFollower(state, state.term, undefined);
}

export function recordRead(state: RaftState, from: PeerId, context: number): void {
  state.reads.record({ from, context }, state.log.commit);
  if (state.voterSets.every((ids) => ids.length === 1 && ids[0] === state.self)) {
    state.reads.sent += 1;
    releaseReads(state);
  }
}

function releaseReads(state: RaftState): void {
  const round = quorumIndex(state.voterSets, (id) =>
    id === state.self ? state.reads.sent : confirmedRound(state, id),
  );
  for (const { from, context, index } of state.reads.confirmed(round)) {
    if (from === state.self) state.readStates.push({ context, index });
    else state.send('ReadIndexResp', from, { context, index });
  }
}

function confirmedRound(state: RaftState, id: PeerId): number {
  const peer = state.progress.get(id);
  return peer?.isCounted === true ? peer.readRound : 0;
}

/** False when the leader has not heard from a quorum since the last look: it has no right to lead (ha.md 2.2). */
export function hasActiveQuorum(state: RaftState): boolean {
  const result = voteResult(
    state.voterSets,
    (id) => id === state.self || isActive(state.progress.get(id)),
  );
  for (const [id, peer] of state.progress) if (id !== state.self) peer.isActive = false;
  return result === 'won';
}

function isActive(peer: Progress | undefined): boolean {
  return peer?.isActive === true && peer.isCounted;
}

export function mayLead(state: RaftState, id: PeerId): boolean {
  return state.conf.voters.some((member) => member.id === id && member.canLead);
}

export function startTransfer(state: RaftState, to: PeerId): void {
  if (state.transferTo === to || to === state.self) return;
  if (!mayLead(state, to)) return;
  state.transferTo = to;
  state.electionElapsed = 0;
  if (!timeoutNowWhenReady(state)) sendAppend(state, to, true);
}

/** A caretaker's: to whoever may lead and has everything, the preferred one first. */
export function handOver(state: RaftState): void {
  if (state.transferTo !== undefined) return;
  const { lastIndex } = state.log;
  const [target] = state.conf.voters
    .filter(({ id, canLead }) => canLead && state.progress.get(id)?.match === lastIndex)
    .sort((a, b) => b.priority - a.priority || (a.id < b.id ? -1 : 1));
  if (target !== undefined) startTransfer(state, target.id);
}

function timeoutNowWhenReady(state: RaftState): boolean {
  const to = state.transferTo;
  if (to === undefined || state.progress.get(to)?.match !== state.log.lastIndex) return false;
  state.send('TimeoutNow', to, {});
  return true;
}
