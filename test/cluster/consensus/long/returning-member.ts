import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { until, WorkerGroup } from '../worker-group.ts';

// Real threads and ports, a group in one process: what takes seconds of waiting.

test('a member that left and comes back with its log is taken in again', async () => {
  const group = await WorkerGroup.start(3);
  try {
    const leader = await group.leader();
    const left = (leader + 1) % 3;
    const port = group.members.get(leader)?.consensus;
    await until(async () => {
      const change = {
        kind: 'remove',
        id: group.idOf(left),
        force: false,
        isLeaving: true,
      } as const;
      const answer = await port?.changeMembership(change, 10_000);
      return answer?.kind === 'done' ? true : undefined;
    });
    await group.stopMember(left);
    await group.write('while it was away');
    const back = await group.startMember(left);
    await until(() => (back.applied.includes('while it was away') ? true : undefined));
    await until(() => (port?.status().configuration.voters.length === 3 ? true : undefined));
  } finally {
    await group.close();
  }
});

test('a member that is to install a snapshot can let its own log go before', async () => {
  const group = await WorkerGroup.start(3);
  try {
    const leader = await group.leader();
    const late = (leader + 1) % 3;
    const text = (i: number) => `${i} `.padEnd(200_000, 'x');
    for (let i = 0; i < 20; i++) await group.write(text(i));
    const all = () => group.members.get(late)?.applied.length === 20;
    await until(() => (all() ? true : undefined));
    await group.stopMember(late);
    for (let i = 20; i < 40; i++) await group.write(text(i));
    for (const { consensus, applied } of group.members.values()) {
      await until(() => (applied.length === 40 ? true : undefined));
      await until(() => {
        const { appliedIndex, firstIndex } = consensus.status();
        consensus.offerSnapshot(appliedIndex, Buffer.from('image'));
        return firstIndex > 25 ? true : undefined;
      });
    }
    const segments = () =>
      readdirSync(join(group.root, `member-${late}`)).filter((name) => /^seg-\d/.test(name));
    const before = segments();
    assert.ok(before.length > 3, before.join());
    const { consensus } = await group.startMember(late);
    let isInstalled = false;
    consensus.onSnapshot(async () => {
      consensus.offerSnapshot(20, Buffer.from('old image'));
      await until(() => (segments().length < before.length ? true : undefined));
      isInstalled = true;
    });
    await until(() => (isInstalled ? true : undefined));
    await until(() => (consensus.status().firstIndex > 25 ? true : undefined));
  } finally {
    await group.close();
  }
});
