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
  activeFeatures: readonly string[] = [];
  readonly told: string[] = [];
  role: 'leader' | 'follower' = 'leader';
  /** A change of somebody else, in the log and not committed. */
  pending: ConfChange | undefined;
  /** What happens while the desk waits. */
  meanwhile: (() => void) | undefined;

  constructor(ids: readonly string[]) {
    const voters = ids.map(memberOf);
    this.conf = { voters, votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false };
  }

  change(change: MembershipChange, timeoutMs = 1000): Promise<MembershipChanged> {
    return this.desk().change(change, timeoutMs);
  }

  desk(): MembershipDesk {
    const sleep = async (ms: number) => {
      this.nowMs += ms;
      this.meanwhile?.();
      if (isJoint(this.conf)) this.#take({ kind: 'leave' });
    };
    return new MembershipDesk({
      runtime: {
        clock: { monotonicMs: () => this.nowMs, now: () => this.nowMs },
        timers: { sleep },
      } as unknown as Runtime,
      self: 'a',
      lagEntriesMax: 10,
      status: () => this.#status(),
      propose: (asked) => (this.pending === undefined ? this.#take(asked) : 'pending'),
      activeFeatures: () => this.activeFeatures,
      report: (text) => void this.told.push(text),
      isReachable: (id) => !this.unreachable.has(id),
      handOver: async () => this.handsOver,
    });
  }

  commitPending(): void {
    const { pending } = this;
    this.pending = undefined;
    if (pending !== undefined) this.#take(pending);
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
      isCounted: true,
    }));
    const isConfPending = this.pending !== undefined;
    const more = { lastIndex: 100, role: this.role, isConfPending };
    return { conf, confIndex, progress, ...more } as unknown as NodeStatus;
  }
}

function memberOf(id: string): Member {
  return { id, address: `${id}:1`, priority: 0, canLead: true, storageId: id, voter: true };
}

test('what a member says of leading goes into the configuration, and what a person says of it does not', async () => {
  const leader = new Leader(['a', 'b']);
  leader.conf = { ...leader.conf, learners: [{ ...memberOf('c'), voter: false }] };
  const asked = (id: string, canLead: boolean, voter: boolean, asker?: object) => {
    const member = { ...memberOf(id), canLead, voter, priority: canLead ? 7 : 0 };
    return leader.desk().change({ kind: 'add', member }, 1000, asker);
  };
  const known = (id: string) => {
    const { voters, learners } = leader.conf;
    const member = [...voters, ...learners].find((one) => one.id === id);
    return [member?.voter, member?.canLead, member?.priority];
  };
  assert.equal((await asked('b', false, true)).kind, 'done');
  assert.deepEqual(known('b'), [true, true, 0], 'a person');
  assert.equal((await asked('b', false, true, {})).kind, 'done');
  assert.deepEqual(known('b'), [true, false, 0]);
  await asked('c', false, false, {});
  assert.deepEqual(known('c'), [false, false, 0], 'it does not vote for that');
  assert.deepEqual(leader.made, ['voter b', 'learner c']);
  await asked('b', false, true, {});
  assert.equal(leader.made.length, 2, 'it is as it was');
  await asked('b', true, true, {});
  assert.deepEqual(known('b'), [true, true, 7]);
});

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

  const made = silent.made.length;
  const promoted = await silent.change({ kind: 'promote', ids: ['c'] });
  assert.ok(promoted.kind === 'refused' && /c is not reachable/.test(promoted.detail));
  assert.equal(silent.made.length, made);

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

test('a member with another disk gets back the vote that it had or was to have, whatever it asks for', async () => {
  const leader = new Leader(['a', 'b', 'c']);
  const asking = (storageId: string) => ({ ...memberOf('c'), storageId, voter: false });
  const answer = await leader.change({ kind: 'replace', member: asking('c2') });
  assert.deepEqual(answer.kind === 'done' && answer.isVoter, true);
  assert.deepEqual(leader.made, ['learner c', 'leave', 'voter c']);

  // Its first contact comes while it is still to catch up.
  leader.matches.set('d', 0);
  leader.meanwhile = () => {
    leader.meanwhile = undefined;
    leader.matches.set('d', 100);
    void leader.change({ kind: 'replace', member: { ...memberOf('d'), voter: false } });
  };
  const added = await leader.change({ kind: 'add', member: { ...memberOf('d'), storageId: '' } });
  assert.deepEqual(added.kind === 'done' && added.isVoter, true);
  const named = leader.conf.voters.find(({ id }) => id === 'd');
  assert.equal(named?.storageId, 'd', 'it votes with the disk that it has');

  const stranger = await leader.change({ kind: 'replace', member: memberOf('x') });
  assert.ok(stranger.kind === 'refused' && stranger.reason === 'unknown-peer');
});

test('whoever leads goes on with a learner that is to vote', async () => {
  const leader = new Leader(['a', 'b', 'c']);
  leader.matches.set('d', 0);
  const late = await leader.change({ kind: 'add', member: memberOf('d') }, 100);
  assert.ok(late.kind === 'refused' && late.reason === 'lagging');
  leader.desk().promoteReady();
  assert.deepEqual(leader.made, ['learner d'], 'it is behind');
  leader.matches.set('d', 100);
  leader.role = 'follower';
  leader.desk().promoteReady();
  leader.role = 'leader';
  leader.pending = { kind: 'simple', steps: [] };
  leader.desk().promoteReady();
  leader.pending = undefined;
  assert.deepEqual(leader.made, ['learner d']);
  leader.desk().promoteReady();
  assert.deepEqual(leader.made, ['learner d', 'voter d']);
  await leader.change({ kind: 'add', member: { ...memberOf('e'), voter: false } });
  leader.desk().promoteReady();
  assert.deepEqual(leader.made.at(-1), 'learner e', 'a learner it is to be');
});

test('the change of somebody else is not the one that was asked for', async () => {
  const leader = new Leader(['a', 'b', 'c', 'd', 'e']);
  leader.pending = { kind: 'simple', steps: [{ op: 'remove', id: 'e' }] };
  leader.meanwhile = () => leader.commitPending();
  const answer = await leader.change({ kind: 'remove', id: 'd', force: false });
  assert.deepEqual(leader.made, ['remove e', 'remove d']);
  assert.equal(answer.kind, 'done');

  const guarded = new Leader(['a', 'b', 'c', 'd']);
  guarded.pending = { kind: 'simple', steps: [{ op: 'remove', id: 'd' }] };
  guarded.unreachable.add('b');
  guarded.meanwhile = () => guarded.commitPending();
  const refused = await guarded.change({ kind: 'remove', id: 'c', force: false });
  assert.ok(refused.kind === 'refused' && refused.reason === 'guard', 'judged when it is proposed');

  const stuck = new Leader(['a', 'b', 'c']);
  stuck.pending = { kind: 'simple', steps: [] };
  const pending = await stuck.change({ kind: 'add', member: memberOf('d') }, 600_000);
  assert.ok(pending.kind === 'refused' && pending.reason === 'pending');
  assert.equal(stuck.nowMs, 90_000, 'so long it waits for another change');

  const deposed = new Leader(['a', 'b', 'c']);
  deposed.matches.set('d', 0);
  deposed.meanwhile = () => {
    deposed.role = 'follower';
  };
  const gone = await deposed.change({ kind: 'add', member: memberOf('d') }, 600_000);
  assert.deepEqual(gone, { kind: 'no-leader', mayBeDone: true }, 'it was proposed');
  assert.ok(deposed.nowMs < 1000, 'told at once');
});

test('who was removed does not come back by itself for a day, unless with another disk or by a person', async () => {
  const leader = new Leader(['a', 'b', 'c', 'd']);
  const asks = (storageId: string) => ({
    kind: 'add' as const,
    member: { ...memberOf('d'), storageId },
  });
  await leader.change({ kind: 'remove', id: 'd', force: false });
  const banned = await leader.change(asks('d'));
  assert.ok(banned.kind === 'refused' && banned.reason === 'guard');
  assert.match(banned.detail, /d was removed; POST \/cluster\/peer adds it again/);
  assert.equal((await leader.change(asks('other'))).kind, 'done');

  await leader.change({ kind: 'remove', id: 'd', force: false });
  assert.equal((await leader.change(asks(''))).kind, 'done', 'a person does not know its disk');
  assert.equal(leader.conf.removed, undefined, 'it is forgotten');

  // It was removed before it said hello: nobody knows its disk.
  leader.conf = { ...leader.conf, removed: [{ id: 'e', storageId: '', atMs: leader.nowMs }] };
  const unseen = { kind: 'add' as const, member: { ...memberOf('e'), storageId: '' } };
  assert.equal((await leader.change(unseen)).kind, 'done', 'a person adds it again');
  await leader.change({ kind: 'remove', id: 'e', force: false });

  await leader.change({ kind: 'remove', id: 'd', force: false });
  leader.nowMs += 24 * 3600 * 1000;
  assert.equal((await leader.change(asks(''))).kind, 'done', 'a day later');

  await leader.change({ kind: 'remove', id: 'd', force: false, isLeaving: true });
  assert.equal((await leader.change(asks(''))).kind, 'done', 'it left, and comes back');
});

test('who asks by itself and lacks a feature in use is refused, by name and told once; a person has looked before, a member stays one', async () => {
  const leader = new Leader(['a', 'b']);
  leader.activeFeatures = ['greeting'];
  const build = { version: '1', features: ['other'] };
  const newer = { version: '2', features: ['greeting'] };
  const text =
    "Peer c runs version 1, which lacks 'greeting'; the cluster uses it: upgrade the peer first";
  const refused = { kind: 'refused', reason: 'lacks-feature', detail: text };
  const add = { kind: 'add', member: memberOf('c') } as const;
  for (const kind of ['add', 'replace'] as const)
    assert.deepEqual(await leader.desk().change({ ...add, kind }, 1000, { build }), refused);
  const desk = leader.desk();
  for (let i = 0; i < 2; i++) await desk.change(add, 1000, { build });
  assert.deepEqual(leader.told, [text, text, text], 'once by each desk');
  const emptied = { kind: 'replace', member: { ...memberOf('b'), storageId: 'new' } } as const;
  const old = await desk.change(emptied, 1000, {});
  assert.ok(old.kind === 'refused' && /b runs an older version/.test(old.detail));
  assert.deepEqual(leader.made, []);

  assert.equal((await desk.change({ ...add, member: memberOf('b') }, 1000, {})).kind, 'done');
  assert.equal((await desk.change(add, 1000, { build: newer })).kind, 'done');
  assert.equal((await desk.change({ ...add, member: memberOf('d') }, 1000)).kind, 'done');
});
