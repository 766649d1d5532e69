import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type IntegerWidth,
  integerWidths,
  isBeyondInt32,
  isSizable,
  SizedProperties,
} from '#core/value/integer-width.ts';
import { makeRid, type PropertyId, type Rid, type TypeId } from '#core/value/rid.ts';
import { toEnd } from '#core/pausing-work.ts';
import { manyProperties } from '#core/value/many-properties.ts';
import { Float, type Value } from '#core/value/value.ts';
import { imageOf } from '#storage/format/bytes.ts';
import { RowEncoder, splitRow } from '#storage/format/row.ts';
import { RowPatcher } from '#storage/format/row-patch.ts';
import { type LargeCells, noLargeCells, RowRecord } from '#storage/format/row-record.ts';
import {
  type Column,
  columnsPerShapeMax,
  encodeShape,
  ShapeRegistry,
  shapesPerTypeMax,
} from '#storage/format/shape.ts';
import { arbitraryProperties, arbitraryRid } from './arbitrary-values.ts';

const labels = () => ({ name: 'T', kind: 'document' as const });
const type = 7 as TypeId;

function recordOf(
  shapes: ShapeRegistry,
  row: Uint8Array,
  large: LargeCells = noLargeCells,
): RowRecord {
  const image = imageOf(row);
  return new RowRecord(
    makeRid(1, 2),
    shapes.shape(image.view.getUint16(4, true)),
    image,
    0,
    labels,
    large,
  );
}

function readAll(record: RowRecord): Map<string, Value | undefined> {
  return new Map(record.propertyNames().map((name) => [name, record.get(name)]));
}

test('every kind of value comes back exactly, in the order it was given', () => {
  const shapes = new ShapeRegistry();
  const rows = new RowEncoder(shapes);
  fc.assert(
    fc.property(arbitraryProperties, (properties) => {
      const record = recordOf(shapes, rows.encode(type, properties));
      assert.deepEqual([...readAll(record)], [...properties]);
      assert.equal(record.get('no such property'), undefined);
    }),
    { numRuns: 400 },
  );
});

test('a row with large cells moved out reads the same', () => {
  const shapes = new ShapeRegistry();
  const rows = new RowEncoder(shapes);
  fc.assert(
    fc.property(arbitraryProperties, (properties) => {
      const row = rows.encode(type, properties);
      const whole = recordOf(shapes, row);
      const split = splitRow(row, whole.shape);
      const cells = new Map(split.large.map((cell) => [cell.property, cell.bytes]));
      const large: LargeCells = {
        largeCell: (_rid: Rid, property: PropertyId, length: number) => {
          const bytes = cells.get(property);
          assert.equal(bytes?.length, length);
          return bytes as Uint8Array;
        },
      };
      assert.deepEqual([...readAll(recordOf(shapes, split.row, large))], [...properties]);
      for (const cell of split.large) assert.ok(cell.bytes.length > 32);
    }),
    { numRuns: 300 },
  );
});

const arbitraryWidths = fc.array(fc.constantFrom(...integerWidths, undefined), { maxLength: 12 });

/** The properties, with widths for some of them. */
function sized(
  properties: ReadonlyMap<string, Value>,
  widths: readonly (IntegerWidth | undefined)[],
): SizedProperties {
  const byName = new Map<string, IntegerWidth>();
  [...properties.keys()].forEach((name, at) => {
    const width = widths[at];
    if (width !== undefined) byName.set(name, width);
  });
  return new SizedProperties(properties, byName);
}

/** Those that a record must tell: of others their values do. */
function toldWidths(properties: SizedProperties): [string, IntegerWidth | undefined][] {
  return [...properties]
    .filter(([, value]) => isSizable(value) && !isBeyondInt32(value))
    .map(([name]) => [name, properties.widths.get(name)]);
}

test('integers stay as wide as they were, in columns and in the extra map', () => {
  const shapes = new ShapeRegistry();
  const rows = new RowEncoder(shapes);
  let extraCount = 0;
  fc.assert(
    fc.property(arbitraryProperties, arbitraryWidths, (properties, widths) => {
      const given = sized(properties, widths);
      const record = recordOf(shapes, rows.encode(type, given));
      assert.deepEqual([...readAll(record)], [...properties]);
      for (const [name, width] of toldWidths(given))
        assert.equal(record.integerWidths?.get(name), width, name);
      if (record.shape.columns.length < properties.size) extraCount += 1;
    }),
    { numRuns: 1_500 },
  );
  assert.ok(extraCount > 100);
});

test('a change in place gives the row that a whole one would be, or none', () => {
  const shapes = new ShapeRegistry();
  const rows = new RowEncoder(shapes);
  const patcher = new RowPatcher(() => 1_000_000);
  const numbers = fc.oneof(
    fc.constantFrom<Value>(1, 2, 2.5, 2 ** 40, null, 'x', new Float(3)),
    fc.integer(),
  );
  const widths = fc.constantFrom<IntegerWidth | undefined>('LONG', 'SHORT', undefined);
  let patchCount = 0;
  fc.assert(
    fc.property(fc.tuple(numbers, widths), fc.tuple(numbers, widths), (before, after) => {
      const contentOf = ([value, width]: [Value, IntegerWidth | undefined]) =>
        sized(
          new Map<string, Value>([
            ['a', 'text'],
            ['n', value],
          ]),
          [undefined, width],
        );
      const record = recordOf(shapes, rows.encode(type, contentOf(before)));
      const wanted = rows.encode(type, contentOf(after));
      const width = isSizable(after[0]) ? after[1] : undefined;
      const column = record.shape.column('n') as Column;
      const patched = patcher.patched(record, [column], [after[0]], [width]);
      if (typeof patched === 'symbol') return;
      patchCount += 1;
      const made = recordOf(shapes, patched);
      assert.deepEqual(readAll(made), readAll(recordOf(shapes, wanted)));
      for (const [name, told] of toldWidths(contentOf(after)))
        assert.equal(made.integerWidths?.get(name), told);
    }),
    { numRuns: 500 },
  );
  assert.ok(patchCount > 50);
});

test('a shape keeps the widths of its columns when it is defined anew', () => {
  const shapes = new ShapeRegistry();
  const properties = sized(
    new Map<string, Value>([
      ['a', 5],
      ['b', 5],
      ['c', 'x'],
    ]),
    ['LONG', undefined, 'SHORT'],
  );
  const shape = shapes.forProperties(type, false, properties);
  const again = new ShapeRegistry();
  again.define(shape.id, encodeShape(shape));
  assert.deepEqual([...(again.shape(shape.id).widths ?? [])], [['a', 'LONG']]);
  assert.equal(again.forProperties(type, false, properties), again.shape(shape.id));
});

test('a type whose rows hold integers of two widths has two shapes', () => {
  const shapes = new ShapeRegistry();
  const ids = new Set<number>();
  for (let i = 1; i < 1_000; i += 1) {
    const properties = new Map<string, Value>([
      ['id', i],
      ['n', i % 7 === 0 ? null : i * i],
    ]);
    const given = i % 2 === 0 ? properties : sized(properties, [undefined, 'LONG']);
    ids.add(shapes.forProperties(type, false, given).id);
  }
  assert.equal(ids.size, 2);
});

test('edges hold their ends beside their properties', () => {
  const shapes = new ShapeRegistry();
  const rows = new RowEncoder(shapes);
  fc.assert(
    fc.property(arbitraryRid, arbitraryRid, arbitraryProperties, (from, to, properties) => {
      const record = recordOf(shapes, rows.encode(type, properties, { out: from, in: to }));
      assert.equal(record.out, from);
      assert.equal(record.in, to);
      assert.deepEqual([...readAll(record)], [...properties]);
    }),
    { numRuns: 50 },
  );
});

test('records with equal property sets share a shape, whatever numbers and nulls they hold', () => {
  const shapes = new ShapeRegistry();
  const shapeOf = (entries: [string, Value][]) =>
    shapes.forProperties(type, false, new Map(entries)).id;
  const first = shapeOf([
    ['name', 'x'],
    ['age', 3],
  ]);
  assert.equal(
    shapeOf([
      ['name', null],
      ['age', 2.5],
    ]),
    first,
  );
  const doubles = shapeOf([
    ['name', 'x'],
    ['age', new Float(4)],
  ]);
  assert.notEqual(doubles, first);
  assert.equal(
    shapeOf([
      ['name', 'x'],
      ['age', 2.5],
    ]),
    doubles,
  );
});

test('a type learns a bounded number of shapes; later properties go to the extra map', () => {
  const shapes = new ShapeRegistry();
  const rows = new RowEncoder(shapes);
  const ids = new Set<number>();
  for (let i = 0; i < 2 * shapesPerTypeMax; i++) {
    const properties = new Map<string, Value>([
      ['common', i],
      [`own ${i}`, `value ${i}`],
    ]);
    const record = recordOf(shapes, rows.encode(type, properties));
    ids.add(record.shape.id);
    assert.deepEqual([...readAll(record)], [...properties]);
    assert.equal(record.get(`own ${i}`), `value ${i}`);
    assert.equal(record.get(`own ${i + 1}`), undefined);
  }
  assert.ok(ids.size <= shapesPerTypeMax);
});

test('a record may have more properties than a shape has columns', () => {
  const shapes = new ShapeRegistry();
  const properties = new Map<string, Value>();
  for (let i = 0; i < 5000; i++) properties.set(`p${i}`, i % 3 === 0 ? `text ${i}` : i);
  const row = new RowEncoder(shapes).encode(type, properties);
  const record = recordOf(shapes, row);
  assert.deepEqual([...readAll(record)], [...properties]);
  const split = splitRow(row, record.shape);
  assert.ok(split.row.length < 8192);
  // Those that have no column stand in one large cell, which is not looked up for each of them.
  const cells = new Map(split.large.map((cell) => [cell.property, cell.bytes]));
  let readCount = 0;
  const large: LargeCells = {
    largeCell: (_rid, property) => {
      readCount += 1;
      return cells.get(property) as Uint8Array;
    },
  };
  const [first, other] = [recordOf(shapes, split.row, large), recordOf(shapes, split.row, large)];
  assert.deepEqual([...readAll(first)], [...properties]);
  assert.deepEqual([...readAll(other)], [...properties]);
  assert.ok(readCount <= 4 + 2 * cells.size, `${readCount} cells read`);
});

test('a row of very many properties is the same when it is made with pauses, and is read so', () => {
  const shapes = new ShapeRegistry();
  const rows = new RowEncoder(shapes);
  const others = Array.from({ length: 3 * manyProperties }, (_, at) => `other ${at}`);
  fc.assert(
    fc.property(
      arbitraryProperties,
      fc.integer({ min: 0, max: others.length }),
      arbitraryWidths,
      (given, count, widths) => {
        const properties = new Map(given);
        for (const name of others.slice(0, count)) properties.set(name, name.length);
        const all = sized(properties, widths);
        const row = rows.encode(type, all);
        const work = rows.encodeInSteps(type, all);
        let pauses = 0;
        let step = work.next();
        for (; step.done !== true; step = work.next()) {
          pauses += 1;
          // Others are written meanwhile.
          rows.encode(type, new Map([['x', pauses]]));
        }
        assert.deepEqual(step.value, row);
        const record = recordOf(shapes, row);
        const read = record.manyRead();
        if (read === undefined) assert.ok(properties.size < manyProperties + columnsPerShapeMax);
        else {
          const { values, widths: told } = toEnd(read());
          assert.deepEqual([...values], [...properties]);
          assert.deepEqual(told, record.integerWidths);
        }
        if (count > manyProperties) assert.ok(pauses > 3);
      },
    ),
    { numRuns: 40 },
  );
});

test('shapes that are read back from their definitions serve the same rows', () => {
  const shapes = new ShapeRegistry();
  const rows = new RowEncoder(shapes);
  fc.assert(
    fc.property(arbitraryProperties, (properties) => {
      const row = rows.encode(type, properties);
      const id = row.readUInt16LE(4);
      const again = new ShapeRegistry();
      again.define(id, encodeShape(shapes.shape(id)));
      assert.deepEqual([...readAll(recordOf(again, row))], [...properties]);
    }),
    { numRuns: 50 },
  );
});

test('an entry carries the definitions of the shapes that are not durable yet', () => {
  const shapes = new ShapeRegistry();
  const rows = new RowEncoder(shapes);
  const row = rows.encode(type, new Map<string, Value>([['a', 1]]));
  const put = { op: 'put-row' as const, rid: makeRid(1, 1), row };
  const [definition, ...others] = shapes.definitionsFor([put, { ...put, rid: makeRid(1, 2) }]);
  assert.equal(definition?.op, 'shape');
  assert.deepEqual(others, []);
  assert.ok(definition?.op === 'shape');
  shapes.saved(definition.id);
  assert.deepEqual(shapes.definitionsFor([put]), []);
});

test('a record may be as long as service.maxRecordSize', () => {
  const shapes = new ShapeRegistry();
  const properties = new Map<string, Value>([['text', 'x'.repeat(3000)]]);
  const { length } = new RowEncoder(shapes).encode(type, properties);
  assert.equal(new RowEncoder(shapes, () => length).encode(type, properties).length, length);
  const tooShort = new RowEncoder(shapes, () => length - 1);
  assert.throws(() => tooShort.encode(type, properties), {
    code: 'TooLarge',
    message: /service\.maxRecordSize/,
  });
});
