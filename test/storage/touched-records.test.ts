import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Rid } from '#core/value/rid.ts';
import type { RowOperation } from '#storage/format/row-operations.ts';
import { TouchedRecords } from '#storage/commit/touched-records.ts';

const timers = { yield: () => Promise.resolve() };

test('a record that an entry changes twice is known the second time', async () => {
  const operation = fc.record({
    op: fc.constantFrom('put-row' as const, 'put-row' as const, 'delete-row' as const),
    rid: fc.nat(40),
  });
  const entry = fc.record({
    operations: fc.array(operation, { maxLength: 40 }),
    isSorted: fc.boolean(),
    isSliced: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(entry, { maxLength: 4 }), async (entries) => {
      const touched = new TouchedRecords();
      for (const { operations, isSorted, isSliced } of entries) {
        const listed = isSorted ? operations.sort((a, b) => a.rid - b.rid) : operations;
        const log = listed.map(({ op, rid }) => ({ op, rid, row: new Uint8Array() }));
        if (isSliced) await touched.beginInSlices(log as unknown as RowOperation[], timers);
        else touched.begin(log as unknown as RowOperation[]);
        const seen = new Set<number>();
        for (const { rid } of listed) {
          assert.equal(touched.has(rid as Rid), seen.has(rid));
          touched.add(rid as Rid);
          seen.add(rid);
        }
        touched.end();
      }
    }),
  );
});

test('rows inside of whole blocks count as rows that may come twice', () => {
  const touched = new TouchedRecords();
  const block = { op: 'whole-block', bucket: 0, block: 0, image: new Uint8Array() };
  touched.begin([block, { op: 'put-row', rid: 5, row: new Uint8Array() }] as RowOperation[]);
  touched.add(5 as Rid);
  assert.ok(touched.has(5 as Rid));
});
