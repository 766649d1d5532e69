import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { open } from 'lmdb';
import { type LogIndex, makeRid } from '#core/value/rid.ts';
import { PendingEntries } from '#storage/checkpoint/pending-entries.ts';
import type { StorageSnapshot } from '#storage/engine.ts';
import { EntryFolds } from '#storage/commit/entry-folds.ts';
import { chunkedComponents } from '#storage/format/entry-chunk.ts';
import type { LmdbEngine } from '#storage/lmdb-engine.ts';
import { ChangeMerge } from '#storage/read/change-merge.ts';
import { deriver, entriesOf, filler, plain, words } from './chunked-fixture.ts';
import { Log, openEngine, person, put, temporaryDirectory, turnTimers } from './engine-fixture.ts';

// What stands beside the chunks of an index: changes in the overlay, segments of checkpoints, and how these go into chunks while
// commits go on.

test('changes of an index are read in order, the newest of each entry, as far as a state sees them', () => {
  const change = fc.record({
    word: fc.oneof(
      fc.constantFrom('a', 'ab', 'abcdef', 'abcdefg', 'abcdefgh'),
      fc.nat(40).map((n) => `w${n}`),
      fc.string({ maxLength: 9 }).map((text) => text.replaceAll('\0', '')),
    ),
    position: fc.nat(30),
    bucket: fc.nat(2),
    isAddition: fc.boolean(),
  });
  const commits = fc.array(fc.array(change, { maxLength: 20 }), { maxLength: 12 });
  fc.assert(
    fc.property(commits, fc.nat(12), fc.string({ maxLength: 3 }), (given, seenAt, from) => {
      const layers = [new PendingEntries(), new PendingEntries()] as const;
      const wanted = new Map<string, boolean>();
      const low = Buffer.from(`\x02${from.replaceAll('\0', '')}`);
      given.forEach((changes, at) => {
        const commit = new PendingEntries();
        for (const { word, position, bucket, isAddition } of changes) {
          const key = Buffer.concat([Buffer.from(`\x02${word}`), Buffer.of(0, 7)]);
          const rid = makeRid(bucket, position);
          commit.add(key, rid, isAddition);
          const components = Buffer.from(chunkedComponents(key, rid));
          if (at <= seenAt && Buffer.compare(components, low) >= 0)
            wanted.set(components.toString('latin1'), isAddition);
        }
        layers[at < 6 ? 0 : 1].take(commit, at as LogIndex);
      });
      const range = { low, high: Uint8Array.of(3) };
      const merge = new ChangeMerge(
        [layers[1], layers[0]].flatMap((layer) => layer.sources(range, seenAt as LogIndex)),
      );
      const found: [string, boolean][] = [];
      for (; merge.bytes !== undefined; merge.take()) {
        const components = Buffer.from(merge.bytes.subarray(merge.start, merge.end));
        found.push([components.toString('latin1'), merge.isAddition]);
      }
      assert.deepEqual(
        found,
        [...wanted].sort(([a], [b]) => (a < b ? -1 : 1)),
      );
    }),
    { numRuns: 300 },
  );
});

/** Chunks, and the segments beside them, as the closed files hold them. */
async function storedParts(directory: string): Promise<{ chunks: number; segments: Set<number> }> {
  const root = open({ path: directory, noSubdir: false, maxDbs: 32, readOnly: true });
  const store = root.openDB<Buffer, Buffer>({
    name: 'ft',
    encoding: 'binary',
    keyEncoding: 'binary',
  });
  const segments = new Set<number>();
  let chunks = 0;
  for (const { key } of store.getRange({ snapshot: true })) {
    if (key[4] !== 0xff) chunks += 1;
    else if (key.length > 5) segments.add(key.readUInt32BE(5));
  }
  await root.close();
  return { chunks, segments };
}

/** Two hundred texts of twenty words, some of which take the place of others. */
async function commitTexts(engine: LmdbEngine, log: Log, from: number, turn = 0): Promise<void> {
  await log.commit(
    ...Array.from({ length: 200 }, (_, n) => {
      const at = from + n;
      const text = Array.from(
        { length: 20 },
        (_, w) => `t${w}x${(at * 31 + w * w + turn * 7) % 400}`,
      );
      return put(engine, person(n % 9 === 0 ? at >> 1 : at), { text: text.join(' ') });
    }),
  );
}

test('checkpoints bring into chunks what stands beside them, a slice each, while commits go on', async (context) => {
  const directory = temporaryDirectory(context);
  const options = { deriver, foldedMin: 24_000 };
  let engine = openEngine(directory, options);
  let log = new Log(engine);
  const held: { snapshot: StorageSnapshot; entries: string[] }[] = [];
  for (let round = 0; round < 24; round += 1) {
    await commitTexts(engine, log, round * 200);
    if (round % 2 === 0) await engine.checkpoint();
    const snapshot = engine.snapshot();
    if (round % 6 === 0) {
      const entries = entriesOf(snapshot, words.id);
      assert.deepEqual(entries, entriesOf(snapshot, plain.id));
      assert.equal(snapshot.entryCount(words.id), entries.length);
      held.push({ snapshot, entries });
    } else snapshot[Symbol.dispose]();
    if (round !== 15) continue;
    // In the midst of it, as a kill would leave it too: what was brought in is brought in again.
    const copy = temporaryDirectory(context);
    await engine.copyTo(copy);
    const { chunks, segments } = await storedParts(copy);
    assert.ok(chunks > 0 && segments.size > 0);
    const copied = openEngine(copy, options);
    {
      using snapshot = copied.snapshot();
      assert.deepEqual(entriesOf(snapshot, words.id), entriesOf(snapshot, plain.id));
    }
    await copied.close();
    for (const { snapshot: open } of held.splice(0)) open[Symbol.dispose]();
    await engine.close();
    engine = openEngine(directory, options);
    log = new Log(engine);
  }
  for (const { snapshot, entries } of held) {
    assert.deepEqual(entriesOf(snapshot, words.id), entries);
    snapshot[Symbol.dispose]();
  }
  await engine.close();
  const { chunks, segments } = await storedParts(directory);
  assert.ok(chunks > 0 && segments.size > 0);
});

test('small segments are taken into the next ones, so that there are few', async (context) => {
  const directory = temporaryDirectory(context);
  const engine = openEngine(directory, { deriver });
  const log = new Log(engine);
  for (let n = 0; n < 150; n += 1) {
    await log.commit(put(engine, person(n), { text: `one n${n} m${n % 7}` }));
    const checkpoint = engine.checkpoint();
    await log.commit(put(engine, person(n), { text: `n${n} two` }));
    {
      // The commit before is in a checkpoint's hands.
      using snapshot = engine.snapshot();
      assert.deepEqual(entriesOf(snapshot, words.id), entriesOf(snapshot, plain.id));
    }
    await checkpoint;
  }
  const snapshot = engine.snapshot();
  assert.deepEqual(entriesOf(snapshot, words.id), entriesOf(snapshot, plain.id));
  snapshot[Symbol.dispose]();
  await engine.close();
  const { chunks, segments } = await storedParts(directory);
  assert.equal(chunks, 0);
  assert.ok(segments.size >= 1 && segments.size <= 8, `${segments.size} segments`);
});

test('an index is compacted while others commit: what comes amid it stays, in chunks or beside them', async (context) => {
  const engine = openEngine(temporaryDirectory(context), { deriver, foldedMin: 24_000 });
  const log = new Log(engine);
  for (let round = 0; round < 12; round += 1) await commitTexts(engine, log, round * 200);
  await engine.checkpoint();
  const compaction = engine.compactEntries(words.id);
  // Behind its first slice: one that lays chunks itself, and one of words that come before where it goes on.
  const large = Array.from({ length: 600 }, (_, n) =>
    put(engine, person(5_000 + n), { text: `large l${n}`, filler }),
  );
  const amid = [
    log.commit(...large),
    log.commit(put(engine, person(7_000), { text: 'a0 first zz' })),
  ];
  for (let round = 0; round < 12; round += 1) {
    await commitTexts(engine, log, (round % 6) * 100, round);
    await engine.checkpoint();
  }
  await Promise.all([compaction, ...amid]);
  for (let round = 0; round < 3; round += 1) {
    await log.commit(put(engine, person(round), { text: `last${round}` }));
    await engine.checkpoint();
    using snapshot = engine.snapshot();
    assert.deepEqual(entriesOf(snapshot, words.id), entriesOf(snapshot, plain.id));
  }
  await engine.close();
});

test('checkpoints bring nothing in while an index is compacted: two at once would bring in older changes after newer ones', async () => {
  let asked = 0;
  let end = () => {};
  const folds = new EntryFolds({
    timers: turnTimers,
    besideChunks: new Map([[words.id, 2_000_000]]),
    countBeside: () => 0,
    entryCount: () => 2_000_000,
    commit: () => new Promise((resolve) => (end = resolve)),
    appliedIndex: () => 1 as LogIndex,
    mayRun: () => true,
  });
  const reader = {
    segmentsOf: () => {
      asked += 1;
      throw new Error('it has begun');
    },
  };
  const withCheckpoint = () => folds.withCheckpoint({ reader, writes: [] } as never, 1).next();
  const compaction = folds.compact(words.id);
  assert.deepEqual(withCheckpoint(), { done: true, value: undefined });
  assert.equal(asked, 0);
  end();
  await compaction;
  assert.throws(withCheckpoint, /it has begun/);
});
