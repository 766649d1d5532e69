import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { type ConfChange, changed, isJoint, membersOf, refusalOf } from '#raft/membership.ts';
import { type Message, messageOf } from '#raft/message.ts';
import { RaftNode } from '#raft/node.ts';
import { defaultRaftLimits } from '#raft/options.ts';
import { quorumIndex, voteResult } from '#raft/quorum.ts';
import type { AppendJob } from '#raft/ready.ts';
import type { ConfState, Entry, Member } from '#raft/vocabulary.ts';
import { StoredLog } from './support/stored-log.ts';

const ids = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'];
const setOfVoters = fc.uniqueArray(fc.constantFrom(...ids), { minLength: 1, maxLength: 9 });
const voterSets = fc.array(setOfVoters, { minLength: 1, maxLength: 2 });

/** As slow and plain as can be: is there a subset of more than half that all reached it? */
function hasMajority(set: readonly string[], has: (id: string) => boolean): boolean {
  let count = 0;
  for (const id of set) if (has(id)) count += 1;
  return count * 2 > set.length;
}

test('the committed index is that of a naive double, for one set and for two', async () => {
  const indexes = fc.array(fc.nat(12), { minLength: 9, maxLength: 9 });
  const run = (sets: string[][], of: number[]) => {
    const indexOf = (id: string) => of[ids.indexOf(id)] ?? 0;
    let naive = 0;
    for (let index = 1; index <= 12; index++)
      if (sets.every((set) => hasMajority(set, (id) => indexOf(id) >= index))) naive = index;
    assert.equal(quorumIndex(sets, indexOf), naive);
    const alone = sets.map((set) => quorumIndex([set], indexOf));
    assert.equal(quorumIndex(sets, indexOf), Math.min(...alone), 'two sets: the smaller one');
    const more = (id: string) => indexOf(id) + (id === ids[naive % 9] ? 1 : 0);
    assert.ok(quorumIndex(sets, more) >= naive, 'one more acknowledgement takes nothing away');
    const renamed = sets.map((set) => set.map((id) => `z${id}`));
    assert.equal(
      quorumIndex(renamed, (id) => indexOf(id.slice(1))),
      naive,
    );
  };
  await fc.assert(fc.property(voterSets, indexes, run), { numRuns: 20_000, seed: 1 });
});

test('the result of a vote is that of a naive double', async () => {
  const votes = fc.array(fc.constantFrom(true, false, undefined), { minLength: 9, maxLength: 9 });
  const run = (sets: string[][], of: (boolean | undefined)[]) => {
    const voteOf = (id: string) => of[ids.indexOf(id)];
    const isWon = sets.every((set) => hasMajority(set, (id) => voteOf(id) === true));
    const canBeWon = sets.every((set) => hasMajority(set, (id) => voteOf(id) !== false));
    const naive = isWon ? 'won' : canBeWon ? 'pending' : 'lost';
    assert.equal(voteResult(sets, voteOf), naive);
  };
  await fc.assert(fc.property(voterSets, votes, run), { numRuns: 20_000, seed: 1 });
});

function memberOf(id: string): Member {
  return { id, address: `${id}:1`, priority: 0, canLead: true, storageId: id, voter: true };
}

function confOf(voters: readonly string[]): ConfState {
  const members = [...voters].sort().map(memberOf);
  return {
    voters: members,
    votersOutgoing: [],
    learners: [],
    learnersNext: [],
    autoLeave: false,
  };
}

test('changes of membership give what sets give; refused ones would not', async () => {
  const step = fc.record({
    op: fc.constantFrom('voter' as const, 'learner' as const, 'remove' as const),
    id: fc.constantFrom(...ids.slice(0, 5)),
  });
  const change = fc.record({
    kind: fc.constantFrom('simple' as const, 'joint' as const, 'leave' as const),
    steps: fc.array(step, { maxLength: 3 }),
  });
  const run = (
    first: string[],
    changes: (typeof change extends fc.Arbitrary<infer T> ? T : never)[],
  ) => {
    let conf = confOf(first);
    for (const { kind, steps } of changes) {
      const asked: ConfChange =
        kind === 'leave'
          ? { kind }
          : {
              kind,
              steps: steps.map(({ op, id }) =>
                op === 'remove' ? { op, id } : { op, member: memberOf(id) },
              ),
            };
      const before = new Set(conf.voters.map(({ id }) => id));
      const after = new Set(before);
      for (const { op, id } of kind === 'leave' ? [] : steps)
        if (op === 'voter') after.add(id);
        else after.delete(id);
      const moved = [...before, ...after].filter((id) => before.has(id) !== after.has(id)).length;
      const isRefused =
        isJoint(conf) !== (kind === 'leave') ||
        after.size === 0 ||
        (kind === 'simple' && moved > 1);
      assert.equal(refusalOf(conf, asked) !== undefined, isRefused);
      if (isRefused) continue;
      const outgoing = kind === 'joint' ? [...before].sort() : [];
      conf = changed(conf, asked);
      assert.deepEqual(
        conf.voters.map(({ id }) => id),
        [...after].sort(),
      );
      assert.deepEqual(conf.votersOutgoing, outgoing);
      const learners = conf.learners.map(({ id }) => id);
      assert.ok(
        learners.every((id) => !after.has(id)),
        'nobody is both',
      );
      assert.equal(membersOf(conf).size, new Set([...after, ...outgoing, ...learners]).size);
    }
  };
  await fc.assert(fc.property(setOfVoters, fc.array(change, { maxLength: 12 }), run), {
    numRuns: 3000,
    seed: 1,
  });
});

/** A follower among three, its disk in the hands of the test. */
function follower(): { node: RaftNode; log: StoredLog; jobs: () => AppendJob[] } {
  const log = new StoredLog();
  const node = new RaftNode({
    self: 'b',
    limits: defaultRaftLimits,
    log,
    hardState: log.hardState,
    conf: confOf(['a', 'b', 'c']),
    confIndex: 0,
    confEntries: [],
    applied: 0,
    admitted: true,
    rand: () => 0,
  });
  const jobs = () => {
    const taken: AppendJob[] = [];
    while (node.hasReady()) {
      const { append } = node.ready();
      if (append !== undefined) taken.push(append);
    }
    return taken;
  };
  return { node, log, jobs };
}

function appendOf(
  from: string,
  term: number,
  entries: readonly (readonly [number, number])[],
): Message {
  const data = (index: number, at: number) => new TextEncoder().encode(`${index}/${at}`);
  const first = entries[0] ?? [1, 1];
  return messageOf('Append', from, 'b', {
    term,
    index: first[0] - 1,
    logTerm: first[0] === 1 ? 0 : 1,
    entries: entries.map(
      ([index, at]): Entry => ({ index, term: at, kind: 'normal', data: data(index, at) }),
    ),
  });
}

test('an acknowledgement of an earlier term makes nothing durable', () => {
  const { node, log, jobs } = follower();
  // Entry 2 of term 1 is on its way to the disk, makes place for one of term 2, and comes again from the leader of term 3.
  node.step(
    appendOf('a', 1, [
      [1, 1],
      [2, 1],
    ]),
  );
  const [first] = jobs();
  node.step(appendOf('c', 2, [[2, 2]]));
  const [second] = jobs();
  node.step(appendOf('a', 3, [[2, 1]]));
  const [third] = jobs();
  assert.ok(first && second && third);
  for (const job of [first, second]) {
    log.write(job);
    for (const message of job.afterwards) if (message.to === 'b') node.step(message);
    assert.equal(node.status().durableIndex, 0, 'the disk may have another entry 2');
  }
  log.write(third);
  for (const message of third.afterwards) if (message.to === 'b') node.step(message);
  assert.equal(node.status().durableIndex, 2);
});
