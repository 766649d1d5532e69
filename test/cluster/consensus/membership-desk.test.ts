import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MembershipChange, MembershipChanged } from '#cluster/consensus-port.ts';
import { MembershipDesk } from '#cluster/consensus/membership-desk.ts';
import type { Runtime } from '#core/runtime.ts';
import { type ConfChange, changed, isJoint } from '#raft/membership.ts';
import type { NodeStatus } from '#raft/node.ts';
import type { ConfState, Member } from '#raft/vocabulary.ts';

// The desk alone: a leader 'a' whose changes are committed at the next look, in time that passes only when the desk waits.

class Leader {
  conf: ConfState;
  confIndex = 1;
  nowMs = 0;
  readonly made: string[] = [];
  matches = new Map<string, number>();
  unreachable = new Set<string>();
  handsOver = false;

  constructor(ids: readonly string[]) {
    const voters = ids.map(memberOf);
    this.conf = { voters, votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false };
  }

  change(change: MembershipChange, timeoutMs = 1000): Promise<MembershipChanged> {
    const sleep = async (ms: number) => {
      this.nowMs += ms;
      if (isJoint(this.conf)) this.#take({ kind: 'leave' });
    };
    const desk = new MembershipDesk({
      runtime: {
        clock: { monotonicMs: () => this.nowMs },
        timers: { sleep },
      } as unknown as Runtime,
      self: 'a',
      lagEntriesMax: 10,
      status: () => this.#status(),
      propose: (asked) => this.#take(asked),
      isReachable: (id) => !this.unreachable.has(id),
      handOver: async () => this.handsOver,
    });
    return desk.change(change, timeoutMs);
  }

  #take(change: ConfChange): 'ok' {
    this.conf = changed(this.conf, change);
    this.confIndex += 1;
    this.made.push(
      change.kind === 'leave'
        ? 'leave'
        : change.steps
            .map((step) => `${step.op} ${'id' in step ? step.id : step.member.id}`)
            .join(),
    );
    return 'ok';
  }

  #status(): NodeStatus {
    const { conf, confIndex } = this;
    const progress = [...conf.voters, ...conf.learners].map(({ id }) => ({
      id,
      match: this.matches.get(id) ?? 100,
    }));
    return { conf, confIndex, progress, lastIndex: 100, role: 'leader' } as unknown as NodeStatus;
  }
}

function memberOf(id: string): Member {
  return { id, address: `${id}:1`, priority: 0, canLead: true, storageId: id, voter: true };
}

test('who is added learns first and is promoted when it has caught up', async () => {
  const leader = new Leader(['a', 'b', 'c']);
  const answer = await leader.change({ kind: 'add', member: memberOf('d') });
  assert.equal(answer.kind, 'done');
  assert.deepEqual(leader.made, ['learner d', 'voter d']);

  const lagging = new Leader(['a', 'b']);
  lagging.matches.set('c', 89);
  const refused = await lagging.change({ kind: 'add', member: memberOf('c') });
  assert.ok(refused.kind === 'refused' && refused.reason === 'lagging');
  assert.deepEqual(lagging.made, ['learner c']);

  const silent = new Leader(['a', 'b']);
  silent.unreachable.add('c');
  const unheard = await silent.change({ kind: 'add', member: memberOf('c') });
  assert.ok(unheard.kind === 'refused' && unheard.reason === 'lagging', 'it is not there');

  const other = new Leader(['a', 'b', 'c']);
  await other.change({ kind: 'add', member: { ...memberOf('c'), storageId: 'new' } });
  assert.deepEqual(
    other.made,
    ['learner c', 'leave', 'voter c'],
    'another disk: out and in at once',
  );
});

test('several learners are promoted in one joint change, and a taken-in learner stays one', async () => {
  const leader = new Leader(['a']);
  for (const id of ['b', 'c'])
    await leader.change({ kind: 'add', member: { ...memberOf(id), storageId: '', voter: false } });
  // Its disk makes itself known at its first contact.
  await leader.change({ kind: 'replace', member: { ...memberOf('b'), voter: false } });
  assert.deepEqual(
    leader.conf.learners.map(({ id, storageId }) => [id, storageId]),
    [
      ['b', 'b'],
      ['c', ''],
    ],
  );
  assert.equal(leader.conf.voters.length, 1);
  await leader.change({ kind: 'promote', ids: ['b', 'c'] });
  assert.deepEqual(leader.made.slice(-2), ['voter b,voter c', 'leave']);
  assert.equal(leader.conf.voters.length, 3);
});

test('a removal that would cost the quorum is refused', async () => {
  const remove = (id: string, force = false) => ({ kind: 'remove', id, force }) as const;
  const two = new Leader(['a', 'b']);
  const refused = await two.change(remove('b'));
  assert.ok(refused.kind === 'refused' && refused.reason === 'guard');
  assert.match(refused.detail, /1 of 2 voters would be left, a majority of them is 2/);
  assert.equal((await two.change(remove('b', true))).kind, 'done', 'by force');

  const three = new Leader(['a', 'b', 'c']);
  three.unreachable.add('b');
  const down = await three.change(remove('c'));
  assert.ok(down.kind === 'refused' && down.reason === 'guard');
  assert.match(down.detail, /1 of the remaining 2 voters are reachable, their quorum is 2/);
  assert.equal((await three.change(remove('b'))).kind, 'done', 'the one that is down may go');

  const empty = new Leader(['a', 'b', 'c']);
  empty.matches.set('b', 0);
  const behind = await empty.change(remove('c'));
  assert.ok(behind.kind === 'refused' && behind.reason === 'guard', 'b could elect nobody');
});

test('a change for another configuration is refused; what is done is done', async () => {
  const leader = new Leader(['a', 'b', 'c']);
  const stale = await leader.change({
    kind: 'remove',
    id: 'c',
    force: false,
    expectedIndex: 7,
  } as MembershipChange);
  assert.ok(stale.kind === 'refused' && stale.reason === 'index-mismatch');
  assert.equal((await leader.change({ kind: 'add', member: memberOf('b') })).kind, 'done');
  assert.equal((await leader.change({ kind: 'remove', id: 'x', force: false })).kind, 'done');
  assert.deepEqual(leader.made, []);
});
