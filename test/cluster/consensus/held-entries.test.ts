import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HeldEntries } from '#cluster/consensus/held-entries.ts';
import type { FromWorker } from '#cluster/consensus/worker-messages.ts';
import { unpackEntries } from '#cluster/packed-entries.ts';
import type { Entry, EntryKind } from '#raft/vocabulary.ts';
import { ManualRuntime } from '../../database/support/manual-runtime.ts';

// What each hand-over to the main thread has in it, by the indexes of its entries.

function heldBy(role: 'leader' | 'follower') {
  const runtime = new ManualRuntime();
  const handed: string[] = [];
  const state = { role };
  const post = (message: FromWorker) => {
    assert.equal(message.kind, 'apply');
    const indexes = unpackEntries(message.entries).map(({ index }) => index);
    handed.push(`${indexes[0]}-${indexes.at(-1)}`);
  };
  const held = new HeldEntries({ post }, runtime, () => state.role === 'leader');
  return { runtime, handed, held, state };
}

function entries(first: number, count: number, kind: EntryKind = 'normal', bytes = 10): Entry[] {
  const data = new Uint8Array(bytes);
  return Array.from({ length: count }, (_, i) => ({ index: first + i, term: 1, kind, data }));
}

test('a leader hands on at once what is committed, a follower several groups together after 10 ms', async () => {
  const leader = heldBy('leader');
  leader.held.take(entries(1, 3));
  leader.held.take(entries(4, 1));
  assert.deepEqual(leader.handed, ['1-3', '4-4']);

  const follower = heldBy('follower');
  follower.held.take(entries(1, 3));
  follower.held.take(entries(4, 2));
  await follower.runtime.advance(9);
  assert.deepEqual(follower.handed, []);
  await follower.runtime.advance(1);
  assert.deepEqual(follower.handed, ['1-5']);
  follower.held.take(entries(6, 1));
  await follower.runtime.advance(10);
  assert.deepEqual(follower.handed, ['1-5', '6-6']);
});

test('on a follower nothing waits behind many entries, a large one, or what begins a leadership or changes the members', () => {
  const { held, handed } = heldBy('follower');
  held.take(entries(1, 40));
  held.take(entries(41, 216));
  assert.deepEqual(handed, ['1-256']);
  held.take(entries(257, 1));
  held.take(entries(258, 1, 'normal', 300_000));
  assert.deepEqual(handed.slice(1), ['257-258']);
  held.take(entries(259, 2));
  held.take(entries(261, 1, 'noop'));
  held.take(entries(262, 1));
  held.take(entries(263, 1, 'conf'));
  assert.deepEqual(handed.slice(2), ['259-261', '262-263']);
});

test('whoever asks for the read index gets what is held, and what follows for a second at once', async () => {
  const { held, handed, runtime } = heldBy('follower');
  held.take(entries(1, 2));
  held.hasten();
  assert.deepEqual(handed, ['1-2']);
  held.take(entries(3, 1));
  await runtime.advance(999);
  held.take(entries(4, 1));
  assert.deepEqual(handed, ['1-2', '3-3', '4-4']);
  await runtime.advance(1);
  held.take(entries(5, 1));
  assert.deepEqual(handed, ['1-2', '3-3', '4-4']);
});

test('what a follower holds goes before what it hands on as the leader, and before entries behind a snapshot', () => {
  const { held, handed, state } = heldBy('follower');
  held.take(entries(1, 2));
  held.take(entries(9, 1));
  assert.deepEqual(handed, ['1-2']);
  state.role = 'leader';
  held.take(entries(10, 1));
  assert.deepEqual(handed, ['1-2', '9-10']);
});
