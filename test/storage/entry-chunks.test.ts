import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { StoredRecord } from '#core/value/record.ts';
import { type IndexId, makeRid, type Rid } from '#core/value/rid.ts';
import type { EntryChanges, IndexDeriver, StorageSnapshot } from '#storage/engine.ts';
import {
  chunkedComponents,
  EntryChunkReader,
  EntryChunkWriter,
} from '#storage/format/entry-chunk.ts';
import { decodeFormat, formatEntryName } from '#storage/format/features.ts';
import type { LmdbEngine } from '#storage/lmdb-engine.ts';
import { LmdbReader } from '#storage/lmdb-reader.ts';
import {
  Log,
  openEngine,
  person,
  personType,
  put,
  temporaryDirectory,
  turnTimers,
} from './engine-fixture.ts';

// An index whose entries lie in chunks says what its rows say, whatever was committed, folded, compacted, reopened or held meanwhile.

const words = { id: 7 as IndexId, isUnique: false, isBuilding: false, isChunked: true };
const plain = { id: 8 as IndexId, isUnique: false, isBuilding: false };

/** Keys of the words of a text: word, zero byte, number of times. */
function keysOf(text: string): Uint8Array[] {
  const counts = new Map<string, number>();
  for (const word of text.split(' ')) counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts].map(([word, count]) => Buffer.from(`\x02${word}\0${String(count)}`, 'latin1'));
}

const deriver: IndexDeriver = {
  schemaChanged() {},
  isIndexed: (type) => type === personType,
  derive(before: StoredRecord | undefined, after: StoredRecord | undefined, changes: EntryChanges) {
    const keys = (record: StoredRecord | undefined) => keysOf(String(record?.get('text') ?? ''));
    for (const target of [words, plain]) {
      const [old, now] = [before ? keys(before) : [], after ? keys(after) : []];
      for (const key of old)
        if (before && !now.some((one) => Buffer.compare(one, key) === 0))
          changes.remove(target, key, before.rid);
      for (const key of now)
        if (after && !old.some((one) => Buffer.compare(one, key) === 0))
          changes.add(target, key, after.rid);
    }
  },
};

function entriesOf(
  snapshot: StorageSnapshot,
  index: IndexId,
  low = Uint8Array.of(0),
  high = Uint8Array.of(0xff),
): string[] {
  const cursor = snapshot.entries(index, low, high, 'ascending');
  const found: string[] = [];
  while (cursor.next()) found.push(`${Buffer.from(cursor.key).toString('latin1')}/${cursor.rid}`);
  return found;
}

/** The order of components: word, record, the rest. */
function inOrder(entries: readonly string[]): string[] {
  const parts = (entry: string) => {
    const [key = '', rid] = entry.split('/');
    return [key.slice(0, key.indexOf('\0')), Number(rid), key] as const;
  };
  return [...entries].sort((a, b) => {
    const [left, right] = [parts(a), parts(b)];
    if (left[0] !== right[0]) return left[0] < right[0] ? -1 : 1;
    return left[1] - right[1] || (left[2] < right[2] ? -1 : 1);
  });
}

function requireEqual(snapshot: StorageSnapshot): void {
  const wanted = inOrder(entriesOf(snapshot, plain.id));
  assert.deepEqual(entriesOf(snapshot, words.id), wanted);
  assert.equal(snapshot.entryCount(words.id), wanted.length);
  for (const word of ['a', 'ab', 'w7', 'zz']) {
    const low = Buffer.from(`\x02${word}`);
    const high = Buffer.from(`\x02${word}\xff`, 'latin1');
    assert.deepEqual(
      entriesOf(snapshot, words.id, low, high),
      wanted.filter((entry) => entry.startsWith(`\x02${word}`)),
    );
  }
}

function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const vocabulary = ['a', 'ab', 'abc', 'zz', ...Array.from({ length: 60 }, (_, n) => `w${n}`)];

function textOf(random: (below: number) => number): string {
  const length = 1 + random(12);
  return Array.from({ length }, () => vocabulary[random(1 + random(vocabulary.length))]).join(' ');
}

test('chunks give back the entries that they were made of, in half pages', () => {
  const tail = fc.uint8Array({ maxLength: 5 });
  const entry = fc.tuple(
    fc.oneof(
      fc.constantFrom('a', 'ab', 'b'),
      fc.nat(300).map((n) => `t${n}`),
      fc.string({ maxLength: 300 }),
    ),
    fc.oneof(fc.nat(5000), fc.nat(2 ** 36)),
    fc.nat(3),
    tail,
  );
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 2_000, size: 'max' }), (given) => {
      const all = given.map(([word, position, bucket, rest]) => {
        const group = Buffer.from(`\x02${word.replaceAll('\0', '')}`);
        const rid = makeRid(bucket, position);
        return chunkedComponents(Buffer.concat([group, Buffer.of(0), rest]), rid);
      });
      const sorted = all
        .sort(Buffer.compare)
        .filter((one, at) => at === 0 || Buffer.compare(one, all[at - 1] as Uint8Array) !== 0);
      const chunks: [Uint8Array, Uint8Array][] = [];
      const writer = new EntryChunkWriter((first, body) =>
        chunks.push([first.slice(), body.slice()]),
      );
      for (const components of sorted) writer.add(components, 0, components.length);
      writer.finish();
      const reader = new EntryChunkReader();
      const found: Uint8Array[] = [];
      const scratch = new Uint8Array(4096);
      for (const [first, body] of chunks) {
        reader.open(body);
        const from = found.length;
        while (reader.next()) found.push(scratch.slice(0, reader.writeComponents(scratch)));
        assert.deepEqual(found[from], first);
        assert(first.length + body.length <= 2_022 || found.length === from + 1);
      }
      assert.deepEqual(
        found.map((one) => Buffer.from(one).toString('hex')),
        sorted.map((one) => Buffer.from(one).toString('hex')),
      );
    }),
    { numRuns: 30 },
  );
});

/** Makes the rows of a commit too large for the log. */
const filler = 'x'.repeat(3000);

test('entries in chunks are those of the rows after commits, large commits, compactions and reopening', async (context) => {
  const random = randomFrom(1);
  const directory = temporaryDirectory(context);
  // So few that checkpoints bring them into chunks as well.
  const options = { deriver, foldedMin: 900 };
  let engine = openEngine(directory, options);
  let log = new Log(engine);
  const held: { snapshot: StorageSnapshot; entries: string[] }[] = [];
  const change = (at: number, extra: string) =>
    random(5) === 0
      ? { op: 'delete-row' as const, rid: person(at) }
      : put(engine, person(at), { text: textOf(random), filler: extra });
  for (let step = 0; step < 60; step += 1) {
    const kind = random(26);
    if (kind >= 12) {
      for (let n = 0; n < 10; n += 1) await log.commit(change(random(1000), ''));
      if (kind < 20) await engine.checkpoint();
    } else if (kind < 7) await log.commit(change(random(500), ''), change(500 + random(500), ''));
    else if (kind < 9)
      await log.commit(...Array.from({ length: 600 }, (_, at) => change(at, filler)));
    else if (kind < 11) await engine.compactEntries(words.id);
    else if (held.length < 3) {
      const snapshot = engine.snapshot();
      held.push({ snapshot, entries: entriesOf(snapshot, words.id) });
    } else {
      for (const { snapshot, entries } of held.splice(0)) {
        assert.deepEqual(entriesOf(snapshot, words.id), entries);
        snapshot[Symbol.dispose]();
      }
      await engine.close();
      engine = openEngine(directory, options);
      log = new Log(engine);
    }
    using snapshot = engine.snapshot();
    requireEqual(snapshot);
  }
  for (const { snapshot, entries } of held) {
    assert.deepEqual(entriesOf(snapshot, words.id), entries);
    snapshot[Symbol.dispose]();
  }
  await engine.close();
});

function count(snapshot: StorageSnapshot, index: IndexId): number {
  return entriesOf(snapshot, index).length;
}

async function fill(engine: LmdbEngine, from: number, to: number): Promise<void> {
  const log = new Log(engine);
  for (let at = from; at < to; at += 200)
    await log.commit(
      ...Array.from({ length: 200 }, (_, n) =>
        put(engine, person(at + n), {
          text: Array.from({ length: 40 }, (_, w) => `t${(n * 7 + w * 13 + at) % 900}`).join(' '),
        }),
      ),
    );
}

test('many single entries go into chunks once nobody commits', async (context) => {
  const waiting: (() => void)[] = [];
  const after = (_: number, run: () => void) => {
    waiting.push(run);
    return () => void waiting.splice(waiting.indexOf(run), 1);
  };
  const directory = temporaryDirectory(context);
  const engine = openEngine(directory, { deriver, timers: { ...turnTimers, after } });
  await fill(engine, 0, 2000);
  using before = engine.snapshot();
  // The first one sees that commits came meanwhile.
  for (const run of waiting.splice(0)) run();
  await engine.settled();
  for (const run of waiting.splice(0)) run();
  await engine.settled();
  using after250 = engine.snapshot();
  assert.equal(await engine.compactEntries(words.id), false);
  assert.equal(count(before, words.id), 80_000);
  requireEqual(after250);
  const stored = after250.meta(formatEntryName) as Uint8Array;
  assert.deepEqual(decodeFormat(stored, ''), {
    storage: 2,
    features: ['entryChunks', 'entrySegments'],
  });
  for (const snapshot of [before, after250]) snapshot[Symbol.dispose]();
  await engine.close();
});

test('a dropped index takes its chunks along, and holders of older states still read them', async (context) => {
  const engine = openEngine(temporaryDirectory(context), { deriver });
  await fill(engine, 0, 400);
  await engine.compactEntries(words.id);
  const before = engine.snapshot();
  const wanted = entriesOf(before, words.id);
  await new Log(engine).commit({ op: 'drop-index', index: words.id });
  await engine.settled();
  assert.deepEqual(entriesOf(before, words.id), wanted);
  before[Symbol.dispose]();
  using after = engine.snapshot();
  assert.equal(after.entryCount(words.id), 0);
  assert.equal(count(after, words.id), 0);
  after[Symbol.dispose]();
  assert.equal(await engine.compactEntries(words.id), false);
  await engine.close();
});

test('an index under construction has each entry once, whoever adds or takes it', async (context) => {
  const building = { ...words, isBuilding: true };
  const engine = openEngine(temporaryDirectory(context), { deriver });
  const entry = (word: string, at: number) => ({
    key: Buffer.from(`\x02${word}\x001`),
    rid: person(at) as Rid,
  });
  await engine.addEntries(building, [entry('a', 1), entry('b', 2)]);
  await engine.compactEntries(words.id);
  await engine.addEntries(building, [entry('a', 1), entry('b', 3)]);
  using snapshot = engine.snapshot();
  assert.equal(snapshot.entryCount(words.id), 3);
  assert.equal(count(snapshot, words.id), 3);
  snapshot[Symbol.dispose]();
  await engine.close();
});

test('the reader of another thread reads chunks and what stands beside them', async (context) => {
  const directory = temporaryDirectory(context);
  const engine = openEngine(directory, { deriver });
  const labels = () => ({ name: 'Person', kind: 'vertex' as const });
  const options = { cacheBytes: 2 ** 20, mapSizeBytes: 2 ** 30, readersMax: 126 };
  const reader = new LmdbReader({ directory, labels, ...options });
  for (const step of [0, 1, 2]) {
    await fill(engine, step * 400, step * 400 + 400);
    if (step !== 1) await engine.compactEntries(words.id);
    await engine.checkpoint();
    using own = engine.snapshot();
    using other = reader.snapshot();
    assert.deepEqual(entriesOf(other, words.id), entriesOf(own, words.id));
    assert.equal(count(other, words.id), 16_000 * (step + 1));
  }
  await reader.close();
  await engine.close();
});
