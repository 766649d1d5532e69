import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freePort, until, WorkerGroup } from '../worker-group.ts';

test('who is pinned as a replica never leads, whoever formed the group and whenever it was pinned; released, it may again', async () => {
  const group = await WorkerGroup.start(0);
  try {
    for (let i = 0; i < 3; i += 1) group.ports.push(await freePort());
    // Those that are pinned have the shortest time to a campaign.
    const { limits } = group.options(0, 3);
    const late = { ...limits, electionTicksMin: 100, electionTicksMax: 150 };
    const start = (pinned: readonly number[]) =>
      Promise.all(
        [0, 1, 2].map((i) => {
          const isPinned = pinned.includes(i);
          return group.startMember(i, 3, { canLead: !isPinned, limits: isPinned ? limits : late });
        }),
      );
    const pinnedIn = (leader: number) =>
      group.members
        .get(leader)
        ?.consensus.status()
        .configuration.voters.flatMap(({ id, canLead }) => (canLead ? [] : [id]));
    const stop = async () => {
      // Else the log of one that is pinned may be ahead, and nobody can be elected.
      const indexes = () =>
        new Set([...group.members.values()].map((one) => one.consensus.status().lastIndex));
      await until(() => (indexes().size === 1 ? true : undefined));
      for (const i of [0, 1, 2]) await group.stopMember(i);
    };
    await start([1]);
    const first = await group.leader();
    assert.notEqual(first, 1);
    assert.deepEqual(pinnedIn(first), [group.idOf(1)], 'told when the group was formed');
    await stop();
    const other = first === 0 ? 2 : 0;
    await start([1, first]);
    assert.equal(await group.leader(), other, 'the configuration says that both may lead');
    const consensus = group.members.get(other)?.consensus;
    await until(() => (pinnedIn(other)?.length === 2 ? true : undefined));
    const handed = await consensus?.transferLeadership(group.idOf(first), 500);
    assert.deepEqual(handed, { kind: 'refused', reason: 'not-eligible' });
    await group.write('it leads on');
    await stop();
    await start([other]);
    const last = await group.leader();
    assert.notEqual(last, other, 'the configuration says that it alone may lead');
    await until(() => (pinnedIn(last)?.join() === group.idOf(other) ? true : undefined));
  } finally {
    await group.close();
  }
});
