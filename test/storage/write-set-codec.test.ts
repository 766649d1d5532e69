import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type IndexId, type LogIndex, makeRid, type TypeId } from '#core/value/rid.ts';
import type { RowOperation } from '#storage/format/row-operations.ts';
import {
  decodeWriteSet,
  type EncodedWriteSet,
  encodeWriteSet,
} from '#storage/format/write-set-codec.ts';
import { arbitraryRid } from './arbitrary-values.ts';

const bytes = fc.uint8Array({ maxLength: 40 });
const index = fc.nat({ max: 2 ** 50 }).map((n) => n as LogIndex);

const operation: fc.Arbitrary<RowOperation> = fc.oneof(
  fc.record({ op: fc.constant('put-row' as const), rid: arbitraryRid, row: bytes }),
  fc.record({ op: fc.constant('patch-cells' as const), rid: arbitraryRid, patch: bytes }),
  fc.record({ op: fc.constant('delete-row' as const), rid: arbitraryRid }),
  fc.record({
    op: fc.constantFrom('add-edge' as const, 'remove-edge' as const),
    rid: arbitraryRid,
    type: fc.nat({ max: 65_535 }).map((n) => n as TypeId),
    from: arbitraryRid,
    to: arbitraryRid,
    both: fc.boolean(),
  }),
  fc.record({ op: fc.constant('schema' as const), document: bytes }),
  fc.record({ op: fc.constant('shape' as const), id: fc.nat({ max: 65_535 }), definition: bytes }),
  fc.record({
    op: fc.constant('drop-index' as const),
    index: fc.nat().map((n) => n as IndexId),
  }),
  fc.record({ op: fc.constant('drop-bucket' as const), bucket: fc.nat({ max: 65_535 }) }),
  fc.record({
    op: fc.constant('mend-bucket' as const),
    bucket: fc.nat({ max: 65_535 }),
    liveChange: fc.integer(),
    hashLowChange: fc.nat({ max: 2 ** 31 - 1 }).map((n) => n * 2 + 1),
    hashHighChange: fc.nat(),
    droppedBlocks: fc.array(fc.nat(), { maxLength: 5 }),
  }),
  fc.record({
    op: fc.constant('drop-list' as const),
    vertex: arbitraryRid,
    direction: fc.constantFrom('out' as const, 'in' as const),
    type: fc.nat({ max: 65_535 }).map((n) => n as TypeId),
  }),
  fc.record({
    op: fc.constant('positions' as const),
    bucket: fc.nat({ max: 65_535 }),
    next: fc.nat({ max: 2 ** 37 }),
  }),
  fc.record({
    op: fc.constant('whole-block' as const),
    bucket: fc.nat({ max: 65_535 }),
    block: fc.nat(),
    image: bytes,
  }),
  fc.record({
    op: fc.constant('meta' as const),
    name: fc.string(),
    value: fc.option(bytes, { nil: undefined }),
  }),
);

const writeSet: fc.Arbitrary<EncodedWriteSet> = fc
  .record({
    header: fc.record({
      kind: fc.nat({ max: 255 }),
      flags: fc.nat({ max: 255 }),
      database: fc.nat({ max: 65_535 }),
      txId: index,
      wallTimeMs: index,
    }),
    operations: fc.array(operation, { maxLength: 8 }),
    guards: fc.array(
      fc.record({
        mode: fc.constantFrom('require' as const, 'absent' as const, 'touch' as const),
        rid: arbitraryRid,
        base: index,
        unit: bytes,
      }),
      { maxLength: 3 },
    ),
  })
  .chain((set) =>
    fc
      .array(index, { minLength: set.operations.length, maxLength: set.operations.length })
      .map((bases) => ({
        ...set,
        bases: bases.map((base, i) =>
          'rid' in (set.operations[i] as RowOperation) ? base : (0 as LogIndex),
        ),
      })),
  );

test('write sets come back from their bytes', () => {
  fc.assert(
    fc.property(writeSet, (set) => {
      // Cloning gives the generated objects their ordinary prototype.
      assert.deepEqual(decodeWriteSet(new Uint8Array(encodeWriteSet(set))), structuredClone(set));
    }),
    { numRuns: 300 },
  );
});

test('the bytes are those of the format', () => {
  const set: EncodedWriteSet = {
    header: { kind: 1, flags: 0, database: 7, txId: 258, wallTimeMs: 2 ** 41 },
    operations: [
      { op: 'put-row', rid: makeRid(3, 2 ** 33 + 5), row: Uint8Array.of(0xaa, 0xbb) },
      {
        op: 'add-edge',
        rid: makeRid(4, 1),
        type: 9 as TypeId,
        from: makeRid(3, 1),
        to: makeRid(3, 2),
        both: true,
      },
      { op: 'meta', name: 'seq/x', value: undefined },
    ],
    bases: [12 as LogIndex, 0 as LogIndex, 0 as LogIndex],
    guards: [{ mode: 'require', rid: makeRid(3, 1), base: 5 as LogIndex, unit: new Uint8Array() }],
  };
  assert.deepEqual(
    Buffer.from(encodeWriteSet(set))
      .toString('hex')
      .match(/.{1,64}/g),
    [
      '0101000007000000020100000000000000000000000200000100030200000005',
      '000000000000284002000000aabb040004000000000100000000000000001100',
      '0000010900000300000000010003000000000209000000000000000000000000',
      '0000000800000005007365712f78002000030000000001000000000000144000',
      '000000',
    ],
  );
});

test('damaged bytes are refused', () => {
  assert.throws(() => decodeWriteSet(Uint8Array.of(9)), { code: 'CorruptedRecord' });
  const good = encodeWriteSet({
    header: { kind: 1, flags: 0, database: 0, txId: 1, wallTimeMs: 0 },
    operations: [{ op: 'delete-row', rid: makeRid(1, 1) }],
    bases: [],
    guards: [],
  });
  assert.throws(() => decodeWriteSet(good.subarray(0, good.length - 1)), {
    code: 'CorruptedRecord',
  });
});
