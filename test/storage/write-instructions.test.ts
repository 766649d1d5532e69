import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { DatabaseError } from '#core/errors.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import { ImageMemory } from '#storage/checkpoint/image-memory.ts';
import {
  BytesKey,
  openSubDatabases,
  type Store,
  type SubDatabases,
} from '#storage/format/sub-databases.ts';
import {
  putEmpty,
  putLast,
  removal,
  type Write,
  writeBatch,
} from '#storage/checkpoint/write-batch.ts';

const { timers } = systemRuntime;
/** Above what one turn of the event loop writes. */
const manyWrites = 5000;

async function withSubDatabases(run: (subs: SubDatabases) => Promise<void>): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'polyad-writes-'));
  const subs = openSubDatabases({ directory, mapSizeBytes: 64 * 2 ** 20, readersMax: 16 });
  try {
    await run(subs);
  } finally {
    await subs.root.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

function keyOf(n: number, length = 8): BytesKey {
  const bytes = Buffer.alloc(length, 'k');
  bytes.writeUInt32BE(n, 0);
  return new BytesKey(bytes);
}

function putOf(store: Store, memory: ImageMemory, key: BytesKey, text: string): Write {
  const bytes = Buffer.from(text);
  const start = memory.take(bytes.length);
  bytes.copy(memory.slab.bytes, start);
  return putLast(store, key, memory, start, bytes.length);
}

function valueIn(subs: SubDatabases, store: Store, key: BytesKey): string | undefined {
  const transaction = subs.root.useReadTransaction();
  try {
    const found = store.getBinaryFast(key, { transaction });
    return found?.subarray(0, store.lastSize).toString();
  } finally {
    transaction.done();
  }
}

for (const gathers of [true, false])
  describe(`many writes as one LMDB transaction, ${gathers ? 'gathered over many turns' : 'as a batch of the binding'}`, () => {
    it('stores puts and removals of several sub-databases in order, keys of any length', () =>
      withSubDatabases(async (subs) => {
        const memory = new ImageMemory();
        const lengthOf = (n: number) => 4 + (n % 1900);
        const writes: Write[] = [];
        for (let n = 0; n < manyWrites; n += 1)
          writes.push(putOf(subs.meta, memory, keyOf(n, lengthOf(n)), `value ${n}`));
        writes.push(putEmpty(subs.ix, keyOf(1)));
        writes.push(putOf(subs.adj, memory, keyOf(1), 'x'.repeat(100_000)));
        writes.push(removal(subs.meta, keyOf(7, lengthOf(7))));
        writes.push(removal(subs.meta, keyOf(manyWrites)));
        writes.push(putOf(subs.meta, memory, keyOf(8, lengthOf(8)), 'written twice'));
        await writeBatch(subs, writes, timers, undefined, gathers);
        for (let n = 0; n < manyWrites; n += 1) {
          const expected = n === 7 ? undefined : n === 8 ? 'written twice' : `value ${n}`;
          assert.equal(valueIn(subs, subs.meta, keyOf(n, lengthOf(n))), expected);
        }
        assert.equal(valueIn(subs, subs.ix, keyOf(1)), '');
        assert.equal(valueIn(subs, subs.adj, keyOf(1))?.length, 100_000);
      }));

    it('leaves the way free for batches and for the next one, and readers see each at once', () =>
      withSubDatabases(async (subs) => {
        const memory = new ImageMemory();
        for (let round = 0; round < 3; round += 1) {
          const writes: Write[] = [];
          for (let n = 0; n < manyWrites; n += 1)
            writes.push(putOf(subs.meta, memory, keyOf(n), `round ${round}`));
          await writeBatch(subs, writes, timers, undefined, gathers);
          assert.equal(valueIn(subs, subs.meta, keyOf(manyWrites - 1)), `round ${round}`);
          await writeBatch(
            subs,
            [putOf(subs.meta, memory, keyOf(0), `small ${round}`)],
            timers,
            undefined,
            gathers,
          );
          assert.equal(valueIn(subs, subs.meta, keyOf(0)), `small ${round}`);
        }
      }));

    it('writes nothing when a key is too long, or when LMDB refuses one of the writes', () =>
      withSubDatabases(async (subs) => {
        const memory = new ImageMemory();
        const writes: Write[] = [];
        for (let n = 0; n < manyWrites; n += 1)
          writes.push(putOf(subs.meta, memory, keyOf(n), 'v'));
        const long = putOf(subs.meta, memory, keyOf(1, 3000), 'v');
        await assert.rejects(
          writeBatch(subs, [...writes, long], timers, undefined, gathers),
          DatabaseError,
        );
        const empty = putOf(subs.meta, memory, new BytesKey(new Uint8Array()), 'v');
        await assert.rejects(
          writeBatch(subs, [...writes, empty], timers, undefined, gathers),
          gathers ? /MDB_BAD_VALSIZE/ : /a key of 0 bytes/,
        );
        assert.equal(valueIn(subs, subs.meta, keyOf(1)), undefined);
        await writeBatch(subs, writes, timers, undefined, gathers);
        assert.equal(valueIn(subs, subs.meta, keyOf(1)), 'v');
      }));
  });

it('lets others have their turns while it gathers', () =>
  withSubDatabases(async (subs) => {
    const memory = new ImageMemory();
    const writes: Write[] = [];
    for (let n = 0; n < manyWrites; n += 1) writes.push(putOf(subs.meta, memory, keyOf(n), 'v'));
    let turns = 0;
    const counting = {
      yield: () => {
        turns += 1;
        return timers.yield();
      },
    };
    await writeBatch(subs, writes, counting);
    assert.ok(turns >= 2, `${turns} turns`);
  }));

for (const gathers of [true, false])
  it(`stores keys in any order, behind those that are there or among them (${gathers ? 'gathered' : 'a batch'})`, () =>
    withSubDatabases(async (subs) => {
      const memory = new ImageMemory();
      const model = new Map<number, string>();
      const number = fc.nat({ max: 20_000 });
      const batch = fc.record({
        numbers: fc.array(number, { maxLength: 60 }),
        ascending: fc.tuple(number, fc.nat({ max: 3 })),
        small: fc.option(number, { nil: undefined }),
      });
      const checked = fc.asyncProperty(fc.array(batch, { maxLength: 3 }), async (batches) => {
        for (const { numbers, ascending, small } of batches) {
          const [from, step] = ascending;
          const run = Array.from({ length: manyWrites }, (_, n) => from + n * step);
          const all = [...run, ...numbers];
          const text = `${model.size} ${from}`;
          const writes = all.map((n) => putOf(subs.blk, memory, keyOf(n), text));
          if (numbers[0] !== undefined) writes.push(removal(subs.blk, keyOf(numbers[0])));
          await writeBatch(subs, writes, timers, undefined, gathers);
          for (const n of all) model.set(n, text);
          if (numbers[0] !== undefined) model.delete(numbers[0]);
          if (small === undefined) continue;
          // Gone again, or the highest one from now on: the next batch must see it.
          const key = small + 20_000;
          if (model.delete(key))
            await writeBatch(subs, [removal(subs.blk, keyOf(key))], timers, undefined, gathers);
          else {
            await writeBatch(
              subs,
              [putOf(subs.blk, memory, keyOf(key), 'small')],
              timers,
              undefined,
              gathers,
            );
            model.set(key, 'small');
          }
        }
        for (const [n, text] of model) assert.equal(valueIn(subs, subs.blk, keyOf(n)), text);
      });
      await fc.assert(checked, { numRuns: 8 });
    }));
