import {
  addTo,
  advance,
  type Code,
  floatLane,
  get,
  integerLane,
  KernelModule,
  lanesOf,
  load,
  loadInteger,
  op,
  repeatWhileBelow,
  set,
  storeInteger,
  tee,
} from './web-assembly.ts';

/**
 * Distances by SIMD instructions over a shared memory, since JavaScript has no vector types. A vector of 128 numbers takes some 15 ns
 * where a JavaScript loop takes 100.
 */
export interface Kernels {
  /** Sum of squared differences of two runs of float32; `bytes` is a multiple of `runBytes`. */
  squaredDistance(a: number, b: number, bytes: number): number;
  /** Sum of products of two runs of float32. */
  product(a: number, b: number, bytes: number): number;
  /** Sum of products of two runs of int8. Exact for runs of up to 65,536 bytes. */
  byteProduct(a: number, b: number, bytes: number): number;
  /**
   * `byteProduct` of one run and each of those listed: from `list` on, up to `listEnd`, stand places of runs behind `runs`, as int32;
   * the products take their places there. One call for many, so that a processor asks its memory for several runs at a time.
   */
  listedByteProducts(a: number, list: number, listEnd: number, runs: number, bytes: number): void;
  /** Bits that differ. */
  differingBits(a: number, b: number, bytes: number): number;
}

/** Runs are of whole steps of the loops; what is left over is zero. */
export const runBytes = 32;

// Locals of every function: pointers, then two sums of lanes and one value in between.
const [a, b, endOfA, sum, otherSum, value] = [0, 1, 2, 3, 4, 5];

const difference = (offset: number): Code => [
  ...load(a, offset),
  ...load(b, offset),
  ...op.f32x4Sub,
  ...tee(value),
  ...get(value),
  ...op.f32x4Mul,
];
const products = (offset: number): Code => [...load(a, offset), ...load(b, offset), ...op.f32x4Mul];
const byteProducts = (offset: number, half: Code, [x, y]: readonly [number, number]): Code => [
  ...load(x, offset),
  ...half,
  ...load(y, offset),
  ...half,
  ...op.i32x4DotShorts,
];
const twoHalves = (offset: number, pair: readonly [number, number] = [a, b]): Code => [
  ...byteProducts(offset, op.i16x8ExtendLow, pair),
  ...byteProducts(offset, op.i16x8ExtendHigh, pair),
  ...op.i32x4Add,
];
const ones = (offset: number): Code => [
  ...load(a, offset),
  ...load(b, offset),
  ...op.v128Xor,
  ...op.i8x16CountOnes,
  ...op.i16x8AddPairsOfBytes,
  ...op.i32x4AddPairsOfShorts,
];

/** Two sums, since an addition need not wait for the one before it then. `bytes` becomes the end of `a`. */
function inSteps(first: Code, second: Code, add: Code): Code {
  return [
    ...get(a),
    ...get(endOfA),
    ...op.i32Add,
    ...set(endOfA),
    ...op.loop,
    ...addTo(sum, first, add),
    ...addTo(otherSum, second, add),
    ...advance(b, runBytes),
    ...advance(a, runBytes),
    ...repeatWhileBelow(a, endOfA),
    ...op.end,
    ...get(sum),
    ...get(otherSum),
    ...add,
    ...set(sum),
  ];
}

function floats(step: (offset: number) => Code): Code {
  return [...inSteps(step(0), step(16), op.f32x4Add), ...lanesOf(sum, floatLane, op.f32Add)];
}

function integers(step: (offset: number) => Code): Code {
  return [...inSteps(step(0), step(16), op.i32x4Add), ...lanesOf(sum, integerLane, op.i32Add)];
}

function listedByteProducts(): Code {
  const [query, list, listEnd, runs, bytes] = [0, 1, 2, 3, 4];
  const [at, run, queryEnd, sumOfRun, otherSumOfRun] = [5, 6, 7, 8, 9];
  const none = (local: number): Code => [
    ...get(local),
    ...get(local),
    ...op.v128Xor,
    ...set(local),
  ];
  return [
    ...get(query),
    ...get(bytes),
    ...op.i32Add,
    ...set(queryEnd),
    ...op.loop,
    ...loadInteger(list),
    ...get(bytes),
    ...op.i32Mul,
    ...get(runs),
    ...op.i32Add,
    ...set(run),
    ...get(query),
    ...set(at),
    ...none(sumOfRun),
    ...none(otherSumOfRun),
    ...op.loop,
    ...addTo(sumOfRun, twoHalves(0, [at, run]), op.i32x4Add),
    ...addTo(otherSumOfRun, twoHalves(16, [at, run]), op.i32x4Add),
    ...advance(run, runBytes),
    ...advance(at, runBytes),
    ...repeatWhileBelow(at, queryEnd),
    ...op.end,
    ...addTo(sumOfRun, get(otherSumOfRun), op.i32x4Add),
    ...storeInteger(list, lanesOf(sumOfRun, integerLane, op.i32Add)),
    ...advance(list, 4),
    ...repeatWhileBelow(list, listEnd),
    ...op.end,
  ];
}

const form = { parameterCount: 3, locals: ['v128', 'v128', 'v128'] } as const;

export const kernels = new KernelModule<Kernels>(() => [
  { name: 'squaredDistance', ...form, result: 'f32', body: floats(difference) },
  { name: 'product', ...form, result: 'f32', body: floats(products) },
  { name: 'byteProduct', ...form, result: 'i32', body: integers(twoHalves) },
  {
    name: 'listedByteProducts',
    parameterCount: 5,
    locals: ['i32', 'i32', 'i32', 'v128', 'v128'],
    body: listedByteProducts(),
  },
  { name: 'differingBits', ...form, result: 'i32', body: integers(ones) },
]);
