import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SnapshotOffer } from '#cluster/consensus-port.ts';
import { ClusterSnapshots } from '#cluster/snapshot/cluster-snapshots.ts';
import { DatabaseError } from '#core/errors.ts';
import { silentLog } from '#core/log.ts';

// A snapshot of the whole log: in which order everything takes its place.

test('the own log goes before the catalog changes, not while it is that of a later index, and nothing before the group is entered', async () => {
  const done: string[] = [];
  let install: (offer: SnapshotOffer) => Promise<void> = () => Promise.resolve();
  let fails = true;
  let gone = false;
  let hasEntered = false;
  const snapshots: ClusterSnapshots = new ClusterSnapshots({
    port: {
      onSnapshot: (take: typeof install) => {
        install = take;
      },
      offerSnapshot: (index: number) => done.push(`log goes to ${index}`),
      status: () => ({ leader: 'a_1' }),
    } as never,
    catalog: {
      image: () => new Uint8Array(1),
      membersOf: () => [{ uuid: 'u', name: 'school', offset: 0 }],
      adopt: async () => void done.push('catalog'),
      adopted: async (index) => void done.push(`adopted ${index}`),
    },
    installer: {
      install: async (name) => {
        // As a timer of the apply loop does meanwhile.
        snapshots.offer(8);
        if (fails) throw new Error('no room');
        if (gone) throw new DatabaseError('DatabaseNotFound', 'dropped');
        done.push(name);
      },
    },
    exclusively: (run) => run(),
    purgeLog: async () => snapshots.offer(7),
    installed: (index) => done.push(`behind ${index}`),
    hasEntered: () => hasEntered,
    log: silentLog,
  });
  const offer = { index: 50, term: 1, from: 'a_1', body: new Uint8Array(1) };
  await assert.rejects(install(offer), /is entering its cluster/);
  assert.deepEqual(done, []);
  hasEntered = true;
  await assert.rejects(install(offer), /no room/);
  assert.deepEqual(done, ['log goes to 7', 'catalog']);
  snapshots.offer(9);
  fails = false;
  done.length = 0;
  await install(offer);
  snapshots.offer(60);
  assert.deepEqual(done, ['catalog', 'school', 'adopted 50', 'behind 50', 'log goes to 60']);
  gone = true;
  done.length = 0;
  await install(offer);
  assert.deepEqual(done.slice(-2), ['adopted 50', 'behind 50'], 'dropped since the offer');
});
