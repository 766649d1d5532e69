import { assert } from '#core/assert.ts';
import type { Message } from './message.ts';
import { commitTo } from './replication.ts';
import type { RaftState } from './state.ts';

/** What a follower does with what a leader of its term sends (ha.md 2.6, 2.13). */

export function onAppend(state: RaftState, message: Message): void {
  const { log } = state;
  const { from, index: previous, logTerm, entries, commit, context } = message;
  const condition = conditionOf(state);
  if (condition === 'log-failed') {
    state.send('AppendResp', from, {
      index: log.commit,
      reject: true,
      rejectHint: log.lastIndex,
      condition,
      context,
    });
    return;
  }
  if (previous < log.commit) {
    state.send('AppendResp', from, { index: log.commit, condition, context });
    return;
  }
  if (!log.hasEntry(previous, logTerm)) {
    const hint = log.lastOfTerm(Math.min(previous, log.lastIndex), logTerm);
    state.send('AppendResp', from, {
      index: previous,
      reject: true,
      rejectHint: hint.index,
      hintTerm: hint.term,
      condition,
      context,
    });
    return;
  }
  const covered = log.accept(previous, entries);
  // Changes that were cut off never were; those that came take their place.
  state.pendingConfs = state.pendingConfs.filter(({ index, term }) => log.hasEntry(index, term));
  for (const entry of entries)
    if (!state.pendingConfs.some(({ index }) => index === entry.index) && entry.index > log.commit)
      state.noteConf(entry);
  commitTo(state, Math.min(commit, covered));
  state.send('AppendResp', from, { index: covered, condition, context });
}

export function onHeartbeat(state: RaftState, message: Message): void {
  commitTo(state, Math.min(message.commit, state.log.lastIndex));
  const condition = state.admitted ? 'none' : 'not-admitted';
  state.send('HeartbeatResp', message.from, { context: message.context, condition });
}

export function onSnapshot(state: RaftState, message: Message): void {
  const { snapshot, from, context } = message;
  if (snapshot === undefined) return;
  assert(state.role !== 'leader', 'I13: no leader installs a snapshot');
  const condition = conditionOf(state);
  const { log } = state;
  if (snapshot.index <= log.commit) {
    state.send('AppendResp', from, { index: log.commit, condition, context });
    return;
  }
  if (log.hasEntry(snapshot.index, snapshot.term)) {
    commitTo(state, snapshot.index);
    state.send('AppendResp', from, { index: log.commit, condition, context });
    return;
  }
  log.restore(snapshot);
  state.restoreConf(snapshot.confIndex, snapshot.conf);
  state.send('AppendResp', from, { index: snapshot.index, condition, context });
}

function conditionOf(state: RaftState) {
  if (state.isLogFailed) return 'log-failed';
  return state.admitted ? 'none' : 'not-admitted';
}
