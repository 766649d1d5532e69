// Generated code against its closure twin: the same rows with the same columns, whatever the data, predicate and constants.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Decimal } from '#core/value/decimal.ts';
import { Link } from '#core/value/record.ts';
import { makeRid } from '#core/value/rid.ts';
import { DateTime, LocalDate } from '#core/temporal/temporal.ts';
import { Float, type Value } from '#core/value/value.ts';
import type { Expression } from '#query/algebra/expression.ts';
import type { Column } from '#query/algebra/plan.ts';
import type { Block } from '#storage/format/block.ts';
import type { ScanSpec } from '#query/evaluate/generated/block-scan.ts';
import { compileScan } from '#query/evaluate/generated/compile-scan.ts';
import { canGenerate } from '#query/evaluate/generated/scan-terms.ts';
import type { EvaluationContext } from '#query/evaluate/context.ts';
import { c, context, environment, property, slot } from './fixtures.ts';
import { MemoryBlocks } from './memory-blocks.ts';

const recordSlot = 0;
const outerSlot = 1;
const elementSlot = 2;
const firstColumn = 3;
const names = ['a', 'b', 'c', 'd'] as const;

const longText = 'long '.repeat(150);
const arbitraryCell: fc.Arbitrary<Value> = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: -3, max: 3 }) },
  { weight: 3, arbitrary: fc.constantFrom<Value>(0.5, -1.5, new Float(2), Number.NaN) },
  {
    weight: 6,
    arbitrary: fc.constantFrom<Value>('', 'a', 'ab', 'abc', 'b', 'é', '😀', '2', 'a"b'),
  },
  { weight: 3, arbitrary: fc.constantFrom<Value>(null, true, false) },
  {
    weight: 2,
    arbitrary: fc.constantFrom<Value>(
      new LocalDate(1),
      new LocalDate(2),
      new DateTime(86_400_000),
      new DateTime(1_000, 0, 'second'),
      new DateTime(1, 5, 'nanos'),
      new Link(makeRid(1, 0)),
      new Link(makeRid(1, 7)),
      9_007_199_254_740_993n,
      new Decimal(20n, 1),
      [1, 'a'],
      new Map([['n', 2]]),
      new Uint8Array([1]),
      longText,
    ),
  },
);

const constants: fc.Arbitrary<Value> = fc.oneof(
  arbitraryCell,
  fc.constantFrom<Value>('#1:0', '1970-01-02', '1970-01-01 00:00:01', 86_400_000, 1),
);

/** Rows share kinds per column most of the time, as real data does, so that code for cells is really used. */
const arbitraryRow = fc
  .tuple(
    fc.option(fc.integer({ min: -3, max: 3 }), { nil: undefined }),
    fc.option(fc.constantFrom<Value>('', 'a', 'ab', 'abc', 'b', 'é', longText), { nil: undefined }),
    fc.option(arbitraryCell, { nil: undefined }),
    fc.option(arbitraryCell, { nil: undefined }),
  )
  .map((cells) => {
    const row = new Map<string, Value>();
    cells.forEach((cell, i) => {
      if (cell !== undefined) row.set(names[i] as string, cell);
    });
    return row;
  });

const cell = fc.constantFrom(...names).map((name) => property(slot(recordSlot), name));
const constant: fc.Arbitrary<Expression> = fc.oneof(
  constants.map(c),
  fc.constantFrom<Expression>({ op: 'Parameter', name: 'p' }, slot(outerSlot), {
    op: 'Variable',
    name: 'v',
  }),
);
const list = fc
  .oneof(
    fc.array(constants, { maxLength: 12 }),
    fc.array(fc.constantFrom<Value>(1, 2, new Float(3), null), { maxLength: 12 }),
    fc.array(fc.constantFrom<Value>('a', 'ab', 'b', null), { maxLength: 12 }),
  )
  .map(c);
const pattern = fc.constantFrom('a', 'a%', '%', '%b%', 'a_', '_', '', 'A%', '%c').map(c);

const arithmetic = fc
  .tuple(fc.constantFrom('+', '-', '*', '/', '%', '&'), cell, fc.oneof(cell, constant))
  .map(
    ([operator, left, right]): Expression => ({
      op: 'Arithmetic',
      operator,
      left,
      right,
      dialect: 'sql',
    }),
  );

const leaf: fc.Arbitrary<Expression> = fc.oneof(
  fc
    .tuple(fc.constantFrom('=', '<>', '<', '<=', '>', '>=', '<=>'), cell, constant, fc.boolean())
    .map(
      ([operator, left, right, isReversed]): Expression => ({
        op: 'Compare',
        operator,
        left: isReversed ? right : left,
        right: isReversed ? left : right,
        dialect: 'sql',
      }),
    ),
  fc.tuple(cell, constant, constant).map(
    ([operand, low, high]): Expression => ({
      op: 'Between',
      operand,
      low,
      high,
      dialect: 'sql',
    }),
  ),
  fc
    .tuple(cell, list)
    .map(([element, items]): Expression => ({ op: 'In', element, list: items, dialect: 'sql' })),
  fc.tuple(cell, pattern, fc.boolean()).map(
    ([text, wanted, ignoreCase]): Expression => ({
      op: 'Like',
      text,
      pattern: wanted,
      ignoreCase,
    }),
  ),
  cell.map((operand): Expression => ({ op: 'IsNull', operand })),
  fc
    .tuple(fc.constantFrom('=', '<>', '<', '>='), arithmetic, fc.oneof(arithmetic, cell, constant))
    .map(
      ([operator, left, right]): Expression => ({
        op: 'Compare',
        operator,
        left,
        right,
        dialect: 'sql',
      }),
    ),
  // Things that code leaves to closures.
  fc.tuple(cell, cell).map(
    ([left, right]): Expression => ({
      op: 'Compare',
      operator: '=',
      left,
      right,
      dialect: 'sql',
    }),
  ),
  fc.constant<Expression>({
    op: 'Quantifier',
    kind: 'any',
    list: property(slot(recordSlot), 'c'),
    element: elementSlot,
    predicate: {
      op: 'Compare',
      operator: '=',
      left: slot(elementSlot),
      right: c(1),
      dialect: 'sql',
    },
    dialect: 'sql',
  }),
);

const { condition } = fc.letrec<{ condition: Expression }>((tie) => ({
  condition: fc.oneof(
    { weight: 5, arbitrary: leaf },
    {
      weight: 2,
      arbitrary: fc
        .tuple(
          fc.constantFrom('And' as const, 'Or' as const),
          fc.array(tie('condition'), { minLength: 1, maxLength: 3 }),
        )
        .map(([op, operands]): Expression => ({ op, operands })),
    },
    {
      weight: 2,
      arbitrary: tie('condition').map((operand): Expression => ({ op: 'Not', operand })),
    },
  ),
}));

const columnValue: fc.Arbitrary<Expression> = fc.oneof(
  { weight: 5, arbitrary: cell },
  { weight: 1, arbitrary: constant },
  { weight: 2, arbitrary: arithmetic },
  {
    weight: 1,
    arbitrary: fc.constant<Expression>({ op: 'Attribute', of: slot(recordSlot), attribute: 'rid' }),
  },
  {
    weight: 1,
    arbitrary: fc.constant<Expression>({
      op: 'Attribute',
      of: slot(recordSlot),
      attribute: 'type',
    }),
  },
  // An earlier column, read again.
  {
    weight: 1,
    arbitrary: fc.constant<Expression>({
      op: 'List',
      items: [slot(firstColumn), property(slot(recordSlot), 'a')],
    }),
  },
);

function makeContext(data: MemoryBlocks, outer: Value, parameter: Value): EvaluationContext {
  const base = context({
    frame: [null, outer],
    parameters: { p: parameter },
    variables: { v: [new Map([['n', 2]])] },
  });
  return { ...base, view: { ...base.view, snapshot: data.snapshot() } };
}

/** All rows that a scan gives, or its error. */
function run(
  spec: ScanSpec,
  data: MemoryBlocks,
  mode: 'closures' | 'generated',
  outer: Value,
  parameter: Value,
): unknown {
  const ctx = makeContext(data, outer, parameter);
  const given: unknown[] = [];
  try {
    const rows = compileScan(spec, environment, mode).bind(ctx);
    let count = 0;
    for (const block of data.blocks) {
      count += rows.count(block);
      walk(
        spec,
        block,
        (at) => rows.next(block, at),
        (at) => {
          const values = spec.columns.map((column) => ctx.frame[column.slot]);
          if (spec.keepsRecord)
            values.push((ctx.frame[recordSlot] as { rid: number } | null)?.rid ?? null);
          given.push([block.number, at, values]);
        },
      );
    }
    given.push(count);
  } catch (error) {
    return `error ${(error as Error).message}`;
  }
  return given;
}

function walk(
  spec: ScanSpec,
  block: Block,
  next: (slot: number) => number,
  give: (slot: number) => void,
): void {
  const isAscending = spec.order === 'ascending';
  let at = next(isAscending ? 0 : block.slotCount - 1);
  while (at >= 0) {
    give(at);
    at = next(isAscending ? at + 1 : at - 1);
  }
}

test('generated code gives the rows and columns of the closures', () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(fc.option(arbitraryRow, { nil: undefined, freq: 8 }), { maxLength: 24 }), {
        minLength: 1,
        maxLength: 2,
      }),
      fc.option(condition, { nil: undefined, freq: 10 }),
      fc.array(columnValue, { maxLength: 3 }),
      fc.boolean(),
      fc.boolean(),
      constants,
      constants,
      (blocks, predicate, values, keepsRecord, isAscending, outer, parameter) => {
        const data = new MemoryBlocks();
        for (const rows of blocks) data.add(rows);
        const columns: Column[] = values.map((value, i) => ({ slot: firstColumn + i, value }));
        const order = isAscending ? 'ascending' : 'descending';
        const spec: ScanSpec = { record: recordSlot, predicate, columns, keepsRecord, order };
        assert.deepEqual(
          run(spec, data, 'generated', outer, parameter),
          run(spec, data, 'closures', outer, parameter),
        );
      },
    ),
    { numRuns: 1_000 },
  );
});

test('a scan goes over to generated code in the middle and gives the same rows', () => {
  const data = new MemoryBlocks();
  for (let block = 0; block < 20; block++)
    data.add(
      Array.from(
        { length: 64 },
        (_, i) =>
          new Map<string, Value>([
            ['a', i],
            ['b', `city ${i % 5}`],
          ]),
      ),
    );
  const spec: ScanSpec = {
    record: recordSlot,
    predicate: {
      op: 'Compare',
      operator: '>=',
      left: property(slot(recordSlot), 'a'),
      right: c(60),
      dialect: 'sql',
    },
    columns: [{ slot: firstColumn, value: property(slot(recordSlot), 'b') }],
    keepsRecord: false,
    order: 'ascending',
  };
  const ctx = makeContext(data, null, null);
  const rows = compileScan(spec, environment).bind(ctx);
  const cities: Value[] = [];
  for (const block of data.blocks)
    walk(
      spec,
      block,
      (at) => rows.next(block, at),
      () => cities.push(ctx.frame[firstColumn] ?? null),
    );
  assert.equal(cities.length, 80);
  assert.deepEqual(cities.slice(-4), ['city 0', 'city 1', 'city 2', 'city 3']);
});

test('properties in the extra map are found', () => {
  const data = new MemoryBlocks();
  for (let block = 0; block < 6; block++)
    data.add(
      Array.from({ length: 64 }, (_, i) => new Map<string, Value>([[`p${block * 64 + i}`, 1]])),
    );
  data.add([new Map<string, Value>([['a', 1]]), new Map<string, Value>([['a', 2]])]);
  // Only the last block is scanned: the type has no more shapes to learn, and the scan has code for its rows.
  data.blocks.splice(0, 6);
  const a = property(slot(recordSlot), 'a');
  const spec: ScanSpec = {
    record: recordSlot,
    predicate: { op: 'Compare', operator: '>', left: a, right: c(1), dialect: 'sql' },
    columns: [{ slot: firstColumn, value: a }],
    keepsRecord: false,
    order: 'ascending',
  };
  assert.deepEqual(run(spec, data, 'generated', null, null), [[6, 1, [2]], 1]);
});

test('what generated code does itself', () => {
  const generates = (expression: Expression) => canGenerate(expression, recordSlot, environment);
  const a = property(slot(recordSlot), 'a');
  assert.ok(generates({ op: 'Compare', operator: '<', left: a, right: c(1), dialect: 'sql' }));
  assert.ok(generates({ op: 'Like', text: a, pattern: c('x%'), ignoreCase: false }));
  assert.ok(generates(a));
  assert.ok(!generates({ op: 'Matches', text: a, pattern: c('x') }));
  assert.ok(generates({ op: 'Compare', operator: '=', left: a, right: a, dialect: 'sql' }));
});

test('a constant that fails fails only where the closures fail', () => {
  const data = new MemoryBlocks();
  data.add([new Map([['a', 1]])]);
  const predicate: Expression = {
    op: 'And',
    operands: [
      {
        op: 'Compare',
        operator: '=',
        left: property(slot(recordSlot), 'a'),
        right: c(2),
        dialect: 'sql',
      },
      {
        op: 'Compare',
        operator: '=',
        left: property(slot(recordSlot), 'a'),
        right: { op: 'Arithmetic', operator: '/', left: c(1), right: c(0), dialect: 'sql' },
        dialect: 'sql',
      },
    ],
  };
  const spec: ScanSpec = {
    record: recordSlot,
    predicate,
    columns: [],
    keepsRecord: true,
    order: 'ascending',
  };
  assert.deepEqual(run(spec, data, 'generated', null, null), [0]);
});
