import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Rid } from '#core/value/rid.ts';
import type { StorageSnapshot } from '#storage/engine.ts';
import type { LmdbEngine } from '#storage/lmdb-engine.ts';
import { encodeKey } from '#storage/format/ordered-key.ts';
import type { RowOperation } from '#storage/format/row-operations.ts';
import { Log, openEngine, person, put, temporaryDirectory } from './engine-fixture.ts';
import { contents, indexes } from './indexed-fixture.ts';

// Commits too large for the log change their index entries packed and sorted. What the indexes say must follow from the rows.

const recordCount = 400;
/** Makes the rows of a commit too large for the log. */
const filler = 'x'.repeat(2000);

function row(engine: LmdbEngine, at: number, name: string, size: number): RowOperation {
  return put(engine, person(at), { name, size, text: filler });
}

function requireIndexesOfRows(snapshot: StorageSnapshot): void {
  const { rows, names, sizes, counts } = contents(snapshot) as {
    readonly rows: readonly [number, number, string, number, string][];
    readonly names: readonly [string, Rid][];
    readonly sizes: readonly [string, Rid][];
    readonly counts: readonly number[];
  };
  const hex = (key: Uint8Array) => Buffer.from(key).toString('hex');
  const byKey = (a: readonly [string, Rid], b: readonly [string, Rid]) =>
    a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : a[1] - b[1];
  const wanted = (of: (row: (typeof rows)[number]) => Uint8Array) =>
    rows.map((one) => [hex(of(one)), person(one[0])] as const).sort(byKey);
  assert.deepEqual(
    names,
    wanted(([, , name]) => encodeKey([name])),
  );
  assert.deepEqual(
    sizes,
    wanted(([, , , size]) => encodeKey([size])),
  );
  assert.deepEqual(counts, [rows.length, rows.length]);
  for (const [at, , name] of rows)
    assert.equal(snapshot.uniqueEntry(1 as never, encodeKey([name])), person(at));
}

test('index entries of a large commit are those of its rows, whatever it renames, swaps, deletes and adds', async (context) => {
  const fate = fc.constantFrom('stays', 'goes', 'shifts', 'resized', 'renamed');
  await fc.assert(
    fc.asyncProperty(
      fc.array(fate, { minLength: recordCount, maxLength: recordCount }),
      async (fates) => {
        const directory = temporaryDirectory(context);
        const engine = openEngine(directory, { deriver: indexes });
        const log = new Log(engine);
        await log.commit(
          ...fates.map((_, at) => row(engine, at, `name ${String(at).padStart(3, '0')}`, at % 7)),
        );
        {
          using before = engine.snapshot();
          requireIndexesOfRows(before);
        }
        // Names go round among those that shift.
        const shifting = [...fates.keys()].filter((at) => fates[at] === 'shifts');
        const nameOf = (at: number) => `name ${String(at).padStart(3, '0')}`;
        const operations: RowOperation[] = [];
        for (const [at, what] of fates.entries()) {
          const next = shifting[(shifting.indexOf(at) + 1) % shifting.length] ?? at;
          if (what === 'goes') operations.push({ op: 'delete-row', rid: person(at) });
          else if (what === 'shifts') operations.push(row(engine, at, nameOf(next), at % 7));
          else if (what === 'resized') operations.push(row(engine, at, nameOf(at), 9));
          else if (what === 'renamed') operations.push(row(engine, at, `other ${at}`, at % 7));
        }
        for (let at = recordCount; at < 2 * recordCount; at += 1)
          operations.push(row(engine, at, `new ${at}`, at % 5));
        await log.commit(...operations);
        {
          using after = engine.snapshot();
          requireIndexesOfRows(after);
        }
        await engine.close();
        const again = openEngine(directory, { deriver: indexes });
        using reopened = again.snapshot();
        requireIndexesOfRows(reopened);
        reopened[Symbol.dispose]();
        await again.close();
      },
    ),
    { numRuns: 4 },
  );
});

test('a key of which the large commit takes the record leads nowhere, also when it was looked up before', async (context) => {
  const count = 20_000;
  const engine = openEngine(temporaryDirectory(context), { deriver: indexes });
  const log = new Log(engine);
  const small = (at: number) => put(engine, person(at), { name: `name ${at}`, size: 1 });
  await log.commit(...Array.from({ length: count }, (_, at) => small(at)));
  const holder = (at: number): Rid | undefined => {
    using snapshot = engine.snapshot();
    return snapshot.uniqueEntry(1 as never, encodeKey([`name ${at}`]));
  };
  for (let at = 0; at < count; at += 97) assert.equal(holder(at), person(at));
  const deletions = Array.from({ length: count - 1 }, (_, at) => person(at));
  await log.commit(...deletions.map((rid) => ({ op: 'delete-row', rid }) as const));
  for (let at = 0; at < count - 1; at += 97) assert.equal(holder(at), undefined);
  assert.equal(holder(count - 1), person(count - 1));
  using snapshot = engine.snapshot();
  assert.equal(snapshot.entryCount(1 as never), 1);
  snapshot[Symbol.dispose]();
  await engine.close();
});
