import assert from 'node:assert/strict';
import { test } from 'node:test';
import { epochOf } from '#cluster/consensus-port.ts';
import {
  decodeEntry,
  encodeEntry,
  entryKind,
  uuidBytes,
  uuidText,
} from '#cluster/replication/entry-codec.ts';
import { ConsensusDouble } from '../support/consensus-double.ts';

const uuid = '0f9c1d2e-3a4b-4c5d-8e6f-708192a3b4c5';

test('an entry of a database and one of the server come back as they were', () => {
  const body = new Uint8Array([1, 2, 3]);
  const ofDatabase = {
    kind: entryKind.transaction,
    wallTimeMs: 1_795_421_000_123,
    txId: 77,
    database: uuid,
    body,
  };
  const ofServer = {
    kind: entryKind.users,
    wallTimeMs: 5,
    txId: 0,
    database: undefined,
    body: new Uint8Array(0),
  };
  for (const entry of [ofDatabase, ofServer]) {
    const decoded = decodeEntry(encodeEntry(entry));
    assert.deepEqual({ ...decoded, body: [...decoded.body] }, { ...entry, body: [...entry.body] });
  }
  assert.equal(uuidText(uuidBytes(uuid)), uuid);
});

test('what is not whole or unknown is refused', () => {
  const good = encodeEntry({
    kind: entryKind.transaction,
    wallTimeMs: 1,
    txId: 3,
    database: uuid,
    body: new Uint8Array(9),
  });
  for (let length = 0; length < good.length; length++)
    assert.throws(() => decodeEntry(good.subarray(0, length)), /cannot be read/);
  for (const [at, value] of [
    [0, 2],
    [1, 99],
    [4, 8],
  ] as const) {
    const bad = good.slice();
    bad[at] = value;
    assert.throws(() => decodeEntry(bad), /cannot be read/);
  }
});

test('the double of consensus delivers in order, loses what no quorum had, and refuses a whole epoch', async () => {
  const consensus = new ConsensusDouble(['a', 'b']);
  const seen: Record<string, string[]> = { a: [], b: [] };
  for (const id of ['a', 'b']) {
    consensus.port(id).deliver(0, async (entries) => {
      for (const { kind, data } of entries)
        if (kind === 'normal') seen[id]?.push(Buffer.from(data).toString());
    });
  }
  consensus.elect('a');
  await consensus.settled();
  assert.equal(consensus.port('a').status().leaderReady, true);
  const propose = (id: string, text: string, term: number) =>
    consensus.port(id).propose([Buffer.from(text)], epochOf(term, 0));
  assert.deepEqual(await propose('a', 'one', 1), { kind: 'accepted', firstIndex: 2, term: 1 });
  assert.deepEqual(await propose('b', 'no', 1), { kind: 'refused', reason: 'not-leader' });
  await new Promise(setImmediate);
  await consensus.settled();
  consensus.holdCommits();
  await propose('a', 'lost', 1);
  consensus.refuseNext('transfer-pending');
  assert.deepEqual(await propose('a', 'x', 1), { kind: 'refused', reason: 'transfer-pending' });
  assert.deepEqual(await propose('a', 'y', 1), { kind: 'refused', reason: 'stale-epoch' });
  consensus.elect('b', 'loses');
  await propose('b', 'two', 2);
  await new Promise(setImmediate);
  await consensus.settled();
  assert.deepEqual(seen, { a: ['one', 'two'], b: ['one', 'two'] });
});
