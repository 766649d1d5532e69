import assert from 'node:assert/strict';
import type { Message } from '#raft/message.ts';
import { RaftNode } from '#raft/node.ts';
import { defaultRaftLimits, type RaftLimits } from '#raft/options.ts';
import type { AppendJob, ApplyJob } from '#raft/ready.ts';
import type { Entry, Member } from '#raft/vocabulary.ts';
import { seeded } from '../support/random.ts';
import { StoredLog } from '../support/stored-log.ts';
import {
  campaign,
  firstNode,
  lastTerm,
  maySend,
  newerTerm,
  onAcknowledged,
  onAppend,
  onGrant,
  onHeartbeat,
  onVote,
  propose,
  type SpecAppend,
  type SpecNode,
} from './specification.ts';

const limits: RaftLimits = {
  ...defaultRaftLimits,
  electionTicksMin: 10,
  electionTicksMax: 20,
  heartbeatTicks: 2,
  preVote: false,
  checkQuorum: false,
  messageBytesMax: 8,
  windowMessagesMax: 3,
};

interface Pair {
  readonly self: number;
  readonly disk: StoredLog;
  core: RaftNode;
  spec: SpecNode;
  /** Terms of the core's log, from the entries that it handed out to be written. */
  log: number[];
  writes: AppendJob[];
  applies: ApplyJob[];
}

/** What rests on the disk. */
const answers: ReadonlySet<Message['type']> = new Set(['VoteResp', 'PreVoteResp', 'AppendResp']);
const size = 3;
const underWayMax = 16;
const members: readonly Member[] = Array.from({ length: size }, (_, i) => ({
  id: String(i),
  address: `${i}:1`,
  priority: 0,
  canLead: true,
  storageId: String(i),
  voter: true,
}));

/**
 * Three cores beside three nodes of the specification: both get the same inputs in an order that the seed says, and after each the
 * core must be where the specification is, and must have said only what that allows.
 */
export class Comparison {
  readonly #random: (n: number) => number;
  readonly #pairs: Pair[];
  #network: Message[] = [];
  #proposed = 0;
  readonly counts = { steps: 0, leaders: 0, commits: 0, crashes: 0 };

  constructor(seed: number) {
    this.#random = seeded(seed);
    this.#pairs = members.map((_, self) => {
      const disk = new StoredLog();
      return {
        self,
        disk,
        core: this.#coreOf(self, disk),
        spec: firstNode,
        log: [],
        writes: [],
        applies: [],
      };
    });
  }

  #coreOf(self: number, disk: StoredLog): RaftNode {
    return new RaftNode({
      self: String(self),
      limits,
      log: disk,
      hardState: disk.hardState,
      conf: {
        voters: members,
        votersOutgoing: [],
        learners: [],
        learnersNext: [],
        autoLeave: false,
      },
      confIndex: 0,
      confEntries: [],
      applied: 0,
      admitted: true,
      rand: this.#random,
    });
  }

  run(steps: number): void {
    for (let i = 0; i < steps; i++) {
      this.counts.steps += 1;
      const pair = this.#pairs[this.#random(size)] as Pair;
      const chance = this.#random(1000);
      if (chance < 12) this.#campaign(pair);
      else if (chance < 90) this.#propose(pair);
      else if (chance < 150) this.#tick(pair);
      else if (chance < 400) this.#disk(pair);
      else if (chance < 440) this.#apply(pair);
      else if (chance < 446) this.#crash(pair);
      else this.#deliver();
    }
  }

  #campaign(pair: Pair): void {
    if (pair.spec.role === 'leader') return;
    pair.spec = campaign(pair.spec, pair.self);
    pair.core.campaign();
    this.#drain(pair);
  }

  #propose(pair: Pair): void {
    this.#proposed += 1;
    const placed = pair.core.propose([new TextEncoder().encode(String(this.#proposed))]);
    assert.equal(typeof placed === 'object', pair.spec.role === 'leader', 'only a leader proposes');
    if (typeof placed === 'object') pair.spec = propose(pair.spec);
    this.#drain(pair);
  }

  #tick(pair: Pair): void {
    // A follower's timeout is a campaign of its own: only leaders tick.
    if (pair.spec.role !== 'leader') return;
    pair.core.tick();
    this.#drain(pair);
  }

  #disk(pair: Pair): void {
    const job = pair.writes.shift();
    if (job === undefined) return;
    pair.disk.write(job);
    pair.spec = { ...pair.spec, synced: commonLength(termsOf(pair.disk.all()), pair.spec.log) };
    this.#afterwards(pair, job.afterwards);
  }

  #afterwards(pair: Pair, messages: readonly Message[]): void {
    for (const message of messages) {
      if (message.to === String(pair.self)) this.#step(pair, message);
      else this.#answered(pair, message);
    }
    this.#drain(pair);
  }

  /** An answer leaves: the disk must have what it rests on (I11, S8). */
  #answered(pair: Pair, message: Message): void {
    const { hardState } = pair.disk;
    assert.ok(hardState.term >= message.term, 'an answer of a term that the disk does not know');
    if (message.type === 'VoteResp' && !message.reject && hardState.term === message.term)
      assert.equal(hardState.vote, message.to, 'a vote that the disk does not have');
    // A later leader may have replaced the entries since, but then with a later term on the disk.
    if (message.type === 'AppendResp' && !message.reject && pair.spec.term === message.term)
      assert.ok(pair.spec.synced >= message.index, 'entries that the disk does not have');
    this.#network.push(message);
  }

  #apply(pair: Pair): void {
    const job = pair.applies.shift();
    if (job === undefined) return;
    for (const message of job.afterwards) pair.core.step(message);
    this.#drain(pair);
  }

  /** A prefix of what was on its way is on the disk; everything else is gone. */
  #crash(pair: Pair): void {
    this.counts.crashes += 1;
    for (const job of pair.writes.splice(0).slice(0, this.#random(3))) pair.disk.write(job);
    pair.applies = [];
    const { term, vote, commit } = pair.disk.hardState;
    const log = termsOf(pair.disk.all());
    const voted = vote === null ? -1 : Number(vote);
    pair.spec = { ...firstNode, term, vote: voted, log, synced: log.length, commit };
    pair.log = [...log];
    pair.core = this.#coreOf(pair.self, pair.disk);
    this.#drain(pair);
  }

  #deliver(): void {
    if (this.#network.length === 0) return;
    const at = this.#random(this.#network.length);
    const message = this.#network[at] as Message;
    if (this.#random(10) > 0) this.#network.splice(at, 1);
    if (this.#network.length > underWayMax) this.#network.splice(this.#random(underWayMax), 1);
    const pair = this.#pairs[Number(message.to)] as Pair;
    this.#step(pair, message);
    this.#drain(pair);
  }

  #step(pair: Pair, message: Message): void {
    pair.spec = specAfter(pair, message);
    pair.core.step(message);
  }

  #drain(pair: Pair): void {
    const { core } = pair;
    while (core.hasReady()) {
      const { send, append, apply } = core.ready();
      for (const { index, term } of append?.entries ?? []) {
        pair.log.length = index - 1;
        pair.log.push(term);
      }
      if (append !== undefined) pair.writes.push(append);
      if (apply !== undefined) pair.applies.push(apply);
      for (const message of send) {
        checkSent(pair, message);
        if (answers.has(message.type)) this.#answered(pair, message);
        else this.#network.push(message);
      }
      const last = apply?.entries.at(-1)?.index ?? 0;
      assert.ok(last <= pair.spec.commit, 'only what is committed is applied');
      assert.ok(last <= pair.spec.synced, 'only what is durable is applied');
    }
    this.#compare(pair);
  }

  #compare(pair: Pair): void {
    const { role, term, vote, commit, durableIndex } = pair.core.status();
    // Who hears a majority refuse may give up.
    if (pair.spec.role === 'candidate' && role === 'follower')
      pair.spec = { ...pair.spec, role: 'follower', votes: 0 };
    const voted = vote === null ? -1 : Number(vote);
    assert.deepEqual(
      { role, term, vote: voted, commit, log: pair.log.join() },
      {
        role: pair.spec.role,
        term: pair.spec.term,
        vote: pair.spec.vote,
        commit: pair.spec.commit,
        log: pair.spec.log.join(),
      },
    );
    assert.ok(durableIndex <= pair.spec.synced, 'the core believes more durable than is');
    if (role === 'leader') this.counts.leaders = Math.max(this.counts.leaders, term);
    this.counts.commits = Math.max(this.counts.commits, commit);
  }
}

function specAfter({ spec, self, core }: Pair, message: Message): SpecNode {
  const { type, term, index, logTerm, commit, reject } = message;
  const from = Number(message.from);
  switch (type) {
    case 'Vote':
      // Who knows the leader of the term refuses (ha.md 2.5 rule 4): always allowed.
      if (term === spec.term && core.status().leader !== undefined) return spec;
      return onVote(spec, { from, term, last: index, lastTerm: logTerm }).node;
    case 'VoteResp':
      if (reject || (message.emptyLog && spec.commit > 0)) return newerTerm(spec, term);
      return onGrant(spec, from, term, size);
    case 'Append':
      return onAppend(spec, appendOf(message)).node;
    case 'AppendResp':
      return reject ? newerTerm(spec, term) : onAcknowledged(spec, from, term, index);
    case 'Heartbeat':
      return onHeartbeat(spec, term, commit);
    default:
      // What the own disk and state machine tell changes nothing that the specification knows.
      return from === self ? spec : newerTerm(spec, term);
  }
}

function appendOf({ term, index, logTerm, entries, commit }: Message): SpecAppend {
  return {
    term,
    previous: index,
    previousTerm: logTerm,
    entries: entries.map((entry) => entry.term),
    commit,
  };
}

function checkSent({ spec }: Pair, message: Message): void {
  const { type, term, index, logTerm, commit, to } = message;
  if (type === 'Append') assert.ok(maySend(spec, appendOf(message)), 'an append beside the log');
  if (type === 'Heartbeat') {
    const sure = Math.min(spec.match[Number(to)] ?? 0, spec.commit);
    assert.ok(term === spec.term && commit <= sure, 'a heartbeat says more than is sure');
  }
  if (type === 'Vote') {
    const own = { term: spec.term, last: spec.log.length, lastTerm: lastTerm(spec.log) };
    assert.deepEqual({ term, last: index, lastTerm: logTerm }, own, 'a campaign with another log');
  }
}

function termsOf(entries: readonly Entry[]): number[] {
  return entries.map(({ term }) => term);
}

function commonLength(a: readonly number[], b: readonly number[]): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length += 1;
  return length;
}
