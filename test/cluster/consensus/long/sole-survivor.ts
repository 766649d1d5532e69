import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { freePort, until, WorkerGroup } from '../worker-group.ts';

// A majority is lost for good (ha.md 8.2 rule 7): one member goes on alone by a word of approval, and others come anew.

const quorumRecovery = 'quorum-1';

test('one of three goes on alone with all that it has, once for each word, and others join with empty disks', async () => {
  const group = await WorkerGroup.start(3);
  try {
    for (let i = 0; i < 30; i++) await group.write(`write ${i}`);
    const survivor = ((await group.leader()) + 1) % 3;
    const others = [0, 1, 2].filter((i) => i !== survivor);
    await until(() =>
      group.members.get(survivor)?.applied.includes('write 29') ? true : undefined,
    );
    const before = group.members.get(survivor)?.consensus.status();
    assert.ok(before);
    for (const i of [...others, survivor]) await group.stopMember(i);
    // Without a word nobody leads, whatever is waited for: it has one vote of three.
    const alone = await group.startMember(survivor);
    await until(() => (alone.consensus.status().raftState === 'RUNNING' ? true : undefined));
    assert.equal(alone.consensus.status().configuration.voters.length, 3);
    await group.stopMember(survivor);
    const recovered = await group.startMember(survivor, 3, { quorumRecovery });
    assert.equal(await group.leader(), survivor);
    await group.write('after the loss');
    await until(() => (recovered.applied.at(-1) === 'after the loss' ? true : undefined));
    // All that was acknowledged, in its order; a write that was repeated is there twice.
    const written = [...Array.from({ length: 30 }, (_, i) => `write ${i}`), 'after the loss'];
    assert.deepEqual([...new Set(recovered.applied)], written);
    const after = recovered.consensus.status();
    assert.deepEqual(
      after.configuration.voters.map(({ id }) => id),
      [group.idOf(survivor)],
    );
    assert.notEqual(after.clusterId, before.clusterId);
    assert.equal(after.storageId, before.storageId);
    // A member of the old group, with its disk, is another group's and stays out.
    const [old = 0, empty = 0] = others;
    const stranger = await group.startMember(old, 3, { startMode: 'join' });
    // An empty disk is taken in.
    rmSync(join(group.root, `member-${empty}`), { recursive: true });
    const joined = await group.startMember(empty, 3, { startMode: 'join' });
    await until(() => (joined.applied.at(-1) === 'after the loss' ? true : undefined));
    assert.deepEqual(joined.applied, recovered.applied);
    assert.equal(joined.consensus.status().clusterId, after.clusterId);
    assert.equal(stranger.consensus.status().clusterId, before.clusterId);
    assert.equal(stranger.applied.includes('after the loss'), false);
    await until(() =>
      recovered.consensus.status().configuration.voters.length === 2 ? true : undefined,
    );
    // The same word does nothing at the next start: the group stays what it is.
    await group.stopMember(survivor);
    const again = await group.startMember(survivor, 3, { quorumRecovery });
    await group.leader();
    assert.equal(again.consensus.status().configuration.voters.length, 2);
    assert.equal(again.consensus.status().clusterId, after.clusterId);
  } finally {
    await group.close();
  }
});

test('a word to a member that belongs to no group changes nothing', async () => {
  const group = await WorkerGroup.start(0);
  try {
    group.ports.push(await freePort(), await freePort());
    const member = await group.startMember(0, 2, { quorumRecovery, startMode: 'join' });
    assert.equal(member.consensus.status().clusterId, undefined);
    assert.equal(member.consensus.status().configuration.voters.length, 0);
  } finally {
    await group.close();
  }
});
