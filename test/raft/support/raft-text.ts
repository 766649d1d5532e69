import { decodeConfChange } from '#raft/membership.ts';
import type { Message } from '#raft/message.ts';
import type { AppendJob } from '#raft/ready.ts';
import type { ConfState, Entry } from '#raft/vocabulary.ts';

/** Messages, jobs and entries as the scripts of the rules show them: what is 0, empty or absent is left out. */

export function entryText({ index, term, kind, data }: Entry): string {
  const place = `${index}/${term}`;
  if (kind === 'noop') return `${place}:noop`;
  if (kind === 'normal') return `${place}:${new TextDecoder().decode(data)}`;
  const change = decodeConfChange(data);
  if (change.kind === 'leave') return `${place}:leave`;
  const steps = change.steps.map((step) =>
    step.op === 'remove' ? `-${step.id}` : `${step.op === 'voter' ? '+' : '~'}${step.member.id}`,
  );
  return `${place}:${change.kind}(${steps.join(',')})`;
}

export function messageText(message: Message): string {
  const { type, from, to, term, index, logTerm, commit, entries, snapshot } = message;
  const parts = [`${from}->${to} ${type} term=${term}`];
  if (index > 0 || logTerm > 0) parts.push(`at=${index}/${logTerm}`);
  if (message.reject) parts.push('rejected');
  if (message.rejectHint > 0 || message.hintTerm > 0)
    parts.push(`hint=${message.rejectHint}/${message.hintTerm}`);
  if (commit > 0) parts.push(`commit=${commit}`);
  if (message.context > 0) parts.push(`context=${message.context}`);
  if (message.transfer) parts.push('transfer');
  if (message.emptyLog) parts.push('empty');
  if (message.condition !== 'none') parts.push(message.condition);
  if (snapshot !== undefined) parts.push(`snapshot(${confText(snapshot.conf)})`);
  if (entries.length > 0) parts.push(`[${entries.map(entryText).join(' ')}]`);
  return parts.join(' ');
}

export function jobText(id: string, job: AppendJob): string {
  const parts = [`${id} writes`];
  if (job.hardState !== undefined) {
    const { term, vote, commit } = job.hardState;
    parts.push(`term=${term} vote=${vote ?? '-'} commit=${commit}`);
  }
  if (job.snapshot !== undefined) parts.push(`snapshot ${job.snapshot.index}/${job.snapshot.term}`);
  if (job.entries.length > 0) parts.push(`[${job.entries.map(entryText).join(' ')}]`);
  if (job.mustSync) parts.push('sync');
  const after = job.afterwards.map(({ type, to }) => (to === id ? type : `${type}->${to}`));
  if (after.length > 0) parts.push(`then ${after.join(' ')}`);
  return parts.join(' ');
}

export function confText({ voters, votersOutgoing, learners, learnersNext }: ConfState): string {
  const parts = [`voters ${voters.map(({ id }) => id).join(',')}`];
  if (votersOutgoing.length > 0) parts.push(`outgoing ${votersOutgoing.join(',')}`);
  if (learners.length > 0) parts.push(`learners ${learners.map(({ id }) => id).join(',')}`);
  if (learnersNext.length > 0) parts.push(`next ${learnersNext.join(',')}`);
  return parts.join(' ');
}
