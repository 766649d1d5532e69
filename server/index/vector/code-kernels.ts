import {
  addTo,
  advance,
  type Code,
  constant,
  floatLane,
  get,
  KernelModule,
  lanesOf,
  load,
  loadByte,
  loadFloat,
  loadFourTimes,
  op,
  repeatWhileBelow,
  set,
  store,
  tee,
} from './web-assembly.ts';

/** What product codes need: tables of distances to centroids, and sums of their places. */
export interface CodeKernels {
  /**
   * Adds the squared differences of the float at `component` and each of the 256 of a column to the 256 of a table.
   */
  addSquares(table: number, column: number, component: number): void;
  /** The sum of the places that `count` codes, a multiple of four, have in as many tables. */
  tableSum(tables: number, codes: number, count: number): number;
  /** The squared distance of the vectors that two runs of codes stand for; `rows` are their centroids, of `rowBytes` each. */
  codeDistance(a: number, b: number, count: number, rows: number, rowBytes: number): number;
}

/** Of a table or a column: a float for each code. */
export const tableBytes = 1_024;

function addSquares(): Code {
  const [table, column, component, end, wanted, step] = [0, 1, 2, 3, 4, 5];
  const squaresAt = (offset: number): Code =>
    store(table, offset, [
      ...load(column, offset),
      ...get(wanted),
      ...op.f32x4Sub,
      ...tee(step),
      ...get(step),
      ...op.f32x4Mul,
      ...load(table, offset),
      ...op.f32x4Add,
    ]);
  return [
    ...loadFourTimes(component),
    ...set(wanted),
    ...get(table),
    ...constant(tableBytes),
    ...op.i32Add,
    ...set(end),
    ...op.loop,
    ...squaresAt(0),
    ...squaresAt(16),
    ...advance(column, 32),
    ...advance(table, 32),
    ...repeatWhileBelow(table, end),
    ...op.end,
  ];
}

function tableSum(): Code {
  const [tables, codes, end] = [0, 1, 2];
  const sums = [3, 4, 5, 6];
  const placeOf = (at: number): Code => [
    ...loadByte(codes, at),
    ...constant(2),
    ...op.i32ShiftLeft,
    ...get(tables),
    ...op.i32Add,
  ];
  const [first, second, third, fourth] = sums as [number, number, number, number];
  return [
    ...get(codes),
    ...get(end),
    ...op.i32Add,
    ...set(end),
    ...op.loop,
    // Four sums, since an addition need not wait for the one before it then.
    ...sums.flatMap((sum, at) => addTo(sum, loadFloat(placeOf(at), at * tableBytes), op.f32Add)),
    ...advance(tables, 4 * tableBytes),
    ...advance(codes, 4),
    ...repeatWhileBelow(codes, end),
    ...op.end,
    ...[...get(first), ...get(second), ...op.f32Add],
    ...[...get(third), ...get(fourth), ...op.f32Add],
    ...op.f32Add,
  ];
}

function codeDistance(): Code {
  const [a, b, end, rows, rowBytes, rowOfA, rowOfB, endOfRow, sum, step] = [
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
  ];
  const rowOf = (codes: number, row: number): Code => [
    ...loadByte(codes, 0),
    ...get(rowBytes),
    ...op.i32Mul,
    ...get(rows),
    ...op.i32Add,
    ...set(row),
  ];
  const squares: Code = [
    ...load(rowOfA, 0),
    ...load(rowOfB, 0),
    ...op.f32x4Sub,
    ...tee(step),
    ...get(step),
    ...op.f32x4Mul,
  ];
  return [
    ...get(a),
    ...get(end),
    ...op.i32Add,
    ...set(end),
    ...op.loop,
    ...rowOf(a, rowOfA),
    ...rowOf(b, rowOfB),
    ...get(rowOfA),
    ...get(rowBytes),
    ...op.i32Add,
    ...set(endOfRow),
    ...op.loop,
    ...addTo(sum, squares, op.f32x4Add),
    ...advance(rowOfB, 16),
    ...advance(rowOfA, 16),
    ...repeatWhileBelow(rowOfA, endOfRow),
    ...op.end,
    ...get(rowBytes),
    ...constant(8),
    ...op.i32ShiftLeft,
    ...get(rows),
    ...op.i32Add,
    ...set(rows),
    ...advance(b, 1),
    ...advance(a, 1),
    ...repeatWhileBelow(a, end),
    ...op.end,
    ...lanesOf(sum, floatLane, op.f32Add),
  ];
}

export const codeKernels = new KernelModule<CodeKernels>(() => [
  { name: 'addSquares', parameterCount: 3, locals: ['i32', 'v128', 'v128'], body: addSquares() },
  {
    name: 'tableSum',
    parameterCount: 3,
    result: 'f32',
    locals: ['f32', 'f32', 'f32', 'f32'],
    body: tableSum(),
  },
  {
    name: 'codeDistance',
    parameterCount: 5,
    result: 'f32',
    locals: ['i32', 'i32', 'i32', 'v128', 'v128'],
    body: codeDistance(),
  },
]);
