import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { smallDisk } from '../../../support/small-disk.ts';
import { until, WorkerGroup } from '../worker-group.ts';

test('a member whose disk is full keeps running without entries, the others go on, and it is back when there is room', async (context) => {
  const disk = smallDisk(context, 40 * 1024 * 1024);
  if (disk === undefined) {
    context.skip('no file system can be mounted');
    return;
  }
  const group = await WorkerGroup.start(
    3,
    () => undefined,
    (i) => (i === 0 ? disk : undefined),
  );
  try {
    await group.leader();
    await group.write('first');
    const small = group.members.get(0);
    assert.ok(small !== undefined);
    await until(() => (small.applied.length > 0 ? true : undefined));
    const filler = join(disk, 'filler');
    writeFileSync(filler, Buffer.alloc(32 * 1024 * 1024));
    let written = 1;
    while (small.consensus.status().logState === 'OK') {
      await group.write(`${written} ${'x'.repeat(200_000)}`);
      written += 1;
      // It keeps up as long as it can.
      await until(() =>
        small.applied.length >= written || small.consensus.status().logState !== 'OK'
          ? true
          : undefined,
      );
    }
    assert.deepEqual(
      [small.consensus.status().logState, small.consensus.status().raftState],
      ['FAILED', 'RUNNING'],
    );
    assert.notEqual(await group.leader(), 0);
    await group.write('while it is full');
    rmSync(filler);
    await until(() => (small.consensus.status().logState === 'OK' ? true : undefined));
    await group.write('afterwards');
    await until(() => (small.applied.includes('afterwards') ? true : undefined));
    const other = group.members.get(1);
    await until(() => (other?.applied.includes('afterwards') ? true : undefined));
    assert.deepEqual(
      small.applied.map((text) => text.slice(0, 20)),
      other?.applied.map((text) => text.slice(0, 20)),
    );
  } finally {
    await group.close();
  }
});
