import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { makeRid, type Rid } from '#core/value/rid.ts';
import { GroupedRun } from '#storage/bulk/grouped-run.ts';
import { chunkedComponents } from '#storage/format/entry-chunk.ts';

// A run of an index in chunks against a sort of all its components: groups by hash, entries in any order, tails of any size.

const timers = { yield: async () => {} };
const target = { id: 1 as never, isUnique: false, isBuilding: true, isChunked: true } as const;

/** All entries of a run, in parts of so many. */
async function readInParts(run: GroupedRun, countMax: number): Promise<Buffer[]> {
  await run.sort(timers);
  const found: Buffer[] = [];
  for (let part = run.begin(countMax); part !== undefined; part = part.next()) {
    const before = found.length;
    // A commit that is prepared again goes through its part twice.
    for (let times = 0; times < 2; times += 1) {
      found.length = before;
      const changes = part.changes(true);
      for (; changes.bytes !== undefined; changes.step())
        found.push(Buffer.from(changes.bytes.slice(changes.start, changes.end)));
    }
    assert.equal(part.count, found.length - before);
    assert.ok(part.count <= countMax);
  }
  return found;
}

/** A list of differences would take minutes. */
function requireEqual(found: readonly Buffer[], wanted: readonly Buffer[]): void {
  const sorted = wanted.toSorted(Buffer.compare);
  const at = found.findIndex((components, i) => sorted[i]?.equals(components) !== true);
  assert.equal(at, -1, `entry ${at} is not the one in order`);
  assert.equal(found.length, sorted.length);
}

const group = fc
  .array(fc.constantFrom(1, 2, 0x77, 0xff), { minLength: 1, maxLength: 9 })
  .map((bytes) => [...bytes, 0]);
const tail = fc.oneof(
  fc.array(fc.constantFrom(0, 1, 9), { maxLength: 4 }),
  fc.constant(Array.from({ length: 1_500 }, (_, i) => i & 0xff)),
);
const rid = fc.oneof(
  fc.integer({ min: 0, max: 40 }).map((position) => makeRid(0, position)),
  fc
    .tuple(fc.constantFrom(0, 1, 65_535), fc.constantFrom(0, 200, 2 ** 20, 2 ** 37 - 1))
    .map(([bucket, position]) => makeRid(bucket, position)),
);
const entries = fc.array(fc.tuple(group, tail, rid), { maxLength: 300 });

test('entries of a run come in the order of their components, whatever order they came in', async () => {
  await fc.assert(
    fc.asyncProperty(entries, fc.constantFrom(1, 7, 1_000), async (added, countMax) => {
      const run = new GroupedRun(target);
      const wanted = new Map<string, Buffer>();
      for (const [begin, end, record] of added) {
        const key = Uint8Array.from([...begin, ...end]);
        const components = Buffer.from(chunkedComponents(key, record));
        if (wanted.has(components.toString('hex'))) continue;
        wanted.set(components.toString('hex'), components);
        run.add(key, record);
      }
      assert.equal(run.count, wanted.size);
      requireEqual(await readInParts(run, countMax), [...wanted.values()]);
    }),
    { numRuns: 150 },
  );
});

test('long lists and many groups are read as they were put in, in order and out of order', async () => {
  for (const isReversed of [false, true]) {
    const run = new GroupedRun(target);
    const wanted: Buffer[] = [];
    for (let i = 0; i < 6_000; i += 1) {
      const record = makeRid(3, isReversed ? 6_000 - i : i);
      for (const text of ['often', `rare${i % 3_000}`]) {
        const key = Buffer.from(`\x02${text}\0${'t'.repeat(i % 5)}`);
        wanted.push(Buffer.from(chunkedComponents(key, record)));
        run.add(Uint8Array.from(key), record);
      }
    }
    requireEqual(await readInParts(run, 2_500), wanted);
  }
});

test('a part leaves out records that are not wanted, and what follows begins behind them', async () => {
  const run = new GroupedRun(target);
  for (let i = 0; i < 100; i += 1) run.add(Uint8Array.of(2, 0x61, 0, i), makeRid(0, i));
  await run.sort(timers);
  const found: Rid[] = [];
  let part = run.begin(10);
  for (; part !== undefined; part = part.next()) {
    part.keepOnly((record) => record % 3 === 0);
    for (const changes = part.changes(true); changes.bytes !== undefined; changes.step())
      found.push(changes.rid);
    assert.ok(part.count <= 10);
  }
  assert.deepEqual(
    found,
    Array.from({ length: 34 }, (_, i) => makeRid(0, 3 * i)),
  );
});
